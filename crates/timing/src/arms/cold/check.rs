//! The device model held against cold reads on this machine.
//!
//! The device is measured first, on a copy: the mean time of reading single pages here and there, and the speed of reading on and
//! on. With those two numbers the model says what the trace should take, and that stands beside what it takes: its
//! pages in the order of first touches, without readahead; and as the workload itself, with the kernel's.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng, rngs::SmallRng};
use repackbench_codec::Decoders;
use repackbench_pagecache::expect_random_reads;
use repackbench_reader::{AccessTrace, DEFAULT_DELTA_CACHE, Recording, Repository};
use repackbench_records::{DeviceCheck, DeviceCheckRow};
use repackbench_writer::Progress;

use super::{ColdCopies, ColdError, FEWEST_COPIES, io_error, make_cold, readahead::kernel_readahead};
use crate::{
    BenchError,
    trace::{
        Device,
        device::COMMON_READAHEAD,
        pages::{PAGE_LEN, PageSpace},
    },
    workloads::{Counter, VariantPlace, Workload, record_accesses},
};

/// How many single pages are read to learn the latency.
const SINGLE_READS: u32 = 400;

/// How much is read at a time to learn the bandwidth.
const LONG_READ: usize = 1 << 20;

/// The seed of which pages those are.
const SEED: u64 = 1;

/// Copies `repository`, which is read by `decoders`, into `place` and holds the model of `workload` against cold reads of the
/// copies.
///
/// # Errors
/// The repository cannot be copied, copies do not become cold, the workload fails, or the user stops it.
pub fn check_device(
    repository: &Repository,
    decoders: Decoders,
    workload: &mut dyn Workload,
    place: &Path,
    progress: &dyn Progress,
) -> Result<DeviceCheck, BenchError> {
    let source = repository.own_folder();
    let copies = ColdCopies::make(&[source], FEWEST_COPIES, place, progress)?;
    let [measured_on, ..] = copies.of(0) else {
        let why = "no copy was made";
        return Err(ColdError::NotOneFolder { path: source.to_owned(), why }.into());
    };
    let trace = trace_of(measured_on, decoders, workload)?;
    let files: Vec<PathBuf> = trace.files.iter().map(|file| file.path.clone()).collect();
    let device = measure_device(measured_on, &files)?;
    let readahead = kernel_readahead(measured_on);
    let mut by_page = Vec::new();
    let mut by_workload = Vec::new();
    for copy in copies.of(0) {
        if progress.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        by_page.push(read_pages(measured_on, copy, &trace)?);
        by_workload.push(cold_minus_warm(copy, decoders, workload)?);
    }
    let store_bytes = trace.files.iter().map(|file| file.len).sum();
    let with_readahead = Device { readahead: readahead.unwrap_or(COMMON_READAHEAD), ..device.clone() };
    let rows = vec![
        DeviceCheckRow {
            how: "the trace's pages alone, no readahead".to_owned(),
            modelled: device.replay(&trace, usize::MAX).time,
            measured: by_page,
        },
        DeviceCheckRow {
            how: format!("the workload, cold minus warm, readahead {}", readahead_name(readahead)),
            modelled: with_readahead.replay(&trace, usize::MAX).time,
            measured: by_workload,
        },
    ];
    Ok(DeviceCheck { workload: workload.label().to_string(), store_bytes, device: device.to_record(), rows })
}

/// What is known of the kernel's readahead, and what is modelled if that is nothing.
fn readahead_name(readahead: Option<u64>) -> String {
    match readahead {
        Some(bytes) => format!("{} KiB", bytes >> 10),
        None => format!("unknown, modelled as {} KiB", COMMON_READAHEAD >> 10),
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
fn measure_device(folder: &Path, files: &[PathBuf]) -> Result<Device, BenchError> {
    let len = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let Some(longest) = files.iter().max_by_key(|path| len(path)) else {
        return Err(ColdError::NotOneFolder { path: folder.to_owned(), why: "the workload reads no file" }.into());
    };
    let pages = (len(longest) / PAGE_LEN).max(1);
    make_cold(folder)?;
    let single = time_of_single_pages(longest, pages)?;
    make_cold(folder)?;
    let file = File::open(longest).map_err(io_error("open", longest))?;
    let mut buffer = vec![0; LONG_READ];
    let (started, mut total) = (Instant::now(), 0_u64);
    loop {
        let len = file.read_at(&mut buffer, total).map_err(io_error("read", longest))?;
        if len == 0 {
            break;
        }
        total += len as u64;
    }
    let bytes_per_second = total.max(1) as f64 / started.elapsed().as_secs_f64().max(1e-9);
    let transfer = Duration::try_from_secs_f64(PAGE_LEN as f64 / bytes_per_second).unwrap_or_default();
    let latency = single.saturating_sub(transfer);
    Ok(Device { name: "this disk".to_owned(), latency, bytes_per_second, readahead: PAGE_LEN })
}

/// The mean time to read one page of the cold file at `path`, here and there among its `pages`.
fn time_of_single_pages(path: &Path, pages: u64) -> Result<Duration, BenchError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    expect_random_reads(&file).map_err(io_error("advise on", path))?;
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut page = [0; PAGE_LEN as usize];
    // Few enough that hardly any is met twice.
    let reads = u32::try_from(pages / 4).unwrap_or(u32::MAX).clamp(1, SINGLE_READS);
    let started = Instant::now();
    for _ in 0..reads {
        let offset = random.random_range(0..pages) * PAGE_LEN;
        file.read_at(&mut page, offset).map_err(io_error("read", path))?;
    }
    Ok(started.elapsed() / reads)
}

/// The time to read the pages of `trace`, which was taken of the copy `traced`, from the cold `copy` in the order of first
/// touches. Pages that follow each other, in that order and in the file, are one read, as they are to the model.
fn read_pages(traced: &Path, copy: &Path, trace: &AccessTrace) -> Result<Duration, BenchError> {
    let space = PageSpace::new(trace);
    let order = space.first_touches(trace);
    make_cold(copy)?;
    let mut open: Vec<Option<File>> = trace.files.iter().map(|_| None).collect();
    let mut buffer = vec![0; LONG_READ];
    let started = Instant::now();
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
    Ok(started.elapsed())
}

/// How much longer `workload` takes on `copy`, opening included, when nothing of it is in memory.
fn cold_minus_warm(copy: &Path, decoders: Decoders, workload: &mut dyn Workload) -> Result<Duration, BenchError> {
    make_cold(copy)?;
    let cold = time_of(copy, decoders, workload)?;
    let warm = time_of(copy, decoders, workload)?;
    Ok(cold.saturating_sub(warm))
}

fn time_of(copy: &Path, decoders: Decoders, workload: &mut dyn Workload) -> Result<Duration, BenchError> {
    workload.prepare(&place_of(copy, decoders))?;
    let started = Instant::now();
    let mut history = Repository::open(copy)?.history(decoders)?;
    workload.run(history.as_mut(), &mut Counter::default())?;
    let elapsed = started.elapsed();
    workload.clean_up()?;
    Ok(elapsed)
}
