//! The error type of the benches.

use std::{io, path::PathBuf, process::ExitCode};

use repackbench_codec::CodecError;
use repackbench_reader::ReaderError;
use repackbench_timing::workloads::WorkloadError;
use repackbench_writer::WriterError;

/// Why a bench could not run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The repository cannot be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// A variant cannot be made.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// A chunk cannot be decoded, or a payload cannot be encoded.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A workload failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A new chunk does not decode to its payload.
    #[error("expected the encoded payload, found another one")]
    Unfaithful,
    /// The operating system refused an operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The action that failed, as an infinitive.
        action: &'static str,
        /// The file, folder or program.
        path: PathBuf,
        /// The error of the operating system.
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
        /// Its exit status and what it printed to stderr.
        why: String,
    },
    /// Something in the environment or the arguments is invalid.
    #[error("{0}")]
    Setup(String),
    /// The two programs of a comparison did not do the same work.
    #[error("{name}: expected {expected} lines as from the stock program, found {found}")]
    OtherWork {
        /// The comparison.
        name: String,
        /// The number of lines that the stock program wrote.
        expected: u64,
        /// The number of lines that repackbench wrote.
        found: u64,
    },
}

/// A result with the error type of the benches.
pub type Result<T> = std::result::Result<T, BenchError>;

/// What the program of the bench `name` ends with. An error is printed.
pub fn exit_code(name: &str, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

impl BenchError {
    /// A failed operating-system call on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        BenchError::Io { action, path: path.into(), source }
    }
}
