//! What it costs to decode the chunks of the sample, as found and under each codec.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use rand::{rngs::SmallRng, seq::SliceRandom};
use repackbench_analysis::{MemberCost, stratified_total};
use repackbench_codec::{ChunkKind, DecodeMemo, Decoders};
use repackbench_reader::{Repository, git::delta};
use repackbench_writer::{PayloadDecoder, Progress};

use super::{
    encoded::Encoded,
    held::{HeldChunk, HeldChunks},
    population::{FEWEST_DECODED, Population},
};
use crate::{BenchError, workloads::WorkloadError};

/// How often each chunk is decoded under each codec. The fastest pass counts: on a machine that other work slows down
/// for seconds, a median would compare one codec's slow time with another's fast one.
const PASSES: usize = 3;

/// How many chunks are decoded in a row under one codec, at most.
const IN_A_ROW: usize = 64;

/// The largest number of chunks that are decoded.
const MOST_CHUNKS: usize = 3000;

/// What is decoded under all codecs together for each second of the session, in payload bytes, of which each chunk
/// counts [`BYTES_FOR_A_CHUNK`] more.
const BYTES_FOR_A_SECOND: f64 = 1.5e6;

/// What decoding any chunk takes at least, as payload bytes.
const BYTES_FOR_A_CHUNK: f64 = 1500.0;

/// The payload bytes of the chunks that are decoded, under `codecs` codecs and as found, in a session of `time`.
pub(super) fn affordable_bytes(codecs: usize, time: Duration) -> f64 {
    BYTES_FOR_A_SECOND * time.as_secs_f64() / (codecs + 2) as f64
}

/// One codec, or the repository as found.
struct Arm<'a> {
    decoder: PayloadDecoder,
    /// The length of each chunk's payload.
    lengths: Vec<usize>,
    /// The stored bytes of each chunk.
    stored: Vec<&'a [u8]>,
    /// The time of each pass, for each chunk.
    times: Vec<[Duration; PASSES]>,
    /// The time that applying a delta takes, for each chunk that holds an object in place of one.
    spared: Vec<[Duration; PASSES]>,
}

/// The seconds that each chunk takes as found, under each codec, and where its payload is remembered.
#[derive(Debug)]
pub(super) struct DecodeCosts {
    /// The chunk's stratum and its stored bytes as found.
    chunks: Vec<(usize, f64)>,
    /// Their strata.
    strata: HashSet<usize>,
    as_found: Vec<f64>,
    /// What applying a delta takes where the chunk as found holds the object in its place.
    spared_as_found: Vec<f64>,
    codecs: Vec<Vec<f64>>,
    /// The same under each codec.
    spared: Vec<Vec<f64>>,
    remembered: Vec<f64>,
}

impl DecodeCosts {
    /// Decodes the chunks that every codec has encoded, a few at a time, of one kind and in the order of the store:
    /// under each codec, in a new random order of the codecs, so that what slows the machine down for a while does so
    /// for all of them.
    ///
    /// # Errors
    /// A chunk does not decode, or the user stops the work.
    pub(super) fn measure(
        source: &Repository,
        decoders: Decoders,
        held: &HeldChunks,
        encoded: &[Encoded],
        random: &mut SmallRng,
        (time, progress): (Duration, &dyn Progress),
    ) -> Result<Self, BenchError> {
        let chosen = encoded_by_all(held, encoded, affordable_bytes(encoded.len(), time));
        let chunks: Vec<&HeldChunk> = chosen.iter().filter_map(|at| held.chunks.get(*at)).collect();
        let count = chunks.len();
        let found: Vec<&[u8]> = chunks.iter().map(|chunk| held.stored(chunk).unwrap_or_default()).collect();
        let as_found = PayloadDecoder::of_repository(source, decoders).map_err(WorkloadError::from)?;
        let lengths: Vec<usize> = chunks.iter().map(|chunk| chunk.payload_len).collect();
        let mut arms = vec![Arm::new(as_found, lengths.clone(), found.clone())];
        let remembering = PayloadDecoder::of_repository(source, decoders).map_err(WorkloadError::from)?;
        let memo = remembering.with_memo(DecodeMemo::recording(usize::MAX));
        arms.push(Arm::new(memo, lengths, found));
        for encoded in encoded {
            let decoder = PayloadDecoder::new(source, &encoded.encoding);
            let stored = chosen.iter().map(|at| encoded.stored_of(*at).unwrap_or_default()).collect();
            let lengths = chunks.iter().map(|chunk| held.payload_under(encoded.encoding.spec(), chunk).len()).collect();
            arms.push(Arm::new(decoder, lengths, stored));
        }
        let own_time = own_time();
        let mut by_kind: Vec<usize> = (0..count).collect();
        by_kind.sort_by_key(|at| chunks.get(*at).map(|chunk| (chunk.kind, chunk.number)));
        let kind = |at: &usize| chunks.get(*at).map(|chunk| chunk.kind);
        let mut order: Vec<usize> = (0..arms.len()).collect();
        for pass in 0..PASSES {
            for in_a_row in
                by_kind.chunk_by(|one, other| kind(one) == kind(other)).flat_map(|kind| kind.chunks(IN_A_ROW))
            {
                if progress.is_cancelled() {
                    return Err(BenchError::Interrupted);
                }
                order.shuffle(random);
                for at in &order {
                    let Some(arm) = arms.get_mut(*at) else { continue };
                    arm.run(held, (&chunks, in_a_row), pass).map_err(WorkloadError::from)?;
                }
            }
            arms.iter_mut().for_each(|arm| arm.decoder.give_back());
        }
        let mut seconds: Vec<Vec<f64>> = arms.iter().map(|arm| seconds_of(&arm.times, own_time)).collect();
        let mut spared: Vec<Vec<f64>> = arms.iter().map(|arm| seconds_of(&arm.spared, own_time)).collect();
        let (codecs, spared_by_codecs) = (seconds.split_off(2), spared.split_off(2));
        let spared_as_found = spared.swap_remove(0);
        let remembered = seconds.pop().unwrap_or_default();
        let as_found = seconds.pop().unwrap_or_default();
        let chunks: Vec<(usize, f64)> = chunks.iter().map(|chunk| (chunk.stratum, chunk.stored_len as f64)).collect();
        let strata = chunks.iter().map(|(stratum, _)| *stratum).collect();
        let spared = spared_by_codecs;
        Ok(DecodeCosts { chunks, strata, as_found, spared_as_found, codecs, spared, remembered })
    }

    /// The stratum of the sample that says what a chunk costs: its own, or else the nearest one of its group.
    pub(super) fn stratum(&self, population: &Population, kind: ChunkKind, lengths: (u64, u64)) -> Option<usize> {
        population.stratum_near(kind, lengths, |at| self.strata.contains(&at))
    }

    /// The costs of each chunk under codec `codec`, the codec `baseline` and as found, beyond those of a remembered
    /// payload. Where a codec stores objects in place of deltas, applying the delta is no longer a cost, and it is one
    /// under other codecs where the repository does that.
    pub(super) fn members(&self, codec: usize, baseline: usize) -> Vec<MemberCost> {
        let (Some(costs), Some(baselines)) = (self.costs(codec), self.costs(baseline)) else { return Vec::new() };
        let times = costs.zip(baselines).zip(self.as_found.iter().zip(&self.remembered));
        let members = self.chunks.iter().zip(times);
        members
            .map(|((stratum, x), ((cost, baseline), (as_found, remembered)))| MemberCost {
                stratum: *stratum,
                x: *x,
                cost: cost - remembered,
                baseline: baseline - remembered,
                as_found: as_found - remembered,
            })
            .collect()
    }

    /// What each chunk costs under codec `codec`, beside a repository as found in which applying deltas is no cost of
    /// decoding.
    fn costs(&self, codec: usize) -> Option<impl Iterator<Item = f64>> {
        let of_codec = self.codecs.get(codec)?.iter().zip(self.spared.get(codec)?).zip(&self.spared_as_found);
        Some(of_codec.map(|((cost, spared), as_found)| cost - spared + as_found))
    }

    /// What decoding the sample costs under codec `baseline` as a multiple of what it costs as found; 1 if nothing is
    /// known.
    pub(super) fn baseline_to_found(&self, baseline: usize) -> f64 {
        let members = self.members(baseline, baseline);
        let sum = |of: fn(&MemberCost) -> f64| members.iter().map(of).sum::<f64>();
        let ratio = sum(|member| member.baseline) / sum(|member| member.as_found);
        if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
    }

    /// The seconds that decoding takes of chunks with these stored bytes as found, by stratum, as found. Strata without
    /// a sampled chunk cost what all cost in the mean.
    pub(super) fn seconds_as_found(&self, decoded: &[f64]) -> f64 {
        let mut sums = vec![(0.0, 0.0); decoded.len()];
        let mut all = (0.0, 0.0);
        for ((stratum, x), (cost, remembered)) in self.chunks.iter().zip(self.as_found.iter().zip(&self.remembered)) {
            let cost = (cost - remembered).max(0.0);
            if let Some(sum) = sums.get_mut(*stratum) {
                *sum = (sum.0 + x, sum.1 + cost);
            }
            all = (all.0 + x, all.1 + cost);
        }
        let rate = |(x, cost): (f64, f64)| if x > 0.0 { cost / x } else { 0.0 };
        decoded.iter().zip(sums).map(|(bytes, sum)| bytes * rate(if sum.0 > 0.0 { sum } else { all })).sum()
    }

    /// The seconds that decoding every chunk of the repository once takes under codec `codec`.
    pub(super) fn seconds(&self, population: &Population, codec: usize) -> f64 {
        let mut strata = population.to_sample();
        for ((stratum, x), cost) in self.chunks.iter().zip(self.codecs.get(codec).into_iter().flatten()) {
            if let Some(stratum) = strata.get_mut(*stratum) {
                stratum.add(*x, *cost);
            }
        }
        stratified_total(&strata).map_or(0.0, |total| total.value)
    }
}

/// The places in `held` of the first chunks that every codec has encoded, whose payloads take as long to decode as
/// about `bytes` bytes in long ones.
fn encoded_by_all(held: &HeldChunks, encoded: &[Encoded], bytes: f64) -> Vec<usize> {
    let by_all = |at: &usize| encoded.iter().all(|encoded| encoded.stored_of(*at).is_some());
    let (mut chosen, mut sum) = (Vec::new(), 0.0);
    for at in (0..held.chunks.len()).filter(by_all).take(MOST_CHUNKS) {
        sum += BYTES_FOR_A_CHUNK + held.chunks.get(at).map_or(0.0, |chunk| chunk.payload_len as f64);
        if sum > bytes && chosen.len() >= FEWEST_DECODED {
            break;
        }
        chosen.push(at);
    }
    chosen
}

/// The time that reading the clock adds to a measured time: the least mean of several series of readings.
fn own_time() -> Duration {
    const READINGS: u32 = 4096;
    let series = || (0..READINGS).map(|_| Instant::now().elapsed()).sum::<Duration>() / READINGS;
    (0..8).map(|_| series()).min().unwrap_or_default()
}

/// The shortest time of each chunk, less the clock's own.
fn seconds_of(times: &[[Duration; PASSES]], own_time: Duration) -> Vec<f64> {
    let least = |times: &[Duration; PASSES]| times.iter().min().copied().unwrap_or_default();
    times.iter().map(|times| least(times).saturating_sub(own_time).as_secs_f64()).collect()
}

impl<'a> Arm<'a> {
    fn new(decoder: PayloadDecoder, lengths: Vec<usize>, stored: Vec<&'a [u8]>) -> Self {
        let none = vec![[Duration::ZERO; PASSES]; stored.len()];
        Arm { decoder, lengths, stored, times: none.clone(), spared: none }
    }

    /// Decodes some chunks in this order, twice: the first time brings tables and dictionary into the processor's
    /// caches, where a reader of thousands of chunks has them. The second time counts for `pass`.
    fn run(
        &mut self,
        held: &HeldChunks,
        (chunks, order): (&[&HeldChunk], &[usize]),
        pass: usize,
    ) -> repackbench_writer::Result<()> {
        let mut payload = Vec::new();
        for at in order.iter().chain(order) {
            let (Some(chunk), Some(stored)) = (chunks.get(*at), self.stored.get(*at)) else { continue };
            let payload_len = self.lengths.get(*at).copied().unwrap_or_default();
            let base = held.base(chunk);
            let object_len = base.as_ref().and_then(|base| base.delta.object).map_or(0, <[u8]>::len);
            let base = base.map(|base| base.delta.content);
            let start = Instant::now();
            self.decoder.decode(chunk.kind, stored, base, (payload_len, object_len), &mut payload)?;
            let time = start.elapsed();
            let spared = match base.filter(|_| self.decoder.replaces_git_delta(stored)) {
                Some(base) => applying(base, held.payload(chunk), &mut payload),
                None => Duration::ZERO,
            };
            for (all, time) in [(&mut self.times, time), (&mut self.spared, spared)] {
                if let Some(of_pass) = all.get_mut(*at).and_then(|times| times.get_mut(pass)) {
                    *of_pass = time;
                }
            }
        }
        Ok(())
    }
}

/// How long it takes to apply `delta` to `base`; nothing if it is no delta of that.
fn applying(base: &[u8], delta: &[u8], object: &mut Vec<u8>) -> Duration {
    let start = Instant::now();
    delta::apply(base, delta, object).map_or(Duration::ZERO, |()| start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_that_nobody_applies_is_credited() {
        let costs = |spared_as_found: f64| DecodeCosts {
            chunks: vec![(0, 10.0)],
            strata: HashSet::new(),
            as_found: vec![5.0],
            spared_as_found: vec![spared_as_found],
            codecs: vec![vec![4.0], vec![6.0]],
            spared: vec![vec![0.0], vec![1.5]],
            remembered: vec![1.0],
        };
        let of = |costs: &DecodeCosts| {
            let member = costs.members(1, 0).remove(0);
            [member.cost, member.baseline, member.as_found]
        };
        assert_eq!(of(&costs(0.0)), [3.5, 3.0, 4.0]);
        assert_eq!(of(&costs(2.0)), [5.5, 5.0, 4.0], "as found, the deltas are not applied either");
        assert_eq!((costs(0.0).baseline_to_found(0), costs(0.0).baseline_to_found(9)), (0.75, 1.0));
    }

    #[test]
    fn strata_without_a_sample_cost_what_all_do() {
        let costs = DecodeCosts {
            chunks: vec![(0, 10.0), (0, 30.0), (1, 60.0)],
            strata: HashSet::from([0, 1]),
            as_found: vec![2.0, 4.0, 14.0],
            spared_as_found: vec![0.0; 3],
            codecs: Vec::new(),
            spared: Vec::new(),
            remembered: vec![1.0, 1.0, 2.0],
        };
        // Stratum 0 costs 4 s for 40 bytes, stratum 1 costs 12 s for 60, and all cost 16 s for 100.
        assert_eq!(costs.seconds_as_found(&[100.0, 0.0, 0.0]), 10.0);
        assert_eq!(costs.seconds_as_found(&[0.0, 10.0, 100.0]), 2.0 + 16.0);
    }
}
