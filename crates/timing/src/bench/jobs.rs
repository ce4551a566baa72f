//! The jobs of a session, and the rows that do them.

use std::{path::PathBuf, time::Duration};

use repackbench_records::{Checks, ComparedTime, RequestTimes, WorkloadLabel};

use super::{plan::BenchPlan, rows::Row};
use crate::{
    arms::stock::{Caches, GitFeature, StockJob, StockWorkload},
    session::{BASELINE, Slot, Turn},
    workloads::{HistoryRange, Workload, WorkloadSpec},
};

/// A workload, ready to be run.
pub(super) struct WorkloadJob<'a> {
    pub(super) work: Work<'a>,
    /// How many copies of it run at once.
    copies: u32,
    is_cold: bool,
    /// The part of history that it looks at.
    pub(super) range: HistoryRange,
    /// How long a run may be made by repeating the job; `None` for as long as the compared time needs.
    pub(super) longest_run: Option<Duration>,
    /// Whether it has the limit of the session that is continued.
    pub(super) has_kept_limit: bool,
}

/// Who does a workload.
pub(super) enum Work<'a> {
    /// This program, in-process.
    Replay { spec: &'a WorkloadSpec, workload: Box<dyn Workload> },
    /// A command, of whose times this one is compared.
    Command(StockJob, ComparedTime),
}

impl<'a> WorkloadJob<'a> {
    pub(super) fn replay(spec: &'a WorkloadSpec, plan: &BenchPlan) -> Self {
        let workload = spec.build(&plan.range, None::<PathBuf>);
        let work = Work::Replay { spec, workload };
        let range = plan.range.clone();
        WorkloadJob { work, copies: plan.jobs, is_cold: plan.is_cold, range, longest_run: None, has_kept_limit: false }
    }

    pub(super) fn command(job: StockJob, compared: ComparedTime, plan: &BenchPlan) -> Self {
        let (work, range) = (Work::Command(job, compared), plan.range.clone());
        WorkloadJob { work, copies: 1, is_cold: false, range, longest_run: None, has_kept_limit: false }
    }

    /// The replay of the same name, without `floor:`. Jobs with the same one are compared with each other.
    pub(super) fn spec(&self) -> Option<&WorkloadSpec> {
        match &self.work {
            Work::Replay { spec, .. } => Some(spec.without_floor()),
            Work::Command(job, _) => job.workload.replay(),
        }
    }

    /// Whether it can be limited to the newest commits, and the user has not said to how many.
    pub(super) fn is_limitable(&self, plan: &BenchPlan) -> bool {
        plan.range.commits.is_none() && !self.is_cold && self.spec().is_some_and(WorkloadSpec::reads_commits)
    }

    /// Whether `recorded` is its label, perhaps with another limit of commits.
    pub(super) fn is_same_but_for_limit(&self, recorded: &WorkloadLabel) -> bool {
        let without_limit = |mut label: WorkloadLabel| {
            label.parameters.remove(WorkloadLabel::COMMITS);
            label
        };
        without_limit(self.label()) == without_limit(recorded.clone())
    }

    /// Limits it to the newest `commits` commits; `None` for all.
    pub(super) fn limit_to(&mut self, commits: Option<u64>) {
        self.range.commits = commits;
        match &mut self.work {
            Work::Replay { spec, workload } => *workload = spec.build(&self.range, None::<PathBuf>),
            Work::Command(job, _) => job.limit_to(commits),
        }
    }

    /// The requests of a run, for its record. Only one record of a session says which they were.
    pub(super) fn request_times(&self, elapsed: &[Duration], turn: Turn) -> Option<RequestTimes> {
        let is_first = turn.block == 0 && turn.slot == Slot::Variant(BASELINE);
        let drawn = match &self.work {
            Work::Command(job, _) if is_first => job.drawn_names(),
            _ => Vec::new(),
        };
        let elapsed_ns = elapsed.iter().map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).collect();
        let requests = RequestTimes { elapsed_ns, drawn };
        (requests != RequestTimes::default()).then_some(requests)
    }

    /// Its name. Several copies at once are another workload than one, and so are cold runs.
    pub(super) fn label(&self) -> WorkloadLabel {
        let mut label = match &self.work {
            Work::Replay { workload, .. } => workload.label(),
            Work::Command(job, _) => job.label.clone(),
        };
        if self.copies > 1 {
            label.parameters.insert("jobs".to_owned(), self.copies.to_string());
        }
        if self.is_cold { label.cold() } else { label }
    }

    /// Whether `row` does it. Rows with another limit of the cache of delta bases leave out workloads that never use
    /// the cache.
    pub(super) fn is_for(&self, row: &Row) -> bool {
        match (&self.work, &row.stock) {
            (Work::Replay { spec, .. }, None) => row.variant.delta_cache.is_none() || spec.uses_delta_cache(),
            (Work::Command(job, _), Some(stock)) => stock.client.is_for(job),
            _ => false,
        }
    }

    /// What reading checks and uses: caches belong to the job, not to the row.
    pub(super) fn checks(&self, row: &Row) -> Checks {
        // hg has neither; its clients have no zlib to choose.
        let client = row.variant.client.as_ref().filter(|client| !client.zlib.is_empty());
        let is_forge = matches!(&self.work, Work::Command(job, _) if job.caches == Caches::Forge);
        let has =
            |feature: GitFeature| client.is_some_and(|client| is_forge || client.helps.contains(&feature.to_string()));
        let is_web = matches!(&self.work, Work::Command(job, _) if matches!(job.workload, StockWorkload::Web(_)))
            && client.is_some();
        Checks { commit_graph: has(GitFeature::CommitGraph) || is_web, bitmaps: has(GitFeature::Bitmaps), ..row.checks }
    }

    /// The time that is compared. Several copies contend for caches and memory, which shows in how long all of them
    /// take; cold runs wait for the disk.
    pub(super) fn compared_time(&self) -> ComparedTime {
        match &self.work {
            _ if self.copies > 1 || self.is_cold => ComparedTime::Wall,
            Work::Replay { workload, .. } => workload.compared_time(),
            Work::Command(_, compared) => *compared,
        }
    }
}

/// Rows with a baseline of their own, and their jobs: in-process, or by commands.
pub(super) struct RowGroup<'a> {
    pub(super) jobs: Vec<WorkloadJob<'a>>,
    pub(super) rows: Vec<Row>,
}

impl RowGroup<'_> {
    /// How many rows each job has.
    pub(super) fn rows_of_jobs(&self) -> Vec<usize> {
        self.jobs.iter().map(|job| self.rows.iter().filter(|row| job.is_for(row)).count()).collect()
    }
}
