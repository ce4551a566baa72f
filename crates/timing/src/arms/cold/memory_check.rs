//! The modelled page cache of limited size compared with the kernel's, in a cgroup with a limit.
//!
//! Each touch of a page in the trace becomes one read of that page, in the same order and without readahead, from files
//! of which nothing is in memory at first. What the model's cache misses is compared with what the kernel reads from
//! the device while the process is in a group that may hold no more than the model's cache. The model evicts strictly
//! by last use; the kernel has two lists, keeps what returns soon, and charges its own bookkeeping to the group as
//! well.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::Duration,
};

use repackbench_codec::Decoders;
use repackbench_pagecache::{MemoryGroups, NoGroup, bytes_read, expect_random_reads};
use repackbench_reader::{AccessTrace, Repository};
use repackbench_records::{MemoryCheck, MemoryCheckRow, SCHEMA_VERSION};
use repackbench_writer::{Progress, ProgressUnit};

use super::{ColdCopies, ColdError, check::trace_of, io_error, make_cold};
use crate::{
    BenchError,
    clock::Clock,
    session::{Arms, Schedule, Session, Turn},
    trace::{
        Device,
        pages::{PAGE_LEN, PageSpace},
        store_bytes,
    },
    workloads::{Workload, WorkloadError},
};

/// The least limit: below it the kernel's own needs count as much as the pages, and it might kill the process.
const LEAST_LIMIT: u64 = 8 << 20;

/// The seed of the order of limits.
const SEED: u64 = 1;

/// Copies `repository`, which is read by `decoders`, into the folder `place`, and compares page caches of `shares`
/// percent of its packs or revlogs, as modelled for `workload`, with a cgroup of that limit.
///
/// # Errors
/// No group can be made, a share is too small, the repository cannot be copied, its copy does not become cold, the
/// workload fails, or the user stops it.
pub fn check_memory(
    repository: &Repository,
    decoders: Decoders,
    workload: &mut dyn Workload,
    shares: &[u32],
    place: &Path,
    clock: &dyn Clock,
    progress: &dyn Progress,
) -> Result<MemoryCheck, BenchError> {
    // Before anything is copied: most machines have none that this process may use.
    let groups = MemoryGroups::find().map_err(refused)?;
    let store_bytes = store_bytes(repository)?;
    let limits = shares.iter().map(|percent| limit(*percent, store_bytes)).collect::<Result<Vec<_>, _>>()?;
    let source = repository.own_folder();
    let copies = ColdCopies::make(&[source], 1, place, progress)?;
    let [copy] = copies.of(0) else {
        return Err(ColdError::NotOneFolder { path: source.to_owned(), why: "no copy was made" }.into());
    };
    let trace = trace_of(copy, decoders, workload)?;
    let schedule = Schedule::once_each(limits.len(), 1, SEED);
    progress.start("reading in limited memory", schedule.turns(), ProgressUnit::Items);
    let mut reads = LimitedReads { groups: &groups, copy, trace: &trace, limits, rows: Vec::new() };
    Session::new(clock, progress).run(schedule, None, &mut reads)?;
    progress.finish();
    let LimitedReads { mut rows, .. } = reads;
    rows.sort_by_key(|(number, _)| *number);
    let touched = PageSpace::new(&trace).first_touches(&trace).len() as u64;
    Ok(MemoryCheck {
        schema: SCHEMA_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        workload: workload.label().to_string(),
        store_bytes,
        touched_bytes: touched.saturating_mul(PAGE_LEN),
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        command: None,
    })
}

/// The touches of a trace read under each limit, as arms.
struct LimitedReads<'a> {
    groups: &'a MemoryGroups,
    copy: &'a Path,
    trace: &'a AccessTrace,
    /// The limits as shares in percent and in bytes.
    limits: Vec<(u32, u64)>,
    /// What was measured, with the number of its limit.
    rows: Vec<(usize, MemoryCheckRow)>,
}

impl Arms for LimitedReads<'_> {
    type Error = BenchError;

    fn run(&mut self, turn: Turn) -> Result<(), BenchError> {
        let number = turn.slot.variant();
        let Some((percent, limit_bytes)) = self.limits.get(number).copied() else { return Ok(()) };
        self.rows.push((number, check_share(self.groups, self.copy, self.trace, percent, limit_bytes)?));
        Ok(())
    }
}

fn refused(error: NoGroup) -> BenchError {
    WorkloadError::Refused { why: error.to_string() }.into()
}

/// `percent` of a store of `store_bytes` bytes, with its length in bytes.
fn limit(percent: u32, store_bytes: u64) -> Result<(u32, u64), WorkloadError> {
    let bytes = u64::try_from(u128::from(store_bytes) * u128::from(percent) / 100).unwrap_or(u64::MAX);
    if bytes >= LEAST_LIMIT {
        return Ok((percent, bytes));
    }
    let why = format!(
        "{percent}% of this repository's packs or revlogs are {bytes} bytes: expected at least {LEAST_LIMIT} for a memory cgroup: \
         use a larger share or a larger repository"
    );
    Err(WorkloadError::Refused { why })
}

fn check_share(
    groups: &MemoryGroups,
    copy: &Path,
    trace: &AccessTrace,
    percent: u32,
    limit_bytes: u64,
) -> Result<MemoryCheckRow, BenchError> {
    let cache_pages = usize::try_from(limit_bytes / PAGE_LEN).unwrap_or(usize::MAX);
    let modelled = one_page_at_a_time().replay(trace, cache_pages);
    let space = PageSpace::new(trace);
    let touched = space.first_touches(trace).len() as u64;
    make_cold(copy)?;
    let files = open_all(trace)?;
    let work = || -> Result<Option<u64>, ColdError> {
        let start = bytes_read();
        read_touches(&space, trace, &files)?;
        Ok(bytes_read().zip(start).and_then(|(end, start)| end.checked_sub(start)))
    };
    let (measured, usage) = groups.limited(Some(limit_bytes), work).map_err(refused)?;
    Ok(MemoryCheckRow {
        percent,
        limit_bytes,
        modelled_bytes: modelled.bytes,
        modelled_again_bytes: modelled.bytes.saturating_sub(touched.saturating_mul(PAGE_LEN)),
        measured_bytes: measured?,
        measured_again_bytes: usage.refaults.map(|pages| pages.saturating_mul(PAGE_LEN)),
        peak_bytes: usage.peak_bytes,
    })
}

/// A device for counting reads, each of which brings in only the page that was asked for.
fn one_page_at_a_time() -> Device {
    Device { name: String::new(), latency: Duration::ZERO, bytes_per_second: 1.0, readahead: PAGE_LEN }
}

/// The files of `trace`, open for reading without readahead. Only files that are read: a repository may have many.
fn open_all(trace: &AccessTrace) -> Result<Vec<Option<File>>, ColdError> {
    let mut files: Vec<Option<File>> = trace.files.iter().map(|_| None).collect();
    for access in &trace.accesses {
        let number = access.file as usize;
        let (Some(slot), Some(traced)) = (files.get_mut(number), trace.files.get(number)) else { continue };
        if slot.is_none() {
            let path: &PathBuf = &traced.path;
            let file = File::open(path).map_err(io_error("open", path))?;
            expect_random_reads(&file).map_err(io_error("advise on", path))?;
            *slot = Some(file);
        }
    }
    Ok(files)
}

/// Reads each page that `trace` touches, each time and in the same order.
fn read_touches(space: &PageSpace, trace: &AccessTrace, files: &[Option<File>]) -> Result<(), ColdError> {
    let mut buffer = [0; PAGE_LEN as usize];
    let mut failed: Option<(usize, io::Error)> = None;
    space.for_each_touch(trace, |number, page| {
        let (Some(Some(file)), Some(extent)) = (files.get(number), space.files().get(number)) else { return };
        if failed.is_none()
            && let Err(error) = file.read_at(&mut buffer, (page - extent.pages.start) as u64 * PAGE_LEN)
        {
            failed = Some((number, error));
        }
    });
    match failed {
        None => Ok(()),
        Some((number, error)) => {
            let path = trace.files.get(number).map(|file| file.path.clone()).unwrap_or_default();
            Err(io_error("read", &path)(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::trace::tests::{chunk, trace};

    #[test]
    fn too_small_shares_are_refused() {
        assert_eq!(limit(25, 100 << 20).unwrap(), (25, 25 << 20));
        let error = limit(10, 10 << 20).unwrap_err().to_string();
        assert!(error.contains("10% of") && error.contains("1048576 bytes: expected at least 8388608"), "{error}");
    }

    /// The measurement without a group: a cache that holds everything misses each page once.
    #[test]
    fn reading_touches_reads_the_pages_that_the_model_misses() {
        // On a disk: files in memory are not read from a device.
        let folder = crate::on_disk::folder();
        let path = folder.path().join("pack");
        fs::write(&path, vec![7; 40 * PAGE_LEN as usize]).unwrap();
        make_cold(folder.path()).unwrap();
        let pages = [3, 30, 3, 9, 30, 10];
        let mut trace = trace(&[40 * PAGE_LEN], pages.iter().map(|page| chunk(0, page * PAGE_LEN + 5, 100)).collect());
        trace.files[0].path = path.clone();
        let space = PageSpace::new(&trace);
        read_touches(&space, &trace, &open_all(&trace).unwrap()).unwrap();
        let resident = repackbench_pagecache::residency(&path).unwrap().resident;
        assert_eq!(resident * PAGE_LEN, one_page_at_a_time().replay(&trace, 100).bytes);
        trace.files[0].path = folder.path().join("gone");
        let error = open_all(&trace).unwrap_err().to_string();
        assert!(error.contains("gone: cannot open"), "{error}");
    }
}
