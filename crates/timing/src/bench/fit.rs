//! Fits the work of a session to its time, and says beforehand what the time or the number of blocks is too small for.

use std::time::Duration;

use super::{
    context::BenchContext,
    jobs::{RowGroup, WorkloadJob},
    plan::deciding_blocks,
    rows::Row,
};
use crate::{
    BenchError,
    arms::stock::StockError,
    newest_commits::CommitTrials,
    session::{BASELINE, StopRule},
    workloads::{Counts, WorkloadSpec},
};

/// What a workload does before its first block, in blocks: the untimed pass, which also hashes, takes about two, trial
/// runs two, the warm-up of a replay one, and the replays of the baseline for the share of decoding two.
const BEFORE_FIRST_BLOCK: u32 = 7;

/// The part of the time that is kept for blocks that take longer than trial runs: one block too few decides nothing.
const KEPT: f64 = 0.2;

/// The part of an even share of a round that each job which reads commits has at least, however long others take. A
/// single commit says nothing about a history, least of all under a stock client, which first has to start.
const LEAST_OF_EVEN: f64 = 0.5;

/// How long a block of a job takes.
#[derive(Debug, Clone)]
pub(super) struct BlockCost {
    /// The name of the job.
    pub(super) name: String,
    /// The elapsed time of one block.
    pub(super) block: Duration,
}

impl BlockCost {
    /// How long the job takes with this many blocks.
    fn of(&self, blocks: u32) -> Duration {
        self.block.saturating_mul(blocks.saturating_add(BEFORE_FIRST_BLOCK))
    }
}

/// What is known of a job while its session is fitted.
struct JobFit {
    /// How long a block takes; `None` before the job is fitted.
    block: Option<Duration>,
    trials: CommitTrials,
}

impl JobFit {
    fn new(stored_commits: u64) -> Self {
        JobFit { block: None, trials: CommitTrials::new(stored_commits) }
    }
}

impl BenchContext<'_> {
    /// Limits jobs to the commits that the records of the session say that is continued. Jobs of one workload, replayed
    /// or not, and its floor keep the same limit, so that they can be compared.
    pub(super) fn keep_limits(&self, groups: &mut [RowGroup<'_>]) {
        let mut limits: Vec<(WorkloadSpec, Option<u64>)> = Vec::new();
        for job in groups.iter_mut().flat_map(|group| &mut group.jobs).filter(|job| job.is_limitable(self.plan)) {
            let record = self.plan.earlier.iter().find(|record| job.is_same_but_for_limit(&record.workload));
            if let (Some(record), Some(spec)) = (record, job.spec()) {
                limits.push((spec.clone(), record.workload.newest_commits()));
            }
        }
        for job in groups.iter_mut().flat_map(|group| &mut group.jobs).filter(|job| job.is_limitable(self.plan)) {
            if let Some((_, commits)) = limits.iter().find(|(spec, _)| job.spec() == Some(spec)) {
                job.limit_to(*commits);
                job.has_kept_limit = true;
            }
        }
    }

    /// Limits the jobs that read commits to the newest that fit, and the length of all runs, so that all jobs have
    /// `rule`'s fewest blocks by `end`. Each has an equal share of the time; what it does not need is for those that
    /// read commits, and what these do not need for those of them that do not read all. Returns what blocks cost then.
    ///
    /// # Errors
    /// A job cannot be run; those of stock clients fail when they are measured.
    pub(super) fn fit(
        &self,
        groups: &mut [RowGroup<'_>],
        end: Duration,
        rule: StopRule,
    ) -> Result<Vec<BlockCost>, BenchError> {
        let blocks = rule.min_blocks.saturating_add(BEFORE_FIRST_BLOCK).max(1);
        let round = end.saturating_sub(self.session().now()?).mul_f64(1.0 - KEPT) / blocks;
        let stored = self.commits.unwrap_or(u64::MAX);
        let jobs = || groups.iter().flat_map(|group| &group.jobs);
        let mut fits: Vec<JobFit> = jobs().map(|_| JobFit::new(stored)).collect();
        let is_limitable = |job: &WorkloadJob<'_>| job.is_limitable(self.plan);
        let is_limited =
            |job: &WorkloadJob<'_>| is_limitable(job) && !job.has_kept_limit && job.range.commits.is_some();
        self.fit_jobs(groups, &mut fits, round, |job| !is_limitable(job))?;
        self.fit_jobs(groups, &mut fits, round, is_limitable)?;
        self.fit_jobs(groups, &mut fits, round, is_limited)?;
        share_limits(self, groups);
        let names = groups.iter().flat_map(|group| &group.jobs).map(|job| job.label().name);
        Ok(names.zip(fits).map(|(name, fit)| BlockCost { name, block: fit.block.unwrap_or_default() }).collect())
    }

    /// Fits the jobs that `is_meant` into what the others leave of a `round`, which is a block of each job, and gives
    /// those that are not fitted yet equal shares of it, or [`LEAST_OF_EVEN`].
    fn fit_jobs(
        &self,
        groups: &mut [RowGroup<'_>],
        fits: &mut [JobFit],
        round: Duration,
        is_meant: impl Fn(&WorkloadJob<'_>) -> bool,
    ) -> Result<(), BenchError> {
        for (job, fit) in groups.iter().flat_map(|group| &group.jobs).zip(fits.iter_mut()) {
            fit.block = fit.block.filter(|_| !is_meant(job));
        }
        let fitted = fits.iter().filter_map(|fit| fit.block).fold(Duration::ZERO, Duration::saturating_add);
        let mut left = round.saturating_sub(fitted);
        let least = round.mul_f64(LEAST_OF_EVEN) / u32::try_from(fits.len()).unwrap_or(u32::MAX).max(1);
        let mut unfitted = fits.iter().filter(|fit| fit.block.is_none()).count();
        let mut fits = fits.iter_mut();
        for RowGroup { jobs, rows } in groups.iter_mut() {
            for (job, fit) in jobs.iter_mut().zip(fits.by_ref()) {
                if !is_meant(job) {
                    continue;
                }
                let share = left / u32::try_from(unfitted).unwrap_or(u32::MAX).max(1);
                let block = self.fit_job(job, rows, fit, share.max(least))?;
                left = left.saturating_sub(block);
                unfitted = unfitted.saturating_sub(1);
                fit.block = Some(block);
            }
        }
        Ok(())
    }

    /// Fits `job` into blocks of this length. Returns how long they are then.
    fn fit_job(
        &self,
        job: &mut WorkloadJob<'_>,
        rows: &mut [Row],
        fit: &mut JobFit,
        block: Duration,
    ) -> Result<Duration, BenchError> {
        let runs = rows.iter().filter(|row| job.is_for(row)).count() + 1;
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        job.longest_run = Some(block / runs);
        let took = match self.limit(job, rows, &mut fit.trials, block) {
            Err(BenchError::Stock(StockError::Failed { .. })) => Duration::ZERO,
            took => took?,
        };
        Ok(took.max(self.run_length(job).shortest().saturating_mul(runs)))
    }

    /// Limits `job` to the newest commits with which a block takes no longer than `block`. Returns how long a block
    /// takes then, if no run repeats the job.
    fn limit(
        &self,
        job: &mut WorkloadJob<'_>,
        rows: &mut [Row],
        trials: &mut CommitTrials,
        block: Duration,
    ) -> Result<Duration, BenchError> {
        // Cold runs take longer than trial runs, and the records of an earlier session have the lengths of its runs.
        if self.cold.is_some() || job.has_kept_limit {
            return Ok(Duration::ZERO);
        }
        if !job.is_limitable(self.plan) {
            return self.trial_of_baseline(job, rows);
        }
        let newest = trials.newest_that_fit(block, |limit| {
            job.limit_to(limit);
            self.trial_of_block(job, rows)
        })?;
        job.limit_to(newest.limit);
        Ok(newest.took)
    }

    /// How long one job takes on each row, and on the baseline twice, and what the last one counted.
    fn trial_of_block(&self, job: &mut WorkloadJob<'_>, rows: &mut [Row]) -> Result<(Duration, Counts), BenchError> {
        let (mut sum, mut counts) = (Duration::ZERO, Counts::new());
        for (number, row) in rows.iter_mut().enumerate() {
            if !job.is_for(row) {
                continue;
            }
            let (took, seen) = self.trial(job, row)?;
            sum = sum.saturating_add(took.saturating_mul(if number == BASELINE { 2 } else { 1 }));
            counts = seen;
        }
        Ok((sum, counts))
    }

    /// How long a block takes if one job takes as long on each row as on the baseline.
    fn trial_of_baseline(&self, job: &mut WorkloadJob<'_>, rows: &mut [Row]) -> Result<Duration, BenchError> {
        let runs = rows.iter().filter(|row| job.is_for(row)).count() + 1;
        let Some(row) = rows.iter_mut().find(|row| job.is_for(row)) else { return Ok(Duration::ZERO) };
        Ok(self.trial(job, row)?.0.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX)))
    }

    fn trial(&self, job: &mut WorkloadJob<'_>, row: &mut Row) -> Result<(Duration, Counts), BenchError> {
        self.session().go_on()?;
        let began = self.session().now()?;
        let run = self.run_unchecked(job, row, None)?;
        let counts = run.counts.into_iter().next().unwrap_or_default();
        Ok((self.session().now()?.saturating_sub(began), counts))
    }
}

/// Notes how `groups` were limited to fit `time`, and which jobs do not fit with `rule`'s fewest blocks.
pub(super) fn note(
    context: &BenchContext<'_>,
    groups: &[RowGroup<'_>],
    costs: &[BlockCost],
    rule: StopRule,
    time: Duration,
) {
    let mut limits: Vec<String> = Vec::new();
    for job in groups.iter().flat_map(|group| &group.jobs).filter(|job| job.is_limitable(context.plan)) {
        let Some(commits) = job.range.commits else { continue };
        let limit = format!("{} reads the newest {commits}", job.label().name);
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    if let Some(stored) = context.commits.filter(|_| !limits.is_empty()) {
        let limits = limits.join(", ");
        context.progress.note(&format!("{limits} of {stored} commits, which fit {}; --precise reads all", typed(time)));
    }
    if let Some(why) = too_little_time(costs, rule, time) {
        context.progress.note(&why);
    }
}

/// Gives the jobs of one workload, replayed or not, and its floor the smallest limit of them, so that they can be
/// compared.
fn share_limits(context: &BenchContext<'_>, groups: &mut [RowGroup<'_>]) {
    let jobs = || groups.iter().flat_map(|group| &group.jobs).filter(|job| job.is_limitable(context.plan));
    let limits: Vec<(WorkloadSpec, u64)> =
        jobs().filter_map(|job| Some((job.spec()?.clone(), job.range.commits?))).collect();
    for job in groups.iter_mut().flat_map(|group| &mut group.jobs).filter(|job| job.is_limitable(context.plan)) {
        let of_spec = limits.iter().filter(|(spec, _)| job.spec() == Some(spec));
        if let Some(least) = of_spec.map(|(_, commits)| *commits).min() {
            job.limit_to(Some(least));
        }
    }
}

/// Why `rule` cannot decide each of this many ratios, whatever they are; `None` if it can.
pub(super) fn too_few_blocks(rule: StopRule, ratios: usize) -> Option<String> {
    let needed = deciding_blocks(ratios);
    let blocks = rule.max_blocks;
    (ratios > 0 && blocks < needed).then(|| {
        let (blocks, ratios) = (counted(u64::from(blocks), "block"), counted(ratios as u64, "ratio"));
        format!("{blocks} cannot decide {ratios}: {needed} are needed")
    })
}

/// Why jobs that cost this much do not get `rule`'s fewest blocks in `time`; `None` if they do.
pub(super) fn too_little_time(costs: &[BlockCost], rule: StopRule, time: Duration) -> Option<String> {
    let needed = costs.iter().map(|cost| cost.of(rule.min_blocks)).fold(Duration::ZERO, Duration::saturating_add);
    if needed <= time {
        return None;
    }
    let share = time / u32::try_from(costs.len()).unwrap_or(u32::MAX).max(1);
    let mut long: Vec<&str> = Vec::new();
    for cost in costs.iter().filter(|cost| cost.of(rule.min_blocks) > share) {
        if !long.contains(&cost.name.as_str()) {
            long.push(&cost.name);
        }
    }
    Some(format!(
        "{} may be too short for {} of {}: --time {} or --precise gives each of them that many",
        typed(time),
        counted(u64::from(rule.min_blocks), "block"),
        long.join(", "),
        typed(rounded_up(needed)),
    ))
}

/// The number with its noun.
fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// At least `time`, in a length that people would type.
fn rounded_up(time: Duration) -> Duration {
    let unit = match time.as_secs() {
        ..120 => 10,
        120..3600 => 60,
        _ => 600,
    };
    Duration::from_secs(time.as_secs().saturating_add(1).div_ceil(unit).saturating_mul(unit))
}

/// A duration as `--time` takes it.
fn typed(time: Duration) -> String {
    let milliseconds = time.as_millis();
    match (milliseconds % 1000, milliseconds / 1000) {
        (0, seconds) if seconds % 60 == 0 && seconds >= 120 => format!("{}m", seconds / 60),
        (0, seconds) => format!("{seconds}s"),
        _ => format!("{milliseconds}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_blocks_are_named_with_the_number_needed() {
        let of = |blocks, ratios| too_few_blocks(StopRule::exactly(blocks), ratios);
        assert_eq!(of(6, 12).as_deref(), Some("6 blocks cannot decide 12 ratios: 9 are needed"));
        assert_eq!(of(1, 1).as_deref(), Some("1 block cannot decide 1 ratio: 6 are needed"));
        assert_eq!((of(9, 12), of(6, 1), of(1, 0)), (None, None, None));
        let adaptive = StopRule { min_blocks: 6, max_blocks: 40, precision: 0.01 };
        assert_eq!(too_few_blocks(adaptive, 12), None, "it may go on");
    }

    /// The number is that of the verdicts: with one block fewer, even blocks that all agree decide nothing.
    #[test]
    fn needed_blocks_are_those_that_verdicts_take() {
        use repackbench_analysis::compare_records;
        use repackbench_records::{Role, Verdict, fixtures::record};
        let rows = 12;
        let decided = |blocks: u32| {
            let mut records = Vec::new();
            for block in 0..blocks {
                for role in [Role::Baseline, Role::BaselineAgain] {
                    records.push(record("traverse", role, 0, block, 1_000_000));
                }
                records.extend((1..=rows).map(|row| record("traverse", Role::Candidate, row, block, 500_000)));
            }
            let rows = compare_records(&records).remove(0).rows;
            rows.iter().filter(|row| row.verdict == Some(Verdict::Faster)).count()
        };
        let needed = deciding_blocks(rows as usize);
        assert_eq!((decided(needed), decided(needed - 1)), (rows as usize, 0));
    }

    #[test]
    fn short_time_is_named_with_the_time_needed() {
        let cost = |name: &str, ms| BlockCost { name: name.to_owned(), block: Duration::from_millis(ms) };
        let rule = StopRule { min_blocks: 6, max_blocks: 40, precision: 0.01 };
        let of = |costs: &[BlockCost], seconds| too_little_time(costs, rule, Duration::from_secs(seconds));
        let costs = [cost("traverse", 500), cost("cat-all", 7000)];
        assert_eq!(of(&costs, 100), None, "6 and 84 seconds");
        let expected =
            "60s may be too short for 6 blocks of cat-all: --time 100s or --precise gives each of them that many";
        assert_eq!(of(&costs, 60).as_deref(), Some(expected));
        assert_eq!(typed(rounded_up(Duration::from_secs(150))), "3m");
        assert_eq!(typed(Duration::from_millis(1500)), "1500ms");
    }
}
