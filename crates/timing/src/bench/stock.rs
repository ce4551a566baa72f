//! Rows that the user's own client reads, and their runs: each a process.

mod hg;

use std::{path::Path, process::Command, rc::Rc, time::Duration};

use repackbench_client::{Sink, Zlib, metered, read_peak};
use repackbench_codec::{Algorithm, CodecSpec, catalogue};
use repackbench_reader::{CacheLookups, ReaderError, Repository};
use repackbench_records::{ContentDigest, ConversionCost, DeltaOrigin, Role, Variant, Vcs, WorkloadLabel};
use repackbench_writer::{
    StoreKind,
    cache::{Cache, GetOrMakeError, ScratchFolder},
};

use super::{
    BenchError, BenchPlan, Part, decoders,
    job_run::JobRun,
    rows::Subject,
    runs::{Job, Reference, Session, differs},
};
use crate::{
    arms::stock::{
        Caches, Git, GitReader, GitRow, Help, Hg, Made, Prepared, StockClient, StockError, StockJob, StockPlan,
        changesets, child,
        output::{OutputCounter, OutputDigester, OutputForm, files},
        replayed::output_of,
    },
    clock::Sample,
    workloads::{Counts, WorkloadError},
};

/// How often a process that does nothing is started to learn what a start costs.
const STARTS: u32 = 5;
/// A start that is a larger part of a job than this is worth a note.
const NOTABLE_START: f64 = 0.1;
/// The count of a start's CPU time in records, which differs between rows.
const START: &str = "process start ns";

/// The client of a row.
pub(super) struct StockSubject {
    pub(super) client: Box<dyn StockClient>,
    /// CPU time of a process that does nothing.
    start: Duration,
}

/// Refuses what stock clients cannot do, before anything is made.
pub(super) fn check(plan: &BenchPlan, source: &Repository) -> Result<(), BenchError> {
    let refused = |why: String| Err(WorkloadError::Refused { why }.into());
    let specs = plan.specs(source);
    match source {
        Repository::Git(_) => check_git(plan, source, &specs)?,
        Repository::Hg(_) => hg::check(plan, &specs)?,
    }
    let only_in_process = [
        (plan.is_cold, "cold runs"),
        (plan.jobs > 1, "several jobs at once"),
        (plan.is_self_test, "the self-test"),
        (plan.workloads.is_empty() && !plan.decoders.is_empty(), "decoders"),
        (plan.workloads.is_empty() && !plan.delta_caches().1.is_empty(), "several limits of the delta cache"),
        (plan.workloads.is_empty() && !plan.devices.is_empty(), "modelled devices"),
    ];
    match only_in_process.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => refused(format!("{what}: in-process only, not by commands of stock git or hg")),
        None => Ok(()),
    }
}

fn check_git(plan: &BenchPlan, source: &Repository, specs: &[CodecSpec]) -> Result<(), BenchError> {
    let refused = |why: String| Err(WorkloadError::Refused { why }.into());
    if let Repository::Git(git) = source
        && let Some(btree) = git.btree()
    {
        return refused(format!("{}: stock git does not read objects in a B-tree", btree.display()));
    }
    if plan.layouts().iter().any(|layout| layout.store == StoreKind::Btree) {
        return refused(
            "stock git reads packs and loose objects, and no B-tree: expected --store pack or loose".into(),
        );
    }
    let recorded = source.recorded_spec();
    if let Some(spec) = specs.iter().chain(&recorded).find(|spec| spec.uses_bases()) {
        return refused(format!(
            "{spec}: stock git cannot read it, as its deltas need their base's content, which git does not tell zlib"
        ));
    }
    if !is_read_by_plain_git(plan) {
        let baseline = &plan.baseline;
        return refused(format!("{baseline}: git without the library has to read the baseline, such as zlib:6"));
    }
    Ok(())
}

fn is_read_by_plain_git(plan: &BenchPlan) -> bool {
    let is_zlib = |algorithm: Algorithm| algorithm.is_zlib_family();
    plan.baseline.choices().all(|choice| is_zlib(choice.algorithm())) && !plan.baseline.uses_dictionaries()
}

/// The program that does the jobs.
enum Program {
    Git(Rc<Git>),
    Hg(Rc<Hg>),
}

impl Program {
    fn name(&self) -> (&str, Vcs) {
        match self {
            Program::Git(git) => (git.name(), Vcs::Git),
            Program::Hg(hg) => (hg.name(), Vcs::Mercurial),
        }
    }
}

/// The client of a session, and where its commands work.
pub(super) struct StockPart<'p> {
    plan: &'p StockPlan,
    program: Program,
    /// Removed at the end.
    _folder: ScratchFolder,
}

impl<'p> StockPart<'p> {
    pub(super) fn new(plan: &'p StockPlan, source: &Repository, cache: &Cache) -> Result<Self, BenchError> {
        // Where the variants are, so that what is copied can be linked.
        let folder = cache.scratch().map_err(GetOrMakeError::Cache)?;
        let program = match source {
            Repository::Git(_) => Program::Git(Rc::new(Git::new(&plan.git, folder.path())?)),
            Repository::Hg(_) => Program::Hg(Rc::new(Hg::new(&plan.hg, plan.hg_extension.as_deref(), folder.path())?)),
        };
        Ok(StockPart { plan, program, _folder: folder })
    }

    /// The rows on variants of `subjects`, which are kept meanwhile, and their jobs.
    pub(super) fn part<'a>(&self, session: &Session<'a>, subjects: &[Subject]) -> Result<Part<'a>, BenchError> {
        let range = &session.plan.range;
        let head = session.repository.head.as_deref();
        let jobs = self.plan.workloads.iter().flat_map(|workload| {
            let compared = workload.compared_time(range);
            let jobs = workload.jobs(self.program.name(), &self.plan.caches, range, head);
            let has_helps = !self.plan.helps.is_empty();
            jobs.into_iter().map(move |job| Job::of_command(StockJob { has_helps, ..job }, compared))
        });
        let part = Part { jobs: jobs.collect(), subjects: self.rows(session, subjects)? };
        note_left_out(session, &part);
        Ok(part)
    }

    /// The rows in the order of the schedule, the baseline first.
    fn rows(&self, session: &Session<'_>, subjects: &[Subject]) -> Result<Vec<Subject>, BenchError> {
        let mut rows: Vec<Subject> = Vec::new();
        let mut starts = hg::Starts::default();
        let own = |subject: &&Subject| subject.variant.decoder.is_none() && subject.variant.delta_cache.is_none();
        for subject in subjects.iter().filter(own) {
            match &self.program {
                Program::Git(git) => {
                    for (reader, role) in self.readers(session, subject)? {
                        rows.push(self.row(git, session, subject, &reader, role, rows.len())?);
                    }
                }
                Program::Hg(hg) => {
                    for reader in hg::readers(hg, subject)? {
                        rows.push(hg::row(hg, session, subject, reader, rows.len(), &mut starts)?);
                    }
                }
            }
        }
        // The table shows the source first.
        let of_source = rows.iter().filter(|row| row.variant.role == Role::AsFound).count();
        let of_baseline = rows.iter().position(|row| row.variant.role == Role::AsFound).unwrap_or(0);
        let mut in_table: Vec<&mut Subject> = rows.iter_mut().collect();
        in_table.get_mut(..of_baseline + of_source).unwrap_or_default().rotate_left(of_baseline);
        for (row, subject) in (0..).zip(in_table) {
            subject.variant.row = row;
        }
        Ok(rows)
    }

    /// Who reads a variant: git without the library, or with it and some zlib, and what else helps it.
    fn readers(&self, session: &Session<'_>, subject: &Subject) -> Result<Vec<(GitReader, Role)>, ReaderError> {
        let with = |zlib, helps: &[Help]| GitReader { zlib, helps: helps.to_vec() };
        let (plain, library) = (with(None, &[]), with(Some(Zlib::Host), &[]));
        let all = &self.plan.helps;
        let with_and_without = |reader: GitReader| match all.is_empty() {
            true => vec![reader],
            false => vec![reader.clone(), with(reader.zlib, all)],
        };
        let is_of_baseline = subject.place.spec.as_ref() == Some(&session.plan.baseline);
        let candidates = match subject.variant.role {
            Role::AsFound if is_plain(&subject.place.folder)? => return Ok(vec![(plain, Role::AsFound)]),
            Role::AsFound => return Ok(vec![(library, Role::AsFound)]),
            Role::Baseline | Role::BaselineAgain => {
                let zlibs = self.plan.zlibs.iter().map(|zlib| with(Some(*zlib), &[]));
                let helps = all.iter().map(|help| with(None, &[*help]));
                let others = [library].into_iter().chain(zlibs).chain(helps).map(|reader| (reader, Role::Candidate));
                return Ok([(plain, Role::Baseline)].into_iter().chain(others).collect());
            }
            // The same as the baseline but for its layout.
            Role::Candidate if subject.variant.deltas == DeltaOrigin::Kept && is_of_baseline => vec![plain],
            Role::Candidate if subject.variant.deltas == DeltaOrigin::Kept => vec![library],
            // The same as the baseline but for its deltas.
            Role::Candidate if is_of_baseline => with_and_without(plain),
            Role::Candidate => with_and_without(library),
        };
        Ok(candidates.into_iter().map(|reader| (reader, Role::Candidate)).collect())
    }

    fn row(
        &self,
        git: &Rc<Git>,
        session: &Session<'_>,
        subject: &Subject,
        reader: &GitReader,
        role: Role,
        number: usize,
    ) -> Result<Subject, BenchError> {
        let folder = &subject.place.folder;
        let Repository::Git(repository) = Repository::open(folder)? else {
            let why = format!("{}: expected a Git repository", folder.display());
            return Err(WorkloadError::Refused { why }.into());
        };
        // The baseline is written by git's own zlib, with the library or without.
        let written = subject.place.spec.as_ref().filter(|spec| **spec != session.plan.baseline);
        let row = GitRow::new(git, &repository, written, reader, number, role == Role::AsFound)?;
        let start = session.start_of(&row)?;
        let making = session.making_of(&row)?;
        let decoder = match reader.zlib {
            Some(zlib) if subject.decoder_is_zlib() => zlib_name(zlib, row.client().version.as_str()),
            Some(_) => subject.decoder.clone(),
            None => zlib_name(Zlib::Host, row.client().version.as_str()),
        };
        let variant = Variant { role, client: Some(row.client().clone()), ..subject.variant.clone() };
        let helps_bytes = row.helps_bytes()?;
        let mut subject = subject.read_by(StockSubject { client: Box::new(row), start }, variant, decoder);
        subject.size.total_bytes = subject.size.total_bytes.saturating_add(helps_bytes);
        subject.size.other_bytes = subject.size.other_bytes.saturating_add(helps_bytes);
        if let Some(making) = making {
            let before = subject.conversion.unwrap_or(ConversionCost { cpu_ns: 0, wall_ns: 0 });
            let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            subject.conversion = Some(ConversionCost {
                cpu_ns: before.cpu_ns.saturating_add(nanoseconds(making.user.saturating_add(making.sys))),
                wall_ns: before.wall_ns.saturating_add(nanoseconds(making.wall)),
            });
        }
        Ok(subject)
    }
}

/// Names the rows that a job leaves out: who asked for them should not look for them in vain.
fn note_left_out(session: &Session<'_>, part: &Part<'_>) {
    for job in &part.jobs {
        let left_out = part.subjects.iter().filter(|subject| !job.is_for(subject));
        let names: Vec<String> = left_out.map(|subject| subject.variant.label().into_owned()).collect();
        if !names.is_empty() {
            session.progress.note(&format!(
                "{}: no row of {}: it works on copies, which are of variants only, and clients write with no codec that takes more than a payload",
                job.label(),
                names.join(", ")
            ));
        }
    }
}

/// Whether git without the library reads the repository.
fn is_plain(folder: &Path) -> Result<bool, ReaderError> {
    Ok(match Repository::open(folder)? {
        Repository::Git(git) => git.extension_spec().is_none(),
        Repository::Hg(_) => true,
    })
}

/// Who decodes zlib streams for git.
fn zlib_name(zlib: Zlib, version: &str) -> String {
    let name = match zlib {
        Zlib::Host => return format!("zlib of {version}"),
        Zlib::Stock => Algorithm::Zlib.name(),
        Zlib::ZlibRs | Zlib::ZlibNg | Zlib::Libdeflate => zlib.name(),
    };
    let codec = catalogue().into_iter().find(|codec| codec.algorithm.name() == name);
    codec.map_or_else(|| zlib.name().to_owned(), |codec| format!("{} {}", codec.implementation, codec.version))
}

impl Subject {
    fn decoder_is_zlib(&self) -> bool {
        let is_zlib = |spec: &CodecSpec| spec.algorithm().is_zlib_family();
        self.place.spec.as_ref().is_none_or(is_zlib) && decoders::name(self.place.spec.as_ref(), None) == self.decoder
    }
}

/// What is not looked at.
struct Ignored;

impl Sink for Ignored {
    fn take(&mut self, _bytes: &[u8]) {}
}

impl Session<'_> {
    /// CPU time of a process that does nothing: the median of a few.
    fn start_of(&self, client: &dyn StockClient) -> Result<Duration, BenchError> {
        let mut times = Vec::new();
        for _ in 0..STARTS {
            self.rounds().go_on()?;
            let started = child::run(&mut client.start()?, self.clock, self.progress, &mut Ignored)?;
            times.push(started.sample.user.saturating_add(started.sample.sys));
        }
        Ok(repackbench_analysis::median_duration(&mut times).unwrap_or_default())
    }

    /// What it takes to make what helps git, if that is anything.
    fn making_of(&self, row: &GitRow) -> Result<Option<Sample>, BenchError> {
        if row.client().helps.is_empty() {
            return Ok(None);
        }
        let clock = |error| BenchError::Io { action: "read the clock", source: error };
        let start = self.clock.read_children().map_err(clock)?;
        row.make_helps()?;
        Ok(Some(Sample::between(start, self.clock.read_children().map_err(clock)?)))
    }

    /// Notes that a job is mostly the start of its process.
    pub(super) fn warn_of_start(&self, workload: &WorkloadLabel, subject: &Subject, sample: Sample) {
        let Some(stock) = &subject.stock else { return };
        let cpu = sample.user.saturating_add(sample.sys).as_secs_f64();
        let share = if cpu > 0.0 { stock.start.as_secs_f64() / cpu } else { 1.0 };
        if share > NOTABLE_START {
            self.progress.note(&format!(
                "{workload}: {:.0} % of the time on {} is the start of its process, which no codec changes: on a larger \
                 repository ratios are further from 1",
                (share * 100.0).min(100.0),
                subject.variant.label()
            ));
        }
    }

    /// Runs the job on every row without a clock, and holds what they print or make against each other.
    pub(super) fn check_output(&self, job: &StockJob, subjects: &[Subject]) -> Result<Reference, BenchError> {
        let mut reference: Option<(Reference, &Subject)> = None;
        let mut peaks = Vec::new();
        for subject in subjects {
            self.rounds().go_on()?;
            let Some(stock) = subject.stock.as_ref().filter(|stock| stock.client.is_for(job)) else {
                peaks.push(None);
                continue;
            };
            let (seen, peak) = self.look(job, stock).map_err(|error| of_row(subject, error))?;
            peaks.push(peak);
            match &reference {
                None => reference = Some((seen, subject)),
                Some((expected, of)) if expected.digest != seen.digest || expected.counts != seen.counts => {
                    return Err(differs(&job.label, subject, &of.variant.label(), expected, &seen));
                }
                Some(_) => {}
            }
        }
        if let Some((seen, subject)) = &reference {
            self.hold_against_replay(job, subject, seen)?;
        }
        let none = || Reference::of(Counts::new(), ContentDigest { algorithm: "none".to_owned(), hex: String::new() });
        let mut reference = reference.map_or_else(none, |(reference, _)| reference);
        reference.peaks = peaks;
        Ok(reference)
    }

    /// Checks that the replay of the same name would print what the command did, where it sees just that.
    fn hold_against_replay(&self, job: &StockJob, subject: &Subject, seen: &Reference) -> Result<(), BenchError> {
        let Some(spec) = job.workload.replay().filter(|_| job.caches == Caches::Off) else { return Ok(()) };
        let mut history = Repository::open(&subject.place.folder)?.history(subject.place.decoders)?;
        let Some(replayed) = output_of(spec, &self.plan.range, &subject.place, history.as_mut())? else {
            return Ok(());
        };
        let is_same = replayed.counts.iter().all(|(name, count)| seen.counts.get(name) == Some(count))
            && replayed.hex.as_ref().is_none_or(|hex| *hex == seen.digest.hex);
        if is_same {
            return Ok(());
        }
        let hex = replayed.hex.unwrap_or_default();
        let expected = Reference::of(replayed.counts, ContentDigest { hex, ..seen.digest.clone() });
        Err(differs(&job.label, subject, "the replay in-process", &expected, seen))
    }

    /// What a job prints or makes on one row, and how much memory it takes.
    fn look(&self, job: &StockJob, stock: &StockSubject) -> Result<(Reference, Option<u64>), StockError> {
        let scratch = self.scratch_of(stock)?;
        let mut prepared = stock.client.prepare(job, scratch.path())?;
        let mut digester = OutputDigester::new(prepared.form);
        let peak = self.meter(&mut prepared, scratch.path(), &mut digester)?;
        let mut counts = if prepared.form == OutputForm::Nothing { Counts::new() } else { digester.counts() };
        let (more, made) = self.made(&mut prepared, true)?;
        counts.extend(more);
        let digest = match made {
            Some(made) => made,
            None => digester.digest().map_err(|why| StockError::failed(&prepared.command, &why))?,
        };
        Ok((Reference::of(counts, digest), peak))
    }

    /// Runs the command once, without a clock, and returns the most memory that one of its processes held, where that can be known.
    fn meter(&self, prepared: &mut Prepared, scratch: &Path, sink: &mut dyn Sink) -> Result<Option<u64>, StockError> {
        let Some(meter) = self.plan.stock.as_ref().and_then(|stock| stock.meter.as_deref()) else {
            child::run(&mut prepared.command, self.clock, self.progress, sink)?;
            return Ok(None);
        };
        let told = scratch.join("peak-memory");
        let input = prepared.input.as_deref();
        let mut metered = metered(meter, &prepared.command, input, &told)
            .map_err(|error| StockError::files("read", input.unwrap_or(Path::new("")), error))?;
        child::run(&mut metered, self.clock, self.progress, sink).map_err(|error| match error {
            StockError::Failed { why, .. } => StockError::failed(&prepared.command, &why),
            error => error,
        })?;
        Ok(read_peak(&told))
    }

    /// A folder for one run.
    fn scratch_of(&self, stock: &StockSubject) -> Result<tempfile::TempDir, StockError> {
        let place = stock.client.scratch();
        tempfile::tempdir_in(place).map_err(|error| StockError::files("create a folder in", place, error))
    }

    /// What a command made besides its output.
    fn made(&self, prepared: &mut Prepared, is_hashed: bool) -> Result<(Counts, Option<ContentDigest>), StockError> {
        match &mut prepared.made {
            Made::Nothing => Ok((Counts::new(), None)),
            Made::Files(folder) => files(folder, is_hashed),
            Made::Objects(list) => {
                let (lines, digest) = self.list(list)?;
                Ok((Counts::from([("objects".to_owned(), lines)]), is_hashed.then_some(digest)))
            }
            Made::Changesets { root, list } => {
                let changesets = changesets(root)
                    .map_err(|error| StockError::failed(&prepared.command, &format!("what it made: {error}")))?;
                let digest = if is_hashed { Some(self.list(list)?.1) } else { None };
                Ok((Counts::from([("objects".to_owned(), changesets)]), digest))
            }
        }
    }

    /// How many lines a command prints, and their digest.
    fn list(&self, command: &mut Command) -> Result<(u64, ContentDigest), StockError> {
        let mut digester = OutputDigester::new(OutputForm::Text);
        child::run(command, self.clock, self.progress, &mut digester)?;
        let lines = digester.counts().get("output lines").copied().unwrap_or_default();
        let digest = digester.digest().map_err(|why| StockError::failed(command, &why))?;
        Ok((lines, digest))
    }

    /// Runs the job once on one row.
    pub(super) fn run_command(&self, job: &StockJob, subject: &Subject) -> Result<JobRun, BenchError> {
        let Some(stock) = &subject.stock else {
            let why = format!("{}: no client of its own", subject.variant.label());
            return Err(WorkloadError::Refused { why }.into());
        };
        self.time(job, stock).map_err(|error| of_row(subject, error))
    }

    fn time(&self, job: &StockJob, stock: &StockSubject) -> Result<JobRun, StockError> {
        let scratch = self.scratch_of(stock)?;
        let mut prepared = stock.client.prepare(job, scratch.path())?;
        let mut counter = OutputCounter::default();
        let finished = child::run(&mut prepared.command, self.clock, self.progress, &mut counter)?;
        let mut counts = if prepared.form == OutputForm::Nothing { Counts::new() } else { counter.counts() };
        counts.extend(self.made(&mut prepared, false)?.0);
        let start = u64::try_from(stock.start.as_nanos()).unwrap_or(u64::MAX);
        Ok(JobRun {
            counts: vec![counts],
            extra: Counts::from([(START.to_owned(), start)]),
            sample: finished.sample,
            usage: finished.usage,
            lookups: CacheLookups::default(),
        })
    }
}

/// Says whose command failed.
fn of_row(subject: &Subject, error: StockError) -> BenchError {
    match error {
        StockError::Failed { command, why } => {
            StockError::Failed { command: format!("{}: {command}", subject.variant.label()), why }.into()
        }
        error => error.into(),
    }
}
