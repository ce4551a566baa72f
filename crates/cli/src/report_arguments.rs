//! The command line of `repackbench report`.

use std::path::PathBuf;

use clap::Args;

use crate::output_arguments::OutputArguments;

/// Show the results of one or several sessions: as tables, Markdown, CSV, JSON, HTML with charts, or SVG.
///
/// RESULTS are the files that `--json` of bench, trace, explain, size and experiment wrote; several are joined,
/// whatever they hold: further workloads, other repositories, other machines. Over several
/// repositories, geometric means of the ratios stand beside totals.
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

    /// Print what the tables are made of as one JSON document, in place of tables.
    #[arg(long, conflicts_with_all = ["markdown", "csv"])]
    pub(crate) json: bool,

    /// Show no notes.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
