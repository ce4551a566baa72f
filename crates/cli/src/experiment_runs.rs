//! Running experiments on repositories, one after another.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use repackbench_experiments::{Context, Options, RegisteredExperiment, compare_repositories, experiments};
use repackbench_records::Experiment;
use repackbench_timing::clock::SystemClock;
use repackbench_writer::{Progress, cache::Cache};

use crate::{
    failure::Failure,
    output::record_file::RecordFile,
    progress::Bar,
    repository::{name_of, open, print_notes},
};

/// The experiments to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection<'a> {
    /// The experiment of this name.
    One(&'a str),
    /// Every experiment that suits a repository.
    All,
}

/// What all runs share.
pub(crate) struct ExperimentRuns<'a> {
    pub(crate) selection: Selection<'a>,
    pub(crate) options: Options,
    pub(crate) cache: Cache,
    pub(crate) bar: Bar,
    /// The file of every run.
    pub(crate) runs: Mutex<RecordFile>,
    pub(crate) quiet: bool,
}

/// The outcome of all runs.
pub(crate) struct ExperimentOutcome {
    pub(crate) results: Vec<Experiment>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) is_interrupted: bool,
    pub(crate) runs: RecordFile,
}

impl ExperimentRuns<'_> {
    /// Runs the selection on each repository. A failure does not stop the others.
    pub(crate) fn run<'p>(self, repositories: impl ExactSizeIterator<Item = &'p Path>) -> ExperimentOutcome {
        let (mut results, mut failures) = (Vec::new(), Vec::new());
        let is_single = matches!(self.selection, Selection::One(_)) && repositories.len() == 1;
        for path in repositories {
            self.run_on(path, is_single, &mut results, &mut failures);
        }
        compare_repositories(&mut results);
        let is_interrupted = self.bar.is_cancelled();
        let runs = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        ExperimentOutcome { results, failures, is_interrupted, runs }
    }

    /// Runs the selection on one repository. Failures name experiment and repository, unless `is_single`.
    fn run_on(&self, path: &Path, is_single: bool, results: &mut Vec<Experiment>, failures: &mut Vec<Failure>) {
        let source = match open(path) {
            Ok(source) => source,
            Err(failure) => return failures.push(failure),
        };
        print_notes(&source, self.quiet);
        let (name, clock) = (name_of(path), SystemClock::new());
        let context = Context {
            source: &source,
            name: &name,
            cache: &self.cache,
            clock: &clock,
            progress: &self.bar,
            options: &self.options,
            recorder: &self.runs,
        };
        let is_selected = |experiment: &&RegisteredExperiment| match self.selection {
            Selection::One(name) => experiment.name == name,
            Selection::All => experiment.fits(&source),
        };
        for experiment in experiments().iter().filter(is_selected) {
            if self.bar.is_cancelled() {
                break;
            }
            match experiment.run(&context) {
                Ok(result) => results.push(result),
                Err(error) if is_single => failures.push(error.into()),
                Err(error) => {
                    let failure = Failure::from(error);
                    let message = format!("{} on {name}: {failure}", experiment.name);
                    failures.push(failure.with_message(message));
                }
            }
        }
    }
}
