//! Payloads that were decoded before, so that reading a repository can be timed with next to nothing to decode.
//!
//! The time that a reader takes with all payloads remembered, against its time without, is the time that decoding takes
//! in its place: between look-ups and the application of deltas, where it finds less in the processor's caches, and
//! leaves less there for others, than in a loop of its own. With the chunks of another codec in the place of payloads, it
//! is the time that a reader takes under that codec.

use std::{fmt, hash::Hasher, ops::Range};

use rustc_hash::{FxHashMap, FxHasher};
use xxhash_rust::xxh3::xxh3_64;

use crate::{decoder::ChunkDecoder, revlog::RevlogDecoder};

/// The number of bytes at the start of a chunk, and at the end of its buffer, that identify it, with its place in memory and
/// the lengths of buffer and payload.
const OPENING_LEN: usize = 64;

/// Decoded payloads by chunk.
///
/// A replay mostly asks for the chunks in the order in which they were recorded. So that it finds them at a cost that is next
/// to nothing beside that of decoding, the memo expects them in that order, and looks up only those that come in another.
#[derive(Debug, Default)]
pub struct DecodeMemo {
    /// The key of each chunk in the order of recording, repetitions included, and its place in `known`.
    order: Vec<(u64, usize)>,
    known: Vec<Known>,
    by_key: FxHashMap<u64, usize>,
    /// The place in `order` of the chunk that is expected next.
    next: usize,
    payloads: Vec<u8>,
    /// The limit of their bytes.
    limit: usize,
    /// Whether payloads are remembered, rather than given back.
    is_recording: bool,
    /// The number of payloads that did not fit the limit.
    left_out: u64,
    stand_ins: Option<StandIns>,
}

/// Chunks for the payloads that a memo recorded, as a store under another codec would hold them.
#[derive(Debug, Default)]
pub struct StandInChunks {
    stored: Vec<u8>,
    /// The stored bytes for each payload of [`DecodeMemo::payloads`]; `None` where the payload is given back.
    ranges: Vec<Option<Range<usize>>>,
}

impl StandInChunks {
    /// No chunks yet, for a memo of this many `payloads`.
    pub fn none_of(payloads: usize) -> Self {
        StandInChunks { stored: Vec::new(), ranges: vec![None; payloads] }
    }

    /// Adds the chunk for the payload at the place `at`, whose bytes `encode` appends.
    ///
    /// # Errors
    /// That of `encode`.
    pub fn add<E>(&mut self, at: usize, encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let start = self.stored.len();
        encode(&mut self.stored)?;
        if let Some(range) = self.ranges.get_mut(at) {
            *range = Some(start..self.stored.len());
        }
        Ok(())
    }

    /// Whether there is a chunk for the payload at the place `at`.
    pub fn has(&self, at: usize) -> bool {
        self.ranges.get(at).is_some_and(Option::is_some)
    }
}

/// [`StandInChunks`] with their decoder.
pub struct StandIns {
    decoder: StandInDecoder,
    chunks: StandInChunks,
}

/// Decodes stand-ins.
pub(crate) enum StandInDecoder {
    Chunks(Box<ChunkDecoder>),
    Revlogs(Box<RevlogDecoder>),
}

impl fmt::Debug for StandIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandIns").field("chunks", &self.chunks.ranges.len()).finish_non_exhaustive()
    }
}

impl StandIns {
    /// Chunks of packs and loose objects.
    pub fn of_packs(decoder: ChunkDecoder, chunks: StandInChunks) -> Self {
        StandIns { decoder: StandInDecoder::Chunks(Box::new(decoder)), chunks }
    }

    /// Chunks of revlogs.
    pub fn of_revlogs(decoder: RevlogDecoder, chunks: StandInChunks) -> Self {
        StandIns { decoder: StandInDecoder::Revlogs(Box::new(decoder)), chunks }
    }
}

/// What a memo has in the place of a chunk.
pub(crate) enum Remembered<'a> {
    Payload(&'a [u8]),
    StandIn(&'a mut StandInDecoder, &'a [u8]),
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// Where it comes first in the order.
    first: usize,
    start: usize,
    len: usize,
    /// The number of stored bytes that decoding took.
    consumed: usize,
}

impl DecodeMemo {
    /// A memo that remembers at most `limit` payload bytes.
    pub fn recording(limit: usize) -> Self {
        DecodeMemo { limit, is_recording: true, ..DecodeMemo::default() }
    }

    /// From now on gives back what it remembers, and expects it in the order of the recording, from its beginning.
    pub fn give_back(&mut self) {
        self.is_recording = false;
        self.next = 0;
    }

    /// The number of payloads that it does not remember because of its limit.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The different payloads that it remembers, in the order of the recording.
    pub fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        self.known.iter().map(|known| self.payloads.get(known.start..known.start + known.len).unwrap_or_default())
    }

    /// The number of each payload among [`payloads`](Self::payloads), in the order of the recording, repetitions included.
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.order.iter().map(|(_, place)| *place)
    }

    /// From now on has `stand_ins` decoded where it would give payloads back, or none. Returns those before.
    pub fn set_stand_ins(&mut self, stand_ins: Option<StandIns>) -> Option<StandIns> {
        std::mem::replace(&mut self.stand_ins, stand_ins)
    }

    /// The key of a chunk in a buffer that may extend beyond it. Chunks of a pack differ by their places. Loose objects are
    /// read into the same place one after the other, and trees of one folder often have the same opening: they differ in
    /// their ends, which have the checksum.
    pub(crate) fn key_of_open(stored: &[u8], payload_len: usize) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_usize(stored.as_ptr().addr());
        hasher.write_usize(payload_len);
        hasher.write_usize(stored.len());
        hasher.write(stored.get(..OPENING_LEN).unwrap_or(stored));
        hasher.write(stored.get(stored.len().saturating_sub(OPENING_LEN)..).unwrap_or_default());
        hasher.finish()
    }

    /// The key of a chunk that is all of `stored`, wherever it is.
    pub(crate) fn key_of(stored: &[u8]) -> u64 {
        xxh3_64(stored)
    }

    /// What stands for a chunk, and the number of its stored bytes, if it is known and to be given back.
    pub(crate) fn get(&mut self, key: u64) -> Option<(Remembered<'_>, usize)> {
        if self.is_recording {
            return None;
        }
        let place = match self.order.get(self.next) {
            Some((expected, place)) if *expected == key => *place,
            _ => {
                let place = *self.by_key.get(&key)?;
                self.next = self.known.get(place)?.first;
                place
            }
        };
        self.next += 1;
        let known = self.known.get(place)?;
        if let Some(stand_ins) = &mut self.stand_ins
            && let Some(Some(range)) = stand_ins.chunks.ranges.get(place)
        {
            let stored = stand_ins.chunks.stored.get(range.clone())?;
            return Some((Remembered::StandIn(&mut stand_ins.decoder, stored), known.consumed));
        }
        let payload = self.payloads.get(known.start..known.start + known.len)?;
        Some((Remembered::Payload(payload), known.consumed))
    }

    /// Remembers a payload, while recording.
    pub(crate) fn put(&mut self, key: u64, payload: &[u8], consumed: usize) {
        if !self.is_recording {
            return;
        }
        if let Some(place) = self.by_key.get(&key) {
            self.order.push((key, *place));
            return;
        }
        let start = self.payloads.len();
        if start.saturating_add(payload.len()) > self.limit {
            self.left_out += 1;
            return;
        }
        self.payloads.extend_from_slice(payload);
        self.by_key.insert(key, self.known.len());
        let first = self.order.len();
        self.order.push((key, self.known.len()));
        self.known.push(Known { first, start, len: payload.len(), consumed });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChunkEncoder, CodecSpec, Decoders};

    /// A chunk under `spec`, at the start of a buffer that extends beyond it.
    fn chunk(spec: &CodecSpec, payload: &[u8]) -> Vec<u8> {
        let mut stored = Vec::new();
        ChunkEncoder::new(spec).unwrap().encode(payload, &mut stored).unwrap();
        stored.extend_from_slice(b"the next chunk");
        stored
    }

    fn payload(memo: &mut DecodeMemo, key: u64) -> Option<(Vec<u8>, usize)> {
        memo.get(key).map(|(remembered, consumed)| match remembered {
            Remembered::Payload(payload) => (payload.to_vec(), consumed),
            Remembered::StandIn(..) => panic!("nothing stands in"),
        })
    }

    #[test]
    fn payloads_are_given_back_after_recording() {
        let mut memo = DecodeMemo::recording(10);
        memo.put(1, b"abc", 7);
        assert_eq!(payload(&mut memo, 1), None, "still recording");
        memo.put(2, b"too long to fit", 9);
        memo.give_back();
        memo.put(3, b"x", 1);
        assert_eq!(payload(&mut memo, 1), Some((b"abc".to_vec(), 7)));
        assert_eq!(payload(&mut memo, 2), None);
        assert_eq!(payload(&mut memo, 3), None);
        assert_eq!(memo.left_out(), 1);
    }

    #[test]
    fn payloads_are_found_in_any_order() {
        let mut memo = DecodeMemo::recording(100);
        for (key, payload) in [(1, b"one"), (2, b"two"), (1, b"one"), (3, b"six")] {
            memo.put(key, payload, 5);
        }
        for order in [[1, 2, 1, 3], [3, 1, 1, 2], [2, 2, 3, 1]] {
            memo.give_back();
            for key in order {
                let expected: &[u8] = [&b"one"[..], b"two", b"six"][key as usize - 1];
                assert_eq!(payload(&mut memo, key), Some((expected.to_vec(), 5)), "{key} in {order:?}");
            }
        }
    }

    #[test]
    fn keys_tell_chunks_apart() {
        let bytes = [0u8; 100];
        assert_ne!(DecodeMemo::key_of_open(&bytes, 5), DecodeMemo::key_of_open(&bytes[1..], 5));
        assert_ne!(DecodeMemo::key_of_open(&bytes, 5), DecodeMemo::key_of_open(&bytes, 6));
        assert_ne!(DecodeMemo::key_of_open(&bytes, 5), DecodeMemo::key_of_open(&bytes[..99], 5));
        // The next chunk in the same place.
        let mut buffer = [7u8; 300];
        let first = DecodeMemo::key_of_open(&buffer, 400);
        buffer[299] = 8;
        assert_ne!(DecodeMemo::key_of_open(&buffer, 400), first);
        buffer[299] = 7;
        assert_eq!(DecodeMemo::key_of_open(&buffer, 400), first);
        assert_eq!(DecodeMemo::key_of(&bytes[..3]), DecodeMemo::key_of(&[0; 3]));
        assert_ne!(DecodeMemo::key_of(&bytes[..3]), DecodeMemo::key_of(&bytes[..4]));
    }

    #[test]
    fn chunks_of_another_codec_stand_in_for_those_that_were_recorded() {
        let (zlib, zstd): (CodecSpec, CodecSpec) = ("zlib:6".parse().unwrap(), "zstd:3".parse().unwrap());
        let payloads = [&b"one one one one"[..], b"two two two two"];
        let found = payloads.map(|payload| chunk(&zlib, payload));
        let mut decoder = ChunkDecoder::new(Decoders::default());
        let decode = |decoder: &mut ChunkDecoder| -> Vec<Vec<u8>> {
            let all = found.iter().zip(payloads).map(|(stored, payload)| {
                let mut decoded = vec![0; payload.len()];
                let consumed = decoder.decode(stored, &mut decoded).unwrap();
                assert_eq!(stored.get(consumed..), Some(&b"the next chunk"[..]));
                decoded
            });
            all.collect()
        };
        decoder.set_memo(Some(Box::new(DecodeMemo::recording(usize::MAX))));
        assert_eq!(decode(&mut decoder), payloads);
        let mut memo = decoder.set_memo(None).unwrap();
        assert!(memo.payloads().eq(payloads));
        assert!(memo.order().eq([0, 1]));
        // Other payloads of the same lengths show that the stand-ins are decoded.
        let mut chunks = StandInChunks::none_of(2);
        let add = |stored: &mut Vec<u8>| {
            stored.extend(chunk(&zstd, b"six six six six"));
            Ok::<_, ()>(())
        };
        chunks.add(0, add).unwrap();
        assert_eq!([chunks.has(0), chunks.has(1)], [true, false]);
        memo.give_back();
        memo.set_stand_ins(Some(StandIns::of_packs(ChunkDecoder::new(Decoders::for_spec(&zstd)), chunks)));
        decoder.set_memo(Some(memo));
        assert_eq!(decode(&mut decoder), [&b"six six six six"[..], payloads[1]]);
    }
}
