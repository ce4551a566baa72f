//! Single runs: one workload, one row, from empty caches, checked.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use repackbench_reader::{CacheLookups, History};
use repackbench_records::{
    Checks, ComparedTime, ContentDigest, DeltaCacheUse, Host, Record, RepositoryState, Role, RunPlace, SCHEMA_VERSION,
    TracedReads, WorkloadLabel,
};
use repackbench_writer::Progress;

use super::{
    BenchError, BenchPlan,
    cold::{self, ColdRuns},
    copies,
    job_run::{JobRun, clock_error},
    rows::Subject,
};
use crate::{
    arms::stock::{Caches, Help, StockJob},
    clock::{Clock, Sample, measure, unix_ms},
    probe::{Faults, JobUsage, Machine, Memory, ReadCalls},
    session::{RunLength, Session as Loop, Slot, Turn},
    trace::{NEW_PAGES, traced_reads},
    workloads::{Counter, Counts, Digester, VariantPlace, Workload, WorkloadSpec},
};

/// The most times that a job is done in one run.
pub(super) const MAX_ITERATIONS: u32 = 1000;

/// What all runs of a benchmark share.
pub(super) struct Session<'a> {
    pub(super) plan: &'a BenchPlan,
    pub(super) clock: &'a (dyn Clock + Sync),
    pub(super) progress: &'a dyn Progress,
    pub(super) host: Host,
    pub(super) repository: RepositoryState,
    /// When it began, or the session that it goes on with: its name in records.
    pub(super) began_unix_ms: u64,
    /// The copies that cold runs read; `None` for warm runs.
    pub(super) cold: Option<ColdRuns>,
}

/// What every run of a workload has to see.
pub(super) struct Reference {
    pub(super) counts: Counts,
    pub(super) digest: ContentDigest,
    /// What each row reads, in the order of the schedule; `None` where the workload has no access trace.
    reads: Vec<Option<TracedReads>>,
    /// The peak memory of each row's command, in bytes, in the order of the schedule; nothing for what is done in-process.
    pub(super) peaks: Vec<Option<u64>>,
    /// How many times a run does the job; see [`RunLength::run`].
    pub(super) iterations: u32,
}

impl Reference {
    pub(super) fn of(counts: Counts, digest: ContentDigest) -> Self {
        Reference { counts, digest, reads: Vec::new(), peaks: Vec::new(), iterations: 1 }
    }
}

/// A workload, ready to be run.
pub(super) struct Job<'a> {
    work: Work<'a>,
    jobs: u32,
    is_cold: bool,
}

/// How a workload is done.
enum Work<'a> {
    /// In-process.
    Replay { spec: &'a WorkloadSpec, workload: Box<dyn Workload> },
    /// By a command, of whose times this one is compared.
    Command(StockJob, ComparedTime),
}

impl<'a> Job<'a> {
    pub(super) fn new(spec: &'a WorkloadSpec, plan: &BenchPlan) -> Self {
        let workload = spec.build(&plan.range, None::<PathBuf>);
        Job { work: Work::Replay { spec, workload }, jobs: plan.jobs, is_cold: plan.is_cold }
    }

    /// One that a command does.
    pub(super) fn of_command(job: StockJob, compared: ComparedTime) -> Self {
        Job { work: Work::Command(job, compared), jobs: 1, is_cold: false }
    }

    /// Its name. Several copies at once are another workload than one, and so are cold runs.
    pub(super) fn label(&self) -> WorkloadLabel {
        let mut label = match &self.work {
            Work::Replay { workload, .. } => workload.label(),
            Work::Command(job, _) => job.label.clone(),
        };
        if self.jobs > 1 {
            label.parameters.insert("jobs".to_owned(), self.jobs.to_string());
        }
        if self.is_cold { label.cold() } else { label }
    }

    /// Whether it runs on `subject`. A row with another limit of the cache of delta bases is no other for a workload that never
    /// asks it.
    pub(super) fn is_for(&self, subject: &Subject) -> bool {
        match (&self.work, &subject.stock) {
            (Work::Replay { spec, .. }, None) => subject.variant.delta_cache.is_none() || spec.uses_delta_cache(),
            (Work::Command(job, _), Some(stock)) => stock.client.is_for(job),
            _ => false,
        }
    }

    /// What reading checks and uses: caches are the job's, not the row's.
    fn checks(&self, subject: &Subject) -> Checks {
        // hg has neither: an extension takes the place of another zlib there.
        let client = subject.variant.client.as_ref().filter(|client| !client.zlib.is_empty());
        let is_forge = matches!(&self.work, Work::Command(job, _) if job.caches == Caches::Forge);
        let has = |help: Help| client.is_some_and(|client| is_forge || client.helps.contains(&help.to_string()));
        Checks { commit_graph: has(Help::CommitGraph), bitmaps: has(Help::Bitmaps), ..subject.checks }
    }

    /// Several copies contend for caches and memory, which shows in how long all of them take. Cold runs wait.
    pub(super) fn compared_time(&self) -> ComparedTime {
        match &self.work {
            _ if self.jobs > 1 || self.is_cold => ComparedTime::Wall,
            Work::Replay { workload, .. } => workload.compared_time(),
            Work::Command(_, compared) => *compared,
        }
    }
}

impl Session<'_> {
    /// The loop that the rows of a workload run in.
    pub(super) fn rounds(&self) -> Loop<'_> {
        Loop::new(self.clock, self.progress)
    }

    /// How long a run of `job` is.
    fn run_length(&self, job: &Job<'_>) -> RunLength {
        RunLength::exact(job.compared_time(), self.plan.min_run_time, MAX_ITERATIONS)
    }

    /// Runs the job on every variant without a clock and holds what they see against each other. In the same pass what each reads is
    /// traced, if the job has a trace.
    pub(super) fn check_content(&self, job: &mut Job<'_>, subjects: &mut [Subject]) -> Result<Reference, BenchError> {
        let workload_label = job.label();
        let is_for: Vec<bool> = subjects.iter().map(|subject| job.is_for(subject)).collect();
        let (spec, workload) = match &mut job.work {
            Work::Replay { spec, workload } => (*spec, workload),
            Work::Command(command, _) => return self.check_output(command, subjects),
        };
        let places: Vec<&VariantPlace> = subjects.iter().map(|subject| &subject.place).collect();
        workload.announce(&places);
        let mut reference: Option<(Reference, String)> = None;
        let mut reads = Vec::new();
        for (subject, is_for) in subjects.iter_mut().zip(is_for) {
            self.rounds().go_on()?;
            if !is_for {
                reads.push(None);
                continue;
            }
            let Some(history) = subject.histories.first_mut() else {
                reads.push(None);
                continue;
            };
            let mut digester = Digester::default();
            history.clear_caches();
            workload.prepare(&subject.place)?;
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
            let seen = Reference::of(digester.counts(), digester.digest());
            match &reference {
                None => reference = Some((seen, subject.variant.label().into_owned())),
                Some((expected, label)) if expected.digest != seen.digest || expected.counts != seen.counts => {
                    return Err(differs(&workload_label, subject, label, expected, &seen));
                }
                Some(_) => {}
            }
        }
        let none = || Reference::of(Counts::new(), Digester::default().digest());
        Ok(Reference { reads, ..reference.map_or_else(none, |(reference, _)| reference) })
    }

    /// How many times a run does the job: as often as takes the least time that a run may, on the baseline, or the
    /// first variant that has anything to do. Once if none has.
    pub(super) fn calibrate(
        &self,
        job: &mut Job<'_>,
        subjects: &mut [Subject],
        reference: &Reference,
    ) -> Result<u32, BenchError> {
        // A second time it would not be cold.
        if self.cold.is_some() {
            return Ok(1);
        }
        let mut wall = Duration::ZERO;
        // The first of them is the baseline, which may have nothing to do.
        for subject in subjects {
            if !job.is_for(subject) {
                continue;
            }
            self.rounds().go_on()?;
            let run = self.run_once(job, subject, None, reference)?;
            wall = run.sample.wall;
            if !wall.is_zero() {
                self.warn_of_start(&job.label(), subject, run.sample);
                break;
            }
        }
        if wall.is_zero() {
            return Ok(1);
        }
        Ok(self.run_length(job).jobs(wall))
    }

    /// Does the job once, from empty caches, and checks that it saw what it should. The caches are emptied again afterwards: what
    /// a row has read takes no memory from the others.
    /// A cold run reads `copy`.
    fn run_once(
        &self,
        job: &mut Job<'_>,
        subject: &mut Subject,
        copy: Option<&Path>,
        reference: &Reference,
    ) -> Result<JobRun, BenchError> {
        let run = match (&mut job.work, copy, subject.histories.as_mut_slice()) {
            (Work::Command(command, _), ..) => self.run_command(command, subject)?,
            (Work::Replay { workload, .. }, Some(copy), _) => cold::run(workload.as_mut(), subject, copy, self.clock)?,
            (Work::Replay { workload, .. }, None, [history]) => {
                self.run_alone(workload.as_mut(), history.as_mut(), &subject.place)?
            }
            (Work::Replay { spec, .. }, None, histories) => {
                copies::run(spec, &self.plan.range, histories, &subject.place, self.clock)?
            }
        };
        if let Some(counts) = run.counts.iter().find(|counts| **counts != reference.counts) {
            let seen = Reference::of(counts.clone(), reference.digest.clone());
            return Err(differs(&job.label(), subject, "the run before the timed ones", reference, &seen));
        }
        Ok(run)
    }

    fn run_alone(
        &self,
        workload: &mut dyn Workload,
        history: &mut dyn History,
        place: &VariantPlace,
    ) -> Result<JobRun, BenchError> {
        let mut counter = Counter::timing_writes(self.clock);
        workload.prepare(place)?;
        history.clear_caches();
        let (calls, faults) = (ReadCalls::now(), Faults::now());
        let (result, sample) = match workload.has_work() {
            true => measure(self.clock, || workload.run(history, &mut counter)).map_err(clock_error)?,
            false => (workload.run(history, &mut counter), Sample::ZERO),
        };
        let usage = faults.until(Faults::now());
        let usage = JobUsage { read_calls: calls.until(ReadCalls::now()), ..usage };
        result?;
        let lookups = history.delta_cache_lookups();
        history.clear_caches();
        let extra = workload.extra();
        workload.clean_up()?;
        let sample = Sample { writing: counter.writing().map_err(clock_error)?, ..sample };
        Ok(JobRun { counts: vec![counter.counts()], extra, sample, usage, lookups })
    }

    /// One run: the job as many times as `reference` says, or until it is long enough.
    pub(super) fn run(
        &self,
        job: &mut Job<'_>,
        subject: &mut Subject,
        turn: Turn,
        reference: &Reference,
    ) -> Result<Record, BenchError> {
        let started_unix_ms = unix_ms();
        let (machine, memory) = (Machine::now(), Memory::start());
        let (mut used, mut lookups) = (JobUsage::NONE, CacheLookups::default());
        let mut extra = Counts::new();
        let copy = self.cold.as_ref().and_then(|cold| cold.copy(turn));
        let (sum, iterations) = self.run_length(job).run(&self.rounds(), reference.iterations, || {
            let run = self.run_once(job, subject, copy.map(|(_, folder)| folder), reference)?;
            used = used.plus(run.usage);
            (lookups, extra) = (run.lookups, run.extra);
            Ok::<_, BenchError>(run.sample)
        })?;
        let mut usage = used.mean_of(u64::from(iterations) * u64::from(self.plan.jobs.max(1)));
        match subject.stock {
            None => memory.end(&mut usage),
            Some(_) => usage.peak_resident_bytes = reference.peaks.get(turn.slot.variant()).copied().flatten(),
        }
        let disturbance = machine.until(Machine::now());
        let mut variant = subject.variant.clone();
        if turn.slot == Slot::BaselineAgain {
            variant.role = Role::BaselineAgain;
        }
        let CacheLookups { hits, misses } = lookups;
        Ok(Record {
            schema: SCHEMA_VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms,
            host: self.host.clone(),
            repository: self.repository.clone(),
            variant,
            decoder: subject.decoder.clone(),
            workload: job.label(),
            compared_time: job.compared_time(),
            place: RunPlace {
                block: turn.block,
                position: turn.position,
                seed: self.plan.seed,
                session: self.began_unix_ms,
                copy: copy.map(|(number, _)| number),
            },
            sample: sum.mean_of(iterations).into(),
            usage,
            disturbance,
            // git's own cache tells nothing.
            delta_cache: subject.stock.is_none().then_some(DeltaCacheUse {
                limit_bytes: subject.delta_cache,
                hits,
                misses,
            }),
            checks: Some(job.checks(subject)),
            jobs: self.plan.jobs.max(1),
            iterations,
            counts: reference.counts.clone(),
            extra,
            digest: reference.digest.clone(),
            size: subject.size.clone(),
            conversion: subject.conversion,
            command: self.plan.command.clone(),
            reads: reference.reads.get(turn.slot.variant()).cloned().flatten(),
        })
    }
}

pub(super) fn differs(
    workload: &WorkloadLabel,
    subject: &Subject,
    reference: &str,
    expected: &Reference,
    found: &Reference,
) -> BenchError {
    let show = |seen: &Reference| {
        let counts: Vec<String> = seen.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        format!("{} (digest {})", counts.join(", "), seen.digest.hex)
    };
    BenchError::Differs {
        workload: workload.to_string(),
        variant: subject.variant.label().into_owned(),
        reference: reference.to_owned(),
        expected: show(expected),
        found: show(found),
    }
}
