//! Payloads that were decoded before, so that reading a repository can be timed with next to nothing to decode.
//!
//! The time that a reader takes with all payloads remembered, beside its time where it looks for them and decodes, is the
//! time that decoding takes in its place: between look-ups and the application of deltas, where it finds less in the processor's caches, and
//! leaves less there for others, than in a loop of its own. With the chunks of another codec in the place of payloads, it
//! is the time that a reader takes under that codec.

use std::{fmt, hash::Hasher, hint::black_box, ops::Range};

use rustc_hash::{FxHashMap, FxHasher};
use xxhash_rust::xxh3::xxh3_64;

use crate::{decoder::ChunkDecoder, revlog::RevlogDecoder};

/// The number of bytes at the start of a chunk, and at the end of its buffer, that identify it, with its place in memory and
/// the lengths of buffer and payload.
const OPENING_LEN: usize = 64;

/// A payload may be remembered if at least this many like it fit the limit.
const LEAST_REMEMBERED: usize = 2;

/// Decoded payloads by chunk.
///
/// A replay mostly asks for the chunks in the order in which they were recorded. So that it finds them at a cost that is next
/// to nothing beside that of decoding, the memo expects them in that order, and looks up only those that come in another.
///
/// Where there is more to remember than its limit, it remembers a random sample of the chunks, drawn by their keys: half of
/// them, or a quarter, and so on.
#[derive(Debug, Default)]
pub struct DecodeMemo {
    /// What is remembered in the order of recording, repetitions included.
    order: Vec<Asked>,
    known: Vec<Known>,
    by_key: FxHashMap<u64, u32>,
    /// The place in `order` of the chunk that is expected next.
    next: usize,
    payloads: Vec<u8>,
    /// The limit of their bytes.
    limit: usize,
    /// Whether payloads are remembered, rather than given back.
    is_recording: bool,
    /// The keys that are remembered have zeros here, once they are mixed.
    mask: u64,
    /// The lengths of all payloads that were decoded while recording, repetitions and those that are not remembered included.
    decoded: Vec<u32>,
    stand_ins: Option<StandIns>,
    /// See [`set_only_looks`](Self::set_only_looks).
    only_looks: bool,
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

/// One request for a chunk that is remembered.
#[derive(Debug, Clone, Copy)]
struct Asked {
    key: u64,
    /// Its place in [`DecodeMemo::known`].
    place: u32,
    /// Its place in [`DecodeMemo::decoded`].
    number: u32,
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

    /// From now on only looks for what it would give back, and has it decoded; `false` ends that. A reader takes longer
    /// then than with what is given back by just what decoding takes, since both look. Stand-ins are decoded in any case.
    pub fn set_only_looks(&mut self, only_looks: bool) {
        self.only_looks = only_looks;
    }

    /// Whether it only looks.
    pub fn only_looks(&self) -> bool {
        self.only_looks
    }

    /// The part of the decoded bytes that it remembers: 1 within the limit.
    pub fn part(&self) -> f64 {
        match self.decoded.iter().map(|length| f64::from(*length)).sum::<f64>() {
            0.0 => 1.0,
            decoded => self.lengths().sum::<f64>() / decoded,
        }
    }

    /// The number of chunks of one length that would say as much about the cost of a byte as those that it remembers.
    pub fn effective_chunks(&self) -> f64 {
        let mut bytes = vec![0.0; self.known.len()];
        for (place, length) in self.order().zip(self.lengths()) {
            if let Some(sum) = bytes.get_mut(place) {
                *sum += length;
            }
        }
        let squares: f64 = bytes.iter().map(|bytes| bytes * bytes).sum();
        if squares > 0.0 { bytes.iter().sum::<f64>().powi(2) / squares } else { 0.0 }
    }

    /// The lengths of what is remembered, in the order of the recording, repetitions included.
    fn lengths(&self) -> impl Iterator<Item = f64> {
        self.order().filter_map(|place| Some(self.known.get(place)?.len as f64))
    }

    /// The length of every payload that was decoded while recording, with its number among [`payloads`](Self::payloads) if it
    /// is remembered.
    pub fn decoded(&self) -> impl Iterator<Item = (u64, Option<usize>)> {
        let mut order = self.order.iter().peekable();
        (0..).zip(&self.decoded).map(move |(number, length)| {
            let asked = order.next_if(|asked| asked.number == number);
            (u64::from(*length), asked.map(|asked| asked.place as usize))
        })
    }

    /// The different payloads that it remembers, in the order of the recording.
    pub fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        self.known.iter().map(|known| self.payloads.get(known.start..known.start + known.len).unwrap_or_default())
    }

    /// The number of each payload among [`payloads`](Self::payloads), in the order of the recording, repetitions included.
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.order.iter().map(|asked| asked.place as usize)
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
        if self.is_recording || !self.samples(key) {
            return None;
        }
        let place = match self.order.get(self.next) {
            Some(asked) if asked.key == key => asked.place as usize,
            _ => {
                let place = *self.by_key.get(&key)? as usize;
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
        if self.only_looks {
            // One that stands in is brought from memory as well.
            black_box(payload.first());
            return None;
        }
        Some((Remembered::Payload(payload), known.consumed))
    }

    /// Remembers a payload, while recording.
    pub(crate) fn put(&mut self, key: u64, payload: &[u8], consumed: usize) {
        if !self.is_recording {
            return;
        }
        let (Ok(number), Ok(length)) = (u32::try_from(self.decoded.len()), u32::try_from(payload.len())) else {
            return;
        };
        self.decoded.push(length);
        if let Some(place) = self.by_key.get(&key) {
            self.order.push(Asked { key, place: *place, number });
            return;
        }
        // A long one would leave no room for others.
        if payload.len() > self.limit / LEAST_REMEMBERED {
            return;
        }
        while self.samples(key) && self.payloads.len() + payload.len() > self.limit {
            self.thin_out();
        }
        if !self.samples(key) {
            return;
        }
        let Ok(place) = u32::try_from(self.known.len()) else { return };
        let known = Known { first: self.order.len(), start: self.payloads.len(), len: payload.len(), consumed };
        self.payloads.extend_from_slice(payload);
        self.known.push(known);
        self.by_key.insert(key, place);
        self.order.push(Asked { key, place, number });
    }

    /// Whether the chunk with this key belongs to the sample.
    fn samples(&self, key: u64) -> bool {
        mixed(key) & self.mask == 0
    }

    /// Halves the sample, and forgets what no longer belongs to it.
    fn thin_out(&mut self) {
        self.mask = self.mask << 1 | 1;
        let (order, known) = (std::mem::take(&mut self.order), std::mem::take(&mut self.known));
        self.by_key.clear();
        let mut end = 0;
        for Asked { key, place, number } in order {
            let Some(old) = known.get(place as usize).filter(|_| self.samples(key)) else { continue };
            // There are fewer than before, and those had such places.
            let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
            let place = *self.by_key.entry(key).or_insert_with(|| {
                // Payloads are in the order in which they come first, so what is moved has been read.
                self.payloads.copy_within(old.start..old.start + old.len, end);
                self.known.push(Known { first: self.order.len(), start: end, ..*old });
                end += old.len;
                next
            });
            self.order.push(Asked { key, place, number });
        }
        self.payloads.truncate(end);
    }
}

/// Mixes the bits of a key: they depend on addresses, and are not uniform. The finalizer of SplitMix64 (Steele, Lea and
/// Flood, 2014).
fn mixed(key: u64) -> u64 {
    let key = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ key >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ key >> 31
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
        let mut memo = DecodeMemo::recording(20);
        memo.put(1, b"abc", 7);
        assert_eq!(payload(&mut memo, 1), None, "still recording");
        memo.put(2, b"too long for it", 9);
        memo.give_back();
        memo.put(3, b"x", 1);
        assert_eq!(payload(&mut memo, 1), Some((b"abc".to_vec(), 7)));
        assert_eq!(payload(&mut memo, 2), None);
        assert_eq!(payload(&mut memo, 3), None);
        assert_eq!(memo.part(), 3.0 / 18.0);
        for (only_looks, expected) in [(true, None), (false, Some((b"abc".to_vec(), 7)))] {
            memo.give_back();
            memo.set_only_looks(only_looks);
            assert_eq!(payload(&mut memo, 1), expected);
        }
    }

    #[test]
    fn sample_is_remembered_where_all_is_too_much() {
        let bytes = |key: u64| vec![key as u8; 1 + (key % 7) as usize];
        let asked: Vec<u64> = (0..4_000).flat_map(|key| std::iter::repeat_n(key, 1 + (key % 3) as usize)).collect();
        let mut memo = DecodeMemo::recording(5_000);
        asked.iter().for_each(|key| memo.put(*key, &bytes(*key), *key as usize));
        assert!((0.2..0.3).contains(&memo.part()), "16,000 bytes in 5,000: a quarter, {}", memo.part());
        assert!(memo.payloads().map(<[u8]>::len).sum::<usize>() <= 5_000);
        let chunks = memo.payloads().count() as f64;
        assert!((0.5 * chunks..chunks).contains(&memo.effective_chunks()), "{chunks} {}", memo.effective_chunks());

        let found: Vec<bool> = memo.decoded().map(|(_, place)| place.is_some()).collect();
        let lengths: Vec<u64> = memo.decoded().map(|(length, _)| length).collect();
        assert_eq!(lengths, asked.iter().map(|key| 1 + key % 7).collect::<Vec<_>>());
        let of = |is_found: bool| lengths.iter().zip(&found).filter(move |(_, found)| **found == is_found);
        let sum = |is_found| of(is_found).map(|(length, _)| *length as f64).sum::<f64>();
        assert_eq!(memo.part(), sum(true) / (sum(true) + sum(false)));

        // In the order of the recording, and in another.
        let with_found: Vec<(u64, bool)> = asked.iter().copied().zip(found).collect();
        for all in [with_found.clone(), with_found.into_iter().rev().collect()] {
            memo.give_back();
            for (key, is_found) in all {
                let expected = is_found.then(|| (bytes(key), key as usize));
                assert_eq!(payload(&mut memo, key), expected, "{key}");
            }
        }
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
