//! The one error type of the benches.

use std::{io, path::PathBuf};

use repackbench_codec::CodecError;
use repackbench_reader::ReaderError;
use repackbench_timing::workloads::WorkloadError;
use repackbench_writer::WriterError;

/// Why a bench could not be run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The repository cannot be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// A variant cannot be made.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// A chunk cannot be decoded, or a payload not be encoded.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A workload failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A chunk that was just encoded does not give its payload back.
    #[error("expected the payload that was encoded, found another")]
    Unfaithful,
    /// The operating system refused an operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// The file, folder or program it was tried on.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The clocks of the operating system cannot be read.
    #[error("cannot read the time: {0}")]
    Clock(#[from] io::Error),
    /// A child process failed.
    #[error("{command}: {why}")]
    Child {
        /// The command line.
        command: String,
        /// Its exit status and what it said.
        why: String,
    },
    /// Something in the environment makes no sense.
    #[error("{0}")]
    Setup(String),
    /// Two programs that are to be compared did not do the same work.
    #[error("{name}: expected as many lines as stock git's {expected}, found {found}")]
    OtherWork {
        /// The comparison.
        name: String,
        /// Lines that stock git wrote.
        expected: u64,
        /// Lines that repackbench wrote.
        found: u64,
    },
}

/// Shorthand for the results of this crate.
pub type Result<T> = std::result::Result<T, BenchError>;

impl BenchError {
    /// A failed operating-system call on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        BenchError::Io { action, path: path.into(), source }
    }
}
