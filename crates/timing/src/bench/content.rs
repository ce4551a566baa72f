//! The untimed pass: each job runs once on every row, and what the rows see has to be the same.

use repackbench_codec::DecodeMemo;
use repackbench_reader::Repository;
use repackbench_records::{ContentDigest, OwnGitCost, TracedReads, WorkloadLabel};

use super::{
    context::BenchContext,
    jobs::{Work, WorkloadJob},
    rows::Row,
};
use crate::{
    BenchError,
    arms::{
        replay,
        stock::{Caches, StockError, StockJob, StockOutput, output_of},
    },
    decode_share::{self, DecodeShare, Took},
    session::BASELINE,
    trace::{NEW_PAGES, traced_reads},
    workloads::{Counts, Digester, HistoryRange, VariantPlace, Workload, WorkloadSpec},
};

/// The part of a session's time in which the user's own git may be tried with a commit-graph.
const OWN_GIT_PART: u32 = 20;

/// What every run of a job has to see.
pub(super) struct Content {
    pub(super) counts: Counts,
    pub(super) digest: ContentDigest,
}

impl Content {
    /// The counts and the digest for messages.
    fn describe(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        format!("{} (digest {})", counts.join(", "), self.digest.hex)
    }
}

/// What the untimed pass of a job found.
pub(super) struct Reference {
    pub(super) content: Content,
    /// What each row reads, in the order of the schedule; `None` where the workload has no access trace.
    pub(super) reads: Vec<Option<TracedReads>>,
    /// The peak memory of each row's command, in bytes, in the order of the schedule; empty for replays.
    pub(super) peaks: Vec<Option<u64>>,
    /// What decoding takes on the baseline; `None` if it was not measured.
    pub(super) decoding: Option<Decoding>,
}

/// What decoding takes of the CPU time of a workload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decoding {
    /// Its share in the replay.
    pub(super) share: f64,
    /// What the user's own git takes; `None` if it was not measured.
    pub(super) own_git: Option<OwnGitCost>,
}

/// The content of the first row that did a job, with its label.
#[derive(Default)]
struct First(Option<(Content, String)>);

impl First {
    /// Keeps the first row's content, and compares the others' with it.
    fn compare(&mut self, job: &WorkloadLabel, row: &Row, seen: Content) -> Result<(), BenchError> {
        match &self.0 {
            None => self.0 = Some((seen, row.variant.label().into_owned())),
            Some((expected, label)) => check(job, row, label, expected, &seen)?,
        }
        Ok(())
    }
}

/// Checks that `row` saw what the row `reference` did.
pub(super) fn check(
    job: &WorkloadLabel,
    row: &Row,
    reference: &str,
    expected: &Content,
    found: &Content,
) -> Result<(), BenchError> {
    if expected.digest == found.digest && expected.counts == found.counts {
        return Ok(());
    }
    Err(BenchError::Differs {
        workload: job.to_string(),
        variant: row.variant.label().into_owned(),
        reference: reference.to_owned(),
        expected: expected.describe(),
        found: found.describe(),
    })
}

impl BenchContext<'_> {
    /// Runs the job on every row without a clock, and checks that all rows see the same. The same pass traces what each
    /// row reads, if the job has a trace.
    pub(super) fn check_content(&self, job: &mut WorkloadJob<'_>, rows: &mut [Row]) -> Result<Reference, BenchError> {
        let label = job.label();
        let is_for: Vec<bool> = rows.iter().map(|row| job.is_for(row)).collect();
        let (spec, workload) = match &mut job.work {
            Work::Replay { spec, workload } => (*spec, workload),
            Work::Command(command, _) => return self.check_output(command, &job.range, rows),
        };
        let places: Vec<&VariantPlace> = rows.iter().map(|row| &row.place).collect();
        workload.announce(&places);
        let mut first = First::default();
        let mut reads = Vec::new();
        for (row, is_for) in rows.iter_mut().zip(is_for) {
            self.session().go_on()?;
            let Some(history) = row.histories.first_mut().filter(|_| is_for) else {
                reads.push(None);
                continue;
            };
            let mut digester = Digester::default();
            history.clear_caches();
            workload.prepare(&row.place)?;
            let is_traced = spec.is_traced();
            if is_traced {
                history.record_accesses(NEW_PAGES);
            }
            let result = workload.run(history.as_mut(), &mut digester);
            let trace = is_traced.then(|| history.take_accesses());
            result?;
            workload.clean_up()?;
            history.clear_caches();
            reads.push(trace.map(|trace| traced_reads(&trace, &self.plan.devices)));
            first.compare(&label, row, Content { counts: digester.counts(), digest: digester.digest() })?;
        }
        let none = || Content { counts: Counts::new(), digest: Digester::default().digest() };
        let content = first.0.map_or_else(none, |(content, _)| content);
        let decoding = match rows.get_mut(BASELINE) {
            Some(baseline) if self.plan.has_answer() && spec.is_traced() => {
                let share = self.decode_share(&label, workload.as_mut(), baseline, &content)?;
                share.map(|share| self.with_own_git((spec, &job.range), share, baseline)).transpose()?
            }
            _ => None,
        };
        Ok(Reference { content, reads, peaks: Vec::new(), decoding })
    }

    /// The share of the CPU time of `workload` on the baseline that decoding takes; `None` if too little of it can be
    /// remembered.
    fn decode_share(
        &self,
        label: &WorkloadLabel,
        workload: &mut dyn Workload,
        baseline: &mut Row,
        expected: &Content,
    ) -> Result<Option<DecodeShare>, BenchError> {
        let mut replay = |memo: Option<Box<DecodeMemo>>| {
            self.session().go_on()?;
            let Some(history) = baseline.histories.first_mut() else { return Ok(Default::default()) };
            history.set_memo(memo);
            let run = replay::run(workload, history.as_mut(), &baseline.place, self.clock)?;
            let memo = history.set_memo(None).unwrap_or_default();
            for counts in run.counts {
                let seen = Content { counts, digest: expected.digest.clone() };
                check(label, baseline, "the untimed run", expected, &seen)?;
            }
            Ok((Took::of(&run.sample), memo))
        };
        let share = decode_share::measure(&mut replay, &mut |_, _| Ok(Vec::new()), &|| Ok(true))?.share();
        Ok(share.is_known().then_some(share))
    }

    /// Adds what the user's own git takes for the same on the baseline.
    fn with_own_git(
        &self,
        (spec, range): (&WorkloadSpec, &HistoryRange),
        decoding: DecodeShare,
        baseline: &mut Row,
    ) -> Result<Decoding, BenchError> {
        let own_git = match (&self.own_git, baseline.histories.first_mut()) {
            (Some(git), Some(history)) => {
                let end = self.session().now()?.saturating_add(self.plan.time.unwrap_or_default() / OWN_GIT_PART);
                let with_graph = git.tries_graph(spec).then_some(range);
                git.cost((spec, range, &decoding), with_graph, history.as_mut(), (self.clock, self.progress), end)?
            }
            _ => None,
        };
        Ok(Decoding { share: decoding.share, own_git })
    }

    /// Runs the command on every row without a clock, and checks that all print or make the same.
    fn check_output(&self, job: &StockJob, range: &HistoryRange, rows: &[Row]) -> Result<Reference, BenchError> {
        let mut first = First::default();
        let mut first_row = None;
        let mut peaks = Vec::new();
        for row in rows {
            self.session().go_on()?;
            let Some(stock) = row.stock.as_ref().filter(|stock| stock.client.is_for(job)) else {
                peaks.push(None);
                continue;
            };
            let output = self.runner().observe(job, stock.client.as_ref());
            let StockOutput { counts, digest, peak } = output.map_err(|error| of_row(row, error))?;
            peaks.push(peak);
            first.compare(&job.label, row, Content { counts, digest })?;
            first_row.get_or_insert(row);
        }
        if let (Some((content, _)), Some(row)) = (&first.0, first_row) {
            self.compare_with_replay(job, range, row, content)?;
        }
        let none = || Content {
            counts: Counts::new(),
            digest: ContentDigest { algorithm: "none".to_owned(), hex: String::new() },
        };
        let content = first.0.map_or_else(none, |(content, _)| content);
        Ok(Reference { content, reads: Vec::new(), peaks, decoding: None })
    }

    /// Checks that the replay of the same name would print what the command did, where the replay sees just that.
    fn compare_with_replay(
        &self,
        job: &StockJob,
        range: &HistoryRange,
        row: &Row,
        seen: &Content,
    ) -> Result<(), BenchError> {
        let Some(spec) = job.workload.replay().filter(|_| job.caches == Caches::Off) else { return Ok(()) };
        let mut history = Repository::open(&row.place.folder)?.history(row.place.decoders)?;
        let Some(replayed) = output_of(spec, range, &row.place, history.as_mut())? else {
            return Ok(());
        };
        let is_same = replayed.counts.iter().all(|(name, count)| seen.counts.get(name) == Some(count))
            && replayed.hex.as_ref().is_none_or(|hex| *hex == seen.digest.hex);
        if is_same {
            return Ok(());
        }
        let digest = ContentDigest { hex: replayed.hex.unwrap_or_default(), ..seen.digest.clone() };
        let expected = Content { counts: replayed.counts, digest };
        Err(BenchError::Differs {
            workload: job.label.to_string(),
            variant: row.variant.label().into_owned(),
            reference: "the in-process replay".to_owned(),
            expected: expected.describe(),
            found: seen.describe(),
        })
    }
}

/// Adds the row to the error of its command.
pub(super) fn of_row(row: &Row, error: StockError) -> BenchError {
    match error {
        StockError::Failed { command, why } => {
            StockError::Failed { command: format!("{}: {command}", row.variant.label()), why }.into()
        }
        error => error.into(),
    }
}
