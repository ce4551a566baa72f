//! Measures workloads on the variants of a repository.
//!
//! Every variant is first run once without a clock: the digests of what it saw must agree, and the files it reads are in
//! the page cache afterwards. Then come the blocks; see `METHODOLOGY.md`.

mod cold;
mod copies;
mod decoders;
mod job_run;
mod removals;
mod resume;
mod rows;
mod runs;
mod software;
mod start;
mod stock;

use std::{collections::BTreeSet, io, time::Duration};

use repackbench_analysis::{blocks_for_verdicts, compare_records, widest_half_width};
use repackbench_codec::{CodecSpec, DecoderChoice};
use repackbench_reader::{DEFAULT_DELTA_CACHE, Repository};
use repackbench_records::{Record, RepositoryState};
use repackbench_writer::{DeltaRecomputer, Layout, Progress, ProgressUnit, StoreKind, cache::Cache, fingerprint};

pub use self::resume::MAX_BLOCKS;
use self::{
    cold::ColdRuns,
    resume::{Earlier, PlannedJob},
    rows::Subject,
    runs::{Job, Reference, Session},
};
use crate::{
    BenchError,
    arms::stock::{StockError, StockPlan},
    clock::{Clock, unix_ms},
    record_names::vcs_of,
    session::{Arms, Budget, Schedule, Slot, StopRule, TimeLimit, Turn},
    trace::Device,
    workloads::{HistoryRange, WorkloadError, WorkloadSpec},
};

/// The fewest blocks that give an interval.
const BLOCKS_FOR_INTERVALS: u32 = 6;

/// How many times each variant does each job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Blocks {
    /// A fixed number of times.
    Exactly(u32),
    /// Until every ratio is known precisely enough.
    UntilPrecise {
        /// No fewer times than these; `None` for as many as verdicts on all ratios of the session take.
        min: Option<u32>,
        /// No more times than these.
        max: u32,
        /// Half of the widest interval that is precise enough, as a part of 1.
        precision: f64,
    },
}

impl Blocks {
    /// The rule for a session with this many ratios.
    fn rule(self, cells: usize) -> StopRule {
        match self {
            Blocks::Exactly(blocks) => StopRule::exactly(blocks),
            Blocks::UntilPrecise { min, max, precision } => {
                let min = min.unwrap_or_else(|| BLOCKS_FOR_INTERVALS.max(blocks_for_verdicts(cells)));
                StopRule { min_blocks: min.min(max), max_blocks: max, precision: precision.ln_1p() }
            }
        }
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// The codecs to measure, in the order of the table. One that means the same as another before it, or as the
    /// baseline, is measured once.
    pub codecs: Vec<CodecSpec>,
    /// The codec that the others are compared with.
    pub baseline: CodecSpec,
    /// How variants lie on disk: each codec in each of them, the first of which is the baseline's. None for the layout of the source
    /// alone.
    pub layouts: Vec<Layout>,
    /// Who chooses the deltas of a second variant of each codec; none for the source's deltas alone.
    pub recomputer: Option<DeltaRecomputer>,
    /// Other implementations that read variants once more, a row for each variant that has chunks for one.
    pub decoders: Vec<DecoderChoice>,
    /// The jobs that are replayed in-process. None if the user's own client does them all.
    pub workloads: Vec<WorkloadSpec>,
    /// The jobs that the user's own client does; `None` if it does none.
    pub stock: Option<StockPlan>,
    /// The revision that checkout and diff start from, and how far diff goes.
    pub range: HistoryRange,
    /// How many times each variant does each job.
    pub blocks: Blocks,
    /// How long runs may go on: no block is begun later. Each workload gets its share; making variants does not count.
    pub time: Option<Duration>,
    /// How long a run lasts at least: the job is repeated within it. `None` for what the compared time takes to be exact.
    pub min_run_time: Option<Duration>,
    /// The limits of the cache of delta bases, in bytes, `None` for no limit: the first for all rows, each further one for one more
    /// row of each variant. Empty for the default.
    pub delta_caches: Vec<Option<u64>>,
    /// How many copies of a job run at once, each in its own thread.
    pub jobs: u32,
    /// Whether each run reads a copy of its own that is not in the page cache.
    pub is_cold: bool,
    /// The devices to model a cold start on, for workloads that have an access trace.
    pub devices: Vec<Device>,
    /// Whether to measure the baseline under several names, and nothing else.
    pub is_self_test: bool,
    /// The records of a session that was stopped and that this one goes on with.
    pub earlier: Vec<Record>,
    /// The seed of the random order.
    pub seed: u64,
    /// Threads for making variants.
    pub threads: usize,
    /// The command that asked for it, as a shell reads it.
    pub command: Option<String>,
}

impl BenchPlan {
    /// The codecs of the variants of `source`: the baseline first, then the reference, and no meaning twice, however it was
    /// typed.
    fn specs(&self, source: &Repository) -> Vec<CodecSpec> {
        let mut specs = Vec::new();
        for spec in std::iter::once(&self.baseline).chain(&second_reference(source)).chain(&self.codecs) {
            let spec = match source {
                Repository::Git(_) => spec.clone(),
                Repository::Hg(_) => spec.for_revlogs(),
            };
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        specs
    }

    /// How variants lie on disk.
    fn layouts(&self) -> Vec<Layout> {
        if self.layouts.is_empty() { vec![Layout::default()] } else { self.layouts.clone() }
    }

    /// Refuses what would be measured wrongly.
    fn check(&self, source: &Repository) -> Result<(), BenchError> {
        let refused = |why: String| Err(WorkloadError::Refused { why }.into());
        for spec in self.specs(source) {
            for layout in self.layouts() {
                layout.check(source, &spec)?;
                if self.recomputer.is_some() {
                    layout.check_recomputed(&spec)?;
                }
            }
        }
        if self.stock.is_some() {
            stock::check(self, source)?;
        }
        // The others make what they need anew in each copy, which would be in the time.
        if let Some(workload) = self.workloads.iter().find(|workload| self.jobs > 1 && !workload.is_traced()) {
            return refused(format!("{workload} cannot run as several jobs at once"));
        }
        check_payloads(&self.workloads, &self.layouts()).or_else(refused)?;
        if self.is_cold && !self.earlier.is_empty() {
            // New copies lie in other places of the disk, which the statistics would take for the old ones.
            return refused("a session of cold runs cannot go on: its copies are gone".to_owned());
        }
        Ok(())
    }

    /// The limit for all rows, and those that make more rows.
    fn delta_caches(&self) -> (Option<u64>, &[Option<u64>]) {
        self.delta_caches.split_first().map_or((Some(DEFAULT_DELTA_CACHE), &[]), |(first, others)| (*first, others))
    }

    /// The workloads for which further limits of the cache of delta bases make no rows, if there are further limits.
    pub fn without_cache_rows(&self) -> impl Iterator<Item = &WorkloadSpec> {
        let has_more = self.delta_caches.len() > 1;
        self.workloads.iter().filter(move |workload| has_more && !workload.uses_delta_cache())
    }

    /// Whether some job starts from [`Self::range`]'s revision. A traversal starts from all refs.
    fn needs_revision(&self) -> bool {
        let stock = self.stock.iter().flat_map(|stock| &stock.workloads);
        self.workloads.iter().any(WorkloadSpec::needs_revision)
            || stock.into_iter().any(|workload| workload.needs_revision())
    }
}

/// Refuses to compare how fast payloads are compressed where they are not the same ones: other stores hold whole objects, each once, in
/// place of deltas.
fn check_payloads(workloads: &[WorkloadSpec], layouts: &[Layout]) -> Result<(), String> {
    let Some(workload) = workloads.iter().find(|workload| workload.compresses_stored_payloads()) else { return Ok(()) };
    let Some(layout) = layouts.iter().find(|layout| layout.store != StoreKind::AsFound) else { return Ok(()) };
    Err(format!(
        "{workload} compares how the same payloads are compressed, and --store {} holds others: expected --store pack alone, or no {workload}",
        layout.store
    ))
}

/// What hg itself writes today, if `source` is Mercurial's: a row beside the baseline.
fn second_reference(source: &Repository) -> Option<CodecSpec> {
    match source {
        Repository::Git(_) => None,
        Repository::Hg(_) => "zstd:3".parse().ok(),
    }
}

/// What a benchmark has measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// One record for each run, those of the session that it went on with among them.
    pub records: Vec<Record>,
    /// Whether the user stopped it before its end.
    pub is_interrupted: bool,
    /// Jobs that a client of the user's own could not do, and why: left out, where others were done.
    pub failures: Vec<String>,
}

/// Told of records as they come to be.
pub trait Recorder {
    /// Before the first run: the records of an earlier session that are still good. Others are not to be kept.
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

/// Carries `plan` out on `source`, which tables call `name`. Every record is handed to `recorder` as soon as it is
/// there, and all of them are returned, also if the user stops the benchmark once runs are timed.
///
/// # Errors
/// See [`BenchError`]; [`ReaderError::Changed`](repackbench_reader::ReaderError::Changed) in it when the source changed meanwhile.
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
    // Before variants are made: a misspelt revision or decoder should not cost the time that those take.
    rows::check_decoders(source, plan, &as_found)?;
    let repository = state(source, name, plan, as_found.first_mut())?;
    let stock = plan.stock.as_ref().map(|stock| stock::StockPart::new(stock, source, cache)).transpose()?;
    let subjects = rows::subjects(source, as_found, plan, cache, progress)?;
    let cold = if plan.is_cold { Some(ColdRuns::new(plan, &subjects, cache, progress)?) } else { None };
    let began_unix_ms = plan.earlier.first().map_or_else(unix_ms, |record| record.place.session);
    let host = software::host(source, cache);
    removals::warn(plan, vcs_of(source), &host, progress);
    let session = Session { plan, clock, progress, host, repository, began_unix_ms, cold };
    let commands = match &stock {
        Some(stock) => Some(stock.part(&session, &subjects)?),
        None => None,
    };
    let replays = Part { jobs: plan.workloads.iter().map(|spec| Job::new(spec, plan)).collect(), subjects };
    // Variants of a part without jobs are kept: the other one's rows read them.
    let mut parts: Vec<Part<'_>> = std::iter::once(replays).chain(commands).collect();
    let earlier = earlier_of(&session, &parts)?;
    let kept: Vec<Record> = earlier.iter().flat_map(Earlier::records).cloned().collect();
    recorder.keep(&kept).map_err(|source| BenchError::Io { action: "write a record", source })?;
    let rows: Vec<usize> = parts.iter().flat_map(Part::rows).collect();
    let mut pace = Pace::new(plan, &rows, clock)?;
    let mut measured = Measured::default();
    for (part, earlier) in parts.iter_mut().zip(&earlier) {
        measure_part(&session, part, earlier, &mut pace, &mut measured, recorder)?;
    }
    snapshot.check()?;
    Ok(measured)
}

/// Rows with a baseline of their own, and what they do: in-process, or by commands.
struct Part<'a> {
    jobs: Vec<Job<'a>>,
    subjects: Vec<Subject>,
}

impl Part<'_> {
    /// How many rows each job has.
    fn rows(&self) -> Vec<usize> {
        let rows = |job: &Job<'_>| self.subjects.iter().filter(|subject| job.is_for(subject)).count();
        self.jobs.iter().map(rows).collect()
    }

    fn planned_jobs(&self) -> Vec<PlannedJob> {
        self.jobs.iter().map(|job| (job.label(), job.compared_time())).collect()
    }
}

/// What of an earlier session each part goes on with.
fn earlier_of(session: &Session<'_>, parts: &[Part<'_>]) -> Result<Vec<Earlier>, BenchError> {
    let at_work = parts.iter().filter(|part| !part.jobs.is_empty()).count();
    let of_part = |part: &Part<'_>| {
        let is_stock = part.subjects.iter().any(|subject| subject.stock.is_some());
        // Where there is one part only, a record of the other is an error.
        let is_its = |record: &Record| match at_work {
            1 => !part.jobs.is_empty(),
            _ => record.variant.client.is_some() == is_stock,
        };
        Earlier::new(session, &part.subjects, &part.planned_jobs(), &part.rows(), is_its)
    };
    parts.iter().map(of_part).collect()
}

/// Does all jobs of a part, unless the user has stopped the benchmark.
fn measure_part(
    session: &Session<'_>,
    part: &mut Part<'_>,
    earlier: &Earlier,
    pace: &mut Pace<'_>,
    measured: &mut Measured,
    recorder: &mut dyn Recorder,
) -> Result<(), BenchError> {
    for job in &mut part.jobs {
        if measured.is_interrupted {
            break;
        }
        let mut records = earlier.of(&job.label());
        let result = measure_workload(session, job, &mut part.subjects, pace, &mut records, recorder);
        session.progress.finish();
        measured.records.append(&mut records);
        match result {
            // What was measured is worth something; what was not even begun is no failure.
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

/// Runs a job in random blocks until there are enough. `records` holds those of an earlier session, and all of them at the end.
fn measure_workload(
    session: &Session<'_>,
    job: &mut Job<'_>,
    subjects: &mut [Subject],
    pace: &mut Pace<'_>,
    records: &mut Vec<Record>,
    recorder: &mut dyn Recorder,
) -> Result<(), BenchError> {
    let limit = pace.next_limit()?;
    let done: BTreeSet<u32> = records.iter().map(|record| record.place.block).collect();
    if (0_u32..).zip(&done).all(|(number, block)| number == *block) && pace.is_done(done.len(), records) {
        return Ok(());
    }
    let mut reference = session.check_content(job, subjects)?;
    reference.iterations = match records.iter().map(|record| record.iterations).max() {
        // Runs that are made up of fewer jobs would be noisier than those that are there; those of slow rows are, and need no more.
        Some(iterations) => iterations.max(1),
        None => session.calibrate(job, subjects, &reference)?,
    };
    let schedule = Schedule::new(subjects.len(), pace.rule.max_blocks, session.plan.seed);
    session.progress.start(&format!("timing {}", job.label()), schedule.turns(), ProgressUnit::Items);
    let mut rows = WorkloadRows { session, job, subjects, pace, reference: &reference, done, records, recorder };
    session.rounds().run(schedule, limit, &mut rows)?;
    Ok(())
}

/// The rows of a workload as arms: a row that does not do the job, and a block of the session before, are skipped.
struct WorkloadRows<'a, 'j> {
    session: &'a Session<'a>,
    job: &'a mut Job<'j>,
    subjects: &'a mut [Subject],
    pace: &'a Pace<'a>,
    reference: &'a Reference,
    /// The blocks that the session before has measured.
    done: BTreeSet<u32>,
    records: &'a mut Vec<Record>,
    recorder: &'a mut dyn Recorder,
}

impl WorkloadRows<'_, '_> {
    /// Runs the row of a turn; `None` if it does not do the job.
    fn run_row(&mut self, turn: Turn) -> Result<Option<Record>, BenchError> {
        let subject = self.subjects.get_mut(turn.slot.variant()).filter(|subject| self.job.is_for(subject));
        subject.map(|subject| self.session.run(self.job, subject, turn, self.reference)).transpose()
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
    /// For as many rows of each workload.
    fn new(plan: &BenchPlan, rows: &[usize], clock: &'a dyn Clock) -> Result<Self, BenchError> {
        let cells = rows.iter().map(|rows| rows.saturating_sub(1)).sum();
        let workloads = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        Ok(Pace { rule: plan.blocks.rule(cells), budget: Budget::new(clock, plan.time, workloads)? })
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
    as_found: Option<&mut Subject>,
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
        // A repository without a commit has none, which stops only what starts from it.
        state.tip = history.resolve(source.default_revision()).ok().map(|id| id.to_string());
        if plan.needs_revision() {
            state.head = Some(history.resolve(&plan.range.revision)?.to_string());
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests;
