//! Payloads that were decoded before, so that reading a repository can be timed with next to nothing to decode.
//!
//! The time that a reader takes with all payloads remembered, against its time without, is the time that decoding takes
//! in its place: between look-ups and the application of deltas, where it finds less in the processor's caches, and
//! leaves less there for others, than in a loop of its own.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};
use xxhash_rust::xxh3::xxh3_64;

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

    /// The payload of a chunk and the number of its stored bytes, if it is known and to be given back.
    pub(crate) fn get(&mut self, key: u64) -> Option<(&[u8], usize)> {
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
        Some((self.payloads.get(known.start..known.start + known.len)?, known.consumed))
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

    #[test]
    fn payloads_are_given_back_after_recording() {
        let mut memo = DecodeMemo::recording(10);
        memo.put(1, b"abc", 7);
        assert_eq!(memo.get(1), None, "still recording");
        memo.put(2, b"too long to fit", 9);
        memo.give_back();
        memo.put(3, b"x", 1);
        assert_eq!(memo.get(1), Some((&b"abc"[..], 7)));
        assert_eq!(memo.get(2), None);
        assert_eq!(memo.get(3), None);
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
                assert_eq!(memo.get(key), Some((expected, 5)), "{key} in {order:?}");
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
}
