//! LZ4 blocks, which the bodies of `lz4`, `lz4hc` and `lz4_flex` and the revlog chunks of all three contain.
//!
//! Source: the LZ4 block format description of the LZ4 project. A block says neither where it ends nor how long its
//! payload is, so the container has to.

use crate::error::CodecError;

/// The name of a block in messages.
pub(crate) const BLOCK: &str = "lz4 block";

/// The name of the body in messages.
pub(crate) const BODY: &str = "lz4 body";

/// The longest payload of a block, in bytes (`LZ4_MAX_INPUT_SIZE`).
pub(crate) const MAX_PAYLOAD: usize = 0x7e00_0000;

/// The maximum number of payload bytes that one stored byte stands for: a byte `ff` continues the length of a match.
pub(crate) const MAX_EXPANSION: u64 = 255;

/// The longest distance of a match, and so the useful length of a dictionary, in bytes.
pub(crate) const WINDOW: usize = 64 << 10;

/// The maximum length of the block of a payload by any of the compressors, in bytes.
pub(crate) fn bound(payload_len: usize) -> usize {
    lz4_flex::block::get_maximum_output_size(payload_len)
}

/// The error for a block that does not follow the format; `codec` names what contains it.
pub(crate) fn invalid(codec: &'static str, found: String) -> CodecError {
    CodecError::Corrupt { codec, expected: "a valid block", found }
}
