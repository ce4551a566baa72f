//! The forms of results that `bench`, `size`, `trace` and `report` share.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_records::Record;
use repackbench_report::{Style, csv, html_report, markdown, sections, svg_files, text};
use repackbench_timing::{BenchError, bench::Measured};

use super::{atomic_file::OutputFile, cannot_create, cannot_write, print, style};
use crate::{
    failure::{FAILED, Failure, USAGE, print_note},
    options::{Destination, OUTPUT, destination},
};

/// The forms of results that `bench`, `size`, `trace` and `report` share.
#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    /// Write one HTML page with charts and all tables to FILE.
    ///
    /// The page can be read anywhere and without a network. A FILE that exists is replaced.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    pub(crate) html: Option<Destination>,

    /// Write the charts as SVG files to DIR.
    ///
    /// DIR is created if necessary. Files of the same names are replaced.
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) svg: Option<PathBuf>,

    /// Write Markdown to FILE; - prints it.
    ///
    /// With -, the tables are left out. Markdown is for a pull request, with the worst variants first. A FILE that
    /// exists is replaced.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    pub(crate) markdown: Option<Destination>,

    /// Write CSV to FILE; - prints it.
    ///
    /// With -, the tables are left out. Exact figures: one line for each variant in each workload, for each trace or
    /// size, or for each codec and workload of an estimate. A FILE that exists is replaced.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    pub(crate) csv: Option<Destination>,

    /// Print method and conditions below the tables too.
    ///
    /// What was compared and checked, caches, and disturbances. Markdown and HTML always have them.
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) details: bool,
}

impl OutputArguments {
    /// Every form with its option.
    fn forms(&self) -> [(&'static str, Option<&Destination>); 3] {
        [("--html", self.html.as_ref()), ("--markdown", self.markdown.as_ref()), ("--csv", self.csv.as_ref())]
    }
}

/// Rejects several forms of output on stdout, which would be mixed. Returns whether stdout is left to the tables.
pub(crate) fn is_stdout_free(forms: &[(&'static str, Option<&Destination>)]) -> Result<bool, Failure> {
    let on_stdout = forms.iter().filter(|(_, form)| *form == Some(&Destination::Stdout)).map(|(option, _)| *option);
    let on_stdout: Vec<&str> = on_stdout.collect();
    match on_stdout[..] {
        [] => Ok(true),
        [_] => Ok(false),
        _ => Err(Failure::new(USAGE, format!("only one of {} can go to stdout", on_stdout.join(" and ")))),
    }
}

/// Where results go, created before there are any.
pub(crate) struct ResultOutput<'a> {
    arguments: &'a OutputArguments,
    html: Option<OutputFile>,
    markdown: Option<OutputFile>,
    csv: Option<OutputFile>,
    prints_tables: bool,
}

impl<'a> ResultOutput<'a> {
    /// Creates the files and folders that `arguments` name. `json` is where the command writes JSON, if it does.
    pub(crate) fn create(arguments: &'a OutputArguments, json: Option<&Destination>) -> Result<Self, Failure> {
        let [html, markdown, csv] = arguments.forms();
        let prints_tables = is_stdout_free(&[html, markdown, csv, ("--json", json)])?;
        let create = |(option, form): (&str, Option<&Destination>)| {
            form.map(|form| OutputFile::create(option, form)).transpose()
        };
        let (html, markdown, csv) = (create(html)?, create(markdown)?, create(csv)?);
        if let Some(folder) = &arguments.svg {
            fs::create_dir_all(folder).map_err(|error| cannot_create(folder, &error))?;
        }
        Ok(ResultOutput { arguments, html, markdown, csv, prints_tables })
    }

    /// The style of stdout with the chosen details.
    pub(crate) fn style(&self) -> Style {
        Style { is_detailed: self.arguments.details, ..style() }
    }

    /// Writes every form that the user chose, and prints `tables` unless a form took stdout.
    pub(crate) fn write(&mut self, results: &Results, tables: &str) -> Result<(), Failure> {
        if let Some(file) = self.html.take() {
            file.write(&html_report(results))?;
        }
        if let Some(folder) = &self.arguments.svg {
            for (name, svg) in svg_files(results) {
                let path = folder.join(format!("{name}.svg"));
                fs::write(&path, svg).map_err(|error| cannot_write(&path, &error))?;
            }
        }
        if let Some(file) = self.markdown.take() {
            file.write(&markdown(results))?;
        }
        if let Some(file) = self.csv.take() {
            file.write(&csv(results).map_err(|error| Failure::new(FAILED, error.to_string()))?)?;
        }
        if self.prints_tables { print(tables) } else { Ok(()) }
    }

    /// Prints the records of a session that could not end in an orderly way. Files are not written.
    pub(crate) fn last_words(&self) -> impl FnOnce(Vec<Record>) + Send + 'static {
        let (prints_tables, style) = (self.prints_tables, self.style());
        move |records| {
            let results = Results::from_runs(records);
            if prints_tables && let Err(failure) = print(&text(&sections::document(&results), style)) {
                failure.print();
            }
        }
    }

    /// Writes and prints the results of a session. It fails if the session did.
    pub(crate) fn show_session(&mut self, measured: Measured) -> Result<ExitCode, Failure> {
        let Measured { records, is_interrupted, failures } = measured;
        // There is no table if everything failed.
        if !records.is_empty() || failures.is_empty() {
            let results = Results::from_runs(records);
            let text = text(&sections::document(&results), self.style());
            self.write(&results, &text)?;
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
