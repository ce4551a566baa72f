//! `repackbench estimate`.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_codec::{Algorithm, CodecSpec};
use repackbench_reader::Repository;
use repackbench_records::ResultLine;
use repackbench_report::{articles_text, sections};
use repackbench_timing::{
    clock::SystemClock,
    estimate::{EstimatePlan, estimate},
    workloads::{HistoryRange, WorkloadSpec},
};
use repackbench_writer::{DeltaRecomputer, cache::Cache};

use crate::{
    failure::{FAILED, Failure, USAGE},
    options::{
        CodecsArguments, Effort, HOW_LONG, MemoryArguments, ProgramArguments, RangeArguments, RecordArguments,
        SeedArgument, TimeLimit, WHAT, WindowArgument, located, meter,
    },
    output::{
        command_line,
        record_file::RecordFile,
        result_output::{OutputArguments, ResultOutput},
    },
    progress::Bar,
    repository::{cannot_convert, name_of, open_with_commits, print_notes, print_numbers_without_effect},
};

/// A codec that only some builds have, and what stands in its place in others: the same algorithms in Rust.
const ZLIB_NG: &str = "zlib-ng:6";
const ZLIB_RS: &str = "zlib-rs:6";

/// The codecs that Git repositories are estimated under by default.
const GIT_CODECS: [&str; 12] = [
    "zlib:6",
    "zlib:9",
    ZLIB_NG,
    "libdeflate:6",
    "libdeflate:9",
    "zstd:3",
    "zstd:9",
    "zstd:19",
    "lz4",
    "balanced",
    "best-read",
    "best-size",
];

/// The same for Mercurial, where zstd:3 has been the default since hg 5.8.
const HG_CODECS: [&str; 9] =
    ["zlib:6", "zstd:3", "zlib:9", "zstd:9", "zstd:19", "lz4", "balanced", "best-read", "best-size"];

/// The codec that ratios of times are to.
const BASELINE: &str = "zlib:6";

/// The time of a search for deltas where none is limited.
const NO_LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Predict sizes and times under codecs in a minute
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

    /// Workload to predict; may be repeated.
    ///
    /// One of checkout:sink, traverse, traverse:count, diff:raw, diff:pickaxe=STRING, diff:patch, cat-all and web:file
    /// [default: checkout:sink, traverse, diff:raw and diff:patch].
    #[arg(long = "workload", value_name = "W", help_heading = WHAT)]
    workloads: Vec<WorkloadSpec>,

    /// Do not search for deltas anew.
    #[arg(long, help_heading = WHAT)]
    as_found: bool,

    #[command(flatten)]
    window: WindowArgument,

    /// Time for everything, such as 5m [default: 20s to 60s].
    ///
    /// The default is 20s for repositories of up to 500 MB, rising to 60s at 5 GB, and 40s to 60s where that makes room
    /// for a new search for deltas. What would take longer is cut or left out, and the output says so. Some chunks of
    /// every kind are encoded under each codec in any case, which can take several seconds.
    #[arg(long, value_name = "DURATION", help_heading = HOW_LONG)]
    time: Option<TimeLimit>,

    /// Encode every chunk, for sizes without error.
    #[arg(long, help_heading = HOW_LONG)]
    exact: bool,

    #[command(flatten)]
    records: RecordArguments,

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
            let has_ng = Algorithm::from_name("zlib-ng").is_some();
            let built = names.iter().map(|name| if *name == ZLIB_NG && !has_ng { ZLIB_RS } else { *name });
            specs.extend(built.map(parse).collect::<Result<Vec<_>, _>>()?);
        } else {
            specs.extend(typed);
        }
        print_numbers_without_effect(source, &specs, self.effort.quiet());
        check_predictable(&self.workloads)?;
        let workloads = match self.workloads.as_slice() {
            [] => vec![
                WorkloadSpec::CheckoutToSink,
                WorkloadSpec::Traverse,
                WorkloadSpec::RawDiff,
                WorkloadSpec::PatchDiff,
            ],
            typed => typed.to_vec(),
        };
        let seed = self.seed.given_or(None);
        Ok(EstimatePlan {
            specs,
            workloads,
            range: HistoryRange { seed, ..self.range.range(source, Some(&self.programs.hg))? },
            time: self.time.map(|TimeLimit(time)| time.unwrap_or(NO_LIMIT)),
            is_exact: self.exact,
            recomputer: self.recomputer(source),
            harder: self.harder(source),
            git: matches!(source, Repository::Git(_)).then(|| self.programs.git.clone().into()),
            seed,
            threads: self.effort.threads(),
            command: command_line(),
        })
    }

    /// What searches for deltas, or why nothing does.
    fn recomputer(&self, source: &Repository) -> Result<DeltaRecomputer, String> {
        match source {
            _ if self.as_found => Err("it was not asked for".to_owned()),
            Repository::Git(_) => match self.programs.git() {
                Ok(git) => Ok(DeltaRecomputer::git(git.with_meter(meter()))),
                Err(error) => Err(error.to_string()),
            },
            Repository::Hg(_) => Err("hg searches again for each codec; `bench --rechosen` measures that".to_owned()),
        }
    }

    /// What searches with the window of `--window`.
    fn harder(&self, source: &Repository) -> Option<DeltaRecomputer> {
        self.window.recomputer(&self.programs).ok().flatten().filter(|_| matches!(source, Repository::Git(_)))
    }
}

/// Rejects workloads that replays cannot predict.
pub(crate) fn check_predictable(workloads: &[WorkloadSpec]) -> Result<(), Failure> {
    let is_unpredictable = |workload: &&WorkloadSpec| !workload.is_traced() || **workload == WorkloadSpec::Checkout;
    match workloads.iter().find(is_unpredictable) {
        Some(workload) => Err(Failure::new(USAGE, format!("{workload} cannot be predicted; bench measures it"))),
        None => Ok(()),
    }
}

fn parse(spec: &str) -> Result<CodecSpec, Failure> {
    spec.parse().map_err(|error: repackbench_codec::SpecError| Failure::new(FAILED, error.to_string()))
}

pub(crate) fn run(arguments: &EstimateArguments) -> Result<ExitCode, Failure> {
    let quiet = arguments.effort.quiet();
    arguments.records.check(false)?;
    arguments.memory.ceiling(arguments.effort.threads()).for_histories(1).set();
    let source = open_with_commits(&arguments.repository)?;
    print_notes(&source, quiet);
    let plan = arguments.plan(&source)?;
    let mut output = ResultOutput::create(&arguments.output, arguments.records.json.as_ref())?;
    let mut file = RecordFile::open(&arguments.records)?;
    let (cache, bar) = (Cache::open(None)?, Bar::new(quiet));
    let name = name_of(&arguments.repository);
    let estimated = estimate(&source, &name, &plan, &cache, &SystemClock::new(), &bar)
        .map_err(|error| cannot_convert(&source, error.into()))?;
    file.append(&ResultLine::Estimate(Box::new(estimated.clone())))?;
    let results = Results { estimates: vec![estimated], ..Results::default() };
    let text = articles_text(&sections::estimates(&results.estimates), output.style());
    output.write(&results, &text)?;
    Ok(ExitCode::SUCCESS)
}
