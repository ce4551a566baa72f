//! The result of one job.

use std::time::Duration;

use repackbench_reader::CacheLookups;

use crate::{clock::Sample, probe::JobUsage, workloads::Counts};

/// What one job took and saw, or several copies of it at once.
pub(crate) struct JobRun {
    /// What was seen, by each copy of the job. The same for all variants.
    pub(crate) counts: Vec<Counts>,
    /// Counts that differ between variants by nature.
    pub(crate) extra: Counts,
    pub(crate) sample: Sample,
    pub(crate) usage: JobUsage,
    /// Lookups in the cache of delta bases.
    pub(crate) lookups: CacheLookups,
    /// The elapsed time of each request, if it consists of requests.
    pub(crate) requests: Vec<Duration>,
}
