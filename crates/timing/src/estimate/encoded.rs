//! The sample encoded under each codec.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use repackbench_analysis::{Offer, StratifiedTotal, StratumSample, allocate, stratified_total, total_by_reference};
use repackbench_reader::{Repository, threads};
use repackbench_records::Predicted;
use repackbench_writer::{Encoding, PayloadEncoders, Progress, TrainingKind};

use super::{
    held::{Forms, HeldChunk, HeldChunks, Wanted, for_each_held},
    population::{FIRST_OF_STRATUM, Population, Stratum},
};
use crate::{BenchError, byte_strings::ByteStrings, clock::Clock, session::Session, workloads::WorkloadError};

/// How often the precision is looked at: after about each of this many equal parts of the sample's bytes.
const PARTS: usize = 48;

/// No total is precise before [`FIRST_OF_STRATUM`] chunks of each stratum are encoded, or as many as have this many
/// payload bytes. A few chunks rarely have an outlier among them.
const ENOUGH_BYTES: f64 = 480e3;

/// The CPU time that fast codecs take before slow ones begin: those that have encoded the first part go on until then.
/// With many chunks under a few codecs, the totals of others need few.
const BEFORE_SLOW: Duration = Duration::from_millis(500);

/// The standard error of a total beside another codec, at least, as a share of that of the own sample. A few pairs may
/// look more alike than all chunks are: zstd:19 finds repetitions in long files that no lower level shows.
const LEAST_OF_OWN: f64 = 1.0 / 3.0;

/// The standard error of a total under dictionaries that were trained with less effort, as a share of the total. Those
/// of seven repositories of 10 to 45 MB changed 14 totals by 0.8 % at most, and by 0.35 % in the quadratic mean.
const TRAINING_ERROR: f64 = 0.0035;

/// The same under dictionaries that were cut from those of another codec. In two sessions on each of eleven repositories
/// of 2 to 182 MB, totals differed from those with dictionaries of their own by 1.3 % at most, and by 0.65 % in the
/// quadratic mean, with the error of the sample.
const CUT_ERROR: f64 = 0.0065;

/// The sample under one codec.
#[derive(Debug)]
pub(super) struct Encoded {
    /// Its encoding.
    pub(super) encoding: Encoding,
    /// The chunks so far, by their places in the sample.
    of_chunks: Vec<Option<Stored>>,
    /// The stored bytes of those that may be decoded.
    stored: ByteStrings,
    /// The number of chunks so far.
    pub(super) chunks: u64,
    /// Stored bytes against those as found, by stratum.
    sizes: Vec<StratumSample>,
    /// Seconds of CPU time against stored bytes as found, by stratum.
    times: Vec<StratumSample>,
    /// The stored bytes of all chunks with the least error: from the sample alone, or beside another codec that has
    /// more of it.
    best: Option<StratifiedTotal>,
    /// The stored bytes of all chunks, if each was encoded.
    exact: Option<u64>,
}

/// A chunk under one codec.
#[derive(Debug, Clone, Copy)]
struct Stored {
    len: usize,
    /// The number of its bytes, if it may be decoded.
    number: Option<usize>,
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

/// What is encoded, and how long.
#[derive(Clone, Copy)]
pub(super) struct Sample<'a> {
    pub(super) population: &'a Population,
    pub(super) held: &'a HeldChunks,
    pub(super) limit: Limit,
    pub(super) clock: &'a (dyn Clock + Sync),
    pub(super) progress: &'a dyn Progress,
}

/// The sampled chunks of a stratum.
struct SampledStratum {
    /// Their places in the sample. Chunks of the first part come first.
    places: Vec<usize>,
    /// How many of them belong to the first part.
    first: usize,
    /// How many of them say enough about its spread.
    enough: u64,
    offer: Offer,
}

impl Sample<'_> {
    /// The strata for a codec that needs bases, or for others.
    fn by_stratum(&self, with_bases: bool) -> Vec<SampledStratum> {
        let stratum = |of: &Stratum| SampledStratum {
            places: Vec::new(),
            first: 0,
            enough: ((ENOUGH_BYTES / of.mean_payload()) as u64).clamp(1, FIRST_OF_STRATUM as u64),
            offer: Offer { most: 0, cost: of.mean_payload() },
        };
        let mut strata: Vec<SampledStratum> = self.population.strata.iter().map(stratum).collect();
        let first = self.held.first();
        let usable = |(_, chunk): &(usize, &HeldChunk)| !with_bases || chunk.has_its_base();
        for (place, chunk) in self.held.chunks.iter().enumerate().filter(usable) {
            let Some(stratum) = strata.get_mut(chunk.stratum) else { continue };
            stratum.places.push(place);
            stratum.offer.most += 1;
            stratum.first += usize::from(place < first);
        }
        strata.iter_mut().for_each(|stratum| stratum.enough = stratum.enough.min(stratum.offer.most));
        strata
    }
}

/// A codec that a part of the sample has been encoded under.
struct Running {
    encoded: Encoded,
    encoders: PayloadEncoders,
    /// For the stored bytes of one chunk.
    buffer: Vec<u8>,
    spent: Duration,
    /// Whether the first part is encoded.
    has_first: bool,
}

/// Encodes the sample under each of `encodings` on several threads. Each stops where its total is precise enough, or
/// when time is up and all have encoded the first part. Until then the codec that has had the least time goes on, so
/// that slow codecs take none from fast ones. After the first part, each goes on in the strata whose chunks differ most
/// under it. Totals of codecs that end with few chunks are taken beside one that has more.
///
/// # Errors
/// A codec fails, or the user stops the work.
pub(super) fn encode_all(
    make: MakeEncoders,
    sample: Sample<'_>,
    encodings: &[Encoding],
    thread_count: usize,
) -> Result<Vec<Encoded>, BenchError> {
    let strata = [false, true].map(|with_bases| sample.by_stratum(with_bases));
    let running = encodings.iter().map(|encoding| Some(Running::new(encoding, make(encoding), sample)));
    let waiting: Mutex<Vec<Option<Running>>> = Mutex::new(running.collect());
    let ended: Mutex<Vec<Option<Result<Encoded, BenchError>>>> = Mutex::new(encodings.iter().map(|_| None).collect());
    let without_first = AtomicUsize::new(encodings.len());
    let take_least = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let some = waiting.iter_mut().enumerate().filter(|(_, running)| running.is_some());
        let (at, running) = some.min_by_key(|(_, running)| running.as_ref().map(Running::turn))?;
        Some((at, running.take()?))
    };
    threads::share(thread_count.min(encodings.len()), || {
        while let Some((at, mut running)) = take_least() {
            let [without_bases, with_bases] = &strata;
            let strata = if running.encoded.encoding.spec().uses_bases() { with_bases } else { without_bases };
            let end = match running.encode_part(&sample, strata, &without_first) {
                Ok(true) => {
                    if let Some(slot) = waiting.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                        *slot = Some(running);
                    }
                    continue;
                }
                Ok(false) => Ok(running.encoded),
                Err(error) => Err(error),
            };
            if let Some(slot) = ended.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *slot = Some(end);
            }
        }
    });
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut encoded: Vec<Encoded> = ended.into_iter().flatten().collect::<Result<_, _>>()?;
    let best: Vec<_> = encoded.iter().map(|one| one.best_total(&encoded, sample.held)).collect();
    encoded.iter_mut().zip(best).for_each(|(encoded, best)| encoded.best = best);
    Ok(encoded)
}

/// Encodes every chunk of `source` under the encodings of `encoded`, for totals without error. Chunks too long for
/// memory, of `large` stored bytes, count as they were found.
///
/// # Errors
/// A chunk is damaged, a codec fails, or the user stops the work.
pub(super) fn encode_every(
    make: MakeEncoders,
    (source, large): (&Repository, u64),
    encoded: &mut [Encoded],
    (thread_count, progress): (usize, &dyn Progress),
) -> Result<(), BenchError> {
    let forms = Forms::of(encoded.iter().map(|encoded| encoded.encoding.spec()));
    let mut totals = vec![large; encoded.len()];
    let encodings: Vec<&Encoding> = encoded.iter().map(|encoded| &encoded.encoding).collect();
    for_each_held(source, &Wanted::Every(WINDOW), forms, progress, &mut |held| {
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
        let payload = held.payload_under(encoding.spec(), chunk);
        let bytes = encoders.encode(chunk.kind, chunk.is_loose, payload, base.as_ref(), &mut stored);
        total += bytes.map_err(WorkloadError::from)? as u64;
    }
    Ok(total)
}

/// Does `work` for each of `encodings` on several threads, the last one first: named specs and high levels come last in
/// a list, and take longest.
pub(super) fn each_on_threads<I: Sync, T: Send>(
    encodings: &[I],
    thread_count: usize,
    work: impl Fn(&I) -> Result<T, BenchError> + Sync,
) -> Result<Vec<T>, BenchError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<T, BenchError>>>> = Mutex::new(encodings.iter().map(|_| None).collect());
    let share = || {
        loop {
            let taken = next.fetch_add(1, Ordering::Relaxed);
            let Some(at) = encodings.len().checked_sub(taken + 1) else { return };
            let result = encodings.get(at).map(&work);
            if let Some(slot) = results.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *slot = result;
            }
        }
    };
    threads::share(thread_count.min(encodings.len()), share);
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

impl Running {
    /// Whose turn it is: that of the least time, where a codec that has not begun counts as if it had had
    /// [`BEFORE_SLOW`].
    fn turn(&self) -> Duration {
        if self.has_first { self.spent } else { BEFORE_SLOW }
    }

    fn new(encoding: &Encoding, encoders: PayloadEncoders, sample: Sample<'_>) -> Self {
        let encoded = Encoded {
            encoding: encoding.clone(),
            of_chunks: vec![None; sample.held.chunks.len()],
            stored: ByteStrings::default(),
            chunks: 0,
            sizes: sample.population.to_sample(),
            times: sample.population.to_sample(),
            best: None,
            exact: None,
        };
        Running { encoded, encoders, buffer: Vec::new(), spent: Duration::ZERO, has_first: false }
    }

    /// Encodes the next part of the sample, and returns whether there is more to do. The first part is encoded in any
    /// case, and others while a codec is `without_first` one.
    fn encode_part(
        &mut self,
        sample: &Sample<'_>,
        strata: &[SampledStratum],
        without_first: &AtomicUsize,
    ) -> Result<bool, BenchError> {
        let session = Session::new(sample.clock, sample.progress);
        let ends = self.ends_of_next_part(sample, strata);
        let mut is_all = true;
        for (at, (stratum, end)) in strata.iter().zip(ends).enumerate() {
            let begin = self.encoded.sampled(at).min(end);
            for place in stratum.places.get(begin..end).unwrap_or_default() {
                session.go_on()?;
                let may_end = self.has_first && without_first.load(Ordering::Relaxed) == 0;
                if may_end && session.now()? >= sample.limit.end {
                    return Ok(false);
                }
                if let Some(chunk) = sample.held.chunks.get(*place) {
                    self.add(*place, chunk, sample)?;
                }
            }
            is_all &= end >= stratum.places.len();
        }
        if !self.has_first {
            self.has_first = true;
            without_first.fetch_sub(1, Ordering::Relaxed);
        }
        let is_precise = || {
            self.has_enough(strata)
                && self.encoded.precision().is_some_and(|precision| precision <= sample.limit.precision)
        };
        Ok(!is_all && !is_precise())
    }

    /// How many of the chunks of each stratum are encoded after the next part.
    fn ends_of_next_part(&self, sample: &Sample<'_>, strata: &[SampledStratum]) -> Vec<usize> {
        if !self.has_first {
            return strata.iter().map(|stratum| stratum.first).collect();
        }
        let has_enough = self.has_enough(strata);
        let most = |stratum: &SampledStratum| if has_enough { stratum.offer.most } else { stratum.enough };
        let offers: Vec<Offer> = strata.iter().map(|stratum| Offer { most: most(stratum), ..stratum.offer }).collect();
        let part = sample.held.payload_bytes() as f64 / PARTS as f64;
        let ends = allocate(&self.encoded.sizes, &offers, part);
        ends.into_iter().map(|end| usize::try_from(end).unwrap_or(usize::MAX)).collect()
    }

    /// Whether enough chunks of every stratum are encoded to know its spread.
    fn has_enough(&self, strata: &[SampledStratum]) -> bool {
        self.encoded.sizes.iter().zip(strata).all(|(sample, stratum)| sample.sampled >= stratum.enough)
    }

    /// Encodes one chunk.
    fn add(&mut self, place: usize, chunk: &HeldChunk, sample: &Sample<'_>) -> Result<(), BenchError> {
        self.buffer.clear();
        let start = sample.clock.read_cpu().map_err(BenchError::clock)?;
        let base = sample.held.base(chunk);
        let payload = sample.held.payload_under(self.encoded.encoding.spec(), chunk);
        self.encoders
            .encode(chunk.kind, chunk.is_loose, payload, base.as_ref(), &mut self.buffer)
            .map_err(WorkloadError::from)?;
        let time = sample.clock.read_cpu().map_err(BenchError::clock)?.saturating_sub(start);
        self.spent = self.spent.saturating_add(time);
        self.encoded.add(place, chunk, &self.buffer, time);
        Ok(())
    }
}

impl Encoded {
    fn add(&mut self, place: usize, chunk: &HeldChunk, stored: &[u8], time: Duration) {
        let found = chunk.stored_len as f64;
        if let Some(sizes) = self.sizes.get_mut(chunk.stratum) {
            sizes.add(found, stored.len() as f64);
        }
        if let Some(times) = self.times.get_mut(chunk.stratum) {
            times.add(found, time.as_secs_f64());
        }
        let number = chunk.is_decoded().then(|| self.stored.push(stored));
        if let Some(slot) = self.of_chunks.get_mut(place) {
            *slot = Some(Stored { len: stored.len(), number });
        }
        self.chunks += 1;
    }

    /// How many chunks of stratum `at` are encoded.
    fn sampled(&self, at: usize) -> usize {
        self.sizes.get(at).map_or(0, |stratum| usize::try_from(stratum.sampled).unwrap_or(usize::MAX))
    }

    /// The stored bytes of the chunk at `place` in the sample, if it is encoded and may be decoded.
    pub(super) fn stored_of(&self, place: usize) -> Option<&[u8]> {
        let stored = self.of_chunks.get(place)?.as_ref()?;
        self.stored.get(stored.number?)
    }

    /// Frees the stored bytes. What is known of them stays.
    pub(super) fn drop_stored(&mut self) {
        self.stored = ByteStrings::default();
        self.of_chunks = Vec::new();
    }

    /// Half of the interval of the total, as a share of the total.
    fn precision(&self) -> Option<f64> {
        let total = stratified_total(&self.sizes)?;
        (total.value > 0.0).then(|| total.half_width() / total.value)
    }

    /// All stored bytes of chunks, with `more` bytes that no codec changes. Dictionaries that are not those of a
    /// conversion add their error.
    pub(super) fn total(&self, more: u64) -> Predicted {
        if let Some(exact) = self.exact {
            return Predicted::exact(exact.saturating_add(more) as f64);
        }
        let trained = match self.encoding.training() {
            TrainingKind::Full => 0.0,
            TrainingKind::LessEffort => TRAINING_ERROR,
            TrainingKind::Cut => CUT_ERROR,
        };
        self.best.map_or(Predicted::exact(more as f64), |total| total.with_share_of_error(trained).plus(more as f64))
    }

    /// The total that has the least error: of the own sample, or with one of `others` as the reference. Slow codecs
    /// have few chunks when time is up, fast ones many, and a chunk that is unusual under one is so under most.
    fn best_total(&self, others: &[Encoded], held: &HeldChunks) -> Option<StratifiedTotal> {
        let own = stratified_total(&self.sizes)?;
        let larger = others.iter().filter(|other| other.chunks > self.chunks);
        let by_reference = larger.filter_map(|other| total_by_reference(&other.sizes, self.pairs(other, held)));
        let totals = by_reference.map(|total| total.with_least_error(own.standard_error * LEAST_OF_OWN)).chain([own]);
        totals.min_by(|one, other| one.standard_error.total_cmp(&other.standard_error))
    }

    /// The stored bytes under `other` and under this codec, with the stratum, of the chunks that both have encoded.
    fn pairs(&self, other: &Encoded, held: &HeldChunks) -> impl Iterator<Item = (usize, f64, f64)> {
        let both = self.of_chunks.iter().zip(&other.of_chunks).zip(&held.chunks);
        both.filter_map(|((own, other), chunk)| {
            Some((chunk.stratum, other.as_ref()?.len as f64, own.as_ref()?.len as f64))
        })
    }

    /// Seconds of CPU time to encode all chunks.
    pub(super) fn seconds(&self) -> f64 {
        stratified_total(&self.times).map_or(0.0, |total| total.value)
    }
}
