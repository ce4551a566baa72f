//! `repackbench experiment`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use repackbench_experiments::{Context, Options, RegisteredExperiment, compare_repositories, experiment, experiments};
use repackbench_records::{Experiment, ResultLine, published};
use repackbench_report::{Results, experiment_list, experiment_table, html_report, markdown};
use repackbench_timing::clock::SystemClock;
use repackbench_writer::{Progress, cache::Cache};

use super::{command_line, name_of, open, plan::seed_of_now, print, print_notes, report::style, whole_file::WholeFile};
use crate::{
    experiment_arguments::{Chosen, ExperimentArguments},
    failure::{FAILED, Failure, INTERRUPTED, print_note},
    progress::Bar,
    record_file::RecordFile,
};

pub(crate) fn run(arguments: &ExperimentArguments) -> Result<ExitCode, Failure> {
    if arguments.list {
        print(&experiment_list(published(), |name| experiment(name).is_some(), style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = arguments.chosen()?;
    let outputs = Outputs::prepare(arguments, &chosen)?;
    let seed = arguments.seed.unwrap_or_else(seed_of_now);
    let session = Session {
        options: arguments.options(seed, command_line()),
        cache: Cache::open(None)?,
        clock: SystemClock::new(),
        bar: Bar::new(arguments.effort.quiet),
        runs: Mutex::new(outputs.runs),
        quiet: arguments.effort.quiet,
    };
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for path in &arguments.repositories {
        match chosen {
            Chosen::One(name) => found.push(session.run(experiment(name), path)?),
            Chosen::All(_) => session.run_all(path, &mut found, &mut failures),
        }
    }
    compare_repositories(&mut found);
    let is_interrupted = session.bar.is_cancelled();
    let mut runs = session.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut results = outputs.results;
    for experiment in &found {
        let line = ResultLine::Experiment(Box::new(experiment.clone()));
        results.as_mut().unwrap_or(&mut runs).append(&line)?;
    }
    let results = Results { experiments: found, ..Results::default() };
    outputs.html.map_or(Ok(()), |file| file.write(&html_report(&results)))?;
    outputs.markdown.map_or(Ok(()), |file| file.write(&markdown(&results)))?;
    print(&experiment_table(&results.experiments, style()))?;
    end_of(is_interrupted, failures)
}

/// How the command ends: what failed is told once what was found is written.
fn end_of(is_interrupted: bool, mut failures: Vec<Failure>) -> Result<ExitCode, Failure> {
    if is_interrupted {
        return Err(Failure::new(INTERRUPTED, "interrupted; what was measured is in the result"));
    }
    match failures.pop() {
        None => Ok(ExitCode::SUCCESS),
        Some(last) => {
            failures.iter().for_each(print_note);
            Err(last)
        }
    }
}

/// What all experiments share.
struct Session {
    options: Options,
    cache: Cache,
    clock: SystemClock,
    bar: Bar,
    runs: Mutex<RecordFile>,
    quiet: bool,
}

impl Session {
    fn run(&self, experiment: Option<&RegisteredExperiment>, path: &Path) -> Result<Experiment, Failure> {
        let experiment = experiment.ok_or_else(|| Failure::new(FAILED, "no such experiment"))?;
        let source = open(path)?;
        print_notes(&source, self.quiet);
        let name = name_of(path);
        let context = Context {
            source: &source,
            name: &name,
            cache: &self.cache,
            clock: &self.clock,
            progress: &self.bar,
            options: &self.options,
            recorder: &self.runs,
        };
        Ok(experiment.run(&context)?)
    }

    /// Runs each experiment that fits the repository; one that fails does not keep the others from being run.
    fn run_all(&self, path: &Path, found: &mut Vec<Experiment>, failures: &mut Vec<Failure>) {
        let source = match open(path) {
            Ok(source) => source,
            Err(failure) => return failures.push(failure),
        };
        for experiment in experiments().iter().filter(|experiment| experiment.fits(&source)) {
            if self.bar.is_cancelled() {
                break;
            }
            match self.run(Some(experiment), path) {
                Ok(experiment) => found.push(experiment),
                Err(failure) => {
                    let message = format!("{} on {}: {failure}", experiment.name, name_of(path));
                    failures.push(failure.with_message(message));
                }
            }
        }
    }
}

/// Where results go, made before there is one.
struct Outputs {
    /// Every run; the results too, where they have no file of their own.
    runs: RecordFile,
    results: Option<RecordFile>,
    html: Option<WholeFile>,
    markdown: Option<WholeFile>,
}

impl Outputs {
    fn prepare(arguments: &ExperimentArguments, chosen: &Chosen<'_>) -> Result<Self, Failure> {
        let file = |path: &Option<PathBuf>| path.as_deref().map(WholeFile::prepare).transpose();
        match chosen {
            Chosen::One(_) => Ok(Outputs {
                runs: RecordFile::of(arguments.json.as_deref(), None)?,
                results: None,
                html: file(&arguments.html)?,
                markdown: file(&arguments.markdown)?,
            }),
            Chosen::All(folder) => {
                let cannot =
                    |error: io::Error| Failure::new(FAILED, format!("{}: cannot create: {error}", folder.display()));
                fs::create_dir_all(folder).map_err(cannot)?;
                Ok(Outputs {
                    runs: RecordFile::of(Some(&folder.join("runs.jsonl")), None)?,
                    results: Some(RecordFile::of(Some(&folder.join("results.jsonl")), None)?),
                    html: Some(WholeFile::prepare(&folder.join("report.html"))?),
                    markdown: Some(WholeFile::prepare(&folder.join("report.md"))?),
                })
            }
        }
    }
}
