//! The opening of a chunk in a Mercurial revlog: its first byte says how to read the rest.
//!
//! Source: Mercurial's internals documentation (`hg help internals.revlogs`); header `4` is that of the lz4revlog extension of
//! 2012.
//!
//! | first byte | the payload |
//! |---|---|
//! | none: the chunk is empty | is empty |
//! | `00` | is the chunk, this byte included |
//! | `75` (`u`) | follows, as it is |
//! | `78` (`x`) | in an RFC 1950 stream, which begins with this byte |
//! | `28` (`(`) | in a standard zstd frame (RFC 8878), which begins with this byte |
//! | `34` (`4`) | its length in four bytes, little-endian, then an LZ4 block |
//! | `81` to `8f`, but not those of store, zstd and lz4 | in the body that it announces as a [tag byte](crate::tag), without checksum |
//! | `c2`, `c3`, `cb` | in a body of zstd, lz4 or DEFLATE with the dictionary whose number is the next byte, likewise |
//! | `92`, `9c` | in a zstd body with the full text of the delta's base as prefix; under `9c` the payload is the full text itself |

use crate::error::CodecError;
use crate::tag::{BaseUse, Body, Tag};

/// Begins a raw payload that begins with this byte itself.
pub(crate) const RAW_AS_IT_IS: u8 = 0x00;
/// Precedes any other raw payload.
pub(crate) const RAW: u8 = b'u';
/// The first byte of every RFC 1950 stream with a window of 32 KiB.
pub(crate) const ZLIB: u8 = b'x';
/// The first byte of a standard zstd frame.
pub(crate) const ZSTD: u8 = b'(';
/// Precedes payload length and block.
pub(crate) const LZ4: u8 = b'4';

/// How a revlog's chunk opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RevlogOpening {
    /// There is no byte, and no payload.
    Empty,
    /// The chunk is its payload.
    RawAsItIs,
    /// The payload follows the first byte.
    Raw,
    /// An RFC 1950 stream.
    ZlibStream,
    /// A standard zstd frame.
    ZstdFrame,
    /// An LZ4 block and its payload's length follow the first byte.
    Lz4,
    /// A body follows the tag.
    Tagged(Tag),
}

impl RevlogOpening {
    /// Reads the opening of the chunk that is all of `stored`.
    ///
    /// # Errors
    /// When the first byte is none of these, or the chunk ends before the dictionary's number.
    #[inline]
    pub(crate) fn of(stored: &[u8]) -> Result<Self, CodecError> {
        match stored.first() {
            None => Ok(RevlogOpening::Empty),
            Some(&RAW_AS_IT_IS) => Ok(RevlogOpening::RawAsItIs),
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

/// The tag of a body that revlogs have no other container for; `None` for all other bodies.
pub(crate) fn revlog_tag(body: Body) -> Option<Tag> {
    // The hash that names a revision guards it.
    body.revlog_requirement().map(|_| Tag::plain(body, false))
}

/// Whether a chunk in a revlog may begin with this tag. What Mercurial has a header of its own for has none here.
fn is_revlog_tag(tag: Tag) -> bool {
    let has_no_other = tag.dictionary.is_some() || tag.needs_base || tag.body.revlog_requirement().is_some();
    has_no_other && !tag.checksum && !tag.blocked
}
