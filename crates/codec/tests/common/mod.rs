//! Helpers for several test files.
#![allow(dead_code, reason = "each test file uses only a part")]

use proptest::prelude::*;
use rand::Rng;
use rand::rngs::SmallRng;
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, RevlogDecoder, RevlogEncoder};

const SPEC_COUNT: usize = if cfg!(feature = "zlib-ng") { 57 } else { 54 };

/// One spec for each codec and container option, at fast levels that take different paths.
pub(crate) const SPECS: [&str; SPEC_COUNT] = [
    "store",
    "store,checksum=no",
    "zlib:0",
    "zlib:1",
    "zlib",
    "zlib:9",
    #[cfg(feature = "zlib-ng")]
    "zlib-ng:0",
    #[cfg(feature = "zlib-ng")]
    "zlib-ng:1",
    #[cfg(feature = "zlib-ng")]
    "zlib-ng:9",
    "zlib-rs:0",
    "zlib-rs:1",
    "zlib-rs",
    "zlib-rs:9",
    "libdeflate:1",
    "libdeflate",
    "libdeflate:12",
    "zstd:-7",
    "zstd",
    "zstd:9",
    "zstd:19",
    "zstd,checksum=no",
    "zstd,frame=standard",
    "zstd:5,checksum=no,frame=standard",
    "lz4",
    "lz4:20",
    "lz4,checksum=no",
    "lz4hc:1",
    "lz4hc",
    "lz4hc:12",
    "lz4hc:4,checksum=no",
    "lz4hc:2",
    "lz4_flex",
    "lz4_flex,checksum=no",
    "snappy",
    "snappy,checksum=no",
    "lzo:1",
    "lzo",
    "lzo:7",
    "lzo:8",
    "lzo:9",
    "lzo,checksum=no",
    "deflate:0",
    "deflate",
    "deflate:1,checksum=no",
    "miniz:0",
    "miniz:1",
    "miniz:10",
    "sirocco:0",
    "sirocco:1",
    "sirocco:9",
    "zopfli:1",
    "brotli:1",
    "brotli,checksum=no",
    "lzma:0",
    "lzma:6,checksum=no",
    "xz:1",
    "bzip2",
];

/// Specs at levels that are too slow for more than a few payloads.
pub(crate) const SLOW_SPECS: [&str; 6] = ["zopfli", "brotli:0", "brotli:11", "lzma:9", "xz:9,checksum=no", "bzip2:1"];

pub(crate) fn spec(typed: &str) -> CodecSpec {
    typed.parse().unwrap()
}

pub(crate) fn encoder(typed: &str) -> ChunkEncoder {
    ChunkEncoder::new(&spec(typed)).unwrap()
}

pub(crate) fn decoder(typed: &str) -> ChunkDecoder {
    ChunkDecoder::for_spec(&spec(typed))
}

pub(crate) fn encode(typed: &str, payload: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    assert_eq!(encoder(typed).encode(payload, &mut stored).unwrap(), stored.len());
    stored
}

/// The revlog chunk of `payload`.
pub(crate) fn revlog_chunk(typed: &str, payload: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    let length = RevlogEncoder::new(&spec(typed)).unwrap().encode(payload, &mut stored).unwrap();
    assert_eq!(length, stored.len());
    stored
}

/// The payload of a revlog chunk, of at most `limit` bytes.
pub(crate) fn revlog_payload(decoder: &mut RevlogDecoder, stored: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let mut payload = Vec::new();
    match decoder.decode(stored, limit, &mut payload) {
        Ok(length) => {
            assert_eq!(length, payload.len());
            Ok(payload)
        }
        Err(error) => {
            assert_eq!(payload.len(), 0, "a part of a damaged payload was left in the buffer");
            Err(error.to_string())
        }
    }
}

/// Compressible bytes like text, without long runs.
pub(crate) fn text(length: usize) -> Vec<u8> {
    let words = ["tree ", "parent ", "author ", "0123456789abcdef ", "src/", ".rs\n", "committer ", "fn "];
    let mut state = 7u32;
    let mut bytes = Vec::with_capacity(length + 32);
    while bytes.len() < length {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.extend_from_slice(words[(state >> 24) as usize % words.len()].as_bytes());
        bytes.push((state >> 16) as u8);
    }
    bytes.truncate(length);
    bytes
}

/// Bytes that no codec shrinks.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Payloads of the sizes and textures in packs: empty, tiny, repetitive, random, mixed.
pub(crate) fn payload() -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 1usize..60), 0..12);
    prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 1..64),
        prop::collection::vec(any::<u8>(), 64..4096),
        fragments.prop_map(|parts| parts.into_iter().flat_map(|(part, times)| part.repeat(times)).collect()),
        (0usize..40_000).prop_map(text),
    ]
}

/// Flips, overwrites, removes, duplicates or cuts off bytes of `stored`.
pub(crate) fn damage(stored: &mut Vec<u8>, random: &mut SmallRng) {
    for _ in 0..random.random_range(1..4) {
        if stored.is_empty() {
            return;
        }
        let place = random.random_range(0..stored.len());
        match random.random_range(0..10) {
            0..4 => stored[place] ^= 1 << random.random_range(0..8),
            4..6 => stored[place] = random.random(),
            6 => drop(stored.remove(place)),
            7 => stored.insert(place, random.random()),
            8 => {
                let length = random.random_range(1..20).min(stored.len() - place);
                stored.copy_within(place..place + length, 0);
            }
            _ => stored.truncate(place),
        }
    }
}

/// Whether damage removed the checksum of the chunk `original`, which a reader cannot know.
pub(crate) fn lost_checksum(original: &[u8], stored: &[u8]) -> bool {
    let unchecked_tag = stored.first().is_some_and(|tag| *tag != original[0] && tag & 0x80 != 0);
    let standard_frame = stored.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    unchecked_tag || standard_frame && stored.get(4).is_some_and(|descriptor| descriptor & 0x04 == 0)
}
