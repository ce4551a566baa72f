//! `repackbench size`.

use std::{fs::File, io::BufWriter, path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_records::{ResultLine, SCHEMA_VERSION, SizeLine, write_result};
use repackbench_report::{articles_text, sections};
use repackbench_timing::sizes::measure;

use super::{
    command_line, name_of, open_whole, print_notes,
    report::{Outputs, style},
};
use crate::{
    failure::{FAILED, Failure},
    options::{Completeness, MemoryArguments, OutputArguments, located},
};

/// Show where the bytes of repositories go, side by side.
///
/// Stored bytes by object kind, whole and delta, pack entry headers, indexes and other files, with ratios to the first
/// repository; then payload bytes, before compression, and how many chunks are stored in which form: compressed by
/// themselves, with a dictionary, with their base's content, or as they are. Of Mercurial repositories: manifests, changelog and filelogs,
/// snapshots and deltas, revlog indexes, the list of files and the rest, and the manifest's share of the growth.
#[derive(Debug, Args)]
pub(crate) struct SizeArguments {
    /// The repositories; ratios are to the first one.
    #[arg(required = true, value_parser = located())]
    pub(crate) repositories: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) completeness: Completeness,

    /// Write the figures to FILE, one line of JSON for each repository: what `report` reads.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    /// Show no notes.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

pub(crate) fn run(arguments: &SizeArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(1).set();
    let mut outputs = Outputs::prepare(&arguments.output)?;
    let cannot = |what: &dyn std::fmt::Display| Failure::new(FAILED, what.to_string());
    let mut json = match &arguments.json {
        Some(path) => {
            let file =
                File::create(path).map_err(|error| cannot(&format!("{}: cannot create: {error}", path.display())))?;
            Some(BufWriter::new(file))
        }
        None => None,
    };
    let mut results = Results::default();
    for path in &arguments.repositories {
        let repository = open_whole(path, arguments.completeness.allow_missing, arguments.quiet)?;
        print_notes(&repository, arguments.quiet);
        let line = SizeLine {
            schema: SCHEMA_VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command_line(),
            size: measure(&repository, &name_of(path))?,
        };
        if let Some(json) = &mut json {
            write_result(json, &ResultLine::Size(Box::new(line.clone()))).map_err(|error| cannot(&error))?;
        }
        results.sizes.push(line);
    }
    outputs.write(&results)?;
    let sizes: Vec<_> = results.sizes.iter().map(|line| line.size.clone()).collect();
    outputs.print(&results, &articles_text(&[sections::sizes(&sizes)], style()))?;
    Ok(ExitCode::SUCCESS)
}
