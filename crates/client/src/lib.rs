//! The user's own git and hg, unpatched, on repositories under any codec.
//!
//! git gets a library preloaded that stands in for zlib, and hides the guard of variants from it; hg gets an extension.
//!
//! No other part of this program starts git or hg. What it does on repositories by itself it does in one [isolation]; `exec` alone runs what
//! the user wrote, as the user would have.
//!
//! [isolation]: GitProgram

#![forbid(unsafe_code)]

mod deltas;
mod git;
mod git_program;
mod hg;
mod hg_program;
mod hg_writing;
mod isolation;
mod library;
mod probe;
mod run;
mod writing;

use std::{
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
};

use repackbench_reader::ReaderError;

pub use self::{
    git::{GitClient, find_program},
    git_program::GitProgram,
    hg::{check_hg, hg_command},
    hg_program::HgProgram,
    hg_writing::hg_codec,
    isolation::{git as isolated_git, hg as isolated_hg},
    library::{Preload, Zlib},
    run::run,
    writing::{clients_write, refuse_what_needs_more_than_the_payload},
};

/// Why a client cannot be run on a repository.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The repository cannot be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// A file of this program's own cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The client, the library or the repository is not what it has to be.
    #[error("{message}")]
    Refused {
        /// What was expected and what found.
        message: String,
        /// What the user can do.
        hint: Option<String>,
    },
    /// A command of this program's own could not be run, or failed.
    #[error("{command}: {why}")]
    Program {
        /// The command line.
        command: String,
        /// What it said last.
        why: String,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The command line does not fit the repository.
    #[error("{message}")]
    Usage {
        /// What was expected and what found.
        message: String,
    },
}

impl ClientError {
    fn refused(message: impl Display) -> Self {
        ClientError::Refused { message: message.to_string(), hint: None }
    }

    /// Says what the user can do, where there is room for it.
    fn with_hint(mut self, text: impl Into<String>) -> Self {
        match &mut self {
            ClientError::Refused { hint, .. } => *hint = Some(text.into()),
            ClientError::Io(error) => self = ClientError::refused(error).with_hint(text),
            _ => {}
        }
        self
    }
}

/// A path as the user would name it, for messages.
fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// A path with all links in it followed.
fn absolute(path: &Path) -> Result<PathBuf, ClientError> {
    fs::canonicalize(path).map_err(|error| ClientError::refused(format!("{}: {error}", name_of(path))))
}
