//! `repackbench trace`.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{Repository, memory::Ceiling};
use repackbench_records::{DeviceCheck, MemoryCheck, ResultLine};
use repackbench_report::{articles_text, sections};
use repackbench_timing::{
    arms::cold::{check::check_device, memory_check::check_memory},
    clock::SystemClock,
    trace::{
        Device,
        page_map::{PAGE_MAP_HEADER, write_page_map},
        plan::{TracePlan, trace_variants},
    },
    workloads::{UnknownWorkload, Workload, WorkloadSpec},
};
use repackbench_writer::cache::Cache;

use crate::{
    failure::Failure,
    options::{
        CodecsArguments, DeviceArguments, EXPERT, Effort, LayoutAxes, OUTPUT, RangeArguments, RecordArguments, WHAT,
        located, refuse_existing,
    },
    output::{
        command_line, create, print_article,
        record_file::RecordFile,
        result_output::{OutputArguments, ResultOutput},
    },
    progress::Bar,
    repository::{name_of, open_with_commits, print_notes, print_numbers_without_effect, print_orders_without_effect},
};

/// Show which pages a workload reads, and what that costs cold
///
/// Runs the workload once, from empty caches, and records every range of a pack, index, loose object
/// or revlog that it reads, in order. This gives the touched pages of 4 KiB, their places and their
/// order; the same by kind of object; and the time that a device would take to read them into an empty
/// page cache, by a model that docs/method.md defines. Nothing is timed, so nothing else on the
/// machine disturbs it.
///
/// With --codec, --store or --order, variants are compared with the repository as found, the baseline
/// first. Workloads are checkout, checkout:sink, traverse, traverse:count, diff:raw,
/// diff:pickaxe=STRING, diff:patch, cat-all and web:file.
///
/// Examples:
///   repackbench trace . --workload checkout
///   repackbench trace . --workload checkout --codec zstd:5 --codec lz4 --device hdd
///   repackbench trace . --workload checkout --order source,recency,checkout
///   repackbench trace . --workload traverse --memory 25%,50% --json trace.jsonl
///   repackbench trace . --workload checkout --device latency=2ms,bandwidth=300MB/s,readahead=1M
///   repackbench trace . --workload traverse --memory 25%,50% --check-memory /var/tmp
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TraceArguments {
    /// Repository, as found or a variant.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// Workload to trace.
    #[arg(long, value_name = "W", value_parser = parse_workload, help_heading = WHAT)]
    pub(crate) workload: WorkloadSpec,

    #[command(flatten)]
    codecs: CodecsArguments,

    #[command(flatten)]
    pub(crate) layouts: LayoutAxes,

    /// Codec of the variant whose packs or revlogs --memory is a share of.
    ///
    /// Without --codec, --store and --order that is the repository as found.
    #[arg(long, value_name = "SPEC", default_value = "zlib:6", help_heading = EXPERT)]
    pub(crate) baseline: CodecSpec,

    #[command(flatten)]
    pub(crate) range: RangeArguments,

    #[command(flatten)]
    devices: DeviceArguments,

    /// Also model a page cache of this share of the packs or revlogs of the baseline, which evicts what was used
    /// least recently: 25%, or 25%,50%,100%.
    #[arg(long, help_heading = EXPERT, value_name = "PERCENT", value_delimiter = ',', value_parser = parse_percent)]
    pub(crate) memory: Vec<u32>,

    #[command(flatten)]
    records: RecordArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// Write every touched page to FILE.
    ///
    /// Tab-separated: variant, file, role, page, number of its first touch.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) pages: Option<PathBuf>,

    /// Compare the model with cold reads instead: copy the repository four times to this folder, which should be on
    /// the disk in question, measure latency and bandwidth of the disk, and show modelled and measured times of what
    /// the workload reads. The copies are removed again.
    #[arg(long, help_heading = EXPERT, value_name = "DIR", conflicts_with_all = ["codecs", "stores", "orders", "devices", "memory", "pages"])]
    pub(crate) check_device: Option<PathBuf>,

    /// Compare --memory with the kernel instead: copy the repository to this folder, which should be on a disk, and
    /// read what the workload reads of the copy, page by page, in a memory cgroup of each share of the repository's
    /// own packs or revlogs. Shows how much had to be read, modelled and measured. Needs the memory controller, in
    /// cgroup version 1 or 2, and permission to make groups. The copy is removed again.
    #[arg(
        long,
        help_heading = EXPERT,
        value_name = "DIR",
        requires = "memory",
        conflicts_with_all = ["codecs", "stores", "orders", "devices", "pages", "check_device"]
    )]
    pub(crate) check_memory: Option<PathBuf>,

    #[command(flatten)]
    effort: Effort,
}

impl TraceArguments {
    /// The devices, or the default ones if the user names none.
    fn devices(&self) -> Vec<Device> {
        Some(self.devices.devices()).filter(|devices| !devices.is_empty()).unwrap_or_else(Device::defaults)
    }

    fn workload(&self, source: &Repository) -> Result<Box<dyn Workload>, Failure> {
        Ok(self.workload.build(&self.range.range(source, None)?, None))
    }
}

fn parse_workload(typed: &str) -> Result<WorkloadSpec, String> {
    let workload: WorkloadSpec = typed.parse().map_err(|error: UnknownWorkload| error.to_string())?;
    match workload.is_traced() {
        true => Ok(workload),
        false => Err(
            "expected checkout, checkout:sink, traverse, traverse:count, diff:raw, diff:pickaxe=STRING, diff:patch, \
             cat-all or web:file; a trace does not cover everything that other workloads read"
                .to_owned(),
        ),
    }
}

/// Parses a percentage from `1%` to `1000%`.
fn parse_percent(typed: &str) -> Result<u32, String> {
    let number = typed.strip_suffix('%').and_then(|digits| digits.parse().ok());
    number.filter(|percent| (1..=1000).contains(percent)).ok_or_else(|| "expected 1% to 1000%".to_owned())
}

pub(crate) fn run(arguments: &TraceArguments) -> Result<ExitCode, Failure> {
    arguments.records.check(false)?;
    // --memory of this command is that of the modelled machine.
    Ceiling::new(None, arguments.effort.threads()).set();
    let source = open_with_commits(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet());
    if let Some(folder) = &arguments.check_device {
        return compare_with_device(arguments, &source, folder);
    }
    if let Some(folder) = &arguments.check_memory {
        return compare_with_cgroup(arguments, &source, folder);
    }
    let plan = TracePlan {
        codecs: arguments.codecs.specs()?,
        baseline: arguments.baseline.clone(),
        layouts: arguments.layouts.named(),
        workload: arguments.workload.clone(),
        range: arguments.range.range(&source, None)?,
        devices: arguments.devices(),
        memory: arguments.memory.clone(),
        threads: arguments.effort.threads(),
        command: command_line(),
    };
    print_orders_without_effect(&source, &plan.layouts, arguments.effort.quiet());
    print_numbers_without_effect(&source, &plan.codecs, arguments.effort.quiet());
    let mut output = ResultOutput::create(&arguments.output, arguments.records.json.as_ref())?;
    let mut json = RecordFile::open(&arguments.records)?;
    if let Some(path) = arguments.pages.as_deref().filter(|_| !arguments.records.force) {
        refuse_existing(path, "it is no result of an earlier command; name another file")?;
    }
    let mut pages = arguments.pages.as_deref().map(create).transpose()?;
    if let Some(pages) = &mut pages {
        pages.write_all(PAGE_MAP_HEADER.as_bytes())?;
    }
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet());
    let name = name_of(&arguments.repository);
    let records = trace_variants(&source, &name, &plan, &cache, &bar, &mut |record, trace, folder| {
        json.append(&ResultLine::Trace(Box::new(record.clone())))?;
        match &mut pages {
            Some(pages) => write_page_map(pages, &record.variant.label(), folder, trace),
            None => Ok(()),
        }
    })?;
    if let Some(mut pages) = pages {
        pages.flush()?;
    }
    let results = Results { traces: records, ..Results::default() };
    let text = articles_text(&sections::traces(&results.traces), output.style());
    output.write(&results, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Compares the model with cold reads of copies in `folder`.
fn compare_with_device(arguments: &TraceArguments, source: &Repository, folder: &Path) -> Result<ExitCode, Failure> {
    let (mut workload, bar) = (arguments.workload(source)?, Bar::new(arguments.effort.quiet()));
    let mut json = RecordFile::open(&arguments.records)?;
    let clock = SystemClock::new();
    let checked = check_device(source, decoders_of(source), workload.as_mut(), folder, &clock, &bar)?;
    let checked = DeviceCheck { command: command_line(), ..checked };
    json.append(&ResultLine::DeviceCheck(Box::new(checked.clone())))?;
    if !arguments.records.take_stdout() {
        print_article(sections::device_check(&checked))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares modelled page caches with those of a cgroup, on a copy in `folder`.
fn compare_with_cgroup(arguments: &TraceArguments, source: &Repository, folder: &Path) -> Result<ExitCode, Failure> {
    let (mut workload, bar) = (arguments.workload(source)?, Bar::new(arguments.effort.quiet()));
    let mut json = RecordFile::open(&arguments.records)?;
    let (clock, shares) = (SystemClock::new(), &arguments.memory);
    let checked = check_memory(source, decoders_of(source), workload.as_mut(), shares, folder, &clock, &bar)?;
    let checked = MemoryCheck { command: command_line(), ..checked };
    json.append(&ResultLine::MemoryCheck(Box::new(checked.clone())))?;
    if !arguments.records.take_stdout() {
        print_article(sections::memory_check(&checked))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn decoders_of(source: &Repository) -> Decoders {
    source.recorded_spec().as_ref().map_or_else(Decoders::default, Decoders::for_spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_whole_percentages() {
        assert_eq!(parse_percent("25%"), Ok(25));
        for bad in ["25", "0%", "1001%", "-5%", "2.5%", "%", ""] {
            assert!(parse_percent(bad).is_err(), "{bad}");
        }
    }
}
