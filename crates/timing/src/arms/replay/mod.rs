//! A workload replayed in-process, from empty caches.
//!
//! - [`run`]: once, on a variant that is open;
//! - [`run_cold`]: once, on a copy of which nothing is in the page cache, opening included;
//! - [`run_parallel`]: several copies of it at once, each in a thread of its own.
//!
//! Caches are also cleared after a job, so that what a row has read takes no memory from the others.

mod parallel;
mod start;

use std::path::Path;

use repackbench_reader::{History, Repository};

pub(crate) use self::parallel::run_parallel;
use crate::{
    BenchError,
    arms::{JobRun, cold::make_cold},
    clock::{Clock, Sample, measure},
    probe::{Faults, JobUsage, ReadCalls},
    workloads::{Counter, VariantPlace, Workload, WorkloadError},
};

/// Does the job once on `history`, which is open on the variant at `place`.
pub(crate) fn run(
    workload: &mut dyn Workload,
    history: &mut dyn History,
    place: &VariantPlace,
    clock: &dyn Clock,
) -> Result<JobRun, BenchError> {
    let mut counter = Counter::timing_writes(clock);
    workload.prepare(place)?;
    history.clear_caches();
    let (calls, faults) = (ReadCalls::now(), Faults::now());
    let (result, sample) = match workload.has_work() {
        true => measure(clock, || workload.run(history, &mut counter)).map_err(BenchError::clock)?,
        false => (workload.run(history, &mut counter), Sample::ZERO),
    };
    let usage = faults.until(Faults::now());
    let usage = JobUsage { read_calls: calls.until(ReadCalls::now()), ..usage };
    result?;
    let lookups = history.delta_cache_lookups();
    history.clear_caches();
    let extra = workload.extra();
    workload.clean_up()?;
    let sample = Sample { writing: counter.writing().map_err(BenchError::clock)?, ..sample };
    Ok(JobRun { counts: vec![counter.counts()], extra, sample, usage, lookups, requests: counter.requests().to_vec() })
}

/// Does the job once on `copy` of the variant at `place`, of which nothing is in memory. Opening it is part of the job,
/// since that reads as well.
pub(crate) fn run_cold(
    workload: &mut dyn Workload,
    place: &VariantPlace,
    copy: &Path,
    clock: &dyn Clock,
) -> Result<JobRun, BenchError> {
    let place = VariantPlace { folder: copy.to_owned(), ..place.clone() };
    let mut counter = Counter::timing_writes(clock);
    workload.prepare(&place)?;
    make_cold(copy).map_err(BenchError::Cold)?;
    let (calls, faults) = (ReadCalls::now(), Faults::now());
    let (result, sample) = measure(clock, || {
        let mut history = Repository::open(copy)?.history(place.decoders)?;
        history.set_delta_cache(place.delta_cache);
        workload.run(history.as_mut(), &mut counter)?;
        Ok::<_, WorkloadError>(history)
    })
    .map_err(BenchError::clock)?;
    let usage = faults.until(Faults::now());
    let usage = JobUsage { read_calls: calls.until(ReadCalls::now()), ..usage };
    let lookups = result?.delta_cache_lookups();
    let extra = workload.extra();
    workload.clean_up()?;
    let sample = Sample { writing: counter.writing().map_err(BenchError::clock)?, ..sample };
    Ok(JobRun { counts: vec![counter.counts()], extra, sample, usage, lookups, requests: counter.requests().to_vec() })
}
