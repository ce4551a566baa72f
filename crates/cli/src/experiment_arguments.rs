//! What `repackbench experiment` takes.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, builder::PossibleValuesParser};
use repackbench_experiments::{Options, experiments};

use crate::{
    failure::{Failure, USAGE},
    pace_arguments::Span,
    peak_memory_arguments::meter,
    repository_path::located,
    shared_arguments::{Effort, MemoryArguments, ProgramArguments},
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
