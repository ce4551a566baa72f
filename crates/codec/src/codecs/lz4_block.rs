//! LZ4 blocks: what the bodies of `lz4` and `lz4hc`, and revlog chunks under both, have in common.
//!
//! Source: the LZ4 block format description of the LZ4 project. A block does not say where it ends, nor how long its
//! payload is; whoever stores one has to.

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};

use super::lz4hc::HighCompressor;
use crate::error::{CodecError, FoundLength};

/// How messages name a block.
pub(crate) const BLOCK: &str = "lz4 block";

/// The longest payload of a block, in bytes (`LZ4_MAX_INPUT_SIZE`).
pub(crate) const MAX_PAYLOAD: usize = 0x7e00_0000;

/// The most payload bytes that one stored byte stands for: a byte `ff` that continues the length of a match.
pub(crate) const MAX_EXPANSION: u64 = 255;

/// The room that the block of a payload may need, in bytes: enough for both compressors.
pub(crate) fn bound(payload_len: usize) -> usize {
    get_maximum_output_size(payload_len)
}

/// Decodes `block` into `payload`, which has the length that was stored beside the block.
///
/// # Errors
/// When the block is damaged or its payload has another length; `codec` names the body in them.
pub(crate) fn decompress(block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
    let corrupt = |found| CodecError::Corrupt { codec, expected: "a valid block", found };
    let written = decompress_into(block, payload).map_err(|error| corrupt(error.to_string()))?;
    if written == payload.len() {
        return Ok(());
    }
    let found = FoundLength::Exactly(written as u64);
    Err(CodecError::PayloadLength { codec, expected: payload.len() as u64, found })
}

/// Who compresses: every decoder reads both.
pub(crate) enum BlockCompressor {
    /// lz4_flex, for `lz4`. Tables are made when first used.
    Fast(Box<FastCompressor>),
    /// liblz4, for `lz4hc`.
    High(HighCompressor),
}

impl BlockCompressor {
    /// lz4_flex.
    pub(crate) fn fast() -> Self {
        BlockCompressor::Fast(Box::new(FastCompressor { small_table: None, large_table: None }))
    }

    /// liblz4 at `level`, which is 1 to 12.
    pub(crate) fn high(level: i32) -> Self {
        BlockCompressor::High(HighCompressor::new(level))
    }

    /// Writes the block of `payload`, of at most [`MAX_PAYLOAD`] bytes, to the start of `room`, of at least
    /// [`bound`] bytes; returns its length.
    ///
    /// # Errors
    /// When the implementation fails.
    pub(crate) fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, CodecError> {
        match self {
            BlockCompressor::Fast(fast) => fast.compress(payload, room),
            BlockCompressor::High(high) => high.compress(payload, room),
        }
    }
}

/// lz4_flex with tables that are reused.
pub(crate) struct FastCompressor {
    small_table: Option<CompressTable>,
    large_table: Option<CompressTable>,
}

impl FastCompressor {
    fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, CodecError> {
        // The small table is faster to clear and takes payloads below 64 KiB; the library would replace
        // it by a large one for good at the first longer payload, hence one of each.
        let table = if payload.len() < usize::from(u16::MAX) {
            self.small_table.get_or_insert_with(CompressTable::small)
        } else {
            self.large_table.get_or_insert_with(CompressTable::large)
        };
        compress_into_with_table(payload, room, table)
            .map_err(|error| CodecError::Implementation { codec: BLOCK, message: error.to_string() })
    }
}
