//! `repackbench estimate`.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::{ResultLine, write_result};
use repackbench_report::{articles_text, sections};
use repackbench_timing::{
    clock::SystemClock,
    estimate::{EstimatePlan, estimate},
    workloads::WorkloadSpec,
};
use repackbench_writer::{DeltaRecomputer, cache::Cache};

use crate::{
    failure::{FAILED, Failure, USAGE},
    options::{Budget, CodecsArguments, Effort, MemoryArguments, ProgramArguments, RangeArguments, SeedArgument, located},
    output::{
        command_line, create,
        result_output::{OutputArguments, ResultOutput},
        style,
    },
    progress::Bar,
    repository::{name_of, open, print_notes},
};

/// The codecs that Git repositories are estimated under by default.
const GIT_CODECS: [&str; 11] = [
    "zlib:6", "zlib:9", "libdeflate:6", "libdeflate:9", "zstd:3", "zstd:9", "zstd:19", "lz4", "balanced", "best-read", "best-size",
];

/// The same for Mercurial, where zstd:3 has been the default since hg 5.8.
const HG_CODECS: [&str; 9] =
    ["zlib:6", "zstd:3", "zlib:9", "zstd:9", "zstd:19", "lz4", "balanced", "best-read", "best-size"];

/// The codec that ratios of times are to.
const BASELINE: &str = "zlib:6";

/// The time of a search for deltas where none is limited.
const NO_LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Predict sizes and times under several codecs within a minute, without writing a variant
///
/// Encodes and decodes a sample of chunks under each codec, replays workloads on the repository as
/// found, and predicts from both what `bench` would measure. Intervals hold the true value with 95 %.
/// Does the same for deltas that git searches for anew (repack -adF), where that fits the time.
///
/// Examples:
///   repackbench estimate .
///   repackbench estimate . --codec zstd:5 --codec zstd:19,dict=64k
///   repackbench estimate . --time 20s --json estimate.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct EstimateArguments {
    /// The repository.
    #[arg(value_parser = located())]
    repository: PathBuf,

    #[command(flatten)]
    codecs: CodecsArguments,

    /// Workload to predict: checkout:sink, traverse, diff:raw, diff:pickaxe=STRING, diff:patch or cat-all; may be
    /// repeated [default: checkout:sink, traverse, diff:raw and diff:patch].
    #[arg(long = "workload", value_name = "W")]
    workloads: Vec<WorkloadSpec>,

    /// The time for everything, such as 20s or 5m. What would take longer is cut or left out, and the output says so.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    time: Budget,

    /// Encode every chunk instead of a sample: sizes without error, in the time that this takes.
    #[arg(long)]
    exact: bool,

    /// Do not search for deltas anew.
    #[arg(long)]
    as_found: bool,

    /// Write the prediction to FILE as a line of JSON, for `report`.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    seed: SeedArgument,

    #[command(flatten)]
    range: RangeArguments,

    #[command(flatten)]
    programs: ProgramArguments,

    #[command(flatten)]
    memory: MemoryArguments,

    #[command(flatten)]
    effort: Effort,

    #[command(flatten)]
    output: OutputArguments,
}

impl EstimateArguments {
    fn plan(&self, source: &Repository) -> Result<EstimatePlan, Failure> {
        let mut specs = vec![parse(BASELINE)?];
        let typed = self.codecs.specs()?;
        if typed.is_empty() {
            let names = if matches!(source, Repository::Git(_)) { &GIT_CODECS[..] } else { &HG_CODECS[..] };
            specs.extend(names.iter().map(|name| parse(name)).collect::<Result<Vec<_>, _>>()?);
        } else {
            specs.extend(typed);
        }
        let unpredictable = self.workloads.iter().find(|workload| !workload.is_traced() || **workload == WorkloadSpec::Checkout);
        if let Some(workload) = unpredictable {
            return Err(Failure::new(USAGE, format!("{workload} cannot be predicted; bench measures it")));
        }
        let workloads = match self.workloads.as_slice() {
            [] => vec![
                WorkloadSpec::CheckoutToSink,
                WorkloadSpec::Traverse,
                WorkloadSpec::RawDiff,
                WorkloadSpec::PatchDiff,
            ],
            typed => typed.to_vec(),
        };
        Ok(EstimatePlan {
            specs,
            workloads,
            range: self.range.range(source.default_revision()),
            time: self.time.0.unwrap_or(NO_LIMIT),
            is_exact: self.exact,
            recomputer: self.recomputer(source),
            seed: self.seed.given_or(None),
            threads: self.effort.threads(),
            command: command_line(),
        })
    }

    /// What searches for deltas, or why nothing does.
    fn recomputer(&self, source: &Repository) -> Result<DeltaRecomputer, String> {
        match source {
            _ if self.as_found => Err("it was not asked for".to_owned()),
            Repository::Git(_) => self.programs.recomputer(source).map_err(|error| error.to_string()),
            Repository::Hg(_) => Err("hg searches again for each codec: bench --rechosen measures that".to_owned()),
        }
    }
}

fn parse(spec: &str) -> Result<CodecSpec, Failure> {
    spec.parse().map_err(|error: repackbench_codec::SpecError| Failure::new(FAILED, error.to_string()))
}

pub(crate) fn run(arguments: &EstimateArguments) -> Result<ExitCode, Failure> {
    let quiet = arguments.effort.quiet();
    arguments.memory.ceiling(arguments.effort.threads()).for_histories(1).set();
    let source = open(&arguments.repository)?;
    print_notes(&source, quiet);
    let plan = arguments.plan(&source)?;
    let mut output = ResultOutput::create(&arguments.output)?;
    let mut json = arguments.json.as_deref().map(create).transpose()?;
    let (cache, bar) = (Cache::open(None)?, Bar::new(quiet));
    let estimated = estimate(&source, &name_of(&arguments.repository), &plan, &cache, &SystemClock::new(), &bar)?;
    if let Some(json) = &mut json {
        write_result(json, &ResultLine::Estimate(Box::new(estimated.clone())))
            .map_err(|error| Failure::new(FAILED, error))?;
    }
    let results = Results { estimates: vec![estimated], ..Results::default() };
    output.write(&results)?;
    output.print(&results, &articles_text(&sections::estimates(&results.estimates), style()))?;
    Ok(ExitCode::SUCCESS)
}
