//! The tag byte: the first byte of every chunk that is neither a zlib stream nor a standard zstd frame.
//!
//! | bits | meaning |
//! |---|---|
//! | 0-3 | body: see [`Body`]; others reserved; 8 belongs to zlib, 0 is invalid |
//! | 4 | base prefix: reserved, must be clear |
//! | 5 | blocked: the payload is cut into chunks of [`BLOCK_LEN`](crate::BLOCK_LEN) payload bytes |
//! | 6 | dictionary: reserved, must be clear |
//! | 7 | no payload checksum |
//!
//! A zlib header's low nibble is 8 (RFC 1950, `CM`), so no tag byte can be taken for one.

use std::io::BufRead;

use crate::error::CodecError;
use crate::stored::StoredBytes;

/// Bytes that a tag takes.
pub(crate) const TAG_LEN: usize = 1;

const BODY_MASK: u8 = 0x0f;
const BASE_PREFIX: u8 = 0x10;
const BLOCKED: u8 = 0x20;
const DICTIONARY: u8 = 0x40;
const NO_CHECKSUM: u8 = 0x80;

/// The low nibble of the first byte of every RFC 1950 stream.
const ZLIB_NIBBLE: u8 = 8;

/// What follows a tag byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Store,
    Zstd,
    Lz4,
    Brotli,
    Lzma,
    Xz,
    Bzip2,
    Deflate,
}

impl Body {
    /// Every body of this format version, in the order of their numbers.
    pub(crate) const ALL: [Body; 8] =
        [Body::Store, Body::Zstd, Body::Lz4, Body::Brotli, Body::Lzma, Body::Xz, Body::Bzip2, Body::Deflate];

    /// The number in the tag byte's low nibble.
    pub(crate) fn nibble(self) -> u8 {
        match self {
            Body::Store => 1,
            Body::Zstd => 2,
            Body::Lz4 => 3,
            Body::Brotli => 6,
            Body::Lzma => 7,
            Body::Xz => 9,
            Body::Bzip2 => 10,
            Body::Deflate => 11,
        }
    }

    fn from_nibble(nibble: u8) -> Option<Self> {
        Body::ALL.into_iter().find(|body| body.nibble() == nibble)
    }

    /// The name of the body's codec.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Body::Store => "store",
            Body::Zstd => "zstd",
            Body::Lz4 => "lz4",
            Body::Brotli => "brotli",
            Body::Lzma => "lzma",
            Body::Xz => "xz",
            Body::Bzip2 => "bzip2",
            Body::Deflate => "deflate",
        }
    }

    /// The entry of a Mercurial repository's requirements for chunks that carry this body; `None` where revlogs have
    /// another container for it.
    pub(crate) fn revlog_requirement(self) -> Option<&'static str> {
        match self {
            Body::Store | Body::Zstd | Body::Lz4 => None,
            Body::Brotli => Some("exp-compression-brotli"),
            Body::Lzma => Some("exp-compression-lzma"),
            Body::Xz => Some("exp-compression-xz"),
            Body::Bzip2 => Some("exp-compression-bzip2"),
            Body::Deflate => Some("exp-compression-deflate"),
        }
    }

    /// Whether a payload too long for the codec is cut into blocks.
    pub(crate) fn is_blocked_when_long(self) -> bool {
        match self {
            Body::Lz4 => true,
            Body::Store | Body::Zstd | Body::Brotli | Body::Lzma | Body::Xz | Body::Bzip2 | Body::Deflate => false,
        }
    }
}

/// The bodies by number, for messages: `1 (store), 2 (zstd), ... or 11 (deflate)`.
fn known_bodies() -> String {
    let named: Vec<String> = Body::ALL.iter().map(|body| format!("{} ({})", body.nibble(), body.name())).collect();
    match named.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => named.concat(),
    }
}

/// A tag byte that is valid in this format version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) body: Body,
    pub(crate) checksum: bool,
    pub(crate) blocked: bool,
}

impl Tag {
    /// The byte.
    pub(crate) fn to_byte(self) -> u8 {
        let checksum = if self.checksum { 0 } else { NO_CHECKSUM };
        let blocked = if self.blocked { BLOCKED } else { 0 };
        self.body.nibble() | checksum | blocked
    }

    /// Reads a tag byte.
    ///
    /// # Errors
    /// When the body is not one of this version's, or a flag is set that it does not know.
    pub(crate) fn parse(tag: u8) -> Result<Self, CodecError> {
        let nibble = tag & BODY_MASK;
        let Some(body) = Body::from_nibble(nibble) else {
            let found = format!("body {nibble}");
            return Err(CodecError::Tag { tag, expected: format!("body {}", known_bodies()), found });
        };
        let reserved = |flag, name: &str| -> Result<(), CodecError> {
            if tag & flag == 0 {
                return Ok(());
            }
            Err(CodecError::Tag {
                tag,
                expected: "reserved flags to be clear".to_owned(),
                found: format!("flag {name}"),
            })
        };
        reserved(BASE_PREFIX, "0x10 (base prefix)")?;
        reserved(DICTIONARY, "0x40 (dictionary)")?;
        let blocked = tag & BLOCKED != 0;
        if blocked && !body.is_blocked_when_long() {
            let found = format!("flag 0x20 (blocked) on a {} body", body.name());
            return Err(CodecError::Tag {
                tag,
                expected: "blocks only where the codec cannot stream".to_owned(),
                found,
            });
        }
        Ok(Tag { body, checksum: tag & NO_CHECKSUM == 0, blocked })
    }
}

/// What a chunk's first bytes say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// An RFC 1950 stream starts here.
    ZlibStream,
    /// A standard zstd frame starts here.
    StandardZstdFrame,
    /// A tag byte, to be followed by its body.
    Tagged(Tag),
}

impl Opening {
    /// Looks at the first bytes of a chunk.
    ///
    /// # Errors
    /// When there is no byte, or an invalid tag byte.
    pub(crate) fn of(stored: &[u8]) -> Result<Self, CodecError> {
        let first = *stored.first().ok_or(CodecError::EmptyChunk)?;
        if first & BODY_MASK != ZLIB_NIBBLE {
            return Tag::parse(first).map(Opening::Tagged);
        }
        // 28 alone could start a zlib stream with a 1 KiB window, but 28 b5 could not: 0x28b5 is no multiple of 31.
        if stored.starts_with(&crate::codecs::zstd_frame::MAGIC) {
            return Ok(Opening::StandardZstdFrame);
        }
        Ok(Opening::ZlibStream)
    }
}

/// An opening that was taken from a source which cannot be asked to give bytes again.
pub(crate) struct TakenOpening {
    pub(crate) opening: Opening,
    bytes: [u8; 4],
    body_len: usize,
}

impl TakenOpening {
    /// Takes as many bytes as it needs to tell the openings apart, at most four: fewer than any chunk without a tag
    /// byte has.
    ///
    /// # Errors
    /// As [`Opening::of`], and when the source cannot be read.
    pub(crate) fn take<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>) -> Result<Self, CodecError> {
        let mut bytes = [0; 4];
        let (first, rest) = bytes.split_at_mut(1);
        let mut taken = stored.take_into(first)?;
        if first.iter().any(|first| first & BODY_MASK == ZLIB_NIBBLE) {
            taken += stored.take_into(rest)?;
        }
        let opening = Opening::of(bytes.get(..taken).unwrap_or_default())?;
        let body_len = if matches!(opening, Opening::Tagged(_)) { 0 } else { taken };
        Ok(TakenOpening { opening, bytes, body_len })
    }

    /// The bytes taken that belong to the body: all where there is no tag byte.
    pub(crate) fn body(&self) -> &[u8] {
        self.bytes.get(..self.body_len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_one_tag_or_refused() {
        let valid: Vec<u8> = (0..=u8::MAX).filter(|byte| Tag::parse(*byte).is_ok()).collect();
        let expected = [
            0x01, 0x02, 0x03, 0x06, 0x07, 0x09, 0x0a, 0x0b, 0x23, 0x81, 0x82, 0x83, 0x86, 0x87, 0x89, 0x8a, 0x8b, 0xa3,
        ];
        assert_eq!(valid, expected);
        for byte in valid {
            assert_eq!(Tag::parse(byte).unwrap().to_byte(), byte);
        }
    }

    #[test]
    fn refusals_say_what_was_found() {
        let message = |byte| Tag::parse(byte).unwrap_err().to_string();
        assert_eq!(
            message(0x00),
            "tag byte 0x00: expected body 1 (store), 2 (zstd), 3 (lz4), 6 (brotli), 7 (lzma), 9 (xz), 10 (bzip2) or \
             11 (deflate), found body 0"
        );
        assert_eq!(message(0x42), "tag byte 0x42: expected reserved flags to be clear, found flag 0x40 (dictionary)");
        assert_eq!(message(0x12), "tag byte 0x12: expected reserved flags to be clear, found flag 0x10 (base prefix)");
        assert_eq!(
            message(0x21),
            "tag byte 0x21: expected blocks only where the codec cannot stream, found flag 0x20 (blocked) on a store body"
        );
    }
}
