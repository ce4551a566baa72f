//! The forms of results.

use std::path::PathBuf;

use clap::Args;

/// The forms of results that `bench`, `size`, `trace` and `report` share.
#[derive(Debug, Args)]
#[command(next_help_heading = "Forms of the result")]
pub(crate) struct OutputArguments {
    /// Write one HTML file with charts and all tables, to be read anywhere and without a network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the charts as SVG files into DIR, which is made if need be.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Print Markdown in place of tables: for a pull request, variants with the worst first.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) markdown: bool,

    /// Print CSV in place of tables: exact figures, a line for each variant in each workload, or of a trace or a size.
    #[arg(long)]
    pub(crate) csv: bool,
}

/// Where the results of experiments go.
#[derive(Debug, Args)]
pub(crate) struct ExperimentOutputArguments {
    /// Write the report and all records into DIR, which is made if need be; `all` asks for it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "markdown", "html"])]
    pub(crate) out: Option<PathBuf>,

    /// Write every run, and the result, to FILE, one line of JSON each: what `report` reads.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the result as Markdown to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write one HTML file with charts and all tables, to be read anywhere and without a network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
