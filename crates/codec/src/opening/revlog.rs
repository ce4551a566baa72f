//! The opening of a chunk in a Mercurial revlog: its first byte says how to read the rest.
//!
//! Source: Mercurial's internals documentation (`hg help internals.revlogs`). Header `4` comes from the lz4revlog
//! extension of 2012.
//!
//! | first byte | chunk |
//! |---|---|
//! | none | empty, as the payload |
//! | `00` | the payload, including this byte |
//! | `75` (`u`) | this byte, then the payload |
//! | `78` (`x`) | an RFC 1950 stream, including this byte |
//! | `28` (`(`) | a standard zstd frame (RFC 8878), including this byte |
//! | `34` (`4`) | this byte, the payload's length in four bytes, little-endian, then an LZ4 block |
//! | `81` to `8f`, except for store, zstd and lz4 | a [tag byte](crate::tag), then its body without a checksum |
//! | `c2`, `c3`, `cb` | a tag byte, the number of a dictionary, then a zstd, lz4 or DEFLATE body without a checksum |
//! | `92` | a tag byte, then a zstd body of a delta, with the full text of its base as prefix |
//! | `9c` | a tag byte, then a zstd body of a full text, with the full text of its delta's base as prefix |

use crate::error::CodecError;
use crate::tag::{BaseUse, Body, Tag};

/// The first byte of a raw payload that needs no header.
pub(crate) const RAW_WITHOUT_HEADER: u8 = 0x00;
/// The header of any other raw payload.
pub(crate) const RAW: u8 = b'u';
/// The first byte of every RFC 1950 stream with a window of 32 KiB.
pub(crate) const ZLIB: u8 = b'x';
/// The first byte of a standard zstd frame.
pub(crate) const ZSTD: u8 = b'(';
/// The header before the payload length and an LZ4 block.
pub(crate) const LZ4: u8 = b'4';

/// The start of a revlog chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RevlogOpening {
    /// Neither chunk nor payload has any bytes.
    Empty,
    /// The chunk is its payload.
    RawWithoutHeader,
    /// The payload follows the first byte.
    Raw,
    /// An RFC 1950 stream.
    ZlibStream,
    /// A standard zstd frame.
    ZstdFrame,
    /// The payload length and an LZ4 block follow the first byte.
    Lz4,
    /// A body follows the tag.
    Tagged(Tag),
}

impl RevlogOpening {
    /// Reads the opening of the chunk that is all of `stored`.
    ///
    /// # Errors
    /// When the first byte is unknown, or the chunk ends before the dictionary's number.
    #[inline]
    pub(crate) fn of(stored: &[u8]) -> Result<Self, CodecError> {
        match stored.first() {
            None => Ok(RevlogOpening::Empty),
            Some(&RAW_WITHOUT_HEADER) => Ok(RevlogOpening::RawWithoutHeader),
            Some(&RAW) => Ok(RevlogOpening::Raw),
            Some(&ZLIB) => Ok(RevlogOpening::ZlibStream),
            Some(&ZSTD) => Ok(RevlogOpening::ZstdFrame),
            Some(&LZ4) => Ok(RevlogOpening::Lz4),
            Some(&header) => match Tag::parse(stored) {
                Ok(tag) if is_revlog_tag(tag) => Ok(RevlogOpening::Tagged(tag)),
                Err(truncated @ CodecError::Truncated { .. }) => Err(truncated),
                Ok(_) | Err(_) => Err(CodecError::RevlogHeader { header }),
            },
        }
    }

    /// How the chunk uses the full text of its delta's base.
    pub(crate) fn base_use(self) -> BaseUse {
        match self {
            RevlogOpening::Tagged(tag) => tag.base_use(),
            _ => BaseUse::None,
        }
    }
}

/// The tag of a body in a revlog; `None` if revlogs have another container for it.
pub(crate) fn revlog_tag(body: Body) -> Option<Tag> {
    // The revision's hash protects the payload, so there is no checksum.
    body.revlog_requirement().map(|_| Tag::plain(body, false))
}

/// Whether a revlog chunk may start with this tag. Bodies that have a header in revlogs have no tag.
fn is_revlog_tag(tag: Tag) -> bool {
    let has_no_other = tag.dictionary.is_some() || tag.needs_base || tag.body.revlog_requirement().is_some();
    has_no_other && !tag.checksum && !tag.blocked
}
