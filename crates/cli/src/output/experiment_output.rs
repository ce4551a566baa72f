//! The files and tables of experiments.

use std::{fs, path::PathBuf};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_records::{ResultLine, write_result};
use repackbench_report::{articles_text, html_report, markdown, sections};

use super::{
    atomic_file::{AtomicFile, OutputFile},
    cannot_create, print,
    record_file::RecordFile,
    result_output::is_stdout_free,
    style,
};
use crate::{
    failure::{FAILED, Failure, USAGE},
    options::{Destination, OUTPUT, RecordArguments, destination, refuse_existing},
};

/// Where the results of experiments go.
#[derive(Debug, Args)]
pub(crate) struct ExperimentOutputArguments {
    /// Write the report and all records to DIR, which is created if necessary; required by `all`.
    #[arg(short, long, value_name = "DIR", conflicts_with_all = ["json", "markdown", "html"], help_heading = OUTPUT)]
    #[arg(group = "record_file")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    records: RecordArguments,

    /// Write the result as Markdown to FILE; - prints it instead of the tables.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    pub(crate) markdown: Option<Destination>,

    /// Write one HTML page with charts and all tables to FILE.
    ///
    /// The page can be read anywhere and without a network.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    pub(crate) html: Option<Destination>,
}

/// The files that are written when all experiments have run. Until then, earlier files of these names stay.
pub(crate) struct ExperimentOutput {
    results: Option<AtomicFile>,
    html: Option<OutputFile>,
    markdown: Option<OutputFile>,
    prints_tables: bool,
}

impl ExperimentOutput {
    /// Creates the file of every run, and the other files.
    pub(crate) fn create(arguments: &ExperimentOutputArguments) -> Result<(RecordFile, Self), Failure> {
        let Some(folder) = &arguments.output else {
            let (html, markdown, json) =
                (arguments.html.as_ref(), arguments.markdown.as_ref(), arguments.records.json.as_ref());
            let prints_tables = is_stdout_free(&[("--html", html), ("--markdown", markdown), ("--json", json)])?;
            arguments.records.check(false)?;
            let html = html.map(|form| OutputFile::create("--html", form)).transpose()?;
            let markdown = markdown.map(|form| OutputFile::create("--markdown", form)).transpose()?;
            let runs = RecordFile::open(&arguments.records)?;
            return Ok((runs, ExperimentOutput { results: None, html, markdown, prints_tables }));
        };
        if arguments.records.append {
            return Err(Failure::new(USAGE, "--append: only --json FILE can be added to; use --force or another DIR"));
        }
        let runs = folder.join("runs.jsonl");
        if !arguments.records.force {
            refuse_existing(&runs, "--force replaces the report in this folder, --output names another one")?;
        }
        fs::create_dir_all(folder).map_err(|error| cannot_create(folder, &error))?;
        let file = |name: &str| AtomicFile::create(&folder.join(name));
        let output = ExperimentOutput {
            results: Some(file("results.jsonl")?),
            html: Some(file("report.html")?.into()),
            markdown: Some(file("report.md")?.into()),
            prints_tables: true,
        };
        Ok((RecordFile::New(arguments.records.open_file(&runs)?), output))
    }

    /// Writes the results to all files, and prints their tables. Without a file of their own they follow the `runs`.
    pub(crate) fn write(self, results: &Results, mut runs: RecordFile) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for experiment in &results.experiments {
            let line = ResultLine::Experiment(Box::new(experiment.clone()));
            match &self.results {
                Some(_) => write_result(&mut lines, &line).map_err(|error| Failure::new(FAILED, error.to_string()))?,
                None => runs.append(&line)?,
            }
        }
        self.results.map_or(Ok(()), |file| file.write(&lines))?;
        self.html.map_or(Ok(()), |file| file.write(&html_report(results)))?;
        self.markdown.map_or(Ok(()), |file| file.write(&markdown(results)))?;
        if !self.prints_tables {
            return Ok(());
        }
        print(&articles_text(&sections::experiments(&results.experiments), style()))
    }
}
