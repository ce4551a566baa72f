//! The container of chunks in a Mercurial revlog.
//!
//! How a chunk opens: see [`opening::revlog`](crate::opening::revlog).
//!
//! Chunks carry no checksum but that of a zlib stream, and no payload length but that of most zstd frames and of header
//! `4`; every full text is guarded by the SHA-1 that names it. So the options `checksum=`, `frame=` and `loose=` of a codec
//! spec mean nothing here, and are ignored.

mod decoder;
mod encoder;

pub use decoder::RevlogDecoder;
pub use encoder::RevlogEncoder;

use crate::algorithm::Algorithm;
use crate::kind::{ChunkKind, ObjectKind};
use crate::opening::revlog::{LZ4, ZLIB, ZSTD, revlog_tag};
use crate::spec::{CodecChoice, CodecSpec};
use crate::tag::{Body, Tag};

/// The requirement of a Mercurial repository whose chunks may need dictionaries.
pub const DICTIONARY_REQUIREMENT: &str = "exp-repackbench-dictionaries";

/// The requirement of a Mercurial repository whose deltas may be compressed with the full text of their base.
pub const BASE_REQUIREMENT: &str = "exp-repackbench-base";

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
