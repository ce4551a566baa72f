//! `repackbench report`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_report::{json, sections, text};

use crate::{
    failure::{FAILED, Failure, print_note},
    options::{Destination, OUTPUT, QuietArgument, destination, refuse_existing},
    output::{
        atomic_file::AtomicFile,
        print, record_file,
        result_output::{OutputArguments, ResultOutput},
    },
};

/// Show results as tables, Markdown, CSV, JSON, HTML or SVG
///
/// Shows the results of one or several sessions. RESULTS are files that `--json` of bench, estimate,
/// trace, explain, size, chains and experiment wrote. Several files are joined, whether they hold
/// other workloads, other repositories or other machines. For several repositories, geometric means
/// of the ratios are shown next to totals.
///
/// Examples:
///   repackbench report git.jsonl
///   repackbench report git.jsonl traces.jsonl --html git.html --svg pictures
///   repackbench report linux.jsonl git.jsonl hg.jsonl --markdown -
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReportArguments {
    /// Files of results; `-` for stdin.
    #[arg(required = true, value_name = "RESULTS")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// Write the data of the tables as one JSON document to FILE; - prints it instead of the tables.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    pub(crate) json: Option<Destination>,

    /// Replace the FILE of --json if it exists.
    #[arg(long, requires = "json", help_heading = OUTPUT)]
    pub(crate) force: bool,

    #[command(flatten)]
    quiet: QuietArgument,
}

pub(crate) fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    if let Some(path) = arguments.json.as_ref().and_then(Destination::file).filter(|_| !arguments.force) {
        refuse_existing(path, "--force replaces it, --json - prints")?;
    }
    let mut output = ResultOutput::create(&arguments.output, arguments.json.as_ref())?;
    let mut lines = Vec::new();
    for path in &arguments.files {
        let of_file = record_file::read_lines(path)?;
        if of_file.is_empty() {
            return Err(Failure::new(FAILED, format!("{}: expected results, found none", path.display())));
        }
        lines.extend(of_file);
    }
    let (results, duplicates) = Results::from_lines(lines);
    if duplicates > 0 && !arguments.quiet.quiet {
        print_note(format!("{duplicates} duplicate lines count once"));
    }
    if let Some(destination) = &arguments.json {
        let document = json(&results).map_err(|error| Failure::new(FAILED, error.to_string()))?;
        match destination.file() {
            Some(path) => AtomicFile::create(path)?.write(document)?,
            None => print(&document)?,
        }
    }
    let text = text(&sections::document(&results), output.style());
    output.write(&results, &text)?;
    Ok(ExitCode::SUCCESS)
}
