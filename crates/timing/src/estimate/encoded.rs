//! The sample encoded under each codec.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use repackbench_analysis::{StratumSample, stratified_total};
use repackbench_reader::{Repository, threads};
use repackbench_records::Predicted;
use repackbench_writer::{Encoding, PayloadEncoders, Progress};

use super::{
    held::{HeldChunk, HeldChunks, Wanted, for_each_held},
    population::Population,
};
use crate::{BenchError, clock::Clock, session::Session, workloads::WorkloadError};

/// How often the precision is looked at: after each of this many equal parts of the sample, from the second on.
const PARTS: usize = 12;

/// The sample under one codec.
#[derive(Debug)]
pub(super) struct Encoded {
    /// Its encoding.
    pub(super) encoding: Encoding,
    /// The stored bytes of the chunks so far, in the order of the sample.
    pub(super) stored: Vec<Vec<u8>>,
    /// The number of chunks so far.
    pub(super) chunks: u64,
    /// Stored bytes against those as found, by stratum.
    sizes: Vec<StratumSample>,
    /// Seconds of CPU time against stored bytes as found, by stratum.
    times: Vec<StratumSample>,
    /// The stored bytes of all chunks, if each was encoded.
    exact: Option<u64>,
}

/// The payload bytes that are in memory at once where every chunk is encoded.
const WINDOW: usize = 64 << 20;

/// Makes the encoders of one thread.
pub(super) type MakeEncoders = fn(&Encoding) -> PayloadEncoders;

/// What ends the encoding of a sample before its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// The half-width of the interval of a total, as a share of the total, that is enough.
    pub(super) precision: f64,
    /// When time is up, on the clock.
    pub(super) end: Duration,
}

/// Encodes the sample under each of `encodings`, the slowest first, on several threads. Each stops where its total is
/// precise enough.
///
/// # Errors
/// A codec fails, or the user stops the work.
pub(super) fn encode_all(
    make: MakeEncoders,
    population: &Population,
    held: &HeldChunks,
    encodings: &[Encoding],
    limit: Limit,
    (clock, progress): (&(dyn Clock + Sync), &dyn Progress),
    thread_count: usize,
) -> Result<Vec<Encoded>, BenchError> {
    let encodings: Vec<&Encoding> = encodings.iter().collect();
    each_on_threads(&encodings, thread_count, |encoding| {
        encode(make, population, held, encoding, limit, (clock, progress))
    })
}

/// Encodes every chunk of `source` under the encodings of `encoded`, for totals without error. Chunks too long for memory,
/// of `large` stored bytes, count as they were found.
///
/// # Errors
/// A chunk is damaged, a codec fails, or the user stops the work.
pub(super) fn encode_every(
    make: MakeEncoders,
    (source, large): (&Repository, u64),
    encoded: &mut [Encoded],
    (thread_count, progress): (usize, &dyn Progress),
) -> Result<(), BenchError> {
    let with_bases = encoded.iter().any(|encoded| encoded.encoding.spec().uses_bases());
    let mut totals = vec![large; encoded.len()];
    let encodings: Vec<&Encoding> = encoded.iter().map(|encoded| &encoded.encoding).collect();
    for_each_held(source, &Wanted::Every(WINDOW), with_bases, progress, &mut |held| {
        progress.advance(held.chunks.len() as u64);
        let bytes = each_on_threads(&encodings, thread_count, |encoding| total(make, &held, encoding, progress))?;
        totals.iter_mut().zip(bytes).for_each(|(total, bytes)| *total += bytes);
        Ok(())
    })?;
    encoded.iter_mut().zip(totals).for_each(|(encoded, total)| encoded.exact = Some(total));
    Ok(())
}

/// The stored bytes of `held` under `encoding`.
fn total(
    make: MakeEncoders,
    held: &HeldChunks,
    encoding: &Encoding,
    progress: &dyn Progress,
) -> Result<u64, BenchError> {
    let mut encoders = make(encoding);
    let (mut stored, mut total) = (Vec::new(), 0);
    for chunk in &held.chunks {
        if progress.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        stored.clear();
        let base = held.base(chunk);
        let bytes = encoders.encode(chunk.kind, chunk.is_loose, &chunk.payload, base.as_ref(), &mut stored);
        total += bytes.map_err(WorkloadError::from)? as u64;
    }
    Ok(total)
}

/// Does `work` for each of `encodings` on several threads, the last one first: named specs and high levels come last in
/// a list, and take longest.
fn each_on_threads<T: Send>(
    encodings: &[&Encoding],
    thread_count: usize,
    work: impl Fn(&Encoding) -> Result<T, BenchError> + Sync,
) -> Result<Vec<T>, BenchError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<T, BenchError>>>> = Mutex::new(encodings.iter().map(|_| None).collect());
    let share = || {
        loop {
            let taken = next.fetch_add(1, Ordering::Relaxed);
            let Some(at) = encodings.len().checked_sub(taken + 1) else { return };
            let result = encodings.get(at).map(|encoding| work(encoding));
            if let Some(slot) = results.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *slot = result;
            }
        }
    };
    threads::share(thread_count.min(encodings.len()), share);
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

fn encode(
    make: MakeEncoders,
    population: &Population,
    held: &HeldChunks,
    encoding: &Encoding,
    limit: Limit,
    (clock, progress): (&dyn Clock, &dyn Progress),
) -> Result<Encoded, BenchError> {
    let strata = || population.strata.iter().map(|of| StratumSample::new(of.chunks, of.stored as f64)).collect();
    let mut encoded = Encoded {
        encoding: encoding.clone(),
        stored: Vec::new(),
        chunks: 0,
        sizes: strata(),
        times: strata(),
        exact: None,
    };
    let mut encoders = make(encoding);
    let session = Session::new(clock, progress);
    let mut stored = Vec::new();
    for part in 1..=PARTS {
        let end = held.chunks.len() * part / PARTS;
        for chunk in held.chunks.get(encoded.stored.len()..end).unwrap_or_default() {
            if progress.is_cancelled() {
                return Err(BenchError::Interrupted);
            }
            stored.clear();
            let start = clock.read_cpu().map_err(BenchError::clock)?;
            let base = held.base(chunk);
            encoders
                .encode(chunk.kind, chunk.is_loose, &chunk.payload, base.as_ref(), &mut stored)
                .map_err(WorkloadError::from)?;
            let time = clock.read_cpu().map_err(BenchError::clock)?.saturating_sub(start);
            encoded.add(chunk, &stored, time);
            // The first part is measured in any case.
            if part > 1 && session.now()? >= limit.end {
                return Ok(encoded);
            }
        }
        if part > 1 && encoded.precision().is_some_and(|precision| precision <= limit.precision) {
            break;
        }
    }
    Ok(encoded)
}

impl Encoded {
    fn add(&mut self, chunk: &HeldChunk, stored: &[u8], time: Duration) {
        let found = chunk.stored.len() as f64;
        if let Some(sizes) = self.sizes.get_mut(chunk.stratum) {
            sizes.add(found, stored.len() as f64);
        }
        if let Some(times) = self.times.get_mut(chunk.stratum) {
            times.add(found, time.as_secs_f64());
        }
        self.stored.push(stored.to_vec());
        self.chunks += 1;
    }

    /// Frees the stored bytes. What is known of them stays.
    pub(super) fn drop_stored(&mut self) {
        self.stored = Vec::new();
    }

    /// Half of the interval of the total, as a share of the total.
    fn precision(&self) -> Option<f64> {
        let total = stratified_total(&self.sizes)?;
        (total.value > 0.0).then(|| total.half_width() / total.value)
    }

    /// All stored bytes of chunks, with `more` bytes that no codec changes.
    pub(super) fn total(&self, more: u64) -> Predicted {
        if let Some(exact) = self.exact {
            return Predicted::exact(exact.saturating_add(more) as f64);
        }
        stratified_total(&self.sizes).map_or(Predicted::exact(more as f64), |total| total.plus(more as f64))
    }

    /// Seconds of CPU time to encode all chunks.
    pub(super) fn seconds(&self) -> f64 {
        stratified_total(&self.times).map_or(0.0, |total| total.value)
    }
}
