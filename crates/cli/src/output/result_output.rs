//! The forms of results that `bench`, `size`, `trace` and `report` share.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_report::{Style, csv, html_report, markdown, sections, svg_files, text};
use repackbench_timing::{BenchError, bench::Measured};

use super::{atomic_file::AtomicFile, cannot_create, cannot_write, print, style};
use crate::failure::{FAILED, Failure, print_note};

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

    /// Print method and conditions below the tables too: what was compared and checked, caches, and disturbances. Markdown
    /// and HTML always have them.
    #[arg(long)]
    pub(crate) details: bool,
}

/// Where results go, created before there are any.
pub(crate) struct ResultOutput<'a> {
    arguments: &'a OutputArguments,
    html: Option<AtomicFile>,
}

impl<'a> ResultOutput<'a> {
    /// Creates the files and folders that `arguments` name.
    pub(crate) fn create(arguments: &'a OutputArguments) -> Result<Self, Failure> {
        let html = arguments.html.as_deref().map(AtomicFile::create).transpose()?;
        if let Some(folder) = &arguments.svg {
            fs::create_dir_all(folder).map_err(|error| cannot_create(folder, &error))?;
        }
        Ok(ResultOutput { arguments, html })
    }

    /// The style of stdout with the chosen details.
    pub(crate) fn style(&self) -> Style {
        Style { is_detailed: self.arguments.details, ..style() }
    }

    /// Writes the files.
    pub(crate) fn write(&mut self, results: &Results) -> Result<(), Failure> {
        if let Some(file) = self.html.take() {
            file.write(html_report(results))?;
        }
        if let Some(folder) = &self.arguments.svg {
            for (name, svg) in svg_files(results) {
                let path = folder.join(format!("{name}.svg"));
                fs::write(&path, svg).map_err(|error| cannot_write(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Prints the form that the user chose, or else `tables`.
    pub(crate) fn print(&self, results: &Results, tables: &str) -> Result<(), Failure> {
        if self.arguments.markdown {
            print(&markdown(results))
        } else if self.arguments.csv {
            print(&csv(results).map_err(|error| Failure::new(FAILED, error.to_string()))?)
        } else {
            print(tables)
        }
    }

    /// Writes and prints the results of a session. It fails if the session did.
    pub(crate) fn show_session(&mut self, measured: Measured) -> Result<ExitCode, Failure> {
        let Measured { records, is_interrupted, failures } = measured;
        // There is no table if everything failed.
        if !records.is_empty() || failures.is_empty() {
            let results = Results::from_runs(records);
            self.write(&results)?;
            self.print(&results, &text(&sections::document(&results), self.style()))?;
        }
        finish_session(is_interrupted, &failures)
    }
}

/// The end of a session: the last failure, after notes about the others.
pub(crate) fn finish_session(is_interrupted: bool, failures: &[String]) -> Result<ExitCode, Failure> {
    match failures {
        _ if is_interrupted => Err(BenchError::Interrupted.into()),
        [] => Ok(ExitCode::SUCCESS),
        [others @ .., last] => {
            others.iter().for_each(print_note);
            Err(Failure::new(FAILED, last))
        }
    }
}
