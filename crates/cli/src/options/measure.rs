//! How a session measures and what it records.

use std::path::PathBuf;

use clap::Args;
use repackbench_records::Record;

use super::PaceArguments;
use crate::{
    failure::Failure,
    record_file::{self, RecordFile},
};

/// The options of every command that runs a session of `bench`.
#[derive(Debug, Args)]
pub(crate) struct MeasureArguments {
    #[command(flatten)]
    pub(crate) pace: PaceArguments,

    /// The seed of the random order; by default another one each time.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Write one JSON record per run to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl MeasureArguments {
    /// The records of the session that is resumed; empty for a new session.
    pub(crate) fn earlier(&self) -> Result<Vec<Record>, Failure> {
        self.pace.resume.as_deref().map_or_else(|| Ok(Vec::new()), record_file::read)
    }

    /// Opens the file that records are written to.
    pub(crate) fn record_file(&self) -> Result<RecordFile, Failure> {
        RecordFile::of(self.json.as_deref(), self.pace.resume.as_deref())
    }
}
