//! What one run of a job gives.

use std::io;

use repackbench_reader::CacheLookups;

use super::BenchError;
use crate::{clock::Sample, probe::JobUsage, workloads::Counts};

/// What one job, or several copies of it at once, came to.
pub(super) struct JobRun {
    pub(super) counts: Vec<Counts>,
    pub(super) extra: Counts,
    pub(super) sample: Sample,
    pub(super) usage: JobUsage,
    pub(super) lookups: CacheLookups,
}

/// An error for a clock that cannot be read.
pub(super) fn clock_error(source: io::Error) -> BenchError {
    BenchError::Io { action: "read the clock", source }
}
