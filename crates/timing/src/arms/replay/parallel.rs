//! Several copies of a job at once, each in its own thread.

use std::{thread, time::Duration};

use repackbench_reader::{CacheLookups, History, threads};
use repackbench_writer::WriterError;

use super::start::{Expected, Start};
use crate::{
    BenchError,
    arms::JobRun,
    clock::{Clock, ClockReading, Sample},
    probe::{Faults, JobUsage, ReadCalls},
    workloads::{Counter, Counts, HistoryRange, VariantPlace, Workload, WorkloadSpec},
};

/// Does the job once on each of `histories`, all at once. The elapsed time is from the first start to the last end.
pub(crate) fn run_parallel(
    spec: &WorkloadSpec,
    range: &HistoryRange,
    histories: &mut [Box<dyn History>],
    place: &VariantPlace,
    clock: &(dyn Clock + Sync),
) -> Result<JobRun, BenchError> {
    let start = Start::default();
    let expected: Vec<Expected<'_>> = histories.iter().map(|_| start.expect()).collect();
    let calls = ReadCalls::now();
    let copies: Vec<Result<CopyRun, BenchError>> = thread::scope(|scope| {
        // If a thread cannot be started, the others do not wait for it, and the run fails: fewer copies would be
        // another measurement.
        let copies: Vec<_> = histories
            .iter_mut()
            .zip(expected)
            .map(|(history, expected)| {
                threads::spawn(scope, move || {
                    run_copy(spec.build(range, None), history.as_mut(), place, expected, clock)
                })
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        copies.into_iter().map(|thread| thread.map(join).map_err(WriterError::Thread)?).collect()
    });
    let read_calls = calls.until(ReadCalls::now());
    let copies: Vec<CopyRun> = copies.into_iter().collect::<Result<_, _>>()?;
    Ok(together(copies, read_calls))
}

/// The result of one of several copies of a job.
struct CopyRun {
    counts: Counts,
    extra: Counts,
    start: ClockReading,
    end: ClockReading,
    writing: Option<Duration>,
    usage: JobUsage,
    lookups: CacheLookups,
}

/// One copy of a job, in its own thread.
fn run_copy(
    mut workload: Box<dyn Workload>,
    history: &mut dyn History,
    place: &VariantPlace,
    expected: Expected<'_>,
    clock: &(dyn Clock + Sync),
) -> Result<CopyRun, BenchError> {
    let mut counter = Counter::timing_writes(clock);
    let prepared = workload.prepare(place);
    history.clear_caches();
    // The others do not wait for a thread that failed or panicked before this.
    expected.wait();
    prepared?;
    let faults = Faults::now();
    let start = clock.read().map_err(BenchError::clock)?;
    let result = workload.run(history, &mut counter);
    let end = clock.read().map_err(BenchError::clock)?;
    let usage = faults.until(Faults::now());
    result?;
    let lookups = history.delta_cache_lookups();
    history.clear_caches();
    let extra = workload.extra();
    workload.clean_up()?;
    let writing = counter.writing().map_err(BenchError::clock)?;
    Ok(CopyRun { counts: counter.counts(), extra, start, end, writing, usage, lookups })
}

/// The copies as one run: mean CPU time, elapsed time from the first start to the last end.
fn together(copies: Vec<CopyRun>, read_calls: Option<u64>) -> JobRun {
    let count = u32::try_from(copies.len()).unwrap_or(u32::MAX);
    let mut cpu = Sample::ZERO;
    let mut usage = JobUsage::NONE;
    for copy in &copies {
        cpu += Sample { writing: copy.writing, ..Sample::between(copy.start, copy.end) };
        usage = usage.plus(copy.usage);
    }
    let first = copies.iter().map(|copy| copy.start.wall).min().unwrap_or_default();
    let last = copies.iter().map(|copy| copy.end.wall).max().unwrap_or_default();
    JobRun {
        sample: Sample { wall: last.saturating_sub(first), ..cpu.mean_of(count) },
        usage: JobUsage { read_calls, ..usage },
        lookups: copies.first().map_or_else(CacheLookups::default, |copy| copy.lookups),
        extra: copies.first().map_or_else(Counts::new, |copy| copy.extra.clone()),
        counts: copies.into_iter().map(|copy| copy.counts).collect(),
        requests: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_take_from_first_start_to_last_end() {
        let reading = |wall: u64, cpu: u64| {
            let milliseconds = Duration::from_millis;
            ClockReading { wall: milliseconds(wall), user: milliseconds(cpu), sys: Duration::ZERO }
        };
        let copy = |start, end, minor, writing| CopyRun {
            counts: Counts::new(),
            extra: Counts::new(),
            start,
            end,
            writing: Some(Duration::from_millis(writing)),
            usage: JobUsage { minor_faults: Some(minor), ..JobUsage::NONE },
            lookups: CacheLookups { hits: 1, misses: 2 },
        };
        let copies =
            vec![copy(reading(100, 0), reading(150, 40), 3, 4), copy(reading(103, 7), reading(170, 67), 4, 10)];
        let run = together(copies, Some(9));
        assert_eq!((run.sample.wall, run.sample.user), (Duration::from_millis(70), Duration::from_millis(50)));
        assert_eq!(run.sample.writing, Some(Duration::from_millis(7)));
        assert_eq!((run.usage.minor_faults, run.usage.read_calls, run.counts.len()), (Some(7), Some(9), 2));
        assert_eq!(run.lookups, CacheLookups { hits: 1, misses: 2 });
    }
}
