//! Recording what a workload reads.

use repackbench_reader::{AccessTrace, History, Recording};

use super::{Counter, Counts, VariantPlace, Workload, WorkloadError};

/// Runs `workload` once on `history` of the repository at `place`, from empty caches, and returns the trace and the
/// counts.
///
/// # Errors
/// The error of the workload.
pub fn record_accesses(
    workload: &mut dyn Workload,
    history: &mut dyn History,
    place: &VariantPlace,
    recording: Recording,
) -> Result<(AccessTrace, Counts), WorkloadError> {
    workload.prepare(place)?;
    history.clear_caches();
    history.record_accesses(recording);
    let mut counter = Counter::default();
    let result = workload.run(history, &mut counter);
    let trace = history.take_accesses();
    history.clear_caches();
    workload.clean_up()?;
    result.map(|()| (trace, counter.counts()))
}
