//! Runs the user's own unpatched git and hg on repositories under any codec.
//!
//! git gets a preloaded library that stands in for zlib and hides the guard of variants; hg gets an extension.
//!
//! No other part of this program starts git or hg. Commands of this program's own run in one [isolation]. Only `exec`
//! runs what the user wrote, as the user would have run it.
//!
//! [isolation]: GitProgram

#![forbid(unsafe_code)]

mod child;
mod deltas;
mod embedded;
#[cfg(test)]
#[path = "../../../fixtures/executable.rs"]
mod executable;
mod foreground;
mod git;
mod git_program;
mod hg;
mod hg_program;
mod hg_writing;
mod isolation;
mod library;
mod meter;
mod private_folder;
mod probe;
mod worker;
mod writing;

use std::{
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
};

use repackbench_reader::ReaderError;

pub use self::{
    child::{ChildError, Sink, Stopwatch, output, run, run_child},
    foreground::{end_like, run_in_foreground},
    git::{GitClient, find_program},
    git_program::GitProgram,
    hg::{check_hg, hg_command, settings_to_read},
    hg_program::HgProgram,
    hg_writing::hg_codec,
    isolation::{git as isolated_git, hg as isolated_hg},
    library::{Preload, Zlib},
    meter::{METER_COMMAND, metered, peak_of_children, read_peak, run_by},
    worker::{WORKER_COMMAND, end_with_stdin, limit_memory},
    writing::{check_needs_only_payload, clients_write},
};

/// The reason why a client cannot run on a repository.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The repository cannot be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// A file of this program's own cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The client, the library or the repository is not as required.
    #[error("{message}")]
    Refused {
        /// What was expected and what was found.
        message: String,
        /// What the user can do about it.
        hint: Option<String>,
    },
    /// A command of this program's own could not be started, or failed.
    #[error("{command}: {why}")]
    Program {
        /// The command line.
        command: String,
        /// The end of its error output, or why it could not be started.
        why: String,
    },
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// The command line does not fit the repository.
    #[error("{message}")]
    Usage {
        /// What was expected and what was found.
        message: String,
    },
}

impl ClientError {
    fn refused(message: impl Display) -> Self {
        ClientError::Refused { message: message.to_string(), hint: None }
    }

    /// Adds a hint at what the user can do, if the kind of error has one.
    fn with_hint(mut self, text: impl Into<String>) -> Self {
        match &mut self {
            ClientError::Refused { hint, .. } => *hint = Some(text.into()),
            ClientError::Io(error) => self = ClientError::refused(error).with_hint(text),
            _ => {}
        }
        self
    }
}

/// A path for messages.
fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// The absolute path without symbolic links.
fn absolute(path: &Path) -> Result<PathBuf, ClientError> {
    fs::canonicalize(path).map_err(|error| ClientError::refused(format!("{}: {error}", name_of(path))))
}
