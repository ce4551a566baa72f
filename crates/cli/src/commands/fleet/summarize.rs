//! `repackbench fleet summarize`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use repackbench_analysis::{FleetFindings, Results, summarize_fleet};
use repackbench_records::FleetFigure;
use repackbench_report::{json, sections, text};

use crate::{
    failure::{FAILED, Failure, USAGE},
    options::{Destination, OUTPUT, destination, refuse_existing},
    output::{
        atomic_file::AtomicFile,
        print, record_file,
        result_output::{OutputArguments, ResultOutput},
    },
};

/// Summarize the records of a fleet
///
/// Shows totals, which weigh every byte and second the same, geometric means and quantiles, which
/// weigh every repository the same, of predicted sizes and CPU times under each codec: as found, and
/// with deltas that git searched for anew. Says which share of repositories gains and loses, names the
/// worst ten, and shows classes of size and content. Repositories with the same content count once.
/// Git and Mercurial repositories have tables of their own: no total adds both.
///
/// --csv has one line for each repository, codec and workload, for notebooks; --json the summary.
/// --parquet has the same as --csv in builds with the feature parquet. Without it, DuckDB or pandas
/// convert the CSV:
///   duckdb -c "COPY (FROM 'fleet.csv') TO 'fleet.parquet'"
///   python3 -c "import pandas; pandas.read_csv('fleet.csv').to_parquet('fleet.parquet')"
///
/// Examples:
///   repackbench fleet summarize fleet.jsonl shard-*.jsonl
///   repackbench fleet summarize fleet.jsonl --html fleet.html --csv fleet.csv
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct SummarizeArguments {
    /// Files that fleet wrote; those of estimate are read, too.
    #[arg(required = true, value_name = "SHARD")]
    shards: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArguments,

    /// Write the summary as JSON to FILE; - prints it.
    ///
    /// With -, the tables are left out.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    json: Option<Destination>,

    /// Write the figures of --csv as Parquet to FILE.
    ///
    /// Only in builds with the feature parquet.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    parquet: Option<PathBuf>,

    /// Replace the FILE of --json or --parquet if it exists.
    #[arg(long, help_heading = OUTPUT)]
    force: bool,
}

pub(super) fn run(arguments: &SummarizeArguments) -> Result<ExitCode, Failure> {
    if arguments.output.svg.is_some() {
        return Err(Failure::new(USAGE, "--svg: a summary has no charts; report --svg draws those of one repository"));
    }
    if let Some(path) = &arguments.parquet {
        check_parquet(path, arguments.force)?;
    }
    if let Some(path) = arguments.json.as_ref().and_then(Destination::file).filter(|_| !arguments.force) {
        refuse_existing(path, "--force replaces it, --json - prints")?;
    }
    let mut output = ResultOutput::create(&arguments.output, arguments.json.as_ref())?;
    let mut lines = Vec::new();
    for path in &arguments.shards {
        lines.extend(record_file::read_lines(path)?);
    }
    let with_figures = arguments.output.csv.is_some() || arguments.parquet.is_some();
    let FleetFindings { whole, systems } = summarize_fleet(lines, with_figures);
    if whole.repositories + whole.failures.len() + whole.without_commits == 0 {
        return Err(Failure::new(FAILED, "expected the records of a fleet, found none"));
    }
    if let Some(path) = &arguments.parquet {
        AtomicFile::create(path)?.write(parquet(&whole.figures)?)?;
    }
    let results = Results { fleet: Some(whole), fleet_systems: systems, ..Results::default() };
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

/// Refuses what cannot be written, before anything is read.
fn check_parquet(path: &Path, force: bool) -> Result<(), Failure> {
    if !cfg!(feature = "parquet") {
        let hint = "--csv FILE has the same figures, and `fleet summarize --help` says how to convert them";
        return Err(Failure::new(USAGE, "--parquet: this build is without the feature parquet").with_hint(hint));
    }
    if force { Ok(()) } else { refuse_existing(path, "--force replaces it") }
}

#[cfg(feature = "parquet")]
fn parquet(figures: &[FleetFigure]) -> Result<Vec<u8>, Failure> {
    repackbench_report::fleet_parquet(figures).map_err(|error| Failure::new(FAILED, format!("--parquet: {error}")))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_figures: &[FleetFigure]) -> Result<Vec<u8>, Failure> {
    Err(Failure::new(USAGE, "--parquet: this build is without the feature parquet"))
}
