//! What several test files need.
#![allow(dead_code, reason = "each test file uses its own part")]

use proptest::prelude::*;
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, RevlogDecoder, RevlogEncoder};

/// One spec for each codec and container option, at levels that take different paths.
pub(crate) const SPECS: [&str; 38] = [
    "store",
    "store,checksum=no",
    "zlib:0",
    "zlib:1",
    "zlib",
    "zlib:9",
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
];

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

/// Text-like bytes: compressible, without long runs.
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

/// Payloads of the sizes and textures that packs hold: empty, tiny, repetitive, random, mixed.
pub(crate) fn payload() -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 1usize..60), 0..12);
    prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 1..64),
        prop::collection::vec(any::<u8>(), 64..4096),
        fragments.prop_map(|parts| parts.into_iter().flat_map(|(part, times)| part.repeat(times)).collect()),
        (0usize..200_000).prop_map(text),
    ]
}
