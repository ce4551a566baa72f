//! How a session measures, and the file of its records.

use clap::Args;
use repackbench_records::Record;

use super::{PaceArguments, RecordArguments, SeedArgument};
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

    #[command(flatten)]
    pub(crate) records: RecordArguments,

    /// The command line that the records get, if it is not the one that was typed: that of a session resumed by its
    /// file alone.
    #[arg(skip)]
    pub(crate) command: Option<String>,
}

impl MeasureArguments {
    /// The records of the session to resume, the last one in its file; none for a new session.
    pub(crate) fn earlier(&self) -> Result<Vec<Record>, Failure> {
        let Some(path) = &self.pace.resume else { return Ok(Vec::new()) };
        let session = record_file::last_session(path)?;
        session.note_incomplete(path);
        Ok(session.records)
    }

    /// Opens the file that records are written to.
    pub(crate) fn record_file(&self) -> Result<RecordFile, Failure> {
        match &self.pace.resume {
            Some(path) => Ok(RecordFile::Resumed { path: path.clone(), file: None }),
            None => RecordFile::open(&self.records),
        }
    }
}
