//! The device model compared with cold reads on this machine.
//!
//! First the device is measured on one of the copies: the mean time of reading single pages at random places, and the
//! speed of reading one long file. With those two numbers the model predicts how long the trace takes. Then each copy
//! is read cold, in two ways: the pages of the trace in the order of first touches, without readahead; and by the
//! workload itself, with the kernel's readahead.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::Duration,
};

use rand::{Rng, SeedableRng, rngs::SmallRng};
use repackbench_analysis::calibrated_device;
use repackbench_codec::Decoders;
use repackbench_pagecache::expect_random_reads;
use repackbench_reader::{AccessTrace, DEFAULT_DELTA_CACHE, Recording, Repository};
use repackbench_records::{ColdCopyReads, DeviceCalibration, DeviceCheck, SCHEMA_VERSION};
use repackbench_writer::{Progress, ProgressUnit};

use super::{ColdCopies, ColdError, FEWEST_COPIES, io_error, make_cold, readahead::kernel_readahead};
use crate::{
    BenchError,
    clock::Clock,
    session::{Arms, Schedule, Session, Turn, elapsed},
    trace::{
        Device,
        device::COMMON_READAHEAD,
        pages::{PAGE_LEN, PageSpace},
    },
    workloads::{Counter, VariantPlace, Workload, record_accesses},
};

/// How many single pages are read to measure the latency.
const SINGLE_READS: u32 = 400;

/// How much is read at a time to measure the bandwidth.
const LONG_READ: usize = 1 << 20;

/// The seed of the single pages that are read, and of the order in which copies are.
const SEED: u64 = 1;

/// Copies `repository`, which is read by `decoders`, into the folder `place`, and compares the model of `workload` with
/// cold reads of the copies.
///
/// # Errors
/// The repository cannot be copied, copies do not become cold, the workload fails, or the user stops it.
pub fn check_device(
    repository: &Repository,
    decoders: Decoders,
    workload: &mut dyn Workload,
    place: &Path,
    clock: &dyn Clock,
    progress: &dyn Progress,
) -> Result<DeviceCheck, BenchError> {
    let source = repository.own_folder();
    let copies = ColdCopies::make(&[source], FEWEST_COPIES, place, progress)?;
    let [traced, ..] = copies.of(0) else {
        let why = "no copy was made";
        return Err(ColdError::NotOneFolder { path: source.to_owned(), why }.into());
    };
    let trace = trace_of(traced, decoders, workload)?;
    let files: Vec<PathBuf> = trace.files.iter().map(|file| file.path.clone()).collect();
    let calibration = calibrate(traced, &files, clock)?;
    let measured = calibrated_device(&calibration, PAGE_LEN);
    let device = Device {
        name: measured.name.clone(),
        latency: measured.latency,
        bytes_per_second: measured.bytes_per_second,
        readahead: PAGE_LEN,
    };
    let readahead_bytes = kernel_readahead(traced);
    let modelled_readahead_bytes = readahead_bytes.unwrap_or(COMMON_READAHEAD);
    let with_readahead = Device { readahead: modelled_readahead_bytes, ..device.clone() };
    let mut reads = ColdReads {
        traced,
        trace: &trace,
        copies: copies.of(0),
        decoders,
        workload,
        clock,
        times: vec![ColdCopyReads::default(); copies.of(0).len()],
    };
    let schedule = Schedule::once_each(WAYS * reads.copies.len(), 1, SEED);
    progress.start("reading cold copies", schedule.turns(), ProgressUnit::Items);
    Session::new(clock, progress).run(schedule, None, &mut reads)?;
    progress.finish();
    Ok(DeviceCheck {
        schema: SCHEMA_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        copies: reads.times,
        workload: workload.label().to_string(),
        store_bytes: trace.files.iter().map(|file| file.len).sum(),
        calibration,
        device: measured,
        readahead_bytes,
        modelled_readahead_bytes,
        modelled_pages: device.replay(&trace, usize::MAX).time,
        modelled_workload: with_readahead.replay(&trace, usize::MAX).time,
        command: None,
    })
}

/// In how many ways each copy is read.
const WAYS: usize = 2;

/// Each copy read in each of two ways, as arms.
struct ColdReads<'a> {
    /// The copy that `trace` was taken of.
    traced: &'a Path,
    trace: &'a AccessTrace,
    copies: &'a [PathBuf],
    decoders: Decoders,
    workload: &'a mut dyn Workload,
    clock: &'a dyn Clock,
    /// The times of each copy.
    times: Vec<ColdCopyReads>,
}

impl Arms for ColdReads<'_> {
    type Error = BenchError;

    fn run(&mut self, turn: Turn) -> Result<(), BenchError> {
        let (number, way) = (turn.slot.variant() / WAYS, turn.slot.variant() % WAYS);
        let (Some(copy), Some(times)) = (self.copies.get(number), self.times.get_mut(number)) else { return Ok(()) };
        make_cold(copy)?;
        if way == 0 {
            times.pages = read_pages(self.traced, copy, self.trace, self.clock)?;
        } else {
            times.workload_cold = time_of(copy, self.decoders, self.workload, self.clock)?;
            times.workload_warm = time_of(copy, self.decoders, self.workload, self.clock)?;
        }
        Ok(())
    }
}

fn place_of(copy: &Path, decoders: Decoders) -> VariantPlace {
    VariantPlace {
        folder: copy.to_owned(),
        payloads: copy.to_owned(),
        spec: None,
        decoders,
        delta_cache: Some(DEFAULT_DELTA_CACHE),
    }
}

pub(super) fn trace_of(
    copy: &Path,
    decoders: Decoders,
    workload: &mut dyn Workload,
) -> Result<AccessTrace, BenchError> {
    let mut history = Repository::open(copy)?.history(decoders)?;
    let place = place_of(copy, decoders);
    Ok(record_accesses(workload, history.as_mut(), &place, Recording::Accesses)?.0)
}

/// Reads files of the cold copy `folder`: single pages of the longest, then all of it.
fn calibrate(folder: &Path, files: &[PathBuf], clock: &dyn Clock) -> Result<DeviceCalibration, BenchError> {
    let len = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let Some(longest) = files.iter().max_by_key(|path| len(path)) else {
        return Err(ColdError::NotOneFolder { path: folder.to_owned(), why: "the workload reads no file" }.into());
    };
    let pages = (len(longest) / PAGE_LEN).max(1);
    // Few enough that hardly any page is read twice.
    let single_reads = u32::try_from(pages / 4).unwrap_or(u32::MAX).clamp(1, SINGLE_READS);
    make_cold(folder)?;
    let single_time = time_of_single_pages(longest, pages, single_reads, clock)?;
    make_cold(folder)?;
    let (long_bytes, long_time) = time_of_long_read(longest, clock)?;
    Ok(DeviceCalibration { single_reads, single_time, long_bytes, long_time })
}

/// The time of `reads` reads of one page of the cold file at `path`, at random places among its `pages`.
fn time_of_single_pages(path: &Path, pages: u64, reads: u32, clock: &dyn Clock) -> Result<Duration, BenchError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    expect_random_reads(&file).map_err(io_error("advise on", path))?;
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut page = [0; PAGE_LEN as usize];
    let read_all = || {
        for _ in 0..reads {
            let offset = random.random_range(0..pages) * PAGE_LEN;
            file.read_at(&mut page, offset).map_err(io_error("read", path))?;
        }
        Ok::<_, BenchError>(())
    };
    Ok(elapsed(clock, read_all)?.1)
}

/// Reads the cold file at `path` from its beginning to its end; returns its length and the time.
fn time_of_long_read(path: &Path, clock: &dyn Clock) -> Result<(u64, Duration), BenchError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    let mut buffer = vec![0; LONG_READ];
    elapsed(clock, || {
        let mut total = 0_u64;
        loop {
            match file.read_at(&mut buffer, total).map_err(io_error("read", path))? {
                0 => return Ok(total),
                len => total += len as u64,
            }
        }
    })
}

/// The time to read the pages of `trace`, which was taken of the copy `traced`, from the cold `copy` in the order of
/// first touches. Pages that follow each other, in that order and in the file, are one read, as they are in the model.
fn read_pages(traced: &Path, copy: &Path, trace: &AccessTrace, clock: &dyn Clock) -> Result<Duration, BenchError> {
    let space = PageSpace::new(trace);
    let order = space.first_touches(trace);
    let mut open: Vec<Option<File>> = trace.files.iter().map(|_| None).collect();
    let mut buffer = vec![0; LONG_READ];
    let read_all = || {
        for run in order.chunk_by(|(file, page), (next_file, next)| file == next_file && *next == page + 1) {
            let Some((number, first)) = run.first().copied() else { continue };
            let (Some(traced_file), Some(slot), Some(extent)) =
                (trace.files.get(number), open.get_mut(number), space.files().get(number))
            else {
                continue;
            };
            let path = copy.join(traced_file.path.strip_prefix(traced).unwrap_or(&traced_file.path));
            let file = match slot {
                Some(file) => file,
                None => {
                    let file = File::open(&path).map_err(io_error("open", &path))?;
                    expect_random_reads(&file).map_err(io_error("advise on", &path))?;
                    slot.insert(file)
                }
            };
            let mut offset = (first - extent.pages.start) as u64 * PAGE_LEN;
            let mut left = run.len() * PAGE_LEN as usize;
            while left > 0 {
                let wanted = left.min(LONG_READ);
                let room = buffer.get_mut(..wanted).unwrap_or_default();
                file.read_at(room, offset).map_err(io_error("read", &path))?;
                offset += wanted as u64;
                left -= wanted;
            }
        }
        Ok::<_, BenchError>(())
    };
    Ok(elapsed(clock, read_all)?.1)
}

/// The time of `workload` on `copy`, opening included.
fn time_of(
    copy: &Path,
    decoders: Decoders,
    workload: &mut dyn Workload,
    clock: &dyn Clock,
) -> Result<Duration, BenchError> {
    workload.prepare(&place_of(copy, decoders))?;
    // Closed only after the clock was read.
    let run = || {
        let mut history = Repository::open(copy)?.history(decoders)?;
        workload.run(history.as_mut(), &mut Counter::default())?;
        Ok::<_, BenchError>(history)
    };
    let (history, time) = elapsed(clock, run)?;
    drop(history);
    workload.clean_up()?;
    Ok(time)
}
