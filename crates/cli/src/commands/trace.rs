//! `repackbench trace`.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    process::ExitCode,
};

use repackbench_codec::Decoders;
use repackbench_reader::{Repository, memory::Ceiling};
use repackbench_records::{ResultLine, TraceRecord, write_result};
use repackbench_report::{Results, device_check_table, memory_check_table, trace_table};
use repackbench_timing::{
    cold::{check::check_device, memory_check::check_memory},
    trace::{
        page_map::{PAGE_MAP_HEADER, write_page_map},
        plan::{TracePlan, trace_variants},
    },
};
use repackbench_writer::cache::Cache;

use super::{
    command_line, name_of, open, print, print_idle_orders, print_notes,
    report::{Outputs, style},
};
use crate::{
    failure::{FAILED, Failure},
    progress::Bar,
    trace_arguments::TraceArguments,
};

pub(crate) fn run(arguments: &TraceArguments) -> Result<ExitCode, Failure> {
    // Its --memory is that of the machine that it models.
    Ceiling::new(None, arguments.effort.threads()).set();
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    if let Some(folder) = &arguments.check_device {
        return check(arguments, &source, folder);
    }
    if let Some(folder) = &arguments.check_memory {
        return check_of_memory(arguments, &source, folder);
    }
    let plan = TracePlan {
        codecs: arguments.codecs()?,
        baseline: arguments.baseline.clone(),
        layouts: arguments.layouts.named(),
        workload: arguments.workload.clone(),
        range: arguments.range.range(source.default_revision()),
        devices: arguments.devices(),
        memory: arguments.memory.clone(),
        threads: arguments.effort.threads(),
        command: command_line(),
    };
    print_idle_orders(&source, &plan.layouts, arguments.effort.quiet);
    let mut outputs = Outputs::prepare(&arguments.output)?;
    let mut json = create(arguments.json.as_deref())?;
    let mut pages = create(arguments.pages.as_deref())?;
    if let Some(pages) = &mut pages {
        pages.write_all(PAGE_MAP_HEADER.as_bytes())?;
    }
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let records = trace_variants(&source, &name, &plan, &cache, &bar, &mut |record, trace, folder| {
        if let Some(json) = &mut json {
            write_json(json, record)?;
        }
        match &mut pages {
            Some(pages) => write_page_map(pages, &record.variant.label(), folder, trace),
            None => Ok(()),
        }
    })?;
    for mut file in json.into_iter().chain(pages) {
        file.flush()?;
    }
    let results = Results { traces: records, ..Results::default() };
    outputs.write(&results)?;
    outputs.print(&results, &trace_table(&results.traces, style()))?;
    Ok(ExitCode::SUCCESS)
}

/// Holds the model against cold reads of copies in `folder`.
fn check(arguments: &TraceArguments, source: &Repository, folder: &Path) -> Result<ExitCode, Failure> {
    let decoders = source.recorded_spec().as_ref().map_or_else(Decoders::default, Decoders::for_spec);
    let mut workload = arguments.workload.build(&arguments.range.range(source.default_revision()), None);
    let bar = Bar::new(arguments.effort.quiet);
    let checked = check_device(source, decoders, workload.as_mut(), folder, &bar)?;
    print(&device_check_table(&checked))?;
    Ok(ExitCode::SUCCESS)
}

/// Holds modelled page caches against a cgroup, on a copy in `folder`.
fn check_of_memory(arguments: &TraceArguments, source: &Repository, folder: &Path) -> Result<ExitCode, Failure> {
    let decoders = source.recorded_spec().as_ref().map_or_else(Decoders::default, Decoders::for_spec);
    let mut workload = arguments.workload.build(&arguments.range.range(source.default_revision()), None);
    let bar = Bar::new(arguments.effort.quiet);
    let checked = check_memory(source, decoders, workload.as_mut(), &arguments.memory, folder, &bar)?;
    print(&memory_check_table(&checked))?;
    Ok(ExitCode::SUCCESS)
}

/// The file that the user named, made before there is anything to write: a long run should not end in a misspelt folder.
fn create(path: Option<&Path>) -> Result<Option<BufWriter<File>>, Failure> {
    let Some(path) = path else { return Ok(None) };
    match File::create(path) {
        Ok(file) => Ok(Some(BufWriter::new(file))),
        Err(error) => Err(Failure::new(FAILED, format!("{}: cannot create: {error}", path.display()))),
    }
}

fn write_json(out: &mut impl Write, record: &TraceRecord) -> std::io::Result<()> {
    write_result(out, &ResultLine::Trace(Box::new(record.clone()))).map_err(std::io::Error::other)
}
