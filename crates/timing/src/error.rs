//! The error of the crate: why a benchmark stopped.

use std::io;

use repackbench_codec::DecoderChoice;
use repackbench_reader::ReaderError;
use repackbench_writer::{WriterError, cache::GetOrMakeError};

use crate::{
    arms::{cold::ColdError, stock::StockError},
    session::Stop,
    workloads::WorkloadError,
};

/// The error of the crate: why a benchmark stopped.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A variant could not be made.
    #[error(transparent)]
    Variant(GetOrMakeError<WriterError>),
    /// A job failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The source could not be examined.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// The clock could not be read, or a record could not be written.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The plan cannot be carried out: its parts exclude each other, or such a repository excludes one of them.
    #[error("{why}")]
    Plan {
        /// Why not.
        why: String,
    },
    /// No row would use the chosen decoder.
    #[error("{choice}: {why}")]
    UselessDecoder {
        /// The choice.
        choice: DecoderChoice,
        /// Why not.
        why: String,
    },
    /// A copy cannot be read cold.
    #[error(transparent)]
    Cold(ColdError),
    /// The user's own client could not do a job.
    #[error(transparent)]
    Stock(StockError),
    /// Earlier records do not belong to the session that is resumed.
    #[error(
        "the session cannot resume from its record {record}: {what}: expected {expected}, found {found}; without other options, --resume goes on with those of the session"
    )]
    Resume {
        /// Its number in the session, counted from 1.
        record: u64,
        /// What is different.
        what: &'static str,
        /// The value of this session.
        expected: String,
        /// The value of the record.
        found: String,
    },
    /// The user stopped the work.
    #[error("interrupted")]
    Interrupted,
    /// Two variants of one repository have different content.
    #[error("{workload}: {variant} saw {found}, {reference} saw {expected}: they are not the same repository")]
    Differs {
        /// The job.
        workload: String,
        /// The variant that differs.
        variant: String,
        /// The variant that it was compared with.
        reference: String,
        /// What the reference saw.
        expected: String,
        /// What the variant saw.
        found: String,
    },
}

impl BenchError {
    /// The clock could not be read.
    pub(crate) fn clock(source: io::Error) -> Self {
        BenchError::Io { action: "read the clock", source }
    }
}

impl From<Stop> for BenchError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => BenchError::Interrupted,
            Stop::Clock(source) => BenchError::clock(source),
        }
    }
}

impl From<ColdError> for BenchError {
    fn from(error: ColdError) -> Self {
        match error {
            ColdError::Interrupted => BenchError::Interrupted,
            error => BenchError::Cold(error),
        }
    }
}

impl From<StockError> for BenchError {
    fn from(error: StockError) -> Self {
        match error {
            StockError::Interrupted => BenchError::Interrupted,
            StockError::Files(error) => BenchError::Workload(error),
            StockError::Clock(source) => BenchError::clock(source),
            error => BenchError::Stock(error),
        }
    }
}

impl From<ReaderError> for BenchError {
    fn from(error: ReaderError) -> Self {
        BenchError::Workload(error.into())
    }
}

impl From<GetOrMakeError<WriterError>> for BenchError {
    fn from(error: GetOrMakeError<WriterError>) -> Self {
        match error {
            // The message about one variant would be wrong for the whole benchmark.
            GetOrMakeError::Make(WriterError::Interrupted) => BenchError::Interrupted,
            error => BenchError::Variant(error),
        }
    }
}
