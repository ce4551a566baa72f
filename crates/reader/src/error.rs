//! The error type of this crate. Every error names the file, the place in it, what was expected and what was found. Its
//! variant decides the exit code of the binary.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::memory::TooLarge;

/// The place in a file where a problem was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A byte offset into the file.
    Offset(u64),
    /// An object, by its hexadecimal id.
    Object(gix_hash::ObjectId),
    /// A line of a text file, counted from 1.
    Line(usize),
    /// A revision of a revlog, by its number.
    Revision(usize),
    /// A revision of a revlog, by its number and the byte offset of its chunk.
    RevisionAt {
        /// The revision's number.
        revision: usize,
        /// The offset of its chunk.
        offset: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Offset(offset) => write!(f, " at offset {offset}"),
            Place::Object(id) => write!(f, ", object {id}"),
            Place::Line(line) => write!(f, ", line {line}"),
            Place::Revision(revision) => write!(f, ", revision {revision}"),
            Place::RevisionAt { revision, offset } => write!(f, " at offset {offset}, revision {revision}"),
        }
    }
}

/// Why a stored repository could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// The operating system refused an operation.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// What was tried, as an infinitive: `open`, `map`, `list`.
        action: &'static str,
        /// The file or folder it was tried on.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// There is no repository at the path.
    #[error("{}: not a repository: {why}", path.display())]
    NotARepository {
        /// The path that was given.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// The repository is damaged.
    #[error("{}{place}: expected {expected}, found {found}", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// The place in it.
        place: Place,
        /// What the format requires.
        expected: String,
        /// What was found.
        found: String,
    },
    /// The repository uses a valid feature that is not supported.
    #[error("{}: {what} is not supported", path.display())]
    Unsupported {
        /// The file that requires it.
        path: PathBuf,
        /// The feature's name, as Git or Mercurial spells it.
        what: String,
    },
    /// An object takes more memory than the ceiling allows: see [`memory`](crate::memory).
    #[error("{}{place}: {what} of {excess}", path.display())]
    TooLarge {
        /// The file that holds it.
        path: PathBuf,
        /// The place in it.
        place: Place,
        /// What is too large: `an object`, `a delta`.
        what: &'static str,
        /// Its length and the limit.
        excess: TooLarge,
    },
    /// The repository changed while it was read.
    #[error("{}: changed while it was read", path.display())]
    Changed {
        /// The file or folder that changed.
        path: PathBuf,
    },
    /// Another program is writing to the repository.
    #[error("{}: another program holds this lock", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// The user named a revision that does not exist.
    #[error("{}: no revision '{name}': {why}", path.display())]
    NoSuchRevision {
        /// The repository's own object directory.
        path: PathBuf,
        /// The name as it was given.
        name: String,
        /// The result of the search.
        why: &'static str,
    },
    /// A required object is in none of the repository's stores.
    #[error("{}: object {id} is missing", path.display())]
    Missing {
        /// The repository's own object directory.
        path: PathBuf,
        /// The object's id.
        id: gix_hash::ObjectId,
    },
    /// A bug in this program: something that it has checked before does not hold.
    #[error("{}: internal error: {what}; do not use any output and please report this", path.display())]
    Internal {
        /// The file in question.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Shorthand for this crate's results.
pub type Result<T> = std::result::Result<T, ReaderError>;

impl ReaderError {
    /// A failed operating-system call on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        ReaderError::Io { action, path: path.into(), source }
    }

    /// Damage found in `path` at `place`.
    pub fn corrupt(path: &Path, place: Place, expected: impl Into<String>, found: impl Into<String>) -> Self {
        ReaderError::Corrupt { path: path.to_owned(), place, expected: expected.into(), found: found.into() }
    }

    /// Something at `place` of `path` takes more memory than it may.
    pub fn too_large(path: &Path, place: Place, what: &'static str, excess: TooLarge) -> Self {
        ReaderError::TooLarge { path: path.to_owned(), place, what, excess }
    }

    /// A bug in this program, found while reading `path`.
    pub fn internal(path: &Path, what: impl Into<String>) -> Self {
        ReaderError::Internal { path: path.to_owned(), what: what.into() }
    }

    /// A valid feature that `path` requires and that is not supported.
    pub fn unsupported(path: &Path, what: impl Into<String>) -> Self {
        ReaderError::Unsupported { path: path.to_owned(), what: what.into() }
    }
}
