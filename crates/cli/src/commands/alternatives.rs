//! `repackbench alternatives`.

use std::process::ExitCode;

use clap::Args;
use repackbench_codec::{CodecSpec, CodecSpecs};
use repackbench_reader::Repository;
use repackbench_timing::{
    arms::stock::{GitFeature, StockPlan, StockWorkload},
    bench::BenchPlan,
    workloads::WorkloadSpec,
};

use crate::{
    failure::{Failure, USAGE},
    options::{
        BenchWorkload, ByteSize, EXPERT, HOW_LONG, Implementation, ProgramArguments, SessionArguments, WHAT, meter,
        other_zlibs,
    },
    output::result_output::{OutputArguments, ResultOutput},
    repository::name_of,
};

/// Compare another codec with everything else that speeds up git
///
/// Is another codec worth it, compared with a faster zlib, a new search for deltas, a larger cache, a
/// commit-graph or bitmaps? Commands of stock git run the workloads, each in its own process, on
///   the repository under the baseline, by plain git           what all others are compared with
///   the same with the preloaded library                       the cost of the library itself
///   the same with another zlib                                --zlib
///   the same with a commit-graph, with bitmaps, and with a larger core.deltaBaseCacheLimit
///   each codec                                                --codec
///   all of these after git repack -adF, alone and with everything that helps
/// in the same random blocks. The table is that of `bench`, with the size of each row. The cost of
/// making each copy is in the records, and in the chart of when it pays off (--html, --svg).
///
/// Examples:
///   repackbench alternatives .
///   repackbench alternatives repo --codec zstd:5 --workload traverse --workload clone:zlib
///   repackbench alternatives repo --without-repack --blocks 11 --json alternatives.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AlternativesArguments {
    /// Codec to compare; may be repeated [default: balanced].
    #[arg(long = "codec", value_name = "SPEC", help_heading = WHAT)]
    codecs: Vec<CodecSpecs>,

    /// Codec of all other rows. Plain git must read it.
    #[arg(long, value_name = "SPEC", default_value = "zlib:6", help_heading = WHAT)]
    baseline: CodecSpec,

    /// Other zlib implementations for git, separated by commas.
    #[arg(long = "zlib", value_enum, value_name = "NAME", value_delimiter = ',', default_value = "zlib-rs,libdeflate")]
    #[arg(help_heading = EXPERT)]
    zlibs: Vec<Implementation>,

    /// The larger core.deltaBaseCacheLimit; the default of git is 96M.
    #[arg(long, value_name = "SIZE", default_value = "1G", help_heading = EXPERT)]
    base_cache: ByteSize,

    /// Omit the rows after a new search for deltas, which takes long.
    #[arg(long, help_heading = HOW_LONG)]
    without_repack: bool,

    /// Workload of `bench --client stock`; may be repeated.
    ///
    /// [default: traverse, diff:raw, diff:pickaxe]
    #[arg(long = "workload", value_name = "W", help_heading = WHAT)]
    workloads: Vec<BenchWorkload>,

    #[command(flatten)]
    programs: ProgramArguments,

    #[command(flatten)]
    pub(crate) session: SessionArguments,

    #[command(flatten)]
    output: OutputArguments,
}

impl AlternativesArguments {
    fn codecs(&self) -> Result<Vec<CodecSpec>, Failure> {
        if !self.codecs.is_empty() {
            return Ok(self.codecs.iter().flat_map(CodecSpecs::specs).cloned().collect());
        }
        let balanced = "balanced".parse().map_err(|error| Failure::new(USAGE, error))?;
        Ok(vec![balanced])
    }

    fn stock(&self) -> Result<StockPlan, Failure> {
        let mebibytes = u32::try_from(self.base_cache.0 >> 20).unwrap_or(u32::MAX);
        let mut workloads = Vec::new();
        for workload in &self.workloads {
            workloads.push(match workload {
                BenchWorkload::Replay(spec) => {
                    StockWorkload::try_from(spec.clone()).map_err(|error| Failure::new(USAGE, error))?
                }
                BenchWorkload::Command(command) => command.clone(),
            });
        }
        if workloads.is_empty() {
            let read = |spec: &WorkloadSpec| !matches!(spec, WorkloadSpec::PatchDiff);
            let all = WorkloadSpec::all().into_iter().filter(read);
            workloads.extend(all.filter_map(|spec| StockWorkload::try_from(spec).ok()));
        }
        let ProgramArguments { git, hg, hg_extension } = &self.programs;
        Ok(StockPlan {
            git: git.into(),
            hg: hg.into(),
            hg_extension: hg_extension.folder(),
            zlibs: other_zlibs(&self.zlibs),
            features: vec![GitFeature::CommitGraph, GitFeature::Bitmaps, GitFeature::DeltaCache(mebibytes.max(1))],
            caches: vec![repackbench_timing::arms::stock::Caches::Off],
            workloads,
            meter: meter(),
        })
    }
}

pub(crate) fn run(arguments: &AlternativesArguments) -> Result<ExitCode, Failure> {
    let session = &arguments.session;
    let source = session.open()?;
    if let Repository::Hg(_) = source {
        let message = format!(
            "{}: alternatives measures git; for hg, use bench --client stock --rechosen",
            name_of(&session.repository)
        );
        return Err(Failure::new(USAGE, message));
    }
    arguments.programs.git().map_err(|error| {
        Failure::from(error).with_hint("alternatives runs your own git: install git, or name it by --git PROGRAM")
    })?;
    let recomputer = match arguments.without_repack {
        true => None,
        false => Some(arguments.programs.recomputer(&source)?),
    };
    let plan = BenchPlan {
        codecs: arguments.codecs()?,
        recomputer,
        stock: Some(arguments.stock()?),
        ..session.plan(&source, &arguments.baseline, Some(&arguments.programs.hg))?
    };
    let mut output = ResultOutput::create(&arguments.output, session.measure.records.json.as_ref())?;
    let mut file = session.measure.record_file()?;
    let measured = session.run(&source, &plan, &mut file, output.last_words())?;
    output.show_session(measured).map_err(|failure| session.with_way_on("alternatives", failure))
}
