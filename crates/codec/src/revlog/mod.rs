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
//! | `c2`, `c3`, `cb` | in a body of zstd, lz4 or DEFLATE with the dictionary whose number is the next byte, likewise |
//! | `92`, `9c` | in a zstd body with the full text of the delta's base as prefix; under `9c` the payload is the full text itself |
//!
//! Chunks carry no checksum but that of a zlib stream, and no payload length but that of most zstd frames and of header
//! `4`; every full text is guarded by the SHA-1 that names it. So the options `checksum=`, `frame=` and `loose=` of a codec
//! spec mean nothing here, and are ignored.

mod decoder;
mod encoder;

pub use decoder::RevlogDecoder;
pub use encoder::RevlogEncoder;

use crate::algorithm::Algorithm;
use crate::error::CodecError;
use crate::kind::{ChunkKind, ObjectKind};
use crate::spec::{CodecChoice, CodecSpec};
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

/// The requirement of a Mercurial repository whose chunks may need dictionaries.
pub const DICTIONARY_REQUIREMENT: &str = "exp-repackbench-dictionaries";

/// The requirement of a Mercurial repository whose deltas may be compressed with the full text of their base.
pub const BASE_REQUIREMENT: &str = "exp-repackbench-base";

/// The longest payload, in bytes, that room is made for at once because a tagged body claims it.
const BELIEVED: usize = 1 << 20;

/// How many times as long as its body a longer one may be for that.
const BELIEVED_EXPANSION: usize = 255;

/// And how many times as long as its base, where it has one.
const BELIEVED_COPIES: usize = 4;

/// Whether room is made at once for a payload that `stored_len` bytes with a base of `base_len` bytes claim.
fn is_believed(payload_len: usize, stored_len: usize, base_len: usize) -> bool {
    let expanded = stored_len.saturating_mul(BELIEVED_EXPANSION);
    payload_len <= expanded.saturating_add(base_len.saturating_mul(BELIEVED_COPIES)).max(BELIEVED)
}

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
    /// The name under which hg knows the engine.
    pub fn name(self) -> &'static str {
        match self {
            RevlogEngine::Zlib => "zlib",
            RevlogEngine::Zstd => "zstd",
            RevlogEngine::None => "none",
            RevlogEngine::Lz4 => "lz4",
            RevlogEngine::Tagged(algorithm) => algorithm.name(),
        }
    }

    /// The first byte of chunks that the engine compressed; `None` for the one that compresses none.
    pub fn header(self) -> Option<u8> {
        match self {
            RevlogEngine::Zlib => Some(ZLIB),
            RevlogEngine::Zstd => Some(ZSTD),
            RevlogEngine::None => None,
            RevlogEngine::Lz4 => Some(LZ4),
            RevlogEngine::Tagged(algorithm) => algorithm.body().and_then(revlog_tag).map(Tag::to_byte),
        }
    }

    /// Whether stock hg has it.
    pub fn is_hgs_own(self) -> bool {
        matches!(self, RevlogEngine::Zlib | RevlogEngine::Zstd | RevlogEngine::None)
    }

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

/// Whether a chunk in a revlog may begin with this tag. What Mercurial has a header of its own for has none here.
fn is_revlog_tag(tag: Tag) -> bool {
    let has_no_other = tag.dictionary.is_some() || tag.needs_base || tag.body.revlog_requirement().is_some();
    has_no_other && !tag.checksum && !tag.blocked
}

/// Reads the first bytes of a chunk as such a tag.
///
/// # Errors
/// When it begins with another byte, or ends before the dictionary's number.
fn parse_revlog_tag(stored: &[u8]) -> Result<Tag, CodecError> {
    match Tag::parse(stored) {
        Ok(tag) if is_revlog_tag(tag) => Ok(tag),
        Err(truncated @ CodecError::Truncated { .. }) => Err(truncated),
        Ok(_) | Err(_) => Err(CodecError::RevlogHeader { header: stored.first().copied().unwrap_or_default() }),
    }
}

impl CodecChoice {
    /// The engine that revlogs under this choice are written with.
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

impl CodecSpec {
    /// The engine that revlogs under the default part of this spec are written with.
    pub fn revlog_engine(&self) -> RevlogEngine {
        self.default_choice().revlog_engine()
    }

    /// What every kind of payload in a Mercurial repository is encoded with.
    fn revlog_choices(&self) -> impl Iterator<Item = &CodecChoice> {
        let kinds = ObjectKind::HG.into_iter().flat_map(|object| [false, true].map(|is_delta| (object, is_delta)));
        kinds.map(|(object, is_delta)| self.choice(ChunkKind { object, is_delta }))
    }

    /// The requirements of a Mercurial repository under this spec, sorted, but for that of dictionaries, which depends on
    /// whether there are any.
    ///
    /// They are those of all engines that it is written with. Only where all is raw has that a requirement: by it hg is told to
    /// leave new chunks raw too.
    pub fn revlog_requirements(&self) -> Vec<&'static str> {
        let is_raw = self.revlog_choices().all(|choice| choice.revlog_engine() == RevlogEngine::None);
        let engines = self.revlog_choices().map(CodecChoice::revlog_engine);
        let of_engines = engines.filter(|engine| is_raw || *engine != RevlogEngine::None);
        let mut requirements: Vec<&str> = of_engines.filter_map(RevlogEngine::requirement).collect();
        if self.revlog_choices().any(CodecChoice::uses_base) {
            requirements.push(BASE_REQUIREMENT);
        }
        requirements.sort_unstable();
        requirements.dedup();
        requirements
    }
}
