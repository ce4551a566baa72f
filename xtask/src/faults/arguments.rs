//! What was typed after `cargo xtask faults`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::traced::Way;
use crate::process::{Failure, Outcome};

/// How often a conversion is killed by default, and how often each other fault happens.
const KILLS: usize = 200;
const ERRORS: usize = 25;

#[derive(Debug, PartialEq)]
pub(super) struct Arguments {
    /// The repositories to convert copies of.
    pub(super) repositories: Vec<PathBuf>,
    pub(super) kills: usize,
    pub(super) errors: usize,
    /// The kinds of faults; all if empty.
    pub(super) only: Vec<String>,
    /// The ways of converting; all if empty.
    ways: Vec<Way>,
    /// A program that is built already.
    pub(super) program: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn parse(words: &[OsString]) -> Outcome<Self> {
        let mut parsed = Arguments {
            repositories: Vec::new(),
            kills: KILLS,
            errors: ERRORS,
            only: Vec::new(),
            ways: Vec::new(),
            program: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.to_str().and_then(|word| word.strip_prefix("--")) {
                Some(option) => {
                    let value = words.next().map(|value| value.to_string_lossy().into_owned());
                    parsed.set(option, value.ok_or_else(|| Failure(format!("faults: --{option} needs a value")))?)?;
                }
                None => parsed.repositories.push(word.into()),
            }
        }
        if parsed.repositories.is_empty() {
            return Err(Failure("faults: name a Git or Mercurial repository; a copy of it is converted".to_owned()));
        }
        Ok(parsed)
    }

    fn set(&mut self, option: &str, value: String) -> Outcome<()> {
        let number = || value.parse().map_err(|_| Failure(format!("faults: --{option}: {value:?} is not a number")));
        match option {
            "kills" => self.kills = number()?,
            "errors" => self.errors = number()?,
            "only" => self.only.push(value),
            "way" => match Way::ALL.into_iter().find(|way| way.name() == value) {
                Some(way) => self.ways.push(way),
                None => {
                    let ways = Way::ALL.map(Way::name).join(", ");
                    return Err(Failure(format!("faults: --way: expected one of {ways}, found {value:?}")));
                }
            },
            "program" => self.program = Some(value.into()),
            _ => {
                let known = "--kills, --errors, --only, --way and --program";
                return Err(Failure(format!("faults: unknown option --{option}; expected {known}")));
            }
        }
        Ok(())
    }

    /// The ways of converting that are wanted.
    pub(super) fn ways(&self) -> Vec<Way> {
        if self.ways.is_empty() { Way::ALL.to_vec() } else { self.ways.clone() }
    }

    /// Whether faults of this name are wanted.
    pub(super) fn is_chosen(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|chosen| chosen == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_from_repositories() {
        let parse = |line: &str| Arguments::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        let parsed = parse("a --kills 3 --only kill b").unwrap();
        assert_eq!(parsed.ways(), Way::ALL);
        assert_eq!((parsed.repositories, parsed.kills, parsed.errors), (vec!["a".into(), "b".into()], 3, ERRORS));
        assert_eq!(parse("a --way output").unwrap().ways(), [Way::Output]);
        for wrong in ["", "--kills 3", "a --kills", "a --kills x", "a --other 3", "a --way x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
