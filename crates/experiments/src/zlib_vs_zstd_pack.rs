//! zstd instead of zlib in packs: `repack`, `rev-list`, `log -S` and sizes, as published in 2016.
//!
//! The published git was patched. Here git is unpatched, and a preloaded library stands in for the functions of zlib, like the wrapper of
//! 2016. All variants have the deltas of the source, so that sizes and reads differ only by the codec; `repack` searches for deltas again.

mod claims;
mod tables;

use std::time::Duration;

use repackbench_codec::CodecSpec;
use repackbench_records::{Experiment, SizeRecord, Statement, StoredStatement};
use repackbench_timing::{
    BenchError,
    arms::stock::{Receiver, StockWorkload, copy_repository},
    sizes::measure,
    workloads::{Exchange, WorkloadSpec},
};
use repackbench_writer::cache::GetOrMakeError;

use crate::{
    Context, ExperimentError,
    budget::{Budget, time_to_look},
    deltas,
    measuring::{Job, Measuring, Work},
    probe::{self, Probe},
    setting::{begin, complete, published},
    variants::{Sized, of_variant},
};

pub(crate) const NAME: &str = "zlib-vs-zstd-pack";

/// The baseline.
const BASELINE: &str = "zlib:6";
/// The published levels, those of the claims first.
const CODECS: [&str; 6] = ["zstd:3", "zstd:1", "zstd:5", "zstd:7", "zstd:9", "zstd:11"];
/// The number of [`CODECS`] that are measured in daily work.
const DAILY: usize = 2;
/// The string that was searched for.
const NEEDLE: &str = "foo";
/// The number of new commits.
const NEW_COMMITS: u64 = 100;
/// The approximate time of a replay of `rev-list` or `log -S`, as a part of git's.
const REPLAYED: f64 = 0.65;
/// Bytes of payload that one core decodes and compresses again with zlib in a second.
const RECOMPRESSED: f64 = 25e6;

/// The weights of the parts of the budget.
mod weight {
    pub(super) const TRAVERSE: u32 = 6;
    pub(super) const PICKAXE: u32 = 14;
    pub(super) const REV_LIST: u32 = 10;
    pub(super) const LOG_S: u32 = 25;
    pub(super) const DAILY: u32 = 15;
    pub(super) const SERVE: u32 = 10;
    pub(super) const REPACK: u32 = 20;
    pub(super) const ALL: u32 = TRAVERSE + PICKAXE + REV_LIST + LOG_S + DAILY + SERVE + REPACK;
}

/// Every variant.
struct Variants {
    as_found: SizeRecord,
    baseline: Sized,
    /// In the order of [`CODECS`].
    codecs: Vec<Sized>,
}

pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    let published = published(NAME)?;
    let mut experiment = begin(context, published)?;
    let variants = Variants::make(context)?;
    let deltas = if context.options.is_repacked { Some(deltas::measure(context)?) } else { None };
    let mut measuring =
        Measuring::new(context, context.source, context.name.to_owned(), variants.baseline.spec.clone());
    match measure_all(&mut measuring, &variants) {
        Err(ExperimentError::Interrupted) => measuring.is_interrupted = true,
        result => result?,
    }
    complete(&mut experiment, &measuring.records, &variants.as_found);
    let found = tables::Findings::new(published, &measuring.records, &variants);
    experiment.differences = tables::differences(&experiment);
    experiment.tables = tables::tables(&found);
    experiment.claims = claims::claims(&found);
    experiment.notes = tables::notes();
    if let Some(deltas) = &deltas {
        experiment.tables.push(deltas::table(deltas));
        experiment.notes.extend(deltas::note(deltas).map(StoredStatement::from));
    }
    experiment.notes.append(&mut measuring.left_out);
    if measuring.is_interrupted {
        experiment.notes.push(Statement::new("user-stopped").into());
    }
    Ok(experiment)
}

impl Variants {
    fn make(context: &Context<'_>) -> Result<Self, ExperimentError> {
        let as_found = measure(context.source, "as found")?;
        let baseline = Sized::make(context, context.source, BASELINE)?;
        let codecs = CODECS.iter().map(|text| Sized::make(context, context.source, text)).collect::<Result<_, _>>()?;
        Ok(Variants { as_found, baseline, codecs })
    }

    fn specs(&self) -> Vec<CodecSpec> {
        self.codecs.iter().map(|codec| codec.spec.clone()).collect()
    }
}

/// Measures what fits into the budget: reads first, then full repacks, then daily work.
fn measure_all(measuring: &mut Measuring<'_>, variants: &Variants) -> Result<(), ExperimentError> {
    let context = measuring.context;
    let mut budget = Budget::new(context.clock, context.options.budget, weight::ALL)?;
    let specs = variants.specs();
    let git = |arguments: &[&str]| {
        let mut command = probe::git(context, variants.baseline.variant.path());
        command.args(arguments);
        command
    };
    let search = format!("-S{NEEDLE}");
    let rev_list = git(&["rev-list", "--objects", "--all"]);
    let rev_list = probe::time_of(context, rev_list, "git rev-list", time_to_look(&budget, weight::REV_LIST)?)?;
    let log_s = git(&["log", "--no-renames", "--format=%H", &search]);
    let log_s = probe::time_of(context, log_s, "git log -S", time_to_look(&budget, weight::LOG_S)?)?;
    let pickaxe = || WorkloadSpec::PickaxeDiff(NEEDLE.to_owned());
    let jobs = [
        Job::new(replay_of("rev-list --objects --all"), replay(WorkloadSpec::Traverse), weight::TRAVERSE, &specs)
            .taking(rev_list.scaled(REPLAYED)),
        Job::new(replay_of("log -S"), replay(pickaxe()), weight::PICKAXE, &specs).taking(log_s.scaled(REPLAYED)),
        Job::new("git rev-list --objects --all", command(WorkloadSpec::Traverse), weight::REV_LIST, &specs)
            .taking(rev_list)
            .with_rows(3, 1),
        Job::new("git log -S", command(pickaxe()), weight::LOG_S, &specs).taking(log_s).with_rows(3, 1),
    ];
    jobs.iter().try_for_each(|job| measuring.measure(job, &mut budget))?;
    let daily = specs.get(..DAILY).unwrap_or(&specs);
    serve(measuring, variants, daily, &mut budget)?;
    let one = look_at_repack(measuring, variants, time_to_look(&budget, weight::REPACK)?)?;
    let work = Work::Commands(vec![StockWorkload::Repack]);
    measuring.measure(&Job::new("git repack -adF", work, weight::REPACK, &specs).taking(one), &mut budget)?;
    measure_daily(measuring, daily, &mut budget)
}

fn replay_of(command: &str) -> Statement {
    Statement::new("replay-of").with("command", command)
}

fn replay(workload: WorkloadSpec) -> Work {
    Work::Replays(vec![workload])
}

fn command(workload: WorkloadSpec) -> Work {
    Work::Commands(vec![StockWorkload::Replayed(workload)])
}

/// Incremental repacks and fetches, which are daily work where full repacks are not.
fn measure_daily(
    measuring: &mut Measuring<'_>,
    codecs: &[CodecSpec],
    budget: &mut Budget<'_>,
) -> Result<(), ExperimentError> {
    let fetch = [Receiver::Same, Receiver::Zlib].map(StockWorkload::Fetch);
    let commands = Work::Commands([StockWorkload::RepackIncremental].into_iter().chain(fetch).collect());
    let job = Job::new(Statement::new("incremental-repack-and-fetch"), commands, weight::DAILY, codecs);
    measuring.measure(&job.of_newest(NEW_COMMITS), budget)
}

/// Serving a clone, to clients of the codec and to clients that only know zlib.
fn serve(
    measuring: &mut Measuring<'_>,
    variants: &Variants,
    codecs: &[CodecSpec],
    budget: &mut Budget<'_>,
) -> Result<(), ExperimentError> {
    let payload = variants.baseline.size.objects.sum().payload_bytes;
    let one = Probe::Took(Duration::from_secs_f64(payload as f64 / RECOMPRESSED));
    let serve = Work::Replays([Exchange::Same, Exchange::Zlib].map(WorkloadSpec::Serve).to_vec());
    // Stored zlib is sent unchanged, which takes hardly any time.
    let job = Job::new(Statement::new("serving-a-clone"), serve, weight::SERVE, codecs).taking(one).with_rows(0, 1);
    measuring.measure(&job, budget)
}

/// Trial run of a full repack of the baseline, in a copy whose packs are links.
fn look_at_repack(
    measuring: &Measuring<'_>,
    variants: &Variants,
    limit: Option<Duration>,
) -> Result<Probe, ExperimentError> {
    let context = measuring.context;
    if measuring.is_interrupted {
        return Ok(Probe::Unknown);
    }
    let scratch = context.cache.scratch().map_err(|error| of_variant(GetOrMakeError::Cache(error)))?;
    let copy = scratch.path().join("repack.git");
    copy_repository(variants.baseline.variant.path(), &copy).map_err(BenchError::from)?;
    let mut command = probe::git(context, &copy);
    command.args(["repack", "-a", "-d", "-F", "-q"]);
    probe::time_of(context, command, "git repack", limit)
}
