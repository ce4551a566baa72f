//! The content of a delta's base as zstd prefix: which content can be a prefix, and how an encoder uses it for one
//! frame.

use zstd_safe::{CCtx, ResetDirective};

use super::failed;
use super::frame::FRAME;
use crate::checksum;
use crate::error::CodecError;

/// The first bytes of a dictionary of the library's own form (RFC 8878, section 5).
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// Whether `content` can be a prefix: it is not empty, and no decoder takes it for a dictionary.
pub(crate) fn can_be_prefix(content: &[u8]) -> bool {
    !content.is_empty() && !content.starts_with(&DICTIONARY_MAGIC)
}

/// The minimum length of our magicless frames with their tag byte: descriptor, content size, block header.
pub(crate) fn least_body_len(checksum: bool) -> usize {
    const TAG_DESCRIPTOR_SIZE_BLOCK_HEADER: usize = 1 + 1 + 1 + 3;
    TAG_DESCRIPTOR_SIZE_BLOCK_HEADER + if checksum { checksum::LEN } else { 0 }
}

pub(super) fn check_prefix(prefix: &[u8]) -> Result<(), CodecError> {
    if prefix.starts_with(&DICTIONARY_MAGIC) { Err(CodecError::BadBase { codec: FRAME }) } else { Ok(()) }
}

/// Lets `encoder` refer to `prefix` while `encode` encodes one frame.
#[allow(unsafe_code)]
pub(super) fn with_prefix(
    encoder: &mut CCtx<'static>,
    prefix: &[u8],
    encode: impl FnOnce(&mut CCtx<'static>) -> zstd_safe::SafeResult,
) -> Result<usize, CodecError> {
    // SAFETY: the context keeps a pointer to the prefix and uses it only for the next frame. The prefix is removed
    // below, whether that frame succeeded or not, so the pointer is never used after the borrow of `prefix` ends.
    let unbounded: &'static [u8] = unsafe { std::slice::from_raw_parts(prefix.as_ptr(), prefix.len()) };
    let encoded = encoder.ref_prefix(unbounded).and_then(|_| encode(encoder));
    let removed = encoder.reset(ResetDirective::SessionOnly).and_then(|_| encoder.ref_prefix(&[]));
    let written = encoded.map_err(failed)?;
    removed.map_err(failed)?;
    Ok(written)
}
