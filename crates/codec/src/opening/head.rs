//! The head of a body: the lengths before its compressed bytes.
//!
//! | body | head |
//! |---|---|
//! | blocked | payload length; one chunk for each block follows |
//! | store, streams | payload length |
//! | blocks | payload length, block length |
//! | zstd | the frame's own header |
//! | RFC 1950 stream | none |
//!
//! Lengths are [LEB128](crate::leb128).

use std::io::BufRead;

use super::Opening;
use crate::BLOCK_LEN;
use crate::codec::{Codec, UNUSED_LEVEL};
use crate::codecs::block::BlockLengths;
use crate::codecs::zstd::Zstd;
use crate::codecs::zstd::frame::FrameHeader;
use crate::error::CodecError;
use crate::leb128;
use crate::stored::StoredBytes;
use crate::tag::{BodyLayout, Tag};

/// The name in messages of a chunk that is cut into blocks.
pub(crate) const BLOCKED_BODY: &str = "blocked body";

/// What precedes the compressed bytes of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyHead {
    /// Nothing: an RFC 1950 stream does not state the length of its payload.
    ZlibStream,
    /// The header of a zstd frame.
    Frame(FrameHeader),
    /// The length of a payload that is cut into blocks.
    Blocks { payload_len: u64 },
    /// The length of a payload that is stored.
    Store { payload_len: u64 },
    /// The length of a payload in a stream.
    Stream { payload_len: u64 },
    /// The lengths of a payload and its block.
    Block(BlockLengths),
}

impl BodyHead {
    /// Takes the head from `stored`, which starts with the body that follows `opening`.
    ///
    /// # Errors
    /// When the head is truncated or invalid.
    pub(crate) fn take<R: BufRead + ?Sized>(
        opening: Opening,
        stored: &mut StoredBytes<'_, R>,
    ) -> Result<Self, CodecError> {
        match opening {
            Opening::ZlibStream { .. } => Ok(BodyHead::ZlibStream),
            Opening::StandardZstdFrame => Zstd::new(UNUSED_LEVEL, true).take_header(stored).map(BodyHead::Frame),
            Opening::Tagged(tag) if tag.blocked => {
                take_blocked_len(stored).map(|payload_len| BodyHead::Blocks { payload_len })
            }
            Opening::Tagged(tag) => match tag.body.layout() {
                BodyLayout::Store => Ok(BodyHead::Store { payload_len: leb128::read(stored)? }),
                BodyLayout::Stream => Ok(BodyHead::Stream { payload_len: leb128::read(stored)? }),
                BodyLayout::Block => BlockLengths::take(stored).map(BodyHead::Block),
                BodyLayout::Frame => {
                    let mut zstd = Zstd::new(UNUSED_LEVEL, false);
                    zstd.set_checksum(tag.checksum);
                    zstd.take_header(stored).map(BodyHead::Frame)
                }
            },
        }
    }

    /// The payload length that the chunk claims, if it claims one.
    pub(crate) fn payload_len(&self) -> Option<u64> {
        match self {
            BodyHead::ZlibStream => None,
            BodyHead::Frame(header) => header.content_size,
            BodyHead::Block(lengths) => Some(lengths.payload),
            BodyHead::Blocks { payload_len } | BodyHead::Store { payload_len } | BodyHead::Stream { payload_len } => {
                Some(*payload_len)
            }
        }
    }
}

/// Takes the payload length of a blocked body.
///
/// # Errors
/// When the length is truncated, or one block could hold the payload.
pub(crate) fn take_blocked_len<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>) -> Result<u64, CodecError> {
    let payload_len = leb128::read(stored)?;
    if payload_len > BLOCK_LEN as u64 {
        return Ok(payload_len);
    }
    let found = format!("{payload_len} payload bytes");
    Err(CodecError::Corrupt { codec: BLOCKED_BODY, expected: "a payload longer than one block", found })
}

/// The payload length that the chunk with this tag claims. `stored` must hold all of the chunk. Errors name `codec`.
///
/// # Errors
/// When the head is damaged, or a zstd frame claims more than `stored` can hold.
pub(crate) fn claimed_len(tag: Tag, stored: &[u8], codec: &'static str) -> Result<u64, CodecError> {
    let body = stored.get(tag.len()..).unwrap_or_default();
    let mut rest = body;
    let head = BodyHead::take(Opening::Tagged(tag), &mut StoredBytes::new(&mut rest, codec))?;
    if let BodyHead::Frame(header) = &head {
        header.check_claim(body.len() as u64)?;
    }
    let none = || CodecError::Corrupt { codec, expected: "a payload length", found: "none".to_owned() };
    head.payload_len().ok_or_else(none)
}
