//! `repackbench size`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_records::{ResultLine, SCHEMA_VERSION, SizeLine};
use repackbench_report::{articles_text, sections};
use repackbench_timing::sizes::measure;

use crate::{
    failure::Failure,
    options::{Completeness, MemoryArguments, QuietArgument, RecordArguments, located},
    output::{
        command_line,
        record_file::RecordFile,
        result_output::{OutputArguments, ResultOutput},
    },
    repository::{name_of, open_whole, print_notes},
};

/// Show where the bytes of repositories go, and compare them.
///
/// Shows stored bytes by object kind, whole and delta, pack entry headers, indexes and other files, with ratios to the
/// first repository; then payload bytes, before compression, and the number of chunks in each form: compressed on their
/// own, with a dictionary, with the content of their base, or stored raw. For Mercurial repositories it shows
/// manifests, changelog and filelogs, snapshots and deltas, revlog indexes, the list of files and the rest, and the
/// share of the manifest in the growth.
#[derive(Debug, Args)]
pub(crate) struct SizeArguments {
    /// Repositories; ratios are to the first one.
    #[arg(required = true, value_parser = located())]
    pub(crate) repositories: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) completeness: Completeness,

    #[command(flatten)]
    records: RecordArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    quiet: QuietArgument,
}

pub(crate) fn run(arguments: &SizeArguments) -> Result<ExitCode, Failure> {
    arguments.records.check(false)?;
    arguments.memory.ceiling(1).set();
    let mut output = ResultOutput::create(&arguments.output, arguments.records.json.as_ref())?;
    let mut json = RecordFile::open(&arguments.records)?;
    let mut results = Results::default();
    for path in &arguments.repositories {
        let repository = open_whole(path, arguments.completeness.allow_missing, arguments.quiet.quiet)?;
        print_notes(&repository, arguments.quiet.quiet);
        let line = SizeLine {
            schema: SCHEMA_VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command_line(),
            size: measure(&repository, &name_of(path))?,
        };
        json.append(&ResultLine::Size(Box::new(line.clone())))?;
        results.sizes.push(line);
    }
    let sizes: Vec<_> = results.sizes.iter().map(|line| line.size.clone()).collect();
    let text = articles_text(&[sections::sizes(&sizes)], output.style());
    output.write(&results, &text)?;
    Ok(ExitCode::SUCCESS)
}
