//! `repackbench report`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_report::{json, sections, text};

use crate::{
    failure::{FAILED, Failure, print_note},
    options::QuietArgument,
    output::{
        print, record_file,
        result_output::{OutputArguments, ResultOutput},
    },
};

/// Show the results of one or several sessions: as tables, Markdown, CSV, JSON, HTML with charts, or SVG
///
/// RESULTS are files that `--json` of bench, trace, explain, size and experiment wrote. Several files
/// are joined, whether they hold other workloads, other repositories or other machines. For several
/// repositories, geometric means of the ratios are shown next to totals.
///
/// Examples:
///   repackbench report git.jsonl
///   repackbench report git.jsonl traces.jsonl --html git.html --svg pictures
///   repackbench report linux.jsonl git.jsonl hg.jsonl --markdown
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReportArguments {
    /// Files of results; `-` for stdin.
    #[arg(required = true, value_name = "RESULTS")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// Print the data of the tables as one JSON document instead of tables.
    #[arg(long, conflicts_with_all = ["markdown", "csv"])]
    pub(crate) json: bool,

    #[command(flatten)]
    quiet: QuietArgument,
}

pub(crate) fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let mut output = ResultOutput::create(&arguments.output)?;
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
    output.write(&results)?;
    if arguments.json {
        print(&json(&results).map_err(|error| Failure::new(FAILED, error.to_string()))?)?;
    } else {
        output.print(&results, &text(&sections::document(&results), output.style()))?;
    }
    Ok(ExitCode::SUCCESS)
}
