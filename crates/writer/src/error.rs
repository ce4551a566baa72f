//! The error type of this crate.

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
        /// The operation that failed, as an infinitive.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The path of the output is taken, or must not be used.
    #[error("{}: {why}", path.display())]
    Output {
        /// The requested output.
        path: PathBuf,
        /// Why it cannot be written.
        why: String,
        /// Whether `--force` would help.
        force_helps: bool,
    },
    /// The length or the offset of a new chunk does not fit the entry of a revlog.
    #[error("{}: revision {revision}: {what} would be {found}, but the format allows at most {limit}", path.display())]
    TooLarge {
        /// The source's index file.
        path: PathBuf,
        /// The revision's number.
        revision: usize,
        /// What is too large.
        what: &'static str,
        /// The largest possible value, in bytes.
        limit: u64,
        /// The value that is needed, in bytes.
        found: u64,
    },
    /// The spec asks for something that this repository, or this kind of conversion, cannot have.
    #[error("{spec}: {why}")]
    Spec {
        /// The spec as the user typed it.
        spec: String,
        /// What is wrong with it.
        why: String,
    },
    /// The user's hg or git could not be started, or failed.
    #[error("{command}: {why}")]
    Program {
        /// The command line.
        command: String,
        /// The last message of the program.
        why: String,
    },
    /// The system cannot start a thread without which the work cannot be done.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The user stopped the work. Nothing of it is left.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// A new chunk decodes to other bytes than were encoded: a bug of the codec, or a fault of this machine's memory.
    #[error("{}: {what}: verification failed ({detail}); nothing was written", path.display())]
    Unfaithful {
        /// The source file.
        path: PathBuf,
        /// The entry or object.
        what: String,
        /// The difference.
        detail: String,
    },
}

/// Shorthand for the results of this crate.
pub type Result<T> = std::result::Result<T, WriterError>;

impl WriterError {
    /// A failed operating-system call on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        WriterError::Io { action, path: path.into(), source }
    }
}
