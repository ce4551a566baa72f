//! The command lines of chores that try the program on repositories.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::process::{Failure, Outcome};

/// What to try.
#[derive(Debug)]
pub(crate) struct TrialArguments {
    pub(crate) repositories: Vec<PathBuf>,
    pub(crate) codecs: Vec<String>,
    pub(crate) program: Option<PathBuf>,
}

impl TrialArguments {
    /// Parses `words`; `codecs` are the default. `own` gets other options with their values, and returns whether the chore
    /// has them.
    ///
    /// # Errors
    /// The chore's `usage`.
    pub(crate) fn parse(
        words: &[OsString],
        usage: &str,
        codecs: &[&str],
        mut own: impl FnMut(&str, &str) -> bool,
    ) -> Outcome<Self> {
        let usage = || Failure(usage.to_owned());
        let mut parsed = TrialArguments { repositories: Vec::new(), codecs: Vec::new(), program: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(option) = word.to_str().filter(|word| word.starts_with('-')) else {
                parsed.repositories.push(word.into());
                continue;
            };
            let value = words.next().ok_or_else(usage)?;
            match (option, value.to_str()) {
                ("--program", _) => parsed.program = Some(value.into()),
                ("--codec", Some(codec)) => parsed.codecs.push(codec.to_owned()),
                (option, Some(value)) if own(option, value) => {}
                _ => return Err(usage()),
            }
        }
        if parsed.repositories.is_empty() {
            return Err(usage());
        }
        if parsed.codecs.is_empty() {
            parsed.codecs = codecs.iter().map(|codec| (*codec).to_owned()).collect();
        }
        Ok(parsed)
    }
}
