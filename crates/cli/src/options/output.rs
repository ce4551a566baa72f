//! The forms of results.

use std::path::PathBuf;

use clap::Args;

/// The forms of results that `bench`, `size`, `trace` and `report` share.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output forms")]
pub(crate) struct OutputArguments {
    /// Write one HTML file with charts and all tables, which can be read anywhere and without a network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the charts as SVG files to DIR, which is created if necessary.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Print Markdown instead of tables: for a pull request, with the worst variants first.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) markdown: bool,

    /// Print CSV instead of tables: exact figures, one line for each variant in each workload, or for each trace or
    /// size.
    #[arg(long)]
    pub(crate) csv: bool,
}

/// Where the results of experiments go.
#[derive(Debug, Args)]
pub(crate) struct ExperimentOutputArguments {
    /// Write the report and all records to DIR, which is created if necessary; required by `all`.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "markdown", "html"])]
    pub(crate) out: Option<PathBuf>,

    /// Write every run, and the result, to FILE, one line of JSON each, for `report`.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the result as Markdown to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write one HTML file with charts and all tables, which can be read anywhere and without a network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
