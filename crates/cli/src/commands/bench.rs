//! `repackbench bench`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::{Results, self_test};
use repackbench_codec::{CodecSpec, CodecSpecs, DecoderChoice, DecoderChoices};
use repackbench_reader::Repository;
use repackbench_report::{sections, text};
use repackbench_timing::{
    BenchError,
    bench::{BenchPlan, Measured},
    record_names::vcs_of,
    trace::Device,
};

use super::{
    open, print_article, print_idle_orders, print_notes,
    report::{Outputs, style},
    session,
};
use crate::{
    failure::{FAILED, Failure, print_note},
    options::{
        BenchWorkload, ClientArguments, Effort, LayoutAxes, MeasureArguments, MemoryArguments, OutputArguments,
        ProgramArguments, RangeArguments, SpecArguments, located,
    },
};

/// Replay workloads on a repository under several codecs, and compare.
///
/// Makes a variant for each codec (kept in the cache), runs each workload on each in random
/// blocks until the intervals are narrow, and prints times, ratios to the baseline with
/// intervals, verdicts, and sizes. The repository as found is a row too. METHODOLOGY.md says how
/// the figures come about. Ctrl-C ends it with a table of what was measured; --resume goes on.
///
/// --self-test measures the baseline under four more names instead, and prints how often it finds
/// a difference where there is none, beside what measuring one after another would have found.
///
/// Workloads: checkout, checkout:sink, traverse, diff:raw, diff:pickaxe=STRING, diff:patch; all
/// of them by default. Named only, what servers and repacks do:
///   sizes        kind and size of every object
///   cat-all      the content of every object
///   encode       compress every payload again, from memory; with --store pack alone
///   ingest       write the objects of the last N commits (--commits, 100)
///   serve:same   the pack for a clone, or with --commits N a fetch, by a client of the codec
///   serve:zlib   the same for a client that only reads zlib
///   serve:push   the last N commits (--commits, 100) to a server that only reads zlib
/// floor: before the name of any but sizes and encode is what its codec alone costs.
///
/// --client stock lets commands of git or hg do the jobs of the same names, and those below, each
/// in a process of its own. Its defaults are those that only read: checkout, traverse, diff:raw,
/// diff:pickaxe, diff:patch, sizes, cat-all, fsck. Named only:
///   repack              git repack -adF in a copy, written with the variant's codec
///   repack:incremental  git repack -d where the newest commits (--commits, 100) are loose
///   clone:zlib          a bare clone by a client without the library
///   clone:same          the same by one that has it where the sender does
///   fetch:zlib          the newest commits (--commits, 100), as clone:zlib
///   fetch:same          the same as clone:same
///
/// Examples:
///   repackbench bench . --codec zlib:6 --codec zstd:5
///   repackbench bench . --codec zstd:3 --codec lz4 --workload traverse --blocks 15
///   repackbench bench . --codec zstd:5 --workload diff:pickaxe=malloc --json runs.jsonl
///   repackbench bench . --codec zlib:9 --decoder zlib=libdeflate,zlib-rs
///   repackbench bench . --codec zstd:5 --delta-cache 96M,0,unlimited --time 10m
///   repackbench bench . --codec zstd:5 --workload checkout --device hdd --device nvme
///   repackbench bench . --codec zlib:6 --order source,recency,checkout --workload checkout:sink
///   repackbench bench . --codec zstd:5 --client stock --zlib zlib-rs,libdeflate
///   repackbench bench . --codec zstd:5 --client both --workload traverse
///   repackbench bench . --self-test --workload traverse
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct BenchArguments {
    /// The repository.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// A codec to measure, or several levels of one, such as zlib:1..9 and zstd:1,3,5; may be given several times. One that is
    /// repeated, in whatever spelling, is measured once.
    #[arg(long = "codec", value_name = "SPEC", required_unless_present_any = ["self_test", "zlibs"])]
    codecs: Vec<CodecSpecs>,

    /// Measure the same files under several names: every difference is a false one.
    #[arg(long, conflicts_with_all = ["codecs", "stores", "orders", "decoders", "rechosen", "html", "svg", "markdown", "csv"])]
    pub(crate) self_test: bool,

    #[command(flatten)]
    with: SpecArguments,

    /// Let another implementation read the same bytes, such as zlib=libdeflate, deflate=libdeflate,zlib-rs or lz4=lz4_flex: one more
    /// row for each variant that it can read. May be given several times.
    #[arg(long = "decoder", value_name = "FORMAT=NAME")]
    decoders: Vec<DecoderChoices>,

    #[command(flatten)]
    pub(crate) layouts: LayoutAxes,

    /// The codec that the others are compared with.
    #[arg(long, value_name = "SPEC", default_value = "zlib:6")]
    pub(crate) baseline: CodecSpec,

    /// A workload to run; may be given several times.
    #[arg(long = "workload", value_name = "W")]
    pub(crate) workloads: Vec<BenchWorkload>,

    #[command(flatten)]
    pub(crate) client: ClientArguments,

    #[command(flatten)]
    pub(crate) range: RangeArguments,

    /// Also model a cold start on this device, a column for each: hdd, sata-ssd, nvme, or its latency, bandwidth and readahead, as in
    /// latency=8ms,bandwidth=200MB/s,readahead=128k; may be given several times. Modelled times come from an untimed access trace, as
    /// those of `trace` do, and get no verdict.
    #[arg(long = "device", value_name = "DEVICE", conflicts_with = "self_test")]
    devices: Vec<Device>,

    /// Show each codec twice: with the source's deltas, and with those that git (repack -adF) or hg (under the codec) chooses.
    #[arg(long)]
    pub(crate) rechosen: bool,

    #[command(flatten)]
    pub(crate) programs: ProgramArguments,

    #[command(flatten)]
    pub(crate) measure: MeasureArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    pub(crate) effort: Effort,
}

impl BenchArguments {
    pub(crate) fn codecs(&self) -> Result<Vec<CodecSpec>, Failure> {
        self.codecs.iter().flat_map(CodecSpecs::specs).map(|spec| self.with.apply(spec)).collect()
    }

    /// Every choice of a decoder, once.
    pub(crate) fn decoders(&self) -> Vec<DecoderChoice> {
        let mut choices = Vec::new();
        for choice in self.decoders.iter().flat_map(DecoderChoices::choices) {
            if !choices.contains(choice) {
                choices.push(*choice);
            }
        }
        choices
    }

    /// Every device, once.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let mut devices: Vec<Device> = Vec::new();
        for device in &self.devices {
            if !devices.contains(device) {
                devices.push(device.clone());
            }
        }
        devices
    }
}

pub(crate) fn run(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).for_histories(arguments.measure.pace.jobs as usize).set();
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    let plan = plan(arguments, &source)?;
    print_idle_orders(&source, &plan.layouts, arguments.effort.quiet);
    let mut outputs = Outputs::prepare(&arguments.output)?;
    let without_cache_rows: Vec<String> = plan.without_cache_rows().map(ToString::to_string).collect();
    if !without_cache_rows.is_empty() && !arguments.effort.quiet {
        let names = without_cache_rows.join(", ");
        print_note(format!("{names}: never read through the cache of delta bases, so one row of each variant"));
    }
    let mut file = arguments.measure.record_file()?;
    let measured = session::run(&source, &arguments.repository, &plan, &arguments.effort, &mut file)?;
    match plan.is_self_test {
        true => {
            print_article(sections::self_test(&self_test(&measured.records)))?;
            end_of(measured.is_interrupted, &measured.failures)
        }
        false => show(measured, &mut outputs),
    }
}

/// Shows what was measured, in the forms that the user wants, and ends as it ended.
pub(super) fn show(measured: Measured, outputs: &mut Outputs) -> Result<ExitCode, Failure> {
    let Measured { records, is_interrupted, failures } = measured;
    // Where nothing could be done there is no table.
    if !records.is_empty() || failures.is_empty() {
        let results = Results::from_runs(records);
        outputs.write(&results)?;
        outputs.print(&results, &text(&sections::document(&results), style()))?;
    }
    end_of(is_interrupted, &failures)
}

/// How a benchmark ends.
fn end_of(is_interrupted: bool, failures: &[String]) -> Result<ExitCode, Failure> {
    match failures {
        _ if is_interrupted => Err(BenchError::Interrupted.into()),
        [] => Ok(ExitCode::SUCCESS),
        [others @ .., last] => {
            others.iter().for_each(print_note);
            Err(Failure::new(FAILED, last))
        }
    }
}

fn plan(arguments: &BenchArguments, source: &Repository) -> Result<BenchPlan, Failure> {
    let recomputer = match arguments.rechosen {
        true => Some(arguments.programs.recomputer(source)?),
        false => None,
    };
    let (workloads, stock) = arguments.client.plans(&arguments.workloads, vcs_of(source), &arguments.programs)?;
    let plan = session::plan(source, &arguments.baseline, &arguments.measure, &arguments.range, &arguments.effort)?;
    Ok(BenchPlan {
        recomputer,
        workloads,
        stock,
        codecs: arguments.codecs()?,
        layouts: arguments.layouts.layouts(),
        decoders: arguments.decoders(),
        devices: arguments.devices(),
        is_self_test: arguments.self_test,
        ..plan
    })
}
