//! Measures workloads on the variants of a repository.
//!
//! First each job runs once on every row without a clock: all rows have to see the same, and the files that they read
//! are in the page cache afterwards. Then come the blocks; see `METHODOLOGY.md`.
//!
//! - `plan`: what to measure;
//! - `rows`, `decoders`: the variants as this program reads them; `stock_rows`: the same as git or hg read them;
//! - `jobs`: what the rows do;
//! - `content`: the untimed pass; `runs`: timed runs, a record each;
//! - `cold_copies`: the copies that cold runs read;
//! - `resume`: the records of a session that is continued.
//!
//! What an arm does in a run is in [`crate::arms`].

mod cold_copies;
mod content;
mod context;
mod decoders;
mod host;
mod jobs;
mod plan;
mod removals;
mod resume;
mod rows;
mod runs;
mod stock_rows;

use std::{collections::BTreeSet, io};

use repackbench_analysis::{compare_records, widest_half_width};
use repackbench_reader::Repository;
use repackbench_records::{Record, RepositoryState};
use repackbench_writer::{Progress, ProgressUnit, cache::Cache, fingerprint};

use self::{
    cold_copies::RowCopies,
    content::Reference,
    context::BenchContext,
    jobs::{RowGroup, WorkloadJob},
    resume::Earlier,
    rows::Row,
    stock_rows::StockClients,
};
pub use self::{
    plan::{BenchPlan, Blocks},
    resume::MAX_BLOCKS,
};
use crate::{
    BenchError,
    arms::stock::StockError,
    clock::{Clock, unix_ms},
    record_names::vcs_of,
    session::{Arms, Budget, Schedule, Slot, StopRule, TimeLimit, Turn},
};

/// What a benchmark has measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// One record for each run, including those of the session that it continued.
    pub records: Vec<Record>,
    /// Whether the user stopped it before its end.
    pub is_interrupted: bool,
    /// Jobs that a client of the user's own could not do, and why. They were left out, and others were done.
    pub failures: Vec<String>,
}

/// Receives each record when it is measured.
pub trait Recorder {
    /// Before the first run: the records of an earlier session that are still good. All others are dropped.
    ///
    /// # Errors
    /// What stops the benchmark.
    fn keep(&mut self, earlier: &[Record]) -> io::Result<()>;

    /// A run was made.
    ///
    /// # Errors
    /// What stops the benchmark.
    fn record(&mut self, record: &Record) -> io::Result<()>;
}

/// Carries `plan` out on `source`, which tables call `name`. Each record goes to `recorder` as soon as it exists. All
/// are returned as well, even if the user stops the benchmark once runs are timed.
///
/// # Errors
/// See [`BenchError`]; it is [`ReaderError::Changed`](repackbench_reader::ReaderError::Changed) if the source changed
/// meanwhile.
pub fn bench(
    source: &Repository,
    name: &str,
    plan: &BenchPlan,
    cache: &Cache,
    clock: &(dyn Clock + Sync),
    progress: &dyn Progress,
    recorder: &mut dyn Recorder,
) -> Result<Measured, BenchError> {
    let snapshot = source.snapshot()?;
    plan.check(source)?;
    let mut as_found = rows::as_found(source, plan)?;
    // Before variants are made: a misspelt revision or decoder should not cost the time that they take.
    rows::check_decoders(source, plan, &as_found)?;
    let repository = state(source, name, plan, as_found.first_mut())?;
    let clients = plan.stock.as_ref().map(|stock| StockClients::new(stock, source, cache)).transpose()?;
    let rows = rows::all(source, as_found, plan, cache, progress)?;
    let cold = if plan.is_cold { Some(RowCopies::new(plan, &rows, cache, progress)?) } else { None };
    let began_unix_ms = plan.earlier.first().map_or_else(unix_ms, |record| record.place.session);
    let host = host::host(source, cache);
    removals::warn(plan, vcs_of(source), &host, progress);
    let context = BenchContext { plan, clock, progress, host, repository, began_unix_ms, cold };
    let commands = match &clients {
        Some(clients) => Some(clients.group(&context, &rows)?),
        None => None,
    };
    let replays = RowGroup { jobs: plan.workloads.iter().map(|spec| WorkloadJob::replay(spec, plan)).collect(), rows };
    // A group without jobs is kept: the rows of the other one read its variants.
    let mut groups: Vec<RowGroup<'_>> = std::iter::once(replays).chain(commands).collect();
    let earlier = earlier_of(&context, &groups)?;
    let kept: Vec<Record> = earlier.iter().flat_map(Earlier::records).cloned().collect();
    recorder.keep(&kept).map_err(|source| BenchError::Io { action: "write a record", source })?;
    let rows: Vec<usize> = groups.iter().flat_map(RowGroup::rows_of_jobs).collect();
    let mut pace = Pace::new(plan, &rows, clock)?;
    let mut measured = Measured::default();
    for (group, earlier) in groups.iter_mut().zip(&earlier) {
        measure_group(&context, group, earlier, &mut pace, &mut measured, recorder)?;
    }
    snapshot.check()?;
    Ok(measured)
}

/// The records of the earlier session that belong to each group.
fn earlier_of(context: &BenchContext<'_>, groups: &[RowGroup<'_>]) -> Result<Vec<Earlier>, BenchError> {
    let with_jobs = groups.iter().filter(|group| !group.jobs.is_empty()).count();
    let of_group = |group: &RowGroup<'_>| {
        let is_stock = group.rows.iter().any(|row| row.stock.is_some());
        // If only one group has jobs, a record of the other is an error.
        let is_its = |record: &Record| match with_jobs {
            1 => !group.jobs.is_empty(),
            _ => record.variant.client.is_some() == is_stock,
        };
        Earlier::new(context, group, is_its)
    };
    groups.iter().map(of_group).collect()
}

/// Does all jobs of a group, unless the user has stopped the benchmark.
fn measure_group(
    context: &BenchContext<'_>,
    group: &mut RowGroup<'_>,
    earlier: &Earlier,
    pace: &mut Pace<'_>,
    measured: &mut Measured,
    recorder: &mut dyn Recorder,
) -> Result<(), BenchError> {
    for job in &mut group.jobs {
        if measured.is_interrupted {
            break;
        }
        let mut records = earlier.of(&job.label());
        let result = measure_workload(context, job, &mut group.rows, pace, &mut records, recorder);
        context.progress.finish();
        measured.records.append(&mut records);
        match result {
            // What was measured before is still good. Jobs that never started do not count as failures.
            Err(BenchError::Interrupted) => measured.is_interrupted = true,
            // A client that cannot do one job may do the others.
            Err(BenchError::Stock(error @ StockError::Failed { .. })) => {
                measured.failures.push(format!("{}: {error}", job.label()));
            }
            result => result?,
        }
    }
    Ok(())
}

/// Runs a job in random blocks until there are enough. `records` holds those of an earlier session, and all of them at
/// the end.
fn measure_workload(
    context: &BenchContext<'_>,
    job: &mut WorkloadJob<'_>,
    rows: &mut [Row],
    pace: &mut Pace<'_>,
    records: &mut Vec<Record>,
    recorder: &mut dyn Recorder,
) -> Result<(), BenchError> {
    let limit = pace.next_limit()?;
    let done: BTreeSet<u32> = records.iter().map(|record| record.place.block).collect();
    if (0_u32..).zip(&done).all(|(number, block)| number == *block) && pace.is_done(done.len(), records) {
        return Ok(());
    }
    let reference = context.check_content(job, rows)?;
    let iterations = match records.iter().map(|record| record.iterations).max() {
        // Runs of fewer jobs would be noisier than the earlier ones. Only those of slow rows are made of fewer, and
        // need no more.
        Some(iterations) => iterations.max(1),
        None => context.calibrate(job, rows, &reference)?,
    };
    let schedule = Schedule::new(rows.len(), pace.rule.max_blocks, context.plan.seed);
    context.progress.start(&format!("timing {}", job.label()), schedule.turns(), ProgressUnit::Items);
    let mut arms = WorkloadRows { context, job, rows, pace, reference, iterations, done, records, recorder };
    context.session().run(schedule, limit, &mut arms)?;
    Ok(())
}

/// The rows of a workload as arms. Rows that do not do the job are skipped, and so are blocks of the earlier session.
struct WorkloadRows<'a, 'j> {
    context: &'a BenchContext<'a>,
    job: &'a mut WorkloadJob<'j>,
    rows: &'a mut [Row],
    pace: &'a Pace<'a>,
    reference: Reference,
    /// How many times a run does the job.
    iterations: u32,
    /// The blocks that the earlier session has measured.
    done: BTreeSet<u32>,
    records: &'a mut Vec<Record>,
    recorder: &'a mut dyn Recorder,
}

impl WorkloadRows<'_, '_> {
    /// Runs the row of a turn; `None` if it does not do the job.
    fn run_row(&mut self, turn: Turn) -> Result<Option<Record>, BenchError> {
        let row = self.rows.get_mut(turn.slot.variant()).filter(|row| self.job.is_for(row));
        row.map(|row| self.context.run(self.job, row, turn, &self.reference, self.iterations)).transpose()
    }
}

impl Arms for WorkloadRows<'_, '_> {
    type Error = BenchError;

    fn warm_up(&mut self, slot: Slot) -> Result<(), BenchError> {
        self.run_row(Turn { block: 0, position: 0, slot }).map(drop)
    }

    fn run(&mut self, turn: Turn) -> Result<(), BenchError> {
        if self.done.contains(&turn.block) {
            return Ok(());
        }
        let Some(record) = self.run_row(turn)? else { return Ok(()) };
        self.recorder.record(&record).map_err(|source| BenchError::Io { action: "write a record", source })?;
        self.records.push(record);
        Ok(())
    }

    fn is_enough(&mut self, blocks: u32) -> Result<bool, BenchError> {
        Ok(self.pace.is_done(blocks as usize, self.records))
    }
}

/// When enough was measured.
struct Pace<'a> {
    rule: StopRule,
    /// The time for all workloads.
    budget: Budget<'a>,
}

impl<'a> Pace<'a> {
    /// For workloads with these numbers of rows.
    fn new(plan: &BenchPlan, rows: &[usize], clock: &'a dyn Clock) -> Result<Self, BenchError> {
        let ratios = rows.iter().map(|rows| rows.saturating_sub(1)).sum();
        let workloads = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        Ok(Pace { rule: plan.blocks.rule(ratios), budget: Budget::new(clock, plan.time, workloads)? })
    }

    /// Gives the next workload its share of the time that is left.
    fn next_limit(&mut self) -> Result<Option<TimeLimit>, BenchError> {
        Ok(self.budget.share_end(1)?.map(TimeLimit::BlocksBegin))
    }

    /// Whether `blocks` blocks of a workload are enough for the precision that its `records` show.
    fn is_done(&self, blocks: usize, records: &[Record]) -> bool {
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        let comparisons = if self.rule.needs_precision(blocks) { compare_records(records) } else { Vec::new() };
        self.rule.is_done(blocks, comparisons.first().and_then(widest_half_width))
    }
}

/// What is known of the repository as a whole.
fn state(
    source: &Repository,
    name: &str,
    plan: &BenchPlan,
    as_found: Option<&mut Row>,
) -> Result<RepositoryState, BenchError> {
    let mut state = RepositoryState {
        name: name.to_owned(),
        fingerprint: fingerprint(source)?.to_string(),
        vcs: Some(vcs_of(source)),
        ..RepositoryState::default()
    };
    let Some(as_found) = as_found else { return Ok(state) };
    state.objects = Some(as_found.size.objects.sum().entries);
    state.bytes = Some(as_found.size.total_bytes);
    if let Some(history) = as_found.histories.first_mut() {
        // A repository without a commit has none, which only matters to jobs that start from it.
        state.tip = history.resolve(source.default_revision()).ok().map(|id| id.to_string());
        if plan.needs_revision() {
            state.head = Some(history.resolve(&plan.range.revision)?.to_string());
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::tests::SetClock;

    #[test]
    fn workloads_share_the_time_that_is_left() {
        let clock = SetClock::at(0);
        let limit = |seconds| Some(TimeLimit::BlocksBegin(Duration::from_secs(seconds)));
        let pace = |time| {
            let budget = Budget::new(&clock, time, 2).unwrap();
            Pace { rule: StopRule::exactly(9), budget }
        };
        let mut limited = pace(Some(Duration::from_secs(100)));
        clock.set(40);
        assert_eq!(limited.next_limit().unwrap(), limit(70));
        clock.set(60);
        assert_eq!(limited.next_limit().unwrap(), limit(100));
        assert_eq!(pace(None).next_limit().unwrap(), None);
    }
}
