//! `repackbench experiment`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use repackbench_experiments::{Context, Options, RegisteredExperiment, compare_repositories, experiment, experiments};
use repackbench_records::{Experiment, ResultLine, published, write_result};
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
    arguments.memory.ceiling(arguments.effort.threads()).set();
    if arguments.list {
        print(&experiment_list(published(), |name| experiment(name).is_some(), style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = arguments.chosen()?;
    let outputs = Outputs::prepare(arguments)?;
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
    let is_alone = matches!(chosen, Chosen::One(_)) && arguments.repositories.len() == 1;
    for path in &arguments.repositories {
        session.run_on(path, (chosen, is_alone), &mut found, &mut failures);
    }
    let is_interrupted = session.bar.is_cancelled();
    if !found.is_empty() {
        compare_repositories(&mut found);
        let runs = session.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        write(&Results { experiments: found, ..Results::default() }, runs, outputs.others)?;
    }
    end_of(is_interrupted, failures)
}

/// Writes what was found: each to its file, and the tables to stdout.
fn write(results: &Results, mut runs: RecordFile, others: Others) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for experiment in &results.experiments {
        let line = ResultLine::Experiment(Box::new(experiment.clone()));
        match &others.results {
            Some(_) => write_result(&mut lines, &line).map_err(|error| Failure::new(FAILED, error.to_string()))?,
            None => runs.append(&line)?,
        }
    }
    others.results.map_or(Ok(()), |file| file.write(&lines))?;
    others.html.map_or(Ok(()), |file| file.write(html_report(results)))?;
    others.markdown.map_or(Ok(()), |file| file.write(markdown(results)))?;
    print(&experiment_table(&results.experiments, style()))
}

/// How the command ends: what failed is told once what was found is written.
fn end_of(is_interrupted: bool, mut failures: Vec<Failure>) -> Result<ExitCode, Failure> {
    if is_interrupted {
        // What stopped for that reason has nothing else to tell.
        failures.iter().filter(|failure| !failure.is_interrupt()).for_each(print_note);
        return Err(Failure::new(
            INTERRUPTED,
            "interrupted; what was measured until then, if anything, is in the result",
        ));
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
    /// Runs what was chosen on the repository; an experiment that fails does not keep the others from being run.
    ///
    /// Messages name both unless what was chosen `is_alone`, one experiment on one repository.
    fn run_on(
        &self,
        path: &Path,
        (chosen, is_alone): (Chosen<'_>, bool),
        found: &mut Vec<Experiment>,
        failures: &mut Vec<Failure>,
    ) {
        let source = match open(path) {
            Ok(source) => source,
            Err(failure) => return failures.push(failure),
        };
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
        let is_chosen = |experiment: &&RegisteredExperiment| match chosen {
            Chosen::One(name) => experiment.name == name,
            Chosen::All => experiment.fits(&source),
        };
        for experiment in experiments().iter().filter(is_chosen) {
            if self.bar.is_cancelled() {
                break;
            }
            match experiment.run(&context) {
                Ok(result) => found.push(result),
                Err(error) => failures.push(if is_alone {
                    error.into()
                } else {
                    let failure = Failure::from(error);
                    let message = format!("{} on {name}: {failure}", experiment.name);
                    failure.with_message(message)
                }),
            }
        }
    }
}

/// Where results go, made before there is one.
struct Outputs {
    /// Every run; the results too, where they have no file of their own.
    runs: RecordFile,
    others: Others,
}

/// What is written when all is measured; what stood there before stays until then.
struct Others {
    results: Option<WholeFile>,
    html: Option<WholeFile>,
    markdown: Option<WholeFile>,
}

impl Outputs {
    fn prepare(arguments: &ExperimentArguments) -> Result<Self, Failure> {
        let file = |path: &Option<PathBuf>| path.as_deref().map(WholeFile::prepare).transpose();
        let Some(folder) = &arguments.out else {
            let others = Others { results: None, html: file(&arguments.html)?, markdown: file(&arguments.markdown)? };
            return Ok(Outputs { runs: RecordFile::of(arguments.json.as_deref(), None)?, others });
        };
        let cannot = |error: io::Error| Failure::new(FAILED, format!("{}: cannot create: {error}", folder.display()));
        fs::create_dir_all(folder).map_err(cannot)?;
        let file = |name: &str| file(&Some(folder.join(name)));
        let others =
            Others { results: file("results.jsonl")?, html: file("report.html")?, markdown: file("report.md")? };
        Ok(Outputs { runs: RecordFile::of(Some(&folder.join("runs.jsonl")), None)?, others })
    }
}
