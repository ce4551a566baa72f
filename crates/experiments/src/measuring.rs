//! The benchmarks of an experiment.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::{Figure, Record, Statement, StatementValue, StoredStatement, WorkloadLabel};
use repackbench_timing::{
    BenchError,
    arms::stock::{Caches, StockPlan, StockWorkload},
    bench::{BenchPlan, Blocks},
    workloads::{HistoryRange, WorkloadError, WorkloadSpec},
};

use crate::{
    Context, ExperimentError,
    budget::{Budget, Extent},
    probe::Probe,
};

/// The default number of runs of each arm: the fewest that give an interval.
pub(crate) const DEFAULT_RUNS: u32 = 6;

/// The factor by which runs may be longer than the trial run, as on a machine that others use: a job that is cut short before its sixth run
/// has no interval, whereas a smaller job has one.
const MARGIN: f64 = 1.2;

/// A command of hg says nothing about codecs if its start is a larger part of it.
pub(crate) const MOSTLY_START: f64 = 0.25;

/// The work of a codec's rows.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// Replays in-process.
    Replays(Vec<WorkloadSpec>),
    /// Commands of the user's own git or hg.
    Commands(Vec<StockWorkload>),
}

/// A job to measure.
pub(crate) struct Job<'a> {
    /// The subject of statements about it.
    pub(crate) what: StatementValue,
    /// The work.
    pub(crate) work: Work,
    /// Codecs other than the baseline, the most important ones first.
    pub(crate) codecs: &'a [CodecSpec],
    /// The number of newest commits that the workloads are limited to, or that arrive.
    pub(crate) commits: Option<u64>,
    /// The weight of its share of the budget.
    pub(crate) weight: u32,
    /// The time of one run of all of the job's workloads; an unknown one is taken to be short.
    pub(crate) one: Probe,
    /// Rows of each workload other than those of `codecs`.
    pub(crate) other_rows: usize,
    /// Rows of each codec.
    pub(crate) rows_of_codec: usize,
    /// Whether hg runs without the extension even where the user named one.
    pub(crate) is_plain_hg: bool,
}

impl<'a> Job<'a> {
    /// A job of unknown time, on all of history, with two rows besides one of each of `codecs`.
    pub(crate) fn new(what: impl Into<StatementValue>, work: Work, weight: u32, codecs: &'a [CodecSpec]) -> Self {
        Job {
            what: what.into(),
            work,
            codecs,
            commits: None,
            weight,
            one: Probe::Unknown,
            other_rows: 2,
            rows_of_codec: 1,
            is_plain_hg: false,
        }
    }

    /// A statement about the job.
    fn says(&self, id: &str) -> Statement {
        Statement::new(id).with("what", self.what.clone())
    }

    /// This job, one run of which takes `one`.
    pub(crate) fn taking(self, one: Probe) -> Self {
        Job { one, ..self }
    }

    /// This job on only the newest commits.
    pub(crate) fn of_newest(self, commits: u64) -> Self {
        Job { commits: Some(commits), ..self }
    }

    /// This job by hg without the extension.
    pub(crate) fn by_plain_hg(self) -> Self {
        Job { is_plain_hg: true, ..self }
    }

    /// This job with `other_rows` besides those of codecs, and `rows_of_codec` of each codec.
    pub(crate) fn with_rows(self, other_rows: usize, rows_of_codec: usize) -> Self {
        Job { other_rows, rows_of_codec, ..self }
    }
}

/// The measurement of one repository, and what it leaves out.
pub(crate) struct Measuring<'a> {
    pub(crate) context: &'a Context<'a>,
    /// The repository, or one derived from it.
    pub(crate) source: &'a Repository,
    /// The name that tables show.
    pub(crate) name: String,
    /// The codec that others are compared with.
    pub(crate) baseline: CodecSpec,
    /// Every run.
    pub(crate) records: Vec<Record>,
    /// What was left out, and why.
    pub(crate) left_out: Vec<StoredStatement>,
    /// Whether the user stopped it.
    pub(crate) is_interrupted: bool,
}

impl<'a> Measuring<'a> {
    pub(crate) fn new(context: &'a Context<'a>, source: &'a Repository, name: String, baseline: CodecSpec) -> Self {
        let (records, left_out) = (Vec::new(), Vec::new());
        Measuring { context, source, name, baseline, records, left_out, is_interrupted: false }
    }

    /// Measures as much of `job` as fits into its share.
    ///
    /// # Errors
    /// Errors that would stop every other job as well, such as a damaged repository.
    pub(crate) fn measure(&mut self, job: &Job<'_>, budget: &mut Budget<'_>) -> Result<(), ExperimentError> {
        if self.is_interrupted {
            return Ok(());
        }
        let share = budget.share(job.weight)?;
        let Some(extent) = self.extent(job, share) else { return Ok(()) };
        let plan = self.plan(job, extent, share);
        match self.context.bench(self.source, &self.name, &plan) {
            Ok(measured) => {
                self.left_out.extend(measured.failures.into_iter().map(StoredStatement::Text));
                self.is_interrupted = measured.is_interrupted;
                if !measured.is_interrupted {
                    self.left_out.extend(fewer_runs(&measured.records, extent.runs));
                }
                self.records.extend(measured.records);
                Ok(())
            }
            Err(error) => match *error {
                BenchError::Interrupted => {
                    self.is_interrupted = true;
                    Ok(())
                }
                // Other jobs need no such program, or no such codec.
                BenchError::Stock(_) | BenchError::Workload(WorkloadError::Refused { .. }) => {
                    self.left_out.push(job.says("left-out-failed").with("error", error.to_string()).into());
                    Ok(())
                }
                _ => Err(ExperimentError::Bench(error)),
            },
        }
    }

    /// The extent of `job` that fits; notes what does not.
    fn extent(&mut self, job: &Job<'_>, share: Option<Duration>) -> Option<Extent> {
        let wanted = Extent { codecs: job.codecs.len(), runs: self.context.options.runs.unwrap_or(DEFAULT_RUNS) };
        if share.is_some_and(|share| share.is_zero()) {
            self.left_out.push(job.says("left-out-budget-used").into());
            return None;
        }
        let Some(one) = job.one.time() else { return Some(wanted) };
        // Each codec may have several rows; the other rows are converted to that unit.
        let one_row = one.saturating_mul(u32::try_from(job.rows_of_codec).unwrap_or(1));
        let other_rows = job.other_rows.div_ceil(job.rows_of_codec.max(1));
        let fitting = safely_fitting(wanted, one_row, other_rows, share);
        let share = share.map_or(0.0, |share| share.as_secs_f64());
        let shortened = |id: &str| job.says(id).with("one", job.one.value()).with("share", Figure::seconds(share));
        match fitting {
            None => {
                let least = Extent { codecs: wanted.codecs.min(1), runs: 1 }.cost(one_row, other_rows);
                let least = Figure::seconds(least.as_secs_f64());
                self.left_out.push(shortened("left-out-too-long").with("least", least).into());
            }
            Some(extent) => {
                if extent.runs < wanted.runs {
                    let fewer = shortened("fewer-runs-planned").with("runs", Figure::count(extent.runs));
                    self.left_out.push(fewer.with("wanted", Figure::count(wanted.runs)).into());
                }
                let missing: Vec<String> =
                    job.codecs.iter().skip(extent.codecs).map(|codec| codec.to_string()).collect();
                if !missing.is_empty() {
                    self.left_out.push(shortened("without-codecs").with("codecs", missing).into());
                }
            }
        }
        fitting
    }

    fn plan(&self, job: &Job<'_>, extent: Extent, share: Option<Duration>) -> BenchPlan {
        let options = self.context.options;
        let (workloads, stock) = match &job.work {
            Work::Replays(workloads) => (workloads.clone(), None),
            Work::Commands(workloads) => {
                let stock = StockPlan {
                    git: options.git.clone().into(),
                    hg: options.hg.clone().into(),
                    hg_extension: options.hg_extension.clone().filter(|_| !job.is_plain_hg),
                    zlibs: Vec::new(),
                    features: Vec::new(),
                    caches: vec![Caches::Off],
                    workloads: workloads.clone(),
                    meter: options.meter.clone(),
                };
                (Vec::new(), Some(stock))
            }
        };
        let revision = options.revision.clone().unwrap_or_else(|| self.source.default_revision().to_owned());
        BenchPlan {
            codecs: job.codecs.iter().take(extent.codecs).cloned().collect(),
            baseline: self.baseline.clone(),
            layouts: Vec::new(),
            recomputer: None,
            harder: None,
            searches_if_fits: false,
            decoders: Vec::new(),
            workloads,
            stock,
            range: HistoryRange { revision, commits: job.commits, seed: 0 },
            blocks: Blocks::Exactly(extent.runs),
            time: share,
            is_fitted: false,
            min_run_time: options.min_run_time,
            delta_caches: Vec::new(),
            jobs: 1,
            is_cold: false,
            devices: Vec::new(),
            own_git: None,
            is_self_test: false,
            earlier: Vec::new(),
            seed: options.seed,
            threads: options.threads,
            command: options.command.clone(),
        }
    }
}

/// The extent of `wanted` that fits into `share` even if runs take longer than `one`, or else the one that fits if they do not.
fn safely_fitting(wanted: Extent, one: Duration, other_rows: usize, share: Option<Duration>) -> Option<Extent> {
    let safe = share.map(|share| share.div_f64(MARGIN));
    wanted.fitting(one, other_rows, safe).or_else(|| wanted.fitting(one, other_rows, share))
}

/// A statement for each workload whose runs took longer than predicted, so that there are fewer.
fn fewer_runs(records: &[Record], runs: u32) -> Vec<StoredStatement> {
    let mut blocks: BTreeMap<&WorkloadLabel, BTreeSet<u32>> = BTreeMap::new();
    for record in records {
        blocks.entry(&record.workload).or_default().insert(record.place.block);
    }
    let wanted = usize::try_from(runs).unwrap_or(usize::MAX);
    let fewer = blocks.into_iter().filter(|(_, blocks)| blocks.len() < wanted);
    fewer
        .map(|(workload, blocks)| {
            let fewer = Statement::new("fewer-runs").with("what", workload.to_string());
            fewer.with("runs", Figure::count(blocks.len())).with("wanted", Figure::count(runs)).into()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{blocks, words};

    #[test]
    fn extent_leaves_a_margin_for_longer_runs() {
        let (wanted, second) = (Extent { codecs: 3, runs: 6 }, Duration::from_secs(1));
        let fitting = |share: Duration| safely_fitting(wanted, second, 2, Some(share));
        let whole = wanted.cost(second, 2);
        let a_little = Duration::from_millis(1);
        assert_eq!(fitting(whole.mul_f64(MARGIN) + a_little), Some(wanted));
        assert_eq!(fitting(whole), Some(Extent { codecs: 2, runs: 6 }), "fewer codecs, and not fewer runs");
        let least = Extent { codecs: 1, runs: 1 };
        assert_eq!(fitting(least.cost(second, 2)), Some(least), "with no margin left");
        assert_eq!(fitting(second), None);
        assert_eq!(safely_fitting(wanted, second, 2, None), Some(wanted));
    }

    #[test]
    fn workloads_with_fewer_runs_are_named() {
        let mut records = blocks("traverse", "zlib:6", "zstd:3", 0.5);
        records.extend(blocks("encode", "zlib:6", "zstd:3", 0.5).into_iter().filter(|record| record.place.block < 2));
        let expected = "encode: 2 instead of 7 runs, because its share of the budget was used up.";
        assert_eq!(words(&fewer_runs(&records, 7)), [expected]);
        assert_eq!(fewer_runs(&records, 2), []);
    }
}
