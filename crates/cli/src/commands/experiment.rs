//! `repackbench experiment`.

use std::{path::PathBuf, process::ExitCode, sync::Mutex};

use clap::{Args, builder::PossibleValuesParser};
use repackbench_analysis::Results;
use repackbench_experiments::{Options, experiment, experiments};
use repackbench_records::published;
use repackbench_report::{articles_text, sections};
use repackbench_writer::cache::Cache;

use crate::{
    experiment_runs::{ExperimentRuns, Selection},
    failure::{Failure, INTERRUPTED, USAGE, print_note},
    options::{
        EXPERT, Effort, HOW_LONG, MemoryArguments, MinRunTimeArgument, ProgramArguments, SeedArgument, TimeLimit, WHAT,
        located, meter,
    },
    output::{
        command_line,
        experiment_output::{ExperimentOutput, ExperimentOutputArguments},
        print, style,
    },
    progress::Bar,
};

/// The name for every experiment.
const ALL: &str = "all";

/// Repeat a published experiment on your repository
///
/// Runs the whole experiment, prints its table next to the published figures, says where the set-up differs, and judges each
/// published claim: reproduced, changed, not reproduced, not comparable or undecided, with the reason.
/// docs/method.md has the rules. --list shows what each experiment asked, found and needs.
///
/// What does not fit into --time is left out, and the result names it. Ctrl-C ends the experiment
/// with what was measured until then.
///
/// `all` runs each experiment that suits the repositories, Git or Mercurial. --output writes one report:
/// report.html, report.md, results.jsonl and, with every run, runs.jsonl. With several repositories,
/// claims that one repository cannot decide are judged too.
///
/// Examples:
///   repackbench experiment --list
///   repackbench experiment zlib-vs-zstd-pack . --html zstd.html
///   repackbench experiment zlib-vs-zstd-pack . --repack --time 1h
///   repackbench experiment zlib-vs-lz4-revlog small large --hg-extension DIR
///   repackbench experiment all gitrepo hgrepo --output results
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExperimentArguments {
    /// Experiment, or all of them.
    #[arg(value_name = "NAME", value_parser = names(), required_unless_present = "list")]
    name: Option<String>,

    /// Repositories, one after another.
    #[arg(value_name = "REPO", value_parser = located(), required_unless_present = "list")]
    pub(crate) repositories: Vec<PathBuf>,

    /// Show what each experiment asked, found and needs, and run none.
    #[arg(long, help_heading = WHAT, conflicts_with_all = ["name", "repositories", "output", "json", "markdown", "html"])]
    pub(crate) list: bool,

    #[command(flatten)]
    output: ExperimentOutputArguments,

    /// Time limit for one experiment, such as 90s, 10m or 1h, or none.
    ///
    /// Only measured runs count, not making variants.
    #[arg(long, value_name = "DURATION", default_value = "10m", help_heading = HOW_LONG)]
    time: TimeLimit,

    /// Run each arm N times in each job [default: depends on the experiment].
    ///
    /// Fewer than 6 give no interval.
    #[arg(long, value_name = "N", help_heading = HOW_LONG, value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,

    #[command(flatten)]
    min_run_time: MinRunTimeArgument,

    /// Revision whose files are read [default: HEAD, or Mercurial's tip].
    #[arg(long, value_name = "REV", allow_negative_numbers = true, help_heading = WHAT)]
    rev: Option<String>,

    /// Also measure the repository with new deltas by git or hg.
    ///
    /// It is a second baseline: the repository after git, or hg, has searched for deltas again.
    #[arg(long, help_heading = WHAT)]
    repack: bool,

    /// Do not drop the caches of the whole machine. By default, experiments that read cold drop them many times if
    /// the process may, as root may, which slows down all other programs. With this option, folders and inodes stay
    /// in memory, and the result says so.
    #[arg(long, help_heading = EXPERT)]
    keep_caches: bool,

    #[command(flatten)]
    programs: ProgramArguments,

    #[command(flatten)]
    seed: SeedArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    effort: Effort,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(experiments().iter().map(|experiment| experiment.name).chain([ALL]))
}

impl ExperimentArguments {
    /// The experiments to run.
    fn selection(&self) -> Result<Selection<'_>, Failure> {
        match (self.name.as_deref(), &self.output.output) {
            (Some(ALL), Some(_)) => Ok(Selection::All),
            (Some(ALL), None) => {
                Err(Failure::new(USAGE, "experiment all: expected --output DIR, the folder of the report"))
            }
            (Some(name), _) => Ok(Selection::One(name)),
            (None, _) => Err(Failure::new(USAGE, "expected the name of an experiment")),
        }
    }

    fn options(&self) -> Options {
        let ProgramArguments { git, hg, hg_extension } = &self.programs;
        Options {
            budget: self.time.0,
            runs: self.blocks,
            min_run_time: self.min_run_time.duration(),
            revision: self.rev.clone(),
            is_repacked: self.repack,
            keeps_caches: self.keep_caches,
            git: git.clone(),
            hg: hg.clone(),
            hg_extension: hg_extension.typed(),
            meter: meter(),
            threads: self.effort.threads(),
            seed: self.seed.given_or(None),
            command: command_line(),
        }
    }
}

pub(crate) fn run(arguments: &ExperimentArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    if arguments.list {
        let list = sections::experiment_list(published(), |name| experiment(name).is_some());
        print(&articles_text(&list, style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let selection = arguments.selection()?;
    let (runs, output) = ExperimentOutput::create(&arguments.output)?;
    let runs = ExperimentRuns {
        selection,
        options: arguments.options(),
        cache: Cache::open(None)?,
        bar: Bar::new(arguments.effort.quiet()),
        runs: Mutex::new(runs),
        quiet: arguments.effort.quiet(),
    };
    let outcome = runs.run(arguments.repositories.iter().map(PathBuf::as_path));
    if !outcome.results.is_empty() {
        output.write(&Results { experiments: outcome.results, ..Results::default() }, outcome.runs)?;
    }
    finish(outcome.is_interrupted, outcome.failures)
}

/// The end of the command: the last failure, after notes about the others.
fn finish(is_interrupted: bool, mut failures: Vec<Failure>) -> Result<ExitCode, Failure> {
    if is_interrupted {
        // Experiments that the interrupt stopped have nothing else to report.
        failures.iter().filter(|failure| !failure.is_interrupt()).for_each(print_note);
        return Err(Failure::new(INTERRUPTED, "interrupted; the result has what was measured until then, if anything"));
    }
    match failures.pop() {
        None => Ok(ExitCode::SUCCESS),
        Some(last) => {
            failures.iter().for_each(print_note);
            Err(last)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    fn one_experiment_needs_a_name_and_all_need_a_folder() {
        let selection = |words: &[&str]| match line(words).unwrap().selection() {
            Ok(Selection::One(name)) => name.to_owned(),
            Ok(Selection::All) => ALL.to_owned(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(selection(&["zlib-vs-zstd-pack", "a"]), "zlib-vs-zstd-pack");
        assert_eq!(selection(&["zlib-vs-zstd-pack", "a", "b", "--output", "x"]), "zlib-vs-zstd-pack");
        assert!(selection(&["all", "a"]).contains("--output"));
        assert_eq!(selection(&["all", "a", "b", "--output", "x"]), ALL);
        assert!(line(&["no-such", "a"]).unwrap_err().contains("zlib-vs-zstd-pack"));
        assert!(line(&["all", "a", "--output", "x", "--html", "y"]).is_err());
        assert!(line(&["all"]).is_err() && line(&[]).is_err() && line(&["--list"]).unwrap().list);
    }

    #[test]
    fn keep_caches_keeps_the_caches() {
        assert!(!line(&["all", "a"]).unwrap().options().keeps_caches);
        assert!(line(&["all", "a", "--keep-caches"]).unwrap().options().keeps_caches);
    }

    #[test]
    fn time_is_a_duration_or_none() {
        assert_eq!(line(&["all", "a"]).unwrap().options().budget, Some(Duration::from_secs(600)));
        assert_eq!(line(&["all", "a", "--time", "none"]).unwrap().options().budget, None);
        assert!(line(&["all", "a", "--time", "10"]).unwrap_err().contains("or none"));
    }
}
