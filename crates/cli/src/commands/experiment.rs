//! `repackbench experiment`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use clap::{Args, builder::PossibleValuesParser};
use repackbench_analysis::Results;
use repackbench_experiments::{Context, Options, RegisteredExperiment, compare_repositories, experiment, experiments};
use repackbench_records::{Experiment, ResultLine, published, write_result};
use repackbench_report::{articles_text, html_report, markdown, sections};
use repackbench_timing::clock::SystemClock;
use repackbench_writer::{Progress, cache::Cache};

use super::{
    command_line, name_of, open, print, print_notes, report::style, session::seed_of_now, whole_file::WholeFile,
};
use crate::{
    failure::{FAILED, Failure, INTERRUPTED, USAGE, print_note},
    options::{Effort, MemoryArguments, ProgramArguments, Span, located, meter},
    progress::Bar,
    record_file::RecordFile,
};

/// The name that stands for every experiment.
const ALL: &str = "all";

/// Run a published experiment again, whole, on your repository and machine.
///
/// Prints its table beside the published figures, says where the set-up differs, and what is to
/// be said of each published claim: reproduced, changed, not reproduced, not comparable or
/// undecided, by rules that METHODOLOGY.md tells, and why. --list tells what each experiment
/// asked, found and needs.
///
/// What does not fit into --budget is left out, and the result names it. Ctrl-C ends it with what
/// was measured until then.
///
/// `all` runs each experiment that fits the repositories, Git's or Mercurial's. --out writes one
/// report: report.html, report.md, results.jsonl and, with every run, runs.jsonl. Over several
/// repositories claims are judged, too, that one repository does not decide.
///
/// Examples:
///   repackbench experiment --list
///   repackbench experiment zlib-vs-zstd-pack . --html zstd.html
///   repackbench experiment zlib-vs-zstd-pack . --repack --budget 1h
///   repackbench experiment zlib-vs-lz4-revlog small large --hg-extension DIR
///   repackbench experiment all gitrepo hgrepo --out results
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExperimentArguments {
    /// The experiment, or all of them.
    #[arg(value_name = "NAME", value_parser = names(), required_unless_present = "list")]
    name: Option<String>,

    /// The repositories, one after the other.
    #[arg(value_name = "REPO", value_parser = located(), required_unless_present = "list")]
    pub(crate) repositories: Vec<PathBuf>,

    /// Tell what each experiment asked, found and needs, and run none.
    #[arg(long, conflicts_with_all = ["name", "repositories", "out", "json", "markdown", "html"])]
    pub(crate) list: bool,

    /// Write the report and all records into DIR, which is made if need be; `all` asks for it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "markdown", "html"])]
    pub(crate) out: Option<PathBuf>,

    /// How long the measured runs of one experiment may take, such as 90s, 10m or 1h, or none for no limit. Making variants does not
    /// count.
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    budget: Limit,

    /// Run each arm N times in each job; fewer than 6 give no interval [default: what the experiment takes by itself].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,

    /// Repeat a job within one run until it has taken this long, such as 20ms or 2s [default: what the time that is compared
    /// takes, 100ms or more].
    #[arg(long, value_name = "DURATION")]
    min_run_time: Option<Span>,

    /// The revision whose files are meant [default: HEAD, or Mercurial's tip].
    #[arg(long, value_name = "REV", allow_negative_numbers = true)]
    rev: Option<String>,

    /// Measure a second baseline, too: the repository after git, or hg, has searched for deltas again.
    #[arg(long)]
    repack: bool,

    /// Leave the caches of the whole machine alone. Without it, experiments that read cold drop them many times where the process may,
    /// as root may, which slows down all others; with it, folders and inodes stay in memory, and the result says so.
    #[arg(long)]
    keep_caches: bool,

    #[command(flatten)]
    programs: ProgramArguments,

    /// Write every run, and the result, to FILE, one line of JSON each: what `report` reads.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the result as Markdown to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write one HTML file with charts and all tables, to be read anywhere and without a network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// The seed of the random order; by default another one each time.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    pub(crate) effort: Effort,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(experiments().iter().map(|experiment| experiment.name).chain([ALL]))
}

/// Which experiments are to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen<'a> {
    /// The one of this name.
    One(&'a str),
    /// Each that fits.
    All,
}

impl ExperimentArguments {
    /// Which experiments are to be run.
    pub(crate) fn chosen(&self) -> Result<Chosen<'_>, Failure> {
        match (self.name.as_deref(), &self.out) {
            (Some(ALL), Some(_)) => Ok(Chosen::All),
            (Some(ALL), None) => Err(Failure::new(USAGE, "experiment all: --out names the folder of the report")),
            (Some(name), _) => Ok(Chosen::One(name)),
            (None, _) => Err(Failure::new(USAGE, "expected the name of an experiment")),
        }
    }

    /// What an experiment has to know of the user's wishes.
    pub(crate) fn options(&self, seed: u64, command: Option<String>) -> Options {
        let ProgramArguments { git, hg, hg_extension } = &self.programs;
        Options {
            budget: self.budget.0,
            runs: self.runs,
            min_run_time: self.min_run_time.map(|Span(time)| time),
            revision: self.rev.clone(),
            is_repacked: self.repack,
            keeps_caches: self.keep_caches,
            git: git.clone(),
            hg: hg.clone(),
            hg_extension: hg_extension.clone(),
            meter: meter(),
            threads: self.effort.threads(),
            seed,
            command,
        }
    }
}

/// How long something may take; `None` for as long as it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit(Option<Duration>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        if typed == "none" {
            return Ok(Limit(None));
        }
        typed.parse().map(|Span(time)| Limit(Some(time))).map_err(|error| format!("{error}, or none"))
    }
}

pub(crate) fn run(arguments: &ExperimentArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    if arguments.list {
        let list = sections::experiment_list(published(), |name| experiment(name).is_some());
        print(&articles_text(&list, style()))?;
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
    print(&articles_text(&sections::experiments(&results.experiments), style()))
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        experiment: ExperimentArguments,
    }

    fn line(words: &[&str]) -> Result<ExperimentArguments, String> {
        let words = std::iter::once("experiment").chain(words.iter().copied());
        Line::try_parse_from(words).map(|line| line.experiment).map_err(|error| error.to_string())
    }

    #[test]
    fn one_experiment_has_a_name_and_all_have_a_folder() {
        let chosen = |words: &[&str]| match line(words).unwrap().chosen() {
            Ok(Chosen::One(name)) => name.to_owned(),
            Ok(Chosen::All) => ALL.to_owned(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(chosen(&["zlib-vs-zstd-pack", "a"]), "zlib-vs-zstd-pack");
        assert_eq!(chosen(&["zlib-vs-zstd-pack", "a", "b", "--out", "x"]), "zlib-vs-zstd-pack");
        assert!(chosen(&["all", "a"]).contains("--out"));
        assert_eq!(chosen(&["all", "a", "b", "--out", "x"]), ALL);
        assert!(line(&["no-such", "a"]).unwrap_err().contains("zlib-vs-zstd-pack"));
        assert!(line(&["all", "a", "--out", "x", "--html", "y"]).is_err());
        assert!(line(&["all"]).is_err() && line(&[]).is_err() && line(&["--list"]).unwrap().list);
    }

    #[test]
    fn the_machine_s_caches_are_kept_where_the_user_says_so() {
        assert!(!line(&["all", "a"]).unwrap().options(1, None).keeps_caches);
        assert!(line(&["all", "a", "--keep-caches"]).unwrap().options(1, None).keeps_caches);
    }

    #[test]
    fn a_budget_is_a_time_or_none() {
        assert_eq!(line(&["all", "a"]).unwrap().options(1, None).budget, Some(Duration::from_secs(600)));
        assert_eq!(line(&["all", "a", "--budget", "none"]).unwrap().options(1, None).budget, None);
        assert!(line(&["all", "a", "--budget", "10"]).unwrap_err().contains("or none"));
    }
}
