//! The files and tables of experiments.

use std::{fs, path::Path};

use repackbench_analysis::Results;
use repackbench_records::{ResultLine, write_result};
use repackbench_report::{articles_text, html_report, markdown, sections};

use super::{atomic_file::AtomicFile, cannot_create, print, record_file::RecordFile, style};
use crate::{
    failure::{FAILED, Failure},
    options::ExperimentOutputArguments,
};

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
