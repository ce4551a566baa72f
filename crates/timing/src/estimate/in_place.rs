//! The chunks that a replay decodes, encoded under some codecs, to be decoded in their places.
//!
//! Levels of one codec differ in what their chunks cost to decode, and a sample says by how much. What a sample cannot
//! say is how much dearer decoding is between look-ups and deltas than in a loop. That is a property of the decoder, so
//! one codec of each decoder is replayed: time for more of them is better spent on more commits.

use std::time::Duration;

use rand::{rngs::SmallRng, seq::SliceRandom as _};
use repackbench_codec::{Algorithm, ChunkKind, CodecSpec, DecodeMemo, StandInChunks};
use repackbench_reader::{AccessTrace, FileRole, Repository};
use repackbench_writer::{PayloadDecoder, PayloadEncoders, Progress};

use super::{
    encoded::{Encoded, MakeEncoders, each_on_threads},
    steps::Until,
};
use crate::{BenchError, clock::Clock, decode_share::CodecStandIns, workloads::WorkloadError};

/// What makes stand-ins for the chunks of one repository.
#[derive(Clone, Copy)]
pub(super) struct InPlace<'a> {
    pub(super) source: &'a Repository,
    pub(super) make: MakeEncoders,
    pub(super) encoded: &'a [Encoded],
    /// See [`stand_for`].
    pub(super) standing_for: &'a [Option<usize>],
    /// The payload bytes of all chunks, which [`Encoded::seconds`] are for.
    pub(super) payload_bytes: u64,
    pub(super) threads: usize,
    pub(super) clock: &'a (dyn Clock + Sync),
    pub(super) progress: &'a dyn Progress,
}

/// A payload that a replay decodes.
struct Payload<'a> {
    kind: ChunkKind,
    is_loose: bool,
    bytes: &'a [u8],
}

impl InPlace<'_> {
    /// Encodes what `memo` remembers under the first `most` codecs that are replayed. Where `time` is too short, codecs
    /// that take longest get a random part of the payloads. There is nothing if `trace`, the recording of the same
    /// replay, does not say what the payloads are, or without a codec beside the baseline.
    ///
    /// # Errors
    /// A codec fails, or the user stops the work.
    pub(super) fn stand_ins(
        &self,
        memo: &DecodeMemo,
        trace: &AccessTrace,
        random: &mut SmallRng,
        (time, most): (Duration, usize),
    ) -> Result<Vec<Option<CodecStandIns>>, BenchError> {
        let replayed: Vec<(usize, &Encoded)> = self.replayed().take(most).collect();
        if replayed.len() < 2 {
            return Ok(Vec::new());
        }
        let payloads: Vec<&[u8]> = memo.payloads().collect();
        let Some(kinds) = kinds(memo, &payloads, trace) else { return Ok(Vec::new()) };
        let all: Vec<Payload<'_>> = kinds
            .into_iter()
            .zip(&payloads)
            .map(|((kind, is_loose), bytes)| Payload { kind, is_loose, bytes })
            .collect();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.shuffle(random);
        let bytes: usize = payloads.iter().map(|payload| payload.len()).sum();
        let seconds: Vec<f64> = replayed.iter().map(|(_, encoded)| self.seconds_for(encoded, bytes)).collect();
        let limits = limits_within(&seconds, time.as_secs_f64(), self.threads);
        let work: Vec<(&Encoded, f64)> = replayed.iter().map(|(_, encoded)| *encoded).zip(limits).collect();
        let (make, clock, progress) = (self.make, self.clock, self.progress);
        let made = each_on_threads(&work, self.threads, |(encoded, limit)| {
            let limit = Duration::try_from_secs_f64(*limit).unwrap_or(Duration::MAX);
            let end = clock.read_wall().map_err(BenchError::clock)?.saturating_add(limit);
            encode(make(&encoded.encoding), (&all, &order), Until { progress, clock, end })
        })?;
        let mut codecs: Vec<Option<CodecStandIns>> = self.encoded.iter().map(|_| None).collect();
        for ((at, encoded), chunks) in replayed.iter().zip(made) {
            let part = decoded_part(memo, &all, &chunks);
            let stand_ins = PayloadDecoder::new(self.source, &encoded.encoding).into_stand_ins(chunks);
            if let Some(codec) = codecs.get_mut(*at).filter(|_| part > 0.0) {
                *codec = Some(CodecStandIns { stand_ins, part });
            }
        }
        Ok(codecs)
    }

    /// The codecs that are replayed, with their numbers.
    fn replayed(&self) -> impl Iterator<Item = (usize, &Encoded)> {
        let all = self.encoded.iter().enumerate().zip(self.standing_for);
        all.filter(|((at, _), stands)| **stands == Some(*at)).map(|(codec, _)| codec)
    }

    /// The number of codecs that are replayed.
    pub(super) fn codecs(&self) -> usize {
        self.replayed().count()
    }

    /// The CPU time for encoding this many payload bytes, in seconds.
    fn seconds_for(&self, encoded: &Encoded, bytes: usize) -> f64 {
        encoded.seconds() * bytes as f64 / self.payload_bytes.max(1) as f64
    }
}

/// The chunks of `payloads`, made in `order` as long as there is time.
fn encode(
    mut encoders: PayloadEncoders,
    (payloads, order): (&[Payload<'_>], &[usize]),
    until: Until<'_>,
) -> Result<StandInChunks, BenchError> {
    let mut chunks = StandInChunks::none_of(payloads.len());
    for at in order.iter().take_while(|_| !until.is_cancelled()) {
        let Some(Payload { kind, is_loose, bytes }) = payloads.get(*at) else { continue };
        chunks
            .add(*at, |stored| encoders.encode(*kind, *is_loose, bytes, None, stored).map(drop))
            .map_err(WorkloadError::from)?;
    }
    if until.progress.is_cancelled() { Err(BenchError::Interrupted) } else { Ok(chunks) }
}

/// The most seconds that each of several tasks may take on `threads` in `time` seconds, where all get the same, and
/// what one does not need is for the others. `seconds` has what each needs by a prediction, which may be wrong: a task
/// that needs little may take more than that.
fn limits_within(seconds: &[f64], time: f64, threads: usize) -> Vec<f64> {
    let mut available = time * threads as f64;
    let mut limits = vec![0.0; seconds.len()];
    let mut shortest_first: Vec<(usize, f64)> = seconds.iter().copied().enumerate().collect();
    shortest_first.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    for (done, (at, seconds)) in shortest_first.iter().enumerate() {
        let fair = available / (shortest_first.len() - done) as f64;
        available -= seconds.min(fair);
        if let Some(limit) = limits.get_mut(*at) {
            *limit = fair.min(time);
        }
    }
    limits
}

/// The part of the decoded bytes for which there are chunks, of what `memo` remembers.
fn decoded_part(memo: &DecodeMemo, payloads: &[Payload<'_>], chunks: &StandInChunks) -> f64 {
    let (mut all, mut chosen) = (0, 0);
    for (at, payload) in memo.order().filter_map(|at| Some((at, payloads.get(at)?))) {
        all += payload.bytes.len();
        chosen += if chunks.has(at) { payload.bytes.len() } else { 0 };
    }
    if all == 0 { 0.0 } else { chosen as f64 / all as f64 }
}

/// For each of `specs` the number of the one that is replayed for it, itself or another: the first with the same
/// decoders, or for a spec that needs bases, which a reader of the repository as found cannot give, the first of those
/// that have the same decoders for most of `kinds`. `None` if no decoder is the same.
pub(super) fn stand_for(specs: &[CodecSpec], kinds: &[ChunkKind]) -> Vec<Option<usize>> {
    let decoders: Vec<Vec<(Algorithm, bool)>> = specs.iter().map(|spec| decoders_of(spec, kinds)).collect();
    let alike = |one: usize, other: usize| {
        let pairs = decoders.get(one).into_iter().flatten().zip(decoders.get(other).into_iter().flatten());
        pairs.filter(|(one, other)| one == other).count()
    };
    let without_bases = specs.iter().enumerate().filter(|(_, spec)| !spec.uses_bases()).map(|(at, _)| at);
    let without_bases: Vec<usize> = without_bases.collect();
    let first = |at: usize| without_bases.iter().copied().find(|other| decoders.get(*other) == decoders.get(at));
    let nearest = |at: usize| {
        let replayed = without_bases.iter().copied().filter(|other| first(*other) == Some(*other));
        replayed.filter(|other| alike(at, *other) > 0).rev().max_by_key(|other| alike(at, *other))
    };
    (0..specs.len()).map(|at| if without_bases.contains(&at) { first(at) } else { nearest(at) }).collect()
}

/// What decodes the chunks of each kind: the algorithm, and whether it has a dictionary.
fn decoders_of(spec: &CodecSpec, kinds: &[ChunkKind]) -> Vec<(Algorithm, bool)> {
    kinds.iter().map(|kind| (spec.choice(*kind).algorithm(), spec.choice(*kind).dictionary().is_some())).collect()
}

/// The kind of each of `payloads`, and whether it belongs to a loose object, from a recording of the same replay. The
/// recording also has chunks that the memo was not asked for, such as those of payloads that are streamed. `None` if a
/// payload is not found.
fn kinds(memo: &DecodeMemo, payloads: &[&[u8]], trace: &AccessTrace) -> Option<Vec<(ChunkKind, bool)>> {
    let mut kinds = vec![None; payloads.len()];
    let mut decodes = trace.decodes.iter();
    // Chunks that are not remembered have to be passed over, too.
    for (length, place) in memo.decoded() {
        // The limit is the length in a pack.
        let decode = decodes.find(|decode| match trace.files.get(decode.file as usize).map(|file| file.role) {
            Some(FileRole::RevlogIndex | FileRole::RevlogData) => decode.payload_limit >= length,
            _ => decode.payload_limit == length,
        })?;
        let Some(place) = place else { continue };
        let is_loose = trace.files.get(decode.file as usize).is_some_and(|file| file.role == FileRole::LooseObject);
        *kinds.get_mut(place)? = Some((decode.kind, is_loose));
    }
    kinds.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(specs: &[&str]) -> Vec<Option<usize>> {
        let specs: Vec<CodecSpec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
        let kinds = ["commit", "tree", "blob", "tag", "commit-delta", "tree-delta", "blob-delta", "tag-delta"];
        stand_for(&specs, &kinds.map(|kind| ChunkKind::from_name(kind).unwrap()))
    }

    #[test]
    fn first_codec_of_each_decoder_is_replayed() {
        assert_eq!(standing(&["zlib:6", "zstd:3", "zlib:9", "zstd:19"]), [Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!(standing(&["zstd:3", "balanced"]), [Some(0), Some(1)], "a dictionary makes a difference");
        let by_kind = ["zstd:3", "zstd:3,tree=lz4", "zstd:9,tree=lz4"];
        assert_eq!(standing(&by_kind), [Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn codecs_get_the_same_time_and_what_others_leave() {
        assert_eq!(limits_within(&[1.0, 2.0, 0.0], 9.0, 1), [4.5, 8.0, 3.0]);
        assert_eq!(limits_within(&[20.0, 1.0, 10.0], 11.0, 1), [5.0, 11.0 / 3.0, 5.0]);
        assert_eq!(limits_within(&[20.0, 1.0], 2.0, 2), [2.0, 2.0], "a task has one thread");
        assert!(limits_within(&[], 1.0, 2).is_empty());
    }

    #[test]
    fn codecs_with_bases_have_the_nearest_one() {
        assert_eq!(standing(&["zlib:6", "zstd:3", "best-size", "balanced"]), [Some(0), Some(1), Some(3), Some(3)]);
        assert_eq!(standing(&["zlib:6", "best-size"]), [Some(0), None]);
    }
}
