//! Predicts sizes and times under codecs from a sample, without writing a variant.
//!
//! - `population`: all chunks by stratum, and which of them are drawn;
//! - `held`: the drawn chunks in memory;
//! - `encoded`: their bytes and times under each codec;
//! - `decoding`: what decoding them costs under each codec;
//! - `in_place`: the chunks that a workload decodes, under each codec;
//! - `shares`: how much of a workload's time is decoding, measured in place;
//! - `ratios`: what follows for the workload's time under each codec;
//! - `length`: how long all of it takes;
//! - `searches`: new searches for deltas, whose results are predicted for, too;
//! - `steps`: progress.
//!
//! The statistics are in `repackbench_analysis`. `docs/method.md` justifies the method.

mod decoding;
mod encoded;
pub(crate) mod held;
mod in_place;
mod length;
mod population;
mod ratios;
mod searches;
mod shares;
mod steps;

use std::{
    cell::{Cell, RefCell},
    ffi::OsString,
    time::Duration,
};

use rand::{SeedableRng, rngs::SmallRng};
use repackbench_analysis::is_written_by;
use repackbench_codec::{Algorithm, CodecSpec, Decoders, DictionarySource, give_back_freed};
use repackbench_reader::{
    ReaderError, Repository,
    git::{numbered::mark_len, pack::PackFile},
};
use repackbench_records::{
    ChunkSizes, DeltaState, Rechosen, RepositoryEstimate, RepositoryState, SCHEMA_VERSION, SizeRecord, SpecPrediction,
    SpecText,
};
use repackbench_writer::{
    DeltaRecomputer, Encoding, JobControl, PayloadEncoders, Progress, ProgressUnit, StoreKind,
    cache::Cache,
    check_kinds,
    dictionaries::{approximate_encoding_for, approximate_encoding_from, encoding_for},
    fingerprint,
};

use self::{
    decoding::{DecodeCosts, affordable_bytes},
    encoded::{Encoded, Limit, MakeEncoders, Sample, encode_all, encode_every},
    held::{Forms, HeldChunks},
    in_place::{InPlace, stand_for},
    length::{LONGEST_DEFAULT, default_time},
    population::Population,
    ratios::workload_prediction,
    shares::{Replays, WorkloadShare},
    steps::Steps,
};
use crate::{
    BenchError,
    clock::Clock,
    context_memory::{self, ContextMemory},
    delta_search, host_with_software,
    own_git::{OwnGit, has_commit_graph, is_tried_with_graph},
    probe::ProcessorUse,
    record_names::{borrows_objects, codec_of, is_partial_clone, readers_of, vcs_of},
    session::Session,
    sizes::examine_each,
    workloads::{HistoryRange, WorkloadError, WorkloadSpec, refuse_numbers},
};

/// The half-width of the interval of a size, as a share of the size, that is precise enough.
pub const PRECISION: f64 = 0.0025;

/// Until when parts of the work on one state of the deltas may take time, as shares of the whole.
#[derive(Debug, Clone, Copy)]
struct Parts {
    encoding_ends: f64,
    replays_end: f64,
    /// What the replays have at least, however late they begin. A ratio from a single commit says nothing.
    least_for_replays: f64,
}

/// The time at the end of a session for replays that take longer than their part, since each workload needs some, and
/// for the answer; in short sessions at most this share of the time.
const RESERVE: Duration = Duration::from_millis(2500);
const MOST_RESERVE: f64 = 0.125;

impl Parts {
    /// The parts of a state that is the last one, with this `time`.
    fn last(time: Duration) -> Self {
        let reserve = RESERVE.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
        Parts { encoding_ends: 0.4, replays_end: 1.0 - reserve.min(MOST_RESERVE), least_for_replays: 0.1 }
    }
}

/// The parts of a state that a search for deltas and another state follow.
const FIRST_OF_TWO: Parts = Parts { encoding_ends: 0.18, replays_end: 0.46, least_for_replays: 0.2 };

/// The part of its share of the replays' time that each workload has at least, however long those before it took.
const LEAST_OF_EVEN: f64 = 0.5;

/// Sessions of this time or more train dictionaries on as many payloads as a conversion, though with less effort up to
/// [`LONGEST_DEFAULT`], and shorter ones on fewer in proportion.
const FULL_TRAINING: Duration = Duration::from_secs(20);

/// Repositories with more stored bytes than this, and than this for each second of a session, have dictionaries for one
/// family of codecs that are cut from those for another. In smaller ones they may be too short for the other family,
/// since a long one would not pay.
const LEAST_FOR_CUT: u64 = 100_000_000;
const PER_SECOND_FOR_CUT: u64 = 5_000_000;

/// What to predict.
#[derive(Debug, Clone)]
pub struct EstimatePlan {
    /// The codecs. The first is the baseline of times.
    pub specs: Vec<CodecSpec>,
    /// The workloads.
    pub workloads: Vec<WorkloadSpec>,
    /// The part of history that they look at.
    pub range: HistoryRange,
    /// The time for everything; `None` for what suits the repository.
    pub time: Option<Duration>,
    /// Whether to encode every chunk.
    pub is_exact: bool,
    /// How deltas are searched for anew, or why they are not.
    pub recomputer: Result<DeltaRecomputer, String>,
    /// A search with another window, which takes place after that if it fits the time. Then codecs are predicted for
    /// its result.
    pub harder: Option<DeltaRecomputer>,
    /// The user's own git, by name or path, whose CPU time decoding is compared with; `None` for no comparison.
    pub git: Option<OsString>,
    /// The seed of the sample.
    pub seed: u64,
    /// Threads for encoding, and for the search for deltas.
    pub threads: usize,
    /// The command that asked for it, as a shell reads it.
    pub command: Option<String>,
}

impl EstimatePlan {
    fn default_time(&self, source: &Repository, chunks: &ChunkSizes) -> Duration {
        let search = |recomputer: &DeltaRecomputer| self.search_time(chunks, recomputer.window(source));
        default_time(chunks.stored_bytes, self.recomputer.as_ref().ok().map(search))
    }

    fn search_time(&self, chunks: &ChunkSizes, window: Option<u32>) -> Duration {
        delta_search::predicted_time(chunks, window, self.threads)
    }
}

/// Carries `plan` out on `source`, which tables call `name`.
///
/// # Errors
/// See [`BenchError`].
pub fn estimate(
    source: &Repository,
    name: &str,
    plan: &EstimatePlan,
    cache: &Cache,
    clock: &(dyn Clock + Sync),
    progress: &dyn Progress,
) -> Result<RepositoryEstimate, BenchError> {
    for spec in &plan.specs {
        check_kinds(source, spec).map_err(|error| BenchError::Plan { why: error.to_string() })?;
    }
    refuse_numbers(source, "estimate")?;
    let snapshot = source.snapshot().map_err(WorkloadError::from)?;
    let began = Session::new(clock, progress).now()?;
    let load = ProcessorUse::now();
    let given_end = plan.time.map(|time| began.saturating_add(time));
    let examined = Examined::new(source, plan.seed, &Steps::new(progress, clock, given_end))?;
    let time = plan.time.unwrap_or_else(|| plan.default_time(source, &examined.chunks()));
    let end = began.saturating_add(time);
    let steps = Steps::new(progress, clock, Some(end));
    let own_codec = own_codec(source, &plan.specs);
    let job = Job { plan, time, own_codec, has_graph: has_commit_graph(source), clock, progress: &steps };
    let predicted = job.predict(source, examined, cache, (began, end));
    progress.finish();
    let States { as_found, missing_objects, use_after_found, rechosen } = predicted?;
    // A git that is stopped does not wait for its children, so their time would count as that of other programs.
    let is_stopped = match &rechosen {
        Rechosen::TooLong { stopped_after_seconds, .. } => stopped_after_seconds.is_some(),
        Rechosen::Searched { other, .. } => other.as_ref().is_some_and(|other| other.total_bytes.is_none()),
        Rechosen::Left { .. } => false,
    };
    let other_load = load.share_of_others(if is_stopped { use_after_found } else { ProcessorUse::now() });
    snapshot.check().map_err(WorkloadError::from)?;
    let repository = RepositoryState {
        name: name.to_owned(),
        fingerprint: fingerprint(source)?.to_string(),
        vcs: Some(vcs_of(source)),
        objects: Some(as_found.chunks),
        bytes: Some(as_found.total_bytes),
        tip: tip_of(source)?,
        head: None,
        is_partial_clone: is_partial_clone(source),
        borrows_objects: borrows_objects(source),
        codec: codec_of(source),
    };
    Ok(RepositoryEstimate {
        schema: SCHEMA_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: plan.command.clone(),
        host: Some(host_with_software(&[vcs_of(source)])),
        repository,
        seed: plan.seed,
        seconds: Session::new(clock, progress).now()?.saturating_sub(began).as_secs_f64(),
        other_load,
        missing_objects,
        training_percent: Some(training_percent(time)).filter(|percent| *percent < 100 && !plan.is_exact),
        pack_checksums: pack_checksums(source)?,
        as_found,
        rechosen,
    })
}

/// The codec of `source` if that is not one of `specs`: what another codec gains is counted from what there is.
fn own_codec(source: &Repository, specs: &[CodecSpec]) -> Option<CodecSpec> {
    let codec = codec_of(source)?;
    let own: CodecSpec = codec.parse().ok()?;
    let is_there = specs.iter().any(|spec| is_written_by(&codec, &spec.canonical()));
    // A variant does not say from which file its dictionary came. Trained dictionaries can be trained again.
    (!is_there && own.own_dictionary().is_none()).then_some(own)
}

/// The checksums in the trailers of all packs, unless there are too many.
fn pack_checksums(source: &Repository) -> Result<Vec<String>, BenchError> {
    let Repository::Git(git) = source else { return Ok(Vec::new()) };
    if git.packs().len() > RepositoryEstimate::MOST_PACK_CHECKSUMS {
        return Ok(Vec::new());
    }
    let checksum = |files| Ok(PackFile::open(files, git.object_hash())?.trailer()?.to_string());
    let read: Result<Vec<String>, ReaderError> = git.packs().iter().map(checksum).collect();
    let mut checksums = read.map_err(WorkloadError::from)?;
    checksums.sort();
    Ok(checksums)
}

/// The commit or changeset that the repository shows by default; `None` if it has none.
fn tip_of(source: &Repository) -> Result<Option<String>, BenchError> {
    let mut history = source.history(Decoders::default()).map_err(WorkloadError::from)?;
    Ok(history.resolve(source.default_revision()).ok().map(|id| id.to_string()))
}

/// See [`FULL_TRAINING`].
fn training_percent(time: Duration) -> u64 {
    (time.as_secs().saturating_mul(100) / FULL_TRAINING.as_secs()).clamp(1, 100)
}

/// The chunks of a repository before any of them is decoded.
struct Examined {
    size: SizeRecord,
    population: Population,
    random: SmallRng,
}

impl Examined {
    fn new(repository: &Repository, seed: u64, progress: &dyn Progress) -> Result<Self, BenchError> {
        progress.start("reading the framing of all chunks", 1, ProgressUnit::Items);
        let mut random = SmallRng::seed_from_u64(seed);
        let mut population = Population::of(repository);
        let examined = examine_each(repository, "", &mut |chunk| population.add(chunk, &mut random));
        let (size, _) = examined.map_err(WorkloadError::from)?;
        Ok(Examined { size, population, random })
    }

    fn chunks(&self) -> ChunkSizes {
        self.size.objects.sum()
    }
}

/// What is predicted for both states of the deltas.
struct States {
    as_found: DeltaState,
    missing_objects: u64,
    /// What the processors had done before the search for deltas.
    use_after_found: ProcessorUse,
    rechosen: Rechosen,
}

/// What all parts of an estimate share.
struct Job<'a> {
    plan: &'a EstimatePlan,
    /// The time for everything.
    time: Duration,
    /// See [`own_codec`].
    own_codec: Option<CodecSpec>,
    /// Whether the source has a commit-graph.
    has_graph: bool,
    clock: &'a (dyn Clock + Sync),
    progress: &'a dyn Progress,
}

impl Job<'_> {
    /// Predicts for both states of the deltas, from `began` to `end`.
    fn predict(
        &self,
        source: &Repository,
        examined: Examined,
        cache: &Cache,
        (began, end): (Duration, Duration),
    ) -> Result<States, BenchError> {
        let chunks = examined.chunks();
        let parts = match &self.plan.recomputer {
            Ok(recomputer) if self.has_time_for(self.plan.search_time(&chunks, recomputer.window(source))) => {
                FIRST_OF_TWO
            }
            _ => Parts::last(self.time),
        };
        let (as_found, missing_objects) = self.state(source, examined, cache, (began, end), parts)?;
        let use_after_found = ProcessorUse::now();
        let rechosen = self.rechosen(source, &chunks, cache, end)?;
        Ok(States { as_found, missing_objects, use_after_found, rechosen })
    }

    fn has_time_for(&self, search: Duration) -> bool {
        delta_search::fits(search, self.time)
    }

    fn step(&self, name: &str) {
        self.progress.start(name, 1, ProgressUnit::Items);
    }

    /// Predicts for `repository` with the deltas that it has, from `began` to `end`, in these parts. Also counts
    /// missing objects.
    fn state(
        &self,
        repository: &Repository,
        Examined { size, mut population, mut random }: Examined,
        cache: &Cache,
        (began, end): (Duration, Duration),
        parts: Parts,
    ) -> Result<(DeltaState, u64), BenchError> {
        let time = end.saturating_sub(began);
        let part_ends = |part: f64| began.saturating_add(time.mul_f64(part));
        let specs = self.specs(repository);
        self.step("reading a sample of chunks");
        let sample = population.sample(&mut random, time, affordable_bytes(specs.len(), time));
        let held = HeldChunks::read(repository, &sample, Forms::of(specs.iter()), self.progress)?;
        give_back_freed();
        let encodings = self.encodings(repository, &specs, size.objects.sum().stored_bytes)?;
        give_back_freed();
        let mut encoded = self.encode(repository, (&population, &held), &encodings, part_ends(parts.encoding_ends))?;
        give_back_freed();
        self.step("decoding the sample");
        let recorded = repository.recorded_spec();
        let decoders = recorded.as_ref().map_or_else(Decoders::default, Decoders::for_spec);
        let left = part_ends(parts.replays_end).saturating_sub(Session::new(self.clock, self.progress).now()?);
        let for_decoding = time.min(left.div_f64(parts.replays_end - parts.encoding_ends));
        let costs =
            DecodeCosts::measure(repository, decoders, &held, &encoded, &mut random, (for_decoding, self.progress))?;
        let memory = context_memory::measure(repository, &held, encoded.iter().map(|encoded| &encoded.encoding))?;
        // The replays remember payloads in turn, and nothing needs those of the sample any more.
        drop(held);
        encoded.iter_mut().for_each(Encoded::drop_stored);
        give_back_freed();
        // Under numbers workloads look nothing up, which no replay of the repository as found shows.
        let timed = specs.partition_point(|spec| !spec.uses_numbers());
        let standing_for =
            stand_for(specs.get(..timed).unwrap_or_default(), &repository.chunk_kinds().collect::<Vec<_>>());
        let replays = Replays {
            source: repository,
            decoders,
            in_place: InPlace {
                source: repository,
                make: encoders_of(repository),
                encoded: &encoded,
                standing_for: &standing_for,
                payload_bytes: size.objects.sum().payload_bytes,
                threads: self.plan.threads,
                clock: self.clock,
                progress: self.progress,
            },
            random: RefCell::new(random),
            population: &population,
            costs: &costs,
            commits: size.objects.commits(),
            clock: self.clock,
            progress: self.progress,
            missing: Cell::new(0),
            own_git: self.own_git((repository, size.objects.commits()), cache)?,
        };
        let now = Session::new(self.clock, self.progress).now()?;
        let least = now.saturating_add(time.mul_f64(parts.least_for_replays));
        let shares = self.shares(&replays, part_ends(parts.replays_end).max(least))?;
        let sum = size.objects.sum();
        // Variants have dictionaries of their own.
        let other_bytes = size.total_bytes.saturating_sub(sum.stored_bytes).saturating_sub(size.dictionary_bytes);
        let whole = Whole { other_bytes, payload_bytes: sum.payload_bytes };
        let own = codec_of(repository)
            .and_then(|codec| specs.iter().position(|spec| is_written_by(&codec, &spec.canonical())));
        let sampled = specs.iter().zip(&encoded).zip(memory).enumerate();
        let predictions = sampled.map(|(at, ((spec, encoded), memory))| {
            spec_prediction(repository, spec, encoded, &whole, (costs.seconds(&population, at), memory))
        });
        let state = DeltaState {
            total_bytes: size.total_bytes,
            chunk_bytes: sum.stored_bytes,
            payload_bytes: sum.payload_bytes,
            chunks: sum.entries,
            commits: size.objects.commits(),
            sampled_chunks: encoded.iter().map(|encoded| encoded.chunks).max().unwrap_or(0),
            objects: Some(size.objects.clone()),
            specs: predictions.collect::<Result<_, _>>()?,
            workloads: shares
                .into_iter()
                .map(|share| workload_prediction(share, &costs, (&standing_for, own)))
                .collect(),
        };
        Ok((state, replays.missing.get()))
    }

    /// Encodes the sample in each of `encodings` until `end`, and every chunk if the plan says so.
    fn encode(
        &self,
        repository: &Repository,
        (population, held): (&Population, &HeldChunks),
        encodings: &[Encoding],
        end: Duration,
    ) -> Result<Vec<Encoded>, BenchError> {
        self.step("encoding the sample");
        let make = encoders_of(repository);
        let limit = Limit { precision: PRECISION, end };
        let sample = Sample { population, held, limit, clock: self.clock, progress: self.progress };
        let mut encoded = encode_all(make, sample, encodings, self.plan.threads)?;
        if self.plan.is_exact {
            self.step("encoding every chunk");
            encode_every(make, (repository, population.large), &mut encoded, (self.plan.threads, self.progress))?;
        }
        Ok(encoded)
    }

    /// The specs as they apply to `repository`, once each, and that of the source; at the end those with numbers in the
    /// place of ids, whose times are not predicted.
    fn specs(&self, repository: &Repository) -> Vec<CodecSpec> {
        let mut specs: Vec<CodecSpec> = Vec::new();
        for spec in self.plan.specs.iter().chain(&self.own_codec) {
            let spec = if matches!(repository, Repository::Hg(_)) { spec.for_revlogs() } else { spec.clone() };
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        specs.sort_by_key(CodecSpec::uses_numbers);
        specs
    }

    /// Trains the dictionaries that specs ask for: as a conversion does if there is more time than by default or sizes
    /// are to be exact, and with less effort otherwise. Codecs of one family with dictionaries of one length share
    /// them: those for a high level take minutes and are hardly better. Where chunks have many `stored_bytes` for the
    /// time, those of one family are cut from those of another.
    fn encodings(
        &self,
        repository: &Repository,
        specs: &[CodecSpec],
        stored_bytes: u64,
    ) -> Result<Vec<Encoding>, BenchError> {
        let control = JobControl { threads: self.plan.threads, progress: self.progress };
        let percent = training_percent(self.time);
        let is_full = self.plan.is_exact || self.time > LONGEST_DEFAULT;
        let is_cut =
            !is_full && stored_bytes > LEAST_FOR_CUT.max(PER_SECOND_FOR_CUT.saturating_mul(self.time.as_secs()));
        let mut encodings: Vec<Encoding> = Vec::new();
        for spec in specs {
            let shared = encodings.iter().find(|made| shares_dictionaries(repository, made.spec(), spec));
            let mut others = encodings.iter().filter(|_| is_cut);
            let cut = || others.find_map(|made| approximate_encoding_from(made, repository.chunk_kinds(), spec));
            let encoding = match shared.map(|made| made.under(spec)).or_else(cut) {
                Some(made) => made,
                None if is_full => encoding_for(repository, spec, control)?.0,
                None => approximate_encoding_for(repository, spec, percent, control)?,
            };
            encodings.push(encoding);
        }
        Ok(encodings)
    }

    /// The user's git on `repository`, if it reads it.
    fn own_git(&self, repository: (&Repository, u64), cache: &Cache) -> Result<Option<OwnGit>, BenchError> {
        let Some(git) = &self.plan.git else { return Ok(None) };
        OwnGit::find(git, repository, !self.has_graph, cache, self.progress)
    }

    /// Replays each workload until its share of the time is over.
    fn shares(&self, replays: &Replays<'_>, end: Duration) -> Result<Vec<WorkloadShare>, BenchError> {
        let session = Session::new(self.clock, self.progress);
        let mut shares: Vec<WorkloadShare> = Vec::new();
        let mut left: f64 = self.plan.workloads.iter().map(weight).sum();
        let least = end.saturating_sub(session.now()?).mul_f64(LEAST_OF_EVEN / left.max(1.0));
        for spec in &self.plan.workloads {
            let label = spec.build(&self.plan.range, None).label();
            self.step(&format!("replaying {}", label.name));
            let now = session.now()?;
            let part = end.saturating_sub(now).mul_f64(1.0 / left.max(1.0)).max(least);
            let part_end = now.saturating_add(part.mul_f64(weight(spec)));
            left -= weight(spec);
            shares.push(replays.measure(spec, &self.plan.range, part_end)?);
        }
        Ok(shares)
    }
}

/// The weight of a workload in the division of the time. A traversal reads a whole tree for the first commit, and git
/// runs it with and without a commit-graph. Of a checkout no part is left out.
fn weight(spec: &WorkloadSpec) -> f64 {
    match (is_tried_with_graph(spec), spec.reads_commits()) {
        (true, _) => 2.0,
        (false, false) => 1.5,
        (false, true) => 1.0,
    }
}

/// What makes the encoders for the chunks of `repository`.
fn encoders_of(repository: &Repository) -> MakeEncoders {
    match repository {
        Repository::Git(_) => PayloadEncoders::for_packs,
        Repository::Hg(_) => PayloadEncoders::for_revlogs,
    }
}

/// Whether the dictionaries for `made` serve `spec` as well: for each kind both want one of the same length, or none.
fn shares_dictionaries(repository: &Repository, made: &CodecSpec, spec: &CodecSpec) -> bool {
    let wanted = |spec: &CodecSpec, kind| match spec.choice(kind).dictionary() {
        Some(DictionarySource::Trained { max_len }) => {
            Some((*max_len, spec.choice(kind).algorithm() == Algorithm::Zstd))
        }
        _ => None,
    };
    spec.own_dictionary().is_none()
        && spec.uses_numbers() == made.uses_numbers()
        && spec.uses_dictionaries()
        && repository.chunk_kinds().all(|kind| wanted(made, kind) == wanted(spec, kind))
}

/// What is known of a whole repository.
struct Whole {
    /// The bytes that no codec changes.
    other_bytes: u64,
    payload_bytes: u64,
}

/// The bytes of the files that mark the packs of `repository` once they have numbers in the place of ids.
fn numbers_bytes(repository: &Repository) -> u64 {
    let Repository::Git(git) = repository else { return 0 };
    git.packs().len() as u64 * mark_len(git.object_hash())
}

fn spec_prediction(
    repository: &Repository,
    spec: &CodecSpec,
    encoded: &Encoded,
    &Whole { other_bytes, payload_bytes }: &Whole,
    (decode_seconds, memory): (f64, ContextMemory),
) -> Result<SpecPrediction, BenchError> {
    let dictionary_bytes = encoded.encoding.dictionary_bytes()?;
    let other_bytes = other_bytes.saturating_add(if spec.uses_numbers() { numbers_bytes(repository) } else { 0 });
    let rate = |seconds: f64| if seconds > 0.0 { payload_bytes as f64 / seconds } else { 0.0 };
    Ok(SpecPrediction {
        spec: SpecText { typed: spec.to_string(), canonical: spec.canonical() },
        total_bytes: encoded.total(other_bytes.saturating_add(dictionary_bytes)),
        dictionary_bytes,
        training_seconds: encoded.encoding.training_cpu().as_secs_f64(),
        sampled_chunks: encoded.chunks,
        encode_bytes_per_second: rate(encoded.seconds()),
        decode_bytes_per_second: rate(decode_seconds),
        encode_memory_bytes: memory.encode,
        decode_memory_bytes: memory.decode,
        readers: readers_of(repository, spec, StoreKind::AsFound),
    })
}
