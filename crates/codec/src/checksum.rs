//! The payload checksum of tagged bodies: the low 32 bits of XXH64 with seed 0, little-endian.
//!
//! It is the same function as the content checksum of a zstd frame, so all tagged bodies are equally well protected.

use xxhash_rust::xxh64::{Xxh64, xxh64};

use crate::error::CodecError;

/// The length of a checksum, in bytes.
pub(crate) const LEN: usize = 4;

const SEED: u64 = 0;

/// The checksum of a whole payload.
pub(crate) fn of(payload: &[u8]) -> u32 {
    low_half(xxh64(payload, SEED))
}

/// The checksum of a payload that arrives in pieces.
pub(crate) struct RunningChecksum(Xxh64);

impl RunningChecksum {
    pub(crate) fn new() -> Self {
        RunningChecksum(Xxh64::new(SEED))
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn value(&self) -> u32 {
        low_half(self.0.digest())
    }
}

/// Compares `found`, the checksum of a decoded payload, with the `stored` one.
pub(crate) fn verify(stored: [u8; LEN], found: u32, codec: &'static str) -> Result<(), CodecError> {
    let expected = u32::from_le_bytes(stored);
    if expected == found { Ok(()) } else { Err(CodecError::Checksum { codec, expected, found }) }
}

fn low_half(hash: u64) -> u32 {
    let [a, b, c, d, ..] = hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
