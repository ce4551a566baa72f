//! The command line of `cargo xtask slopes`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::process::{Failure, Outcome};

const USAGE: &str = "\
usage: cargo xtask slopes [REPO...] [--source REPO]... [--sizes MB,MB...] [--commits N] [--job TEXT]...
                          [--runs N] [--most SECONDS] [--resume] [--program FILE] [--out DIR]
       cargo xtask slopes --page [--commits N] [--out DIR]
  REPO           a Git repository of the series; name at least two
  --source REPO  without REPO: a repository whose history the series is made of, by fixtures/large.sh
  --sizes MB,MB...
                 the sizes of the series (default: 1000,2000,5000,10000)
  --commits N    the number of newest commits that the workloads also read (default: 1000)
  --job TEXT     measure only the jobs whose names contain one of these texts; the page shows all that are known
  --runs N       runs of each job that takes less than 20 CPU seconds; the least CPU time counts (default: 3)
  --most SECONDS leave a job out on larger repositories once it took this much CPU time (default: 600)
  --resume       keep the measurements of an earlier run in --out, and measure what is missing
  --page         measure nothing, and write the page from the measurements in --out
  --program FILE the repackbench to measure (default: built from this checkout)
  --out DIR      the folder for repositories, variants and measurements (default: target/slopes)";

#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) repositories: Vec<PathBuf>,
    pub(super) sources: Vec<PathBuf>,
    pub(super) sizes: String,
    pub(super) commits: String,
    pub(super) jobs: Vec<String>,
    pub(super) runs: usize,
    pub(super) most: f64,
    pub(super) resume: bool,
    /// Only write the page.
    pub(super) page: bool,
    pub(super) program: Option<PathBuf>,
    pub(super) out: PathBuf,
}

/// Parses the words after the chore's name.
pub(super) fn parse(words: &[OsString]) -> Outcome<Arguments> {
    let usage = || Failure(USAGE.to_owned());
    let mut arguments = Arguments {
        repositories: Vec::new(),
        sources: Vec::new(),
        sizes: "1000,2000,5000,10000".to_owned(),
        commits: "1000".to_owned(),
        jobs: Vec::new(),
        runs: 3,
        most: 600.0,
        resume: false,
        page: false,
        program: None,
        out: crate::target_dir().join("slopes"),
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(usage);
        let number = |word: &OsString| word.to_str().and_then(|text| text.parse::<usize>().ok()).filter(|n| *n > 0);
        match word.to_str() {
            Some("--source") => arguments.sources.push(value()?.into()),
            Some("--sizes") => arguments.sizes = value()?.to_str().ok_or_else(usage)?.to_owned(),
            Some("--commits") => arguments.commits = number(value()?).ok_or_else(usage)?.to_string(),
            Some("--job") => arguments.jobs.push(value()?.to_str().ok_or_else(usage)?.to_owned()),
            Some("--runs") => arguments.runs = number(value()?).ok_or_else(usage)?,
            Some("--most") => arguments.most = number(value()?).ok_or_else(usage)? as f64,
            Some("--resume") => arguments.resume = true,
            Some("--page") => arguments.page = true,
            Some("--program") => arguments.program = Some(value()?.into()),
            Some("--out") => arguments.out = value()?.into(),
            Some(option) if option.starts_with('-') => return Err(usage()),
            _ => arguments.repositories.push(word.into()),
        }
    }
    let given = arguments.repositories.len();
    if arguments.page {
        return if given == 0 && arguments.sources.is_empty() { Ok(arguments) } else { Err(usage()) };
    }
    if given == 1 || (given == 0) == arguments.sources.is_empty() {
        return Err(usage());
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Outcome<Arguments> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words)
    }

    #[test]
    fn takes_a_series_or_the_sources_of_one() {
        assert_eq!(parsed("a b --commits 5").unwrap().commits, "5");
        assert_eq!(parsed("--source a --sizes 1,2").unwrap().sizes, "1,2");
        assert!(parsed("--page --out o").unwrap().page);
        for wrong in [
            "",
            "a",
            "a b --page",
            "--source a --page",
            "a b --source c",
            "a b --runs 0",
            "a b --commits",
            "a b --colour",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
