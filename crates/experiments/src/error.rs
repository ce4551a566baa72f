//! Why an experiment stopped.

use std::{io, path::PathBuf};

use repackbench_client::ClientError;
use repackbench_reader::ReaderError;
use repackbench_timing::{BenchError, arms::cold::ColdError, session::Stop};
use repackbench_writer::WriterError;

/// Why an experiment stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// One of its benchmarks stopped.
    #[error(transparent)]
    Bench(Box<BenchError>),
    /// The repository could not be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// A variant could not be written.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// A cold read failed.
    #[error(transparent)]
    Cold(#[from] ColdError),
    /// A file could not be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The experiment cannot run on this repository, or not with these options.
    #[error("{experiment}: {why}")]
    Refused {
        /// The experiment.
        experiment: &'static str,
        /// The reason.
        why: String,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl From<BenchError> for ExperimentError {
    fn from(error: BenchError) -> Self {
        ExperimentError::Bench(Box::new(error))
    }
}

impl From<Stop> for ExperimentError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => ExperimentError::Interrupted,
            Stop::Clock(source) => ExperimentError::io("read", "the system's clock", source),
        }
    }
}

impl From<ClientError> for ExperimentError {
    fn from(error: ClientError) -> Self {
        ExperimentError::Writer(error.into())
    }
}

impl ExperimentError {
    /// Whether the only cause is that the user stopped the work.
    pub(crate) fn is_interruption(&self) -> bool {
        match self {
            ExperimentError::Interrupted
            | ExperimentError::Writer(WriterError::Interrupted)
            | ExperimentError::Cold(ColdError::Interrupted) => true,
            ExperimentError::Bench(error) => matches!(**error, BenchError::Interrupted),
            _ => false,
        }
    }

    /// A failed operating-system call on `path`.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        ExperimentError::Io { action, path: path.into(), source }
    }
}
