//! The files and tables of experiments.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_records::{ResultLine, write_result};
use repackbench_report::{articles_text, html_report, markdown, sections};

use super::{atomic_file::AtomicFile, cannot_create, print, record_file::RecordFile, style};
use crate::failure::{FAILED, Failure};

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

/// The files that are written when all experiments have run. Until then, earlier files of these names stay.
pub(crate) struct ExperimentOutput {
    results: Option<AtomicFile>,
    html: Option<AtomicFile>,
    markdown: Option<AtomicFile>,
}

impl ExperimentOutput {
    /// Creates the file of every run, and the other files.
    pub(crate) fn create(arguments: &ExperimentOutputArguments) -> Result<(RecordFile, Self), Failure> {
        let file = |path: Option<&Path>| path.map(AtomicFile::create).transpose();
        let Some(folder) = &arguments.out else {
            let (html, markdown) = (file(arguments.html.as_deref())?, file(arguments.markdown.as_deref())?);
            let runs = RecordFile::open(arguments.json.as_deref(), None)?;
            return Ok((runs, ExperimentOutput { results: None, html, markdown }));
        };
        fs::create_dir_all(folder).map_err(|error| cannot_create(folder, &error))?;
        let file = |name: &str| file(Some(&folder.join(name)));
        let output = ExperimentOutput {
            results: file("results.jsonl")?,
            html: file("report.html")?,
            markdown: file("report.md")?,
        };
        Ok((RecordFile::open(Some(&folder.join("runs.jsonl")), None)?, output))
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
        self.html.map_or(Ok(()), |file| file.write(html_report(results)))?;
        self.markdown.map_or(Ok(()), |file| file.write(markdown(results)))?;
        print(&articles_text(&sections::experiments(&results.experiments), style()))
    }
}
