//! The container of chunks in a Mercurial revlog. Its layout is in [`opening::revlog`](crate::opening::revlog).
//!
//! Only zlib streams carry a checksum, and only most zstd frames, header `4` and tagged bodies carry a payload length.
//! The SHA-1 that names a full text protects it. So the options `checksum=`, `frame=` and `loose=` of a codec spec are
//! ignored.

mod decoder;
mod encoder;

pub use decoder::RevlogDecoder;
pub use encoder::RevlogEncoder;

use crate::algorithm::Algorithm;
use crate::kind::{ChunkKind, ObjectKind};
use crate::opening::revlog::{LZ4, ZLIB, ZSTD, revlog_tag};
use crate::spec::{CodecChoice, CodecSpec};
use crate::tag::{Body, Tag};

/// The requirement of a Mercurial repository with chunks that may need dictionaries.
pub const DICTIONARY_REQUIREMENT: &str = "exp-repackbench-dictionaries";

/// The requirement of a Mercurial repository with deltas that may be compressed with the full text of their base.
pub const BASE_REQUIREMENT: &str = "exp-repackbench-base";

/// The name of a raw chunk in messages.
const RAW_CHUNK: &str = "raw revlog chunk";
/// The name of a chunk with header `4` in messages.
const LZ4_CHUNK: &str = "lz4 revlog chunk";

/// The compression engine that writes the revlogs of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RevlogEngine {
    /// hg's `zlib`: RFC 1950 streams by any implementation.
    Zlib,
    /// hg's `zstd`: standard frames.
    Zstd,
    /// hg's `none`: every payload is raw.
    None,
    /// `lz4`, which stock hg lacks: blocks of `lz4`, `lz4hc` or `lz4_flex` after header `4`.
    Lz4,
    /// An engine of our own with the name of the codec: tagged bodies without checksum.
    Tagged(Algorithm),
}

impl RevlogEngine {
    /// The name of the engine in hg.
    pub fn name(self) -> &'static str {
        match self {
            RevlogEngine::Zlib => "zlib",
            RevlogEngine::Zstd => "zstd",
            RevlogEngine::None => "none",
            RevlogEngine::Lz4 => "lz4",
            RevlogEngine::Tagged(algorithm) => algorithm.name(),
        }
    }

    /// The first byte of compressed chunks of the engine; `None` if it compresses nothing.
    pub fn header(self) -> Option<u8> {
        match self {
            RevlogEngine::Zlib => Some(ZLIB),
            RevlogEngine::Zstd => Some(ZSTD),
            RevlogEngine::None => None,
            RevlogEngine::Lz4 => Some(LZ4),
            RevlogEngine::Tagged(algorithm) => algorithm.body().and_then(revlog_tag).map(Tag::to_byte),
        }
    }

    /// Whether stock hg has the engine.
    pub fn is_hgs_own(self) -> bool {
        matches!(self, RevlogEngine::Zlib | RevlogEngine::Zstd | RevlogEngine::None)
    }

    /// The entry for the engine in `.hg/store/requires` (or `.hg/requires`); `None` for zlib, which needs none.
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
    /// The engine that writes revlogs with this choice.
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
    /// The engine that writes revlogs with the default part of this spec.
    pub fn revlog_engine(&self) -> RevlogEngine {
        self.default_choice().revlog_engine()
    }

    /// The codec choices for all kinds of payloads in a Mercurial repository.
    fn revlog_choices(&self) -> impl Iterator<Item = &CodecChoice> {
        let kinds = ObjectKind::HG.into_iter().flat_map(|object| [false, true].map(|is_delta| (object, is_delta)));
        kinds.map(|(object, is_delta)| self.choice(ChunkKind { object, is_delta }))
    }

    /// The requirements of a Mercurial repository with this spec, sorted. That of dictionaries is not included, because
    /// it depends on whether the repository has any.
    ///
    /// They are those of all engines that write the repository. The engine `none` counts only if all chunks are raw:
    /// its requirement makes hg leave new chunks raw too.
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
