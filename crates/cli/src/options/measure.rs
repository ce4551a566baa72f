//! How a session measures, and the file of its records.

use std::path::PathBuf;

use clap::Args;
use repackbench_records::Record;

use super::{PaceArguments, SeedArgument};
use crate::{
    failure::Failure,
    output::record_file::{self, RecordFile},
};

/// The pace, seed and records of a session.
#[derive(Debug, Args)]
pub(crate) struct MeasureArguments {
    #[command(flatten)]
    pub(crate) pace: PaceArguments,

    #[command(flatten)]
    pub(crate) seed: SeedArgument,

    /// Write one JSON record per run to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl MeasureArguments {
    /// The records of the session to resume; none for a new session.
    pub(crate) fn earlier(&self) -> Result<Vec<Record>, Failure> {
        self.pace.resume.as_deref().map_or_else(|| Ok(Vec::new()), record_file::read)
    }

    /// Opens the file that records are written to.
    pub(crate) fn record_file(&self) -> Result<RecordFile, Failure> {
        RecordFile::open(self.json.as_deref(), self.pace.resume.as_deref())
    }
}
