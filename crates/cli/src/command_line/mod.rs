//! The words of the command line before clap parses them: former names become today's, and a session that is resumed
//! by its file alone gets the arguments that its records hold.

mod former_names;
mod resume;
mod separator;
mod typed;

use std::ffi::OsString;

use clap::{Command, error::ErrorKind};

use crate::failure::{Failure, print_note};

/// The command line to parse.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// Every word, from the name of the program on.
    pub(crate) words: Vec<OsString>,
    /// The command line of the resumed session with today's changes, if it is not what was typed.
    pub(crate) resumed: Option<String>,
    /// What was replaced or left out, for the user.
    notes: Vec<String>,
}

impl CommandLine {
    /// The command line that `typed` stands for. `program` declares every command.
    pub(crate) fn new(typed: &[OsString], program: &Command) -> Result<Self, Failure> {
        let (words, mut notes) = former_names::replace(typed);
        match resume::complete(&words, program)? {
            Some(resumed) => {
                notes.extend(resumed.notes);
                Ok(CommandLine { words: resumed.words, resumed: Some(resumed.command), notes })
            }
            None => Ok(CommandLine { words, resumed: None, notes }),
        }
    }

    /// A failure that says more than an error of clap of this `kind` about these words.
    pub(crate) fn failure(&self, kind: ErrorKind, program: &Command) -> Option<Failure> {
        let former = || former_names::elsewhere(&self.words, program);
        let command = || separator::without_command(&self.words, program);
        let missing = separator::missing(&self.words, program);
        match kind {
            ErrorKind::UnknownArgument => former().or(missing),
            ErrorKind::MissingRequiredArgument => missing.or_else(command),
            _ => missing,
        }
    }

    /// Prints what was replaced or left out.
    pub(crate) fn print_notes(&self) {
        self.notes.iter().for_each(print_note);
    }
}
