//! The opening of a chunk: what its first bytes say before anything is decoded. Every decoder reads it with this
//! module.
//!
//! | first bytes | chunk |
//! |---|---|
//! | low nibble 8 | an RFC 1950 stream |
//! | `28 b5 2f fd` | a standard zstd frame |
//! | any other | a [tag](crate::tag), then a body, which starts with its [head](BodyHead) |
//!
//! Chunks of a Mercurial revlog have openings of their own: see [`revlog`].

mod head;
pub(crate) mod revlog;

use std::io::BufRead;

pub(crate) use self::head::{BLOCKED_BODY, BodyHead, claimed_len, take_blocked_len};
use crate::codecs::zstd::frame;
use crate::error::CodecError;
use crate::stored::StoredBytes;
use crate::tag::{self, TAG_LEN, Tag};

/// The flag of an RFC 1950 header, in its second byte, that announces the dictionary's Adler-32 (`FDICT`).
const PRESET_DICTIONARY: u8 = 0x20;

/// The number of bytes that distinguish all openings. Every chunk without a tag has more.
const DISTINCT_LEN: usize = 6;

/// The length of the longest opening with the head that follows it: tag, dictionary and two lengths, or tag, dictionary
/// and the header of a zstd frame.
pub(crate) const MAX_LEN: usize = 32;

/// The start of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// An RFC 1950 stream; one with a preset dictionary names it by its Adler-32.
    ZlibStream { preset: Option<u32> },
    /// A standard zstd frame.
    StandardZstdFrame,
    /// A tag, which a body follows.
    Tagged(Tag),
}

impl Opening {
    /// Reads the opening of the chunk at the start of `stored`.
    ///
    /// # Errors
    /// When there is no byte, or an invalid tag byte.
    #[inline]
    pub(crate) fn of(stored: &[u8]) -> Result<Self, CodecError> {
        let Some(&first) = stored.first() else { return Err(CodecError::EmptyChunk) };
        if !tag::is_untagged(first) {
            return Tag::parse(stored).map(Opening::Tagged);
        }
        // 28 could start a zlib stream with a 1 KiB window, but 28 b5 could not: 0x28b5 is not a multiple of 31.
        if stored.starts_with(&frame::MAGIC) {
            return Ok(Opening::StandardZstdFrame);
        }
        let preset = match stored {
            [_, flags, a, b, c, d, ..] if flags & PRESET_DICTIONARY != 0 => Some(u32::from_be_bytes([*a, *b, *c, *d])),
            _ => None,
        };
        Ok(Opening::ZlibStream { preset })
    }

    /// The position of the body. A chunk without a tag is all body.
    #[inline]
    pub(crate) fn body_start(self) -> usize {
        match self {
            Opening::Tagged(tag) => tag.len(),
            Opening::ZlibStream { .. } | Opening::StandardZstdFrame => 0,
        }
    }
}

/// An opening from a source that cannot yield its bytes again.
pub(crate) struct TakenOpening {
    pub(crate) opening: Opening,
    bytes: [u8; DISTINCT_LEN],
    body_len: usize,
}

impl TakenOpening {
    /// Takes the bytes that distinguish the openings.
    ///
    /// # Errors
    /// As [`Opening::of`], and when the source cannot be read.
    pub(crate) fn take<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>) -> Result<Self, CodecError> {
        let mut bytes = [0; DISTINCT_LEN];
        let (first, rest) = bytes.split_at_mut(TAG_LEN);
        let mut taken = stored.take_into(first)?;
        let more = match first.first() {
            Some(first) if tag::is_untagged(*first) => rest.len(),
            Some(first) => Tag::len_of(*first) - TAG_LEN,
            None => 0,
        };
        taken += stored.take_into(rest.get_mut(..more).unwrap_or_default())?;
        let opening = Opening::of(bytes.get(..taken).unwrap_or_default())?;
        let body_len = if matches!(opening, Opening::Tagged(_)) { 0 } else { taken };
        Ok(TakenOpening { opening, bytes, body_len })
    }

    /// The taken bytes that belong to the body: all of them if there is no tag.
    pub(crate) fn body(&self) -> &[u8] {
        self.bytes.get(..self.body_len).unwrap_or_default()
    }
}
