//! The one error type of this crate.

use std::{io, path::PathBuf};

use repackbench_codec::CodecError;
use repackbench_reader::ReaderError;

/// Why a variant could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// The source cannot be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// A payload cannot be encoded.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The operating system refused an operation on the output.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// The file or folder it was tried on.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The output's place is taken, or must not be used.
    #[error("{}: {why}", path.display())]
    Output {
        /// The output that was asked for.
        path: PathBuf,
        /// Why it cannot be written.
        why: String,
        /// Whether `--force` would help.
        force_helps: bool,
    },
    /// A new chunk, or where it would lie, is more than the entry of a revlog can say.
    #[error("{}: revision {revision}: {what} would be {found}, at most {limit} can be written", path.display())]
    TooLarge {
        /// The source's index file.
        path: PathBuf,
        /// The revision's number.
        revision: usize,
        /// What is too large.
        what: &'static str,
        /// The largest possible, in bytes.
        limit: u64,
        /// What it would be, in bytes.
        found: u64,
    },
    /// The spec asks for what cannot be done with this repository, or in this way.
    #[error("{spec}: {why}")]
    Spec {
        /// The spec, as it was typed.
        spec: String,
        /// What is wrong with it.
        why: String,
    },
    /// The user's hg or git could not be run, or failed.
    #[error("{command}: {why}")]
    Program {
        /// The command line.
        command: String,
        /// What it said last.
        why: String,
    },
    /// The system refuses to start a thread without which the work cannot be done.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The user stopped the work. Nothing is left of it.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// What was encoded decodes to something else: a fault of the codec or of this machine's memory.
    #[error("{}: {what}: what was encoded decodes to other bytes ({detail}); nothing was written", path.display())]
    Unfaithful {
        /// The source file.
        path: PathBuf,
        /// The entry or object.
        what: String,
        /// What the comparison found.
        detail: String,
    },
}

/// Shorthand for this crate's results.
pub type Result<T> = std::result::Result<T, WriterError>;

impl WriterError {
    /// A failed operating-system call on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        WriterError::Io { action, path: path.into(), source }
    }
}
