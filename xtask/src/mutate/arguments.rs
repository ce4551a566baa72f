//! The command line of `cargo xtask mutate`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::{Failure, Outcome};
use crate::typed_time::parse_time;

const USAGE: &str = "\
usage: cargo xtask mutate [REPO] [--target TARGET]... [--cases N] [--seed N] [--case K] [--jobs N] [--time TIME]
                          [--program FILE]
  REPO           a small Git or Mercurial repository; it is copied, and not touched (default: some fixtures)
  --target TARGET
                 what to damage: `source`, the copy, or a codec spec, the variant under it (default: source, zstd:3, and
                 for Git zstd:3,checksum=no and balanced)
  --cases N      the number of cases of each target (default: 1000)
  --seed N       the seed of all cases (default: 1)
  --case K       run only case K, and keep what it damaged
  --jobs N       run N cases at once (default: the number of processors)
  --time TIME    start no case of a target after this time, such as 90s, 30m or 2h
  --program FILE the repackbench to run (default: built from this checkout, with checks for overflow)";

/// How many cases a target has by default.
const CASES: u64 = 1000;

#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) repository: Option<PathBuf>,
    /// As they were typed. None: the default ones.
    pub(super) targets: Vec<String>,
    pub(super) cases: u64,
    pub(super) seed: u64,
    /// The only case to run.
    pub(super) case: Option<u64>,
    pub(super) jobs: usize,
    pub(super) time: Option<Duration>,
    pub(super) program: Option<PathBuf>,
}

/// Parses the words after the chore's name.
pub(super) fn parse(words: &[OsString]) -> Outcome<Arguments> {
    let usage = || Failure(USAGE.to_owned());
    let mut arguments = Arguments {
        repository: None,
        targets: Vec::new(),
        cases: CASES,
        seed: 1,
        case: None,
        jobs: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        time: None,
        program: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut text = || words.next().and_then(|word| word.to_str()).ok_or_else(usage);
        let number = |text: &str| text.parse::<u64>().map_err(|_| usage());
        match word.to_str() {
            Some("--target") => arguments.targets.push(text()?.to_owned()),
            Some("--cases") => arguments.cases = number(text()?)?,
            Some("--seed") => arguments.seed = number(text()?)?,
            Some("--case") => arguments.case = Some(number(text()?)?),
            Some("--jobs") => arguments.jobs = text()?.parse::<NonZeroUsize>().map_err(|_| usage())?.get(),
            Some("--time") => arguments.time = Some(parse_time(text()?).ok_or_else(usage)?),
            Some("--program") => arguments.program = Some(words.next().ok_or_else(usage)?.into()),
            Some(option) if option.starts_with('-') => return Err(usage()),
            _ if arguments.repository.is_some() => return Err(usage()),
            _ => arguments.repository = Some(word.into()),
        }
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
    fn options_and_repository_are_told_apart() {
        let default = parsed("").unwrap();
        assert_eq!((default.repository, default.cases, default.case, default.time), (None, CASES, None, None));
        let typed = parsed("--cases 5 a --target source --target zstd:3 --case 7 --time 2m").unwrap();
        assert_eq!(typed.repository, Some("a".into()));
        assert_eq!((typed.cases, typed.case, typed.time), (5, Some(7), Some(Duration::from_secs(120))));
        assert_eq!(typed.targets, ["source", "zstd:3"]);
        for wrong in ["a b", "--cases", "--cases x", "--jobs 0", "--time 5", "--time m", "--time", "--colour"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
