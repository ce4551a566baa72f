//! The container of chunks in a Mercurial revlog.
//!
//! The first byte says how to read the rest. Source: Mercurial's internals documentation (`hg help internals.revlogs`);
//! header `4` is that of the lz4revlog extension of 2012.
//!
//! | first byte | the payload |
//! |---|---|
//! | none: the chunk is empty | is empty |
//! | `00` | is the chunk, this byte included |
//! | `75` (`u`) | follows, as it is |
//! | `78` (`x`) | in an RFC 1950 stream, which begins with this byte |
//! | `28` (`(`) | in a standard zstd frame (RFC 8878), which begins with this byte |
//! | `34` (`4`) | its length in four bytes, little-endian, then an LZ4 block |
//! | `81` to `8f`, but not those of store, zstd and lz4 | in the body that it announces as a tag byte (see [`tag`](crate::tag)), without checksum |
//!
//! Chunks carry no checksum but that of a zlib stream, and no payload length but that of most zstd frames and of header
//! `4`; every full text is guarded by the SHA-1 that names it. So the options `checksum=`, `frame=` and `loose=` of a codec
//! spec mean nothing here, and are ignored.

mod decoder;
mod encoder;
mod growing;

pub use decoder::RevlogDecoder;
pub use encoder::RevlogEncoder;
pub(crate) use growing::{GrowingPayload, OpenEnded, doubled_room, first_room, reserve, too_long};

use crate::algorithm::Algorithm;
use crate::spec::CodecSpec;
use crate::tag::{Body, Tag};

/// Begins a raw payload that begins with this byte itself.
const RAW_AS_IT_IS: u8 = 0x00;
/// Precedes any other raw payload.
const RAW: u8 = b'u';
/// The first byte of every RFC 1950 stream with a window of 32 KiB.
const ZLIB: u8 = b'x';
/// The first byte of a standard zstd frame.
const ZSTD: u8 = b'(';
/// Precedes payload length and block.
const LZ4: u8 = b'4';

/// How messages name a raw chunk.
const RAW_CHUNK: &str = "raw revlog chunk";
/// How messages name a chunk with header `4`.
const LZ4_CHUNK: &str = "lz4 revlog chunk";

/// Which of Mercurial's compression engines a spec is written with in revlogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RevlogEngine {
    /// hg's `zlib`: RFC 1950 streams, whichever implementation writes them.
    Zlib,
    /// hg's `zstd`: standard frames.
    Zstd,
    /// hg's `none`: every payload is raw.
    None,
    /// `lz4`, which hg itself does not have: blocks behind header `4`, of `lz4`, `lz4hc` and `lz4_flex` alike.
    Lz4,
    /// An engine of our own, named like the codec: tagged bodies without checksum, behind their tag byte.
    Tagged(Algorithm),
}

impl RevlogEngine {
    /// The entry of `.hg/store/requires` (or `.hg/requires`) by which hg knows the engine; `None` for zlib, which needs
    /// none.
    pub fn requirement(self) -> Option<&'static str> {
        match self {
            RevlogEngine::Zlib => None,
            RevlogEngine::Zstd => Some("revlog-compression-zstd"),
            RevlogEngine::None => Some("exp-compression-none"),
            RevlogEngine::Lz4 => Some("exp-compression-lz4"),
            RevlogEngine::Tagged(algorithm) => algorithm.body().and_then(Body::revlog_requirement),
        }
    }
}

/// The tag of a body that revlogs have no other container for; `None` for all other bodies.
fn revlog_tag(body: Body) -> Option<Tag> {
    // The hash that names a revision guards it.
    body.revlog_requirement().map(|_| Tag::plain(body, false))
}

/// Reads the first byte of a chunk as such a tag.
fn parse_revlog_tag(header: u8) -> Option<Tag> {
    Tag::parse(&[header]).ok().filter(|tag| revlog_tag(tag.body) == Some(*tag))
}

impl CodecSpec {
    /// The engine that revlogs under this spec are written with.
    pub fn revlog_engine(&self) -> RevlogEngine {
        match self.algorithm().body() {
            None => RevlogEngine::Zlib,
            Some(Body::Store) => RevlogEngine::None,
            Some(Body::Zstd) => RevlogEngine::Zstd,
            Some(Body::Lz4) => RevlogEngine::Lz4,
            Some(_) => RevlogEngine::Tagged(self.algorithm()),
        }
    }
}
