//! The structure of a zstd frame: its header and the lengths of its blocks, read without decoding.
//!
//! Source: RFC 8878, section 3.1.1. A magicless frame is the same without the first field.
//!
//! | field | length | meaning |
//! |---|---|---|
//! | magic | 4 | `28 b5 2f fd`; absent in a magicless frame |
//! | descriptor | 1 | bits 7-6 content size flag, 5 single segment, 3 reserved, 2 checksum, 1-0 dictionary id flag |
//! | window | 1, or 0 | absent in a single segment |
//! | dictionary id | 0, 1, 2, 4 | little-endian, by its flag |
//! | content size | 0 or 1, 2, 4, 8 | little-endian, by its flag; 256 is added to a two-byte one |
//! | blocks | 3 + content each | header, little-endian: bit 0 last, bits 1-2 type, bits 3-23 size |
//! | checksum | 4, or 0 | low half of XXH64 of the content, little-endian |

use std::io::BufRead;

use crate::checksum;
use crate::error::CodecError;
use crate::stored::StoredBytes;

/// The name of the body in messages.
pub(super) const FRAME: &str = "zstd frame";

/// The first four bytes of a standard frame.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The largest window that a decoder accepts, as the base-2 logarithm of its length in bytes: that of level 22.
///
/// It bounds the memory of a decoder that streams. A decoder that writes to the caller's buffer needs no window, but
/// whether a chunk can be read must not depend on how it is read.
pub(crate) const MAX_WINDOW_LOG: u32 = 27;

/// The maximum number of payload bytes in one block.
pub(super) const MAX_BLOCK_CONTENT: u64 = 128 << 10;

/// The minimum length of a block: its header and the byte that it repeats.
const MIN_BLOCK_LEN: u64 = 4;

/// The length of the longest header, which has every field at its greatest length.
const MAX_HEADER_LEN: usize = 4 + 1 + 1 + 4 + 8;

const BLOCK_HEADER_LEN: usize = 3;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    bytes: [u8; MAX_HEADER_LEN],
    len: usize,
    /// The payload length, if the frame states it.
    pub(crate) content_size: Option<u64>,
    /// A checksum follows the last block.
    pub(super) checksum: bool,
    /// The identifier of the frame's dictionary, if the frame names one.
    pub(super) dictionary: Option<u32>,
}

/// The result of a walk over the blocks of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameExtent {
    /// The length of the frame, from the header to the last block or the checksum.
    pub(super) frame_len: usize,
    /// The maximum number of payload bytes in the blocks.
    pub(super) most_content: u64,
}

impl FrameHeader {
    /// Takes the header at the start of `stored`.
    ///
    /// # Errors
    /// When the header is truncated or the window is above the limit.
    pub(super) fn take<R: BufRead + ?Sized>(
        stored: &mut StoredBytes<'_, R>,
        standard: bool,
    ) -> Result<Self, CodecError> {
        let mut fields = Fields { stored, bytes: [0; MAX_HEADER_LEN], len: 0 };
        if standard && fields.take::<4>()? != MAGIC {
            return Err(corrupt("28b52ffd", "another magic number".to_owned()));
        }
        let [descriptor] = fields.take()?;
        if descriptor & 0x08 != 0 {
            return Err(corrupt("a reserved bit that is clear", format!("descriptor {descriptor:#04x}")));
        }
        let single_segment = descriptor & 0x20 != 0;
        let declared_window = if single_segment { None } else { Some(window_len(fields.take()?)) };
        let dictionary = match descriptor & 0x03 {
            0 => 0,
            1 => u32::from(u8::from_le_bytes(fields.take()?)),
            2 => u32::from(u16::from_le_bytes(fields.take()?)),
            _ => u32::from_le_bytes(fields.take()?),
        };
        let content_size = match descriptor >> 6 {
            0 if !single_segment => None,
            0 => Some(u64::from(u8::from_le_bytes(fields.take()?))),
            1 => Some(u64::from(u16::from_le_bytes(fields.take()?)) + 256),
            2 => Some(u64::from(u32::from_le_bytes(fields.take()?))),
            _ => Some(u64::from_le_bytes(fields.take()?)),
        };
        // The window of a single segment is its content.
        check_window(declared_window.or(content_size).unwrap_or_default())?;
        Ok(FrameHeader {
            bytes: fields.bytes,
            len: fields.len,
            content_size,
            checksum: descriptor & 0x04 != 0,
            dictionary: (dictionary != 0).then_some(dictionary),
        })
    }

    /// The bytes of the header, including the magic number.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Refuses a content size that `available` stored bytes cannot hold, before anything is allocated for it.
    pub(crate) fn check_claim(&self, available: u64) -> Result<(), CodecError> {
        let most = (available / MIN_BLOCK_LEN).saturating_mul(MAX_BLOCK_CONTENT);
        match self.content_size {
            Some(claimed) if claimed > most => Err(corrupt(
                "a content size that the stored bytes can hold",
                format!("{claimed} payload bytes claimed by {available} stored bytes"),
            )),
            _ => Ok(()),
        }
    }

    /// The length of the whole frame at the start of `stored`, found by stepping from block to block.
    ///
    /// # Errors
    /// When the frame extends beyond `stored`, or a block has the reserved type.
    pub(super) fn frame_len(&self, stored: &[u8]) -> Result<usize, CodecError> {
        self.extent(stored).map(|extent| extent.frame_len)
    }

    /// The length of the frame at the start of `stored`, and the maximum number of payload bytes in its blocks.
    ///
    /// # Errors
    /// As [`frame_len`](Self::frame_len).
    pub(super) fn extent(&self, stored: &[u8]) -> Result<FrameExtent, CodecError> {
        const RAW: usize = 0;
        const RUN: usize = 1;
        const RESERVED: usize = 3;
        let mut most_content = 0u64;
        let mut position = self.len;
        let mut skip = |length: usize| {
            let start = position;
            position += length;
            stored.get(start..position).ok_or_else(|| truncated(stored))
        };
        loop {
            let header = skip(BLOCK_HEADER_LEN)?.iter().rev().fold(0, |header, byte| header << 8 | usize::from(*byte));
            let size = header >> 3;
            let (content_len, most) = match (header >> 1) & 3 {
                RESERVED => return Err(corrupt("a known block type", "the reserved type".to_owned())),
                RAW => (size, size as u64),
                RUN => (1, size as u64),
                _ => (size, MAX_BLOCK_CONTENT),
            };
            skip(content_len)?;
            most_content = most_content.saturating_add(most);
            if header & 1 != 0 {
                break;
            }
        }
        if self.checksum {
            skip(checksum::LEN)?;
        }
        Ok(FrameExtent { frame_len: position, most_content })
    }
}

/// The length in bytes of the window of a window descriptor: at most 3.75 TiB.
fn window_len([descriptor]: [u8; 1]) -> u64 {
    let base = 1u64 << (10 + (descriptor >> 3));
    base + base / 8 * u64::from(descriptor & 7)
}

fn check_window(window: u64) -> Result<(), CodecError> {
    if window <= 1 << MAX_WINDOW_LOG {
        return Ok(());
    }
    Err(corrupt("a window of at most 128 MiB", format!("{window} bytes")))
}

/// Takes the fields of a header and records their bytes.
struct Fields<'s, 'a, R: BufRead + ?Sized> {
    stored: &'s mut StoredBytes<'a, R>,
    bytes: [u8; MAX_HEADER_LEN],
    len: usize,
}

impl<R: BufRead + ?Sized> Fields<'_, '_, R> {
    fn take<const LEN: usize>(&mut self) -> Result<[u8; LEN], CodecError> {
        let field = self.stored.take_array::<LEN>()?;
        if let Some(room) = self.bytes.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut) {
            *room = field;
        }
        self.len += LEN;
        Ok(field)
    }
}

fn truncated(stored: &[u8]) -> CodecError {
    CodecError::Truncated { codec: FRAME, available: stored.len() as u64 }
}

pub(super) fn corrupt(expected: &'static str, found: String) -> CodecError {
    CodecError::Corrupt { codec: FRAME, expected, found }
}
