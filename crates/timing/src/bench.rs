//! Measures workloads on the variants of a repository.
//!
//! Every variant is first run once without a clock: the digests of what it saw must agree, and the files it reads are in
//! the page cache afterwards. Then come the blocks; see `METHODOLOGY.md`.

mod decoders;

use std::{
    io,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use repackbench_codec::{CodecSpec, DecoderChoice, SharedFormat};
use repackbench_reader::{History, ReaderError, Repository};
use repackbench_records::{
    ComparedTime, ContentDigest, DeltaOrigin, Host, Record, RepositoryState, Role, RunPlace, SCHEMA_VERSION,
    SizeRecord, SpecText, Variant,
};
use repackbench_writer::{
    Progress, ProgressUnit, WriterError,
    cache::{Cache, GetOrMakeError, VariantDir},
    cached_rechosen, cached_variant, fingerprint,
    hg::rechosen::HgProgram,
};

use self::decoders::Readable;
use crate::{
    clock::{Clock, Sample, measure},
    schedule::{BASELINE, Schedule, Slot, Turn},
    sizes::{self, SharedFormats},
    workloads::{Counter, Counts, Digester, HistoryRange, VariantPlace, Workload, WorkloadError, WorkloadSpec},
};

/// A run of a job that takes less than this is made up of several, so that the clock's grain does not show. User time
/// alone has a coarser grain than user and system time together: see [`SystemClock`](crate::clock::SystemClock).
fn shortest_run(compared: ComparedTime) -> Duration {
    match compared {
        ComparedTime::Cpu => Duration::from_millis(100),
        ComparedTime::User => Duration::from_millis(500),
    }
}

/// The most times that a job is done in one run.
const MAX_ITERATIONS: u32 = 1000;

/// What to measure.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// The codecs to measure, in the order of the table. One that means the same as another before it, or as the
    /// baseline, is measured once.
    pub codecs: Vec<CodecSpec>,
    /// The codec that the others are compared with.
    pub baseline: CodecSpec,
    /// The hg that chooses the deltas of a second variant of each codec; none for the source's deltas alone.
    pub rechooser: Option<HgProgram>,
    /// Other implementations that read variants once more, a row for each variant that has chunks for one.
    pub decoders: Vec<DecoderChoice>,
    /// The jobs.
    pub workloads: Vec<WorkloadSpec>,
    /// The revision that checkout and diff start from, and how far diff goes.
    pub range: HistoryRange,
    /// How many times each variant does each job.
    pub blocks: u32,
    /// The seed of the random order.
    pub seed: u64,
    /// Threads for making variants. Jobs run on one.
    pub threads: usize,
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

    /// Whether some job starts from [`Self::range`]'s revision. A traversal starts from all refs.
    fn needs_revision(&self) -> bool {
        self.workloads.iter().any(WorkloadSpec::needs_revision)
    }
}

/// What hg itself writes today, if `source` is Mercurial's: a row beside the baseline.
fn second_reference(source: &Repository) -> Option<CodecSpec> {
    match source {
        Repository::Git(_) => None,
        Repository::Hg(_) => "zstd:3".parse().ok(),
    }
}

/// Why a benchmark stopped.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A variant could not be made.
    #[error(transparent)]
    Variant(GetOrMakeError<WriterError>),
    /// A job failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The source could not be examined.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// The clock could not be read, or a record not be written.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// No row would show what a choice of decoder does.
    #[error("{choice}: {why}")]
    UselessDecoder {
        /// The choice.
        choice: DecoderChoice,
        /// Why there is nothing to see.
        why: String,
    },
    /// Something cannot be read cold.
    #[error(transparent)]
    Cold(#[from] crate::cold::ColdError),
    /// The user stopped the work.
    #[error("interrupted; variants and records that were finished are kept")]
    Interrupted,
    /// Two variants of one repository did not show the same content.
    #[error("{workload}: {variant} saw {found}, {reference} saw {expected}: they are not the same repository")]
    Differs {
        /// The job.
        workload: String,
        /// The variant that differs.
        variant: String,
        /// The variant that it was held against.
        reference: String,
        /// What that one saw.
        expected: String,
        /// What the other saw.
        found: String,
    },
}

impl From<ReaderError> for BenchError {
    fn from(error: ReaderError) -> Self {
        BenchError::Workload(error.into())
    }
}

impl From<GetOrMakeError<WriterError>> for BenchError {
    fn from(error: GetOrMakeError<WriterError>) -> Self {
        match error {
            // What it says of one variant would be wrong of the whole benchmark.
            GetOrMakeError::Make(WriterError::Interrupted) => BenchError::Interrupted,
            error => BenchError::Variant(error),
        }
    }
}

/// One row: a repository that is open for reading.
struct Subject {
    variant: Variant,
    decoder: String,
    size: SizeRecord,
    history: Box<dyn History>,
    place: VariantPlace,
    /// Which of its chunks' formats several implementations read.
    formats: SharedFormats,
    /// Keeps a cached variant from being pruned.
    _in_use: Option<VariantDir>,
}

/// A variant that is about to be opened.
struct Opening<'a> {
    repository: &'a Repository,
    variant: Variant,
    spec: Option<&'a CodecSpec>,
    /// The repository whose payloads it holds, if it is another one.
    source: Option<&'a Repository>,
    in_use: Option<VariantDir>,
}

impl Opening<'_> {
    /// The rows of the variant: read by its own implementation, then by those of `choices` that make rows of their own.
    fn rows(self, choices: &[DecoderChoice]) -> Result<Vec<Subject>, BenchError> {
        let Opening { repository, variant, spec, source, in_use } = self;
        let (size, formats) = sizes::examine(repository, &variant.label())?;
        let has = |format: SharedFormat| formats.contains(&format);
        let readable = Readable { spec, has: &has };
        let own = readable.own_decoders();
        let place = |decoders| VariantPlace {
            folder: repository.own_folder().to_owned(),
            payloads: source.unwrap_or(repository).own_folder().to_owned(),
            spec: spec.cloned(),
            decoders,
        };
        let mut subjects = vec![Subject {
            decoder: decoders::name(spec, None),
            size: size.clone(),
            history: repository.history(own)?,
            place: place(own),
            formats: formats.clone(),
            variant: variant.clone(),
            _in_use: in_use,
        }];
        for choice in readable.rows(choices) {
            let chosen = Some(decoders::record(choice));
            let role = if variant.role == Role::AsFound { Role::AsFound } else { Role::Candidate };
            let variant = Variant { role, decoder: chosen, ..variant.clone() };
            subjects.push(Subject {
                decoder: decoders::name(spec, Some(choice)),
                size: SizeRecord { label: variant.label().into_owned(), ..size.clone() },
                history: repository.history(choice.apply(own))?,
                place: place(choice.apply(own)),
                formats: formats.clone(),
                variant,
                _in_use: None,
            });
        }
        Ok(subjects)
    }
}

/// The rows of the source as it is, without a conversion.
fn as_found(source: &Repository, plan: &BenchPlan) -> Result<Vec<Subject>, BenchError> {
    let spec = source.recorded_spec();
    let variant =
        Variant { role: Role::AsFound, row: 0, spec: None, checksum: true, deltas: DeltaOrigin::Kept, decoder: None };
    Opening { repository: source, variant, spec: spec.as_ref(), source: None, in_use: None }.rows(&plan.decoders)
}

/// Checks that each decoder that `plan` names has something to read, before variants are made.
fn check_decoders(source: &Repository, plan: &BenchPlan, as_found: &[Subject]) -> Result<(), BenchError> {
    let specs = plan.specs(source);
    let recorded = source.recorded_spec();
    let of_source = |format| as_found.first().is_some_and(|subject| subject.formats.contains(&format));
    let written: Vec<_> = specs.iter().map(|spec| move |format: SharedFormat| format.is_written_by(spec)).collect();
    let variants = specs.iter().zip(&written).map(|(spec, has)| Readable { spec: Some(spec), has });
    let source = Readable { spec: recorded.as_ref(), has: &of_source };
    decoders::check(&plan.decoders, &std::iter::once(source).chain(variants).collect::<Vec<_>>())
}

/// All rows in the order of the schedule, which wants the baseline first: the variants, and `as_found` among them.
fn subjects(
    source: &Repository,
    as_found: Vec<Subject>,
    plan: &BenchPlan,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<Vec<Subject>, BenchError> {
    let mut subjects: Vec<Subject> = Vec::new();
    let mut add = |spec: &CodecSpec, deltas, folder: VariantDir| {
        let repository = &Repository::open(folder.path())?;
        let variant = Variant {
            role: if subjects.is_empty() { Role::Baseline } else { Role::Candidate },
            row: 0,
            spec: Some(SpecText { typed: spec.to_string(), canonical: spec.canonical() }),
            // In Mercurial the node guards every text, whatever its codec.
            checksum: matches!(source, Repository::Hg(_)) || spec.checksum(),
            deltas,
            decoder: None,
        };
        let payloads = (deltas == DeltaOrigin::Kept).then_some(source);
        let opening = Opening { repository, variant, spec: Some(spec), source: payloads, in_use: Some(folder) };
        subjects.extend(opening.rows(&plan.decoders)?);
        Ok::<(), BenchError>(())
    };
    for spec in plan.specs(source) {
        add(&spec, DeltaOrigin::Kept, cached_variant(cache, source, &spec, plan.threads, progress)?)?;
        if let (Some(hg), Repository::Hg(source)) = (&plan.rechooser, source) {
            let folder = cached_rechosen(cache, source, &spec, hg, plan.threads, progress)?;
            add(&spec, DeltaOrigin::Rechosen, folder)?;
        }
    }
    let of_source = as_found.len();
    subjects.splice(BASELINE + 1..BASELINE + 1, as_found);
    // The table shows the source first.
    let mut in_table: Vec<&mut Subject> = subjects.iter_mut().collect();
    in_table.get_mut(..=of_source).unwrap_or_default().rotate_left(1);
    for (row, subject) in (0..).zip(in_table) {
        subject.variant.row = row;
    }
    Ok(subjects)
}

/// Carries `plan` out on `source`, which tables call `name`. Every record is handed to `on_record` as soon as it is
/// there, and all of them are returned.
///
/// # Errors
/// See [`BenchError`]; [`ReaderError::Changed`] in it when the source changed meanwhile.
pub fn bench(
    source: &Repository,
    name: &str,
    plan: &BenchPlan,
    cache: &Cache,
    clock: &dyn Clock,
    progress: &dyn Progress,
    on_record: &mut dyn FnMut(&Record) -> io::Result<()>,
) -> Result<Vec<Record>, BenchError> {
    let snapshot = source.snapshot()?;
    let mut as_found = as_found(source, plan)?;
    // Before variants are made: a misspelt revision or decoder should not cost the time that those take.
    check_decoders(source, plan, &as_found)?;
    let repository = state(source, name, plan, as_found.first_mut())?;
    let mut subjects = subjects(source, as_found, plan, cache, progress)?;
    let session = Session { plan, clock, progress, host: Host::current(), repository };
    let mut records = Vec::new();
    for spec in &plan.workloads {
        let mut workload = spec.build(&plan.range, None::<PathBuf>);
        let reference = session.check_content(workload.as_mut(), &mut subjects)?;
        progress.start(&format!("timing {spec}"), u64::from(plan.blocks), ProgressUnit::Items);
        for turn in Schedule::new(subjects.len(), plan.blocks, plan.seed) {
            let Some(subject) = subjects.get_mut(turn.slot.variant()) else { continue };
            let record = session.run(workload.as_mut(), subject, turn, &reference)?;
            on_record(&record).map_err(|source| BenchError::Io { action: "write a record", source })?;
            records.push(record);
            if turn.position as usize == subjects.len() {
                progress.advance(1);
            }
        }
        progress.finish();
    }
    snapshot.check()?;
    Ok(records)
}

fn state(
    source: &Repository,
    name: &str,
    plan: &BenchPlan,
    as_found: Option<&mut Subject>,
) -> Result<RepositoryState, BenchError> {
    let head = match as_found.filter(|_| plan.needs_revision()) {
        Some(as_found) => Some(as_found.history.resolve(&plan.range.revision)?.to_string()),
        None => None,
    };
    Ok(RepositoryState { name: name.to_owned(), fingerprint: fingerprint(source)?.to_string(), head })
}

struct Session<'a> {
    plan: &'a BenchPlan,
    clock: &'a dyn Clock,
    progress: &'a dyn Progress,
    host: Host,
    repository: RepositoryState,
}

/// What every run of a workload has to see.
struct Reference {
    counts: Counts,
    digest: ContentDigest,
    /// How many times a run does the job.
    iterations: u32,
}

impl Session<'_> {
    /// Stops the benchmark if the user wants that. A job cannot be stopped, so this is asked before each.
    fn go_on(&self) -> Result<(), BenchError> {
        if self.progress.is_cancelled() { Err(BenchError::Interrupted) } else { Ok(()) }
    }

    /// Runs `workload` on every variant without a clock and holds what they see against each other.
    fn check_content(&self, workload: &mut dyn Workload, subjects: &mut [Subject]) -> Result<Reference, BenchError> {
        let mut reference: Option<(Reference, String)> = None;
        for subject in &mut *subjects {
            self.go_on()?;
            let mut digester = Digester::default();
            subject.history.forget();
            workload.prepare(&subject.place)?;
            workload.run(subject.history.as_mut(), &mut digester)?;
            workload.clean_up()?;
            let seen = Reference { counts: digester.counts(), digest: digester.digest(), iterations: 1 };
            match &reference {
                None => reference = Some((seen, subject.variant.label().into_owned())),
                Some((expected, label)) if expected.digest != seen.digest || expected.counts != seen.counts => {
                    return Err(differs(workload, subject, label, expected, &seen));
                }
                Some(_) => {}
            }
        }
        let none = || Reference { counts: Counts::new(), digest: Digester::default().digest(), iterations: 1 };
        let mut reference = reference.map_or_else(none, |(reference, _)| reference);
        if let Some(baseline) = subjects.first_mut() {
            let sample = self.run_once(workload, baseline, &reference)?;
            let wanted = shortest_run(workload.compared_time()).as_nanos().div_ceil(sample.wall.as_nanos().max(1));
            reference.iterations = u32::try_from(wanted).unwrap_or(MAX_ITERATIONS).clamp(1, MAX_ITERATIONS);
        }
        Ok(reference)
    }

    /// Does the job once, from empty caches, and checks that it saw what it should.
    fn run_once(
        &self,
        workload: &mut dyn Workload,
        subject: &mut Subject,
        reference: &Reference,
    ) -> Result<Sample, BenchError> {
        self.go_on()?;
        let mut counter = Counter::default();
        workload.prepare(&subject.place)?;
        subject.history.forget();
        let (result, sample) = measure(self.clock, || workload.run(subject.history.as_mut(), &mut counter))
            .map_err(|source| BenchError::Io { action: "read the clock", source })?;
        result?;
        workload.clean_up()?;
        let counts = counter.counts();
        if counts != reference.counts {
            let seen = Reference { counts, digest: reference.digest.clone(), iterations: 1 };
            return Err(differs(workload, subject, "the run before the timed ones", reference, &seen));
        }
        Ok(sample)
    }

    fn run(
        &self,
        workload: &mut dyn Workload,
        subject: &mut Subject,
        turn: Turn,
        reference: &Reference,
    ) -> Result<Record, BenchError> {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut sum = Sample::ZERO;
        for _ in 0..reference.iterations {
            sum += self.run_once(workload, subject, reference)?;
        }
        let mut variant = subject.variant.clone();
        if turn.slot == Slot::BaselineAgain {
            variant.role = Role::BaselineAgain;
        }
        Ok(Record {
            schema: SCHEMA_VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms: u64::try_from(started.as_millis()).unwrap_or(u64::MAX),
            host: self.host.clone(),
            repository: self.repository.clone(),
            variant,
            decoder: subject.decoder.clone(),
            workload: workload.label(),
            compared_time: workload.compared_time(),
            place: RunPlace { block: turn.block, position: turn.position, seed: self.plan.seed },
            sample: sum.mean_of(reference.iterations).into(),
            iterations: reference.iterations,
            counts: reference.counts.clone(),
            digest: reference.digest.clone(),
            size: subject.size.clone(),
        })
    }
}

fn differs(
    workload: &dyn Workload,
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
        workload: workload.label().to_string(),
        variant: subject.variant.label().into_owned(),
        reference: reference.to_owned(),
        expected: show(expected),
        found: show(found),
    }
}
