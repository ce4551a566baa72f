//! The command line of `cargo xtask test`.

use std::ffi::OsString;

use super::run::Surroundings;
use crate::process::{Failure, Outcome};

/// The parsed arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// Parts of the names of tests; empty for all tests.
    pub(crate) names: Vec<String>,
    /// Whether to run the tests in every environment of the stress run.
    pub(crate) stress: bool,
    /// The numbers of the stress runs to make, counted from 1; empty for all.
    pub(crate) runs: Vec<usize>,
    /// How many tests run at once; `None` for [`threads`].
    pub(crate) threads: Option<u32>,
    /// The seed of a random order; `None` for the order by name.
    pub(crate) seed: Option<u64>,
}

impl Arguments {
    pub(crate) fn parse(words: &[OsString]) -> Outcome<Self> {
        let mut arguments = Arguments::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let word = text(word)?;
            match word {
                "--stress" => arguments.stress = true,
                "--runs" => {
                    let typed = value(word, words.next())?;
                    arguments.runs = typed.split(',').map(|run| number(word, run)).collect::<Outcome<_>>()?;
                }
                "--threads" => arguments.threads = Some(number(word, value(word, words.next())?)?),
                "--seed" => arguments.seed = Some(number(word, value(word, words.next())?)?),
                _ if word.starts_with('-') => return Err(Failure(format!("unknown option {word}"))),
                _ => arguments.names.push(word.to_owned()),
            }
        }
        if !arguments.runs.is_empty() && !arguments.stress {
            return Err(Failure("--runs needs --stress".to_owned()));
        }
        Ok(arguments)
    }

    /// The options that apply to the test binaries.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings { threads: self.threads.or_else(threads), seed: self.seed, ..Surroundings::default() }
    }
}

/// One test more than there are cores: while one waits for a process or a disk, no core should be idle. `None`, which means
/// libtest's default, if the number of cores is unknown.
fn threads() -> Option<u32> {
    let cores = std::thread::available_parallelism().ok()?.get();
    u32::try_from(cores + 1).ok()
}

fn text(word: &OsString) -> Outcome<&str> {
    word.to_str().ok_or_else(|| Failure(format!("{}: expected text", word.to_string_lossy())))
}

fn value<'a>(option: &str, word: Option<&'a OsString>) -> Outcome<&'a str> {
    text(word.ok_or_else(|| Failure(format!("{option} needs a value")))?)
}

fn number<T: std::str::FromStr>(option: &str, typed: &str) -> Outcome<T> {
    typed.parse().map_err(|_| Failure(format!("{option}: expected a number, found {typed}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Arguments::parse(&words).map_err(|Failure(message)| message)
    }

    #[test]
    fn names_and_options_can_be_mixed() {
        let expected = Arguments {
            names: vec!["serve".to_owned(), "hg::".to_owned()],
            threads: Some(8),
            seed: Some(7),
            ..Arguments::default()
        };
        assert_eq!(parse(&["serve", "--threads", "8", "hg::", "--seed", "7"]), Ok(expected));
        assert_eq!(parse(&["--stress", "--runs", "2,5"]).map(|arguments| arguments.runs), Ok(vec![2, 5]));
    }

    #[test]
    fn errors_name_the_wrong_option() {
        for (words, expected) in [
            (&["--tests"][..], "unknown option --tests"),
            (&["--threads"], "--threads needs a value"),
            (&["--seed", "x"], "expected a number, found x"),
            (&["--runs", "1"], "--stress"),
        ] {
            assert!(parse(words).is_err_and(|message| message.contains(expected)), "{words:?}");
        }
    }
}
