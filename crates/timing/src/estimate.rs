//! Predicts sizes and times under codecs from a sample, without writing a variant.
//!
//! - `population`: all chunks by stratum, and which of them are drawn;
//! - `held`: the drawn chunks in memory;
//! - `encoded`: their bytes and times under each codec;
//! - `decoding`: what decoding them costs under each codec;
//! - `shares`: how much of a workload's time is decoding, measured in place.
//!
//! The statistics are in `repackbench_analysis`. `METHODOLOGY.md` justifies the method.

mod decoding;
mod encoded;
mod held;
mod population;
mod shares;

use std::{cell::Cell, time::Duration};

use rand::{SeedableRng, rngs::SmallRng};
use repackbench_analysis::{CostRatio, cost_ratio};
use repackbench_codec::{Algorithm, CodecSpec, Decoders, DictionarySource};
use repackbench_reader::Repository;
use repackbench_records::{
    DeltaState, Predicted, Rechosen, RepositoryEstimate, RepositoryState, SCHEMA_VERSION, SpecPrediction, SpecText,
    WorkloadPrediction,
};
use repackbench_writer::{
    DeltaRecomputer, Encoding, JobControl, PayloadEncoders, Progress, ProgressUnit, cache::Cache,
    dictionaries::encoding_for, fingerprint, git::recompute::search_anew,
};

use self::{
    decoding::DecodeCosts,
    encoded::{Encoded, Limit, encode_all, encode_every},
    held::HeldChunks,
    population::Population,
    shares::{Replays, WorkloadShare},
};
use crate::{
    BenchError,
    clock::Clock,
    record_names::vcs_of,
    session::Session,
    sizes::measure,
    workloads::{HistoryRange, WorkloadError, WorkloadSpec},
};

/// The half-width of the interval of a size, as a share of the size, that is precise enough.
pub const PRECISION: f64 = 0.01;

/// Until when parts of the work may take time, as shares of the whole.
const ENCODING_ENDS: f64 = 0.25;
const REPLAYS_END: f64 = 0.4;

/// What to predict.
#[derive(Debug, Clone)]
pub struct EstimatePlan {
    /// The codecs. The first is the baseline of times.
    pub specs: Vec<CodecSpec>,
    /// The workloads.
    pub workloads: Vec<WorkloadSpec>,
    /// The part of history that they look at.
    pub range: HistoryRange,
    /// The time for everything.
    pub time: Duration,
    /// Whether to encode every chunk.
    pub is_exact: bool,
    /// How deltas are searched for anew, or why they are not.
    pub recomputer: Result<DeltaRecomputer, String>,
    /// The seed of the sample.
    pub seed: u64,
    /// Threads for encoding, and for the search for deltas.
    pub threads: usize,
    /// The command that asked for it, as a shell reads it.
    pub command: Option<String>,
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
    let snapshot = source.snapshot().map_err(WorkloadError::from)?;
    let session = Session::new(clock, progress);
    let began = session.now()?;
    let job = Job { plan, clock, progress };
    let (as_found, missing_objects) = job.state(source, began, plan.time)?;
    let took = session.now()?.saturating_sub(began);
    let rechosen = job.rechosen(source, &as_found, cache, (began, took))?;
    snapshot.check().map_err(WorkloadError::from)?;
    let repository = RepositoryState {
        name: name.to_owned(),
        fingerprint: fingerprint(source)?.to_string(),
        vcs: Some(vcs_of(source)),
        objects: Some(as_found.chunks),
        bytes: Some(as_found.total_bytes),
        ..RepositoryState::default()
    };
    Ok(RepositoryEstimate {
        schema: SCHEMA_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: plan.command.clone(),
        repository,
        seed: plan.seed,
        seconds: session.now()?.saturating_sub(began).as_secs_f64(),
        missing_objects,
        as_found,
        rechosen,
    })
}

/// What all parts of an estimate share.
struct Job<'a> {
    plan: &'a EstimatePlan,
    clock: &'a (dyn Clock + Sync),
    progress: &'a dyn Progress,
}

impl Job<'_> {
    /// Predicts for `repository`, which has its deltas, in `time` from `began` on. Also counts missing objects.
    fn state(&self, repository: &Repository, began: Duration, time: Duration) -> Result<(DeltaState, u64), BenchError> {
        let plan = self.plan;
        let mut random = SmallRng::seed_from_u64(plan.seed);
        let step = |name: &str| self.progress.start(name, 1, ProgressUnit::Items);
        step("reading the framing of all chunks");
        let size = measure(repository, "").map_err(WorkloadError::from)?;
        let population = Population::of(repository, &mut random).map_err(WorkloadError::from)?;
        let specs = self.specs(repository);
        let sample = population.sample(&mut random);
        let with_bases = specs.iter().any(CodecSpec::uses_bases);
        step("reading a sample of chunks");
        let held = HeldChunks::read(repository, &sample, with_bases, self.progress)?;
        let encodings = self.encodings(repository, &specs)?;
        step("encoding the sample");
        let limit = Limit { precision: PRECISION, end: began.saturating_add(time.mul_f64(ENCODING_ENDS)) };
        let make = match repository {
            Repository::Git(_) => PayloadEncoders::for_packs,
            Repository::Hg(_) => PayloadEncoders::for_revlogs,
        };
        let io = (self.clock, self.progress);
        let mut encoded = encode_all(make, &population, &held, &encodings, limit, io, plan.threads)?;
        if plan.is_exact {
            self.progress.start("encoding every chunk", population.chunks(), ProgressUnit::Items);
            let work = (plan.threads, self.progress);
            encode_every(make, (repository, population.large), &mut encoded, work)?;
        }
        step("decoding the sample");
        let recorded = repository.recorded_spec();
        let decoders = recorded.as_ref().map_or_else(Decoders::default, Decoders::for_spec);
        let costs = DecodeCosts::measure(repository, decoders, &held, &encoded, &mut random, self.progress)?;
        let replays = Replays {
            source: repository,
            decoders,
            population: &population,
            clock: self.clock,
            progress: self.progress,
            missing: Cell::new(0),
        };
        let shares = self.shares(&replays, began.saturating_add(time.mul_f64(REPLAYS_END)))?;
        let workloads = shares.into_iter().map(|share| workload_prediction(share, &costs, encoded.len())).collect();
        let other = size.total_bytes.saturating_sub(population.stored());
        let predictions = specs.iter().zip(&encoded).enumerate();
        let specs = predictions.map(|(at, (spec, encoded))| {
            let seconds = costs.seconds(&population, at);
            spec_prediction(repository, spec, encoded, (&population, seconds), other)
        });
        let state = DeltaState {
            total_bytes: size.total_bytes,
            chunk_bytes: population.stored(),
            payload_bytes: population.payload(),
            chunks: population.chunks(),
            commits: population.commits(),
            sampled_chunks: encoded.iter().map(|encoded| encoded.stored.len() as u64).max().unwrap_or(0),
            specs: specs.collect::<Result<_, _>>()?,
            workloads,
        };
        self.progress.finish();
        Ok((state, replays.missing.get()))
    }

    /// The specs as they apply to `repository`, once each.
    fn specs(&self, repository: &Repository) -> Vec<CodecSpec> {
        let mut specs: Vec<CodecSpec> = Vec::new();
        for spec in &self.plan.specs {
            let spec = if matches!(repository, Repository::Hg(_)) { spec.for_revlogs() } else { spec.clone() };
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        specs
    }

    /// Trains the dictionaries that specs ask for, as a conversion does. Codecs of one family with dictionaries of one
    /// length share them: those for a high level take minutes and are hardly better.
    fn encodings(&self, repository: &Repository, specs: &[CodecSpec]) -> Result<Vec<Encoding>, BenchError> {
        let control = JobControl { threads: self.plan.threads, progress: self.progress };
        let mut encodings: Vec<Encoding> = Vec::new();
        for spec in specs {
            let shared = encodings.iter().find(|made| shares_dictionaries(made.spec(), spec));
            let encoding = match shared {
                Some(made) => made.under(spec),
                None => encoding_for(repository, spec, control)?.0,
            };
            encodings.push(encoding);
        }
        Ok(encodings)
    }

    /// Replays each workload until its share of the time is over.
    fn shares(&self, replays: &Replays<'_>, end: Duration) -> Result<Vec<WorkloadShare>, BenchError> {
        let session = Session::new(self.clock, self.progress);
        let mut shares: Vec<WorkloadShare> = Vec::new();
        for (number, spec) in self.plan.workloads.iter().enumerate() {
            let label = spec.build(&self.plan.range, None).label();
            self.progress.start(&format!("replaying {label}"), 1, ProgressUnit::Items);
            let now = session.now()?;
            let left = u32::try_from(self.plan.workloads.len() - number).unwrap_or(u32::MAX);
            let part_end = now.saturating_add(end.saturating_sub(now) / left);
            shares.push(replays.measure(spec, &self.plan.range, part_end)?);
        }
        Ok(shares)
    }

    /// Searches for deltas anew if that fits the time, and predicts for the result.
    fn rechosen(
        &self,
        source: &Repository,
        as_found: &DeltaState,
        cache: &Cache,
        (began, took): (Duration, Duration),
    ) -> Result<Rechosen, BenchError> {
        let recomputer = match &self.plan.recomputer {
            Ok(recomputer) => recomputer,
            Err(why) => return Ok(Rechosen::Left { why: why.clone() }),
        };
        let predicted = search_seconds(as_found, self.plan.threads);
        let now = Session::new(self.clock, self.progress).now()?;
        let end = began.saturating_add(self.plan.time).as_secs_f64();
        // The result is predicted for in what is left: half of the time of the first state still gives good sizes.
        if now.as_secs_f64() + predicted + took.as_secs_f64() / 2.0 > end {
            return Ok(Rechosen::TooLong { predicted_seconds: predicted });
        }
        self.progress.start("searching for deltas anew", 1, ProgressUnit::Items);
        let control = JobControl { threads: self.plan.threads, progress: self.progress };
        let (Repository::Git(git_source), DeltaRecomputer::Git(git)) = (source, recomputer) else {
            return Ok(Rechosen::Left { why: "only git searches once for all codecs".to_owned() });
        };
        let scratch = cache.scratch().map_err(|error| BenchError::Variant(error.into()))?;
        let seconds = search_anew(git_source, scratch.path(), &**git, control)?.as_secs_f64();
        let searched = Session::new(self.clock, self.progress).now()?;
        let repository = Repository::open(scratch.path()).map_err(WorkloadError::from)?;
        let left = Duration::from_secs_f64(end).saturating_sub(searched);
        let (state, _) = self.state(&repository, searched, left)?;
        Ok(Rechosen::Searched { seconds, state: Box::new(state) })
    }
}

/// The predicted elapsed time of `git repack -adF` in seconds. Objects, not bytes, decide: each is compared with ten
/// others. git 2.47 took 200 to 290 microseconds of CPU time for each on public repositories of 49,000 and 171,000
/// objects.
fn search_seconds(state: &DeltaState, threads: usize) -> f64 {
    const SECONDS_AN_OBJECT: f64 = 250e-6;
    SECONDS_AN_OBJECT * state.chunks as f64 / threads.max(1) as f64
}

/// Whether the dictionaries for `made` serve `spec` as well.
fn shares_dictionaries(made: &CodecSpec, spec: &CodecSpec) -> bool {
    let length = |spec: &CodecSpec| match spec.default_choice().dictionary() {
        Some(DictionarySource::Trained { max_len }) if spec.is_uniform() => Some(*max_len),
        _ => None,
    };
    let is_zstd = |spec: &CodecSpec| spec.algorithm() == Algorithm::Zstd;
    length(spec).is_some() && length(made) == length(spec) && is_zstd(made) == is_zstd(spec)
}

fn spec_prediction(
    repository: &Repository,
    spec: &CodecSpec,
    encoded: &Encoded,
    (population, decode_seconds): (&Population, f64),
    other_bytes: u64,
) -> Result<SpecPrediction, BenchError> {
    let dictionary_bytes = encoded.encoding.dictionary_bytes()?;
    let rate = |seconds: f64| if seconds > 0.0 { population.payload() as f64 / seconds } else { 0.0 };
    let is_read_by_stock = match repository {
        Repository::Git(_) => spec.is_read_by_git(),
        Repository::Hg(_) => repackbench_writer::hg::recompute::is_native_to_hg(spec),
    };
    Ok(SpecPrediction {
        spec: SpecText { typed: spec.to_string(), canonical: spec.canonical() },
        total_bytes: encoded.total(other_bytes.saturating_add(dictionary_bytes)),
        dictionary_bytes,
        sampled_chunks: encoded.stored.len() as u64,
        encode_bytes_per_second: rate(encoded.seconds()),
        decode_bytes_per_second: rate(decode_seconds),
        is_read_by_stock: is_read_by_stock && !spec.uses_dictionaries() && !spec.uses_bases(),
    })
}

fn workload_prediction(share: WorkloadShare, costs: &DecodeCosts, codecs: usize) -> WorkloadPrediction {
    let ratio = |codec: usize| match codec {
        0 => Predicted::exact(1.0),
        codec => cost_ratio(&CostRatio {
            members: &costs.members(codec, 0),
            decoded_x: &share.decoded,
            share: share.share,
            share_error: share.share_error,
        }),
    };
    let ratios = (0..codecs).map(ratio).collect();
    let half_width = 2.0 * share.share_error;
    let interval = repackbench_records::RatioInterval {
        low: (share.share - half_width).max(0.0),
        high: (share.share + half_width).min(1.0),
        coverage: repackbench_analysis::COVERAGE,
    };
    WorkloadPrediction {
        workload: share.label,
        commits: share.commits,
        is_cut: share.is_cut,
        seconds: share.seconds,
        decode_share: Predicted { value: share.share, interval: Some(interval) },
        decodes: share.decodes,
        ratios,
    }
}
