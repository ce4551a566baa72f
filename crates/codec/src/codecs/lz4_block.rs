//! LZ4 blocks: what the bodies of `lz4`, `lz4hc` and `lz4_flex`, and revlog chunks under all three, have in common.
//!
//! Source: the LZ4 block format description of the LZ4 project. A block does not say where it ends, nor how long its
//! payload is; whoever stores one has to.

use crate::error::CodecError;

/// How messages name a block.
pub(crate) const BLOCK: &str = "lz4 block";

/// How messages name the body.
pub(crate) const BODY: &str = "lz4 body";

/// The longest payload of a block, in bytes (`LZ4_MAX_INPUT_SIZE`).
pub(crate) const MAX_PAYLOAD: usize = 0x7e00_0000;

/// The most payload bytes that one stored byte stands for: a byte `ff` that continues the length of a match.
pub(crate) const MAX_EXPANSION: u64 = 255;

/// The farthest that a match may lie behind, and so all of a dictionary that is of use, in bytes.
pub(crate) const WINDOW: usize = 64 << 10;

/// The room that the block of a payload may need, in bytes: enough for every compressor.
pub(crate) fn bound(payload_len: usize) -> usize {
    lz4_flex::block::get_maximum_output_size(payload_len)
}

/// The error for a block that does not follow the format; `codec` names what it lies in.
pub(crate) fn invalid(codec: &'static str, found: String) -> CodecError {
    CodecError::Corrupt { codec, expected: "a valid block", found }
}
