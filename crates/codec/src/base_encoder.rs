//! Compresses deltas with the content of their base, which every reader of a delta has anyway.
//!
//! There are two ways, and a spec allows one or both: `prefix` compresses the delta, `patch` compresses the whole
//! object instead of the delta. The content of the base has to be indexed again for each payload, and at levels above 9
//! that takes ten times as long as at lower levels. So the two ways are compared at level 9, and only the better one is
//! encoded at the spec's level.

use crate::BLOCK_LEN;
use crate::codec::Codec;
use crate::codecs::zstd::Zstd;
use crate::codecs::zstd::prefix;
use crate::error::CodecError;
use crate::spec::CodecChoice;
use crate::tag::{Body, Tag};

/// The level at which the two ways are compared, unless the spec's level is lower.
const SELECTION_LEVEL: i32 = 9;

/// How much the spec's level may save compared with [`SELECTION_LEVEL`], in per cent: in git's own packs it saves 2 for
/// deltas and 6 for objects.
const EXPECTED_SAVING: usize = 6;

/// The base of a delta, for codecs that can make use of it.
#[derive(Clone, Copy, Debug)]
pub struct DeltaBase<'a> {
    /// The content of the base.
    pub content: &'a [u8],
    /// The object that base and delta yield; `None` if it is not available.
    pub object: Option<&'a [u8]>,
}

/// Compresses with the base's content as prefix. The stored bytes depend only on choice, payload and base.
pub(crate) struct BaseEncoder {
    /// The codec at the level of the comparison.
    selecting: Zstd,
    /// The codec at the spec's level, if that is higher.
    final_codec: Option<Zstd>,
    prefix: bool,
    patch: bool,
    checksum: bool,
    /// A candidate for the shortest chunk.
    chunk: Vec<u8>,
}

impl BaseEncoder {
    /// Creates an encoder for `choice`, whose codec is zstd.
    pub(crate) fn new(choice: &CodecChoice) -> Self {
        let level = choice.level().unwrap_or_default();
        let codec = |level| {
            let mut codec = Zstd::new(level, false).with_window(choice.window_log());
            codec.set_checksum(choice.checksum());
            codec
        };
        BaseEncoder {
            selecting: codec(level.min(SELECTION_LEVEL)),
            final_codec: (level > SELECTION_LEVEL).then(|| codec(level)),
            prefix: choice.prefix(),
            patch: choice.patch(),
            checksum: choice.checksum(),
            chunk: Vec::new(),
        }
    }

    /// Replaces the delta's chunk, which `out` holds from `start` on, with a chunk that needs the base if that is
    /// shorter.
    ///
    /// # Errors
    /// When the implementation fails.
    pub(crate) fn replace_if_shorter(
        &mut self,
        delta: &[u8],
        base: &DeltaBase<'_>,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if !prefix::can_be_prefix(base.content) || base.content.len() > BLOCK_LEN {
            return Ok(());
        }
        let as_delta = self.prefix.then_some((Body::Zstd, delta));
        let as_object = base.object.filter(|_| self.patch).map(|object| (Body::ZstdPatch, object));
        let mut best = None;
        let mut best_len = out.len() - start;
        for (body, payload) in [as_delta, as_object].into_iter().flatten() {
            if payload.len() > BLOCK_LEN || out.len() - start <= prefix::least_body_len(self.checksum) {
                continue;
            }
            let tag = Tag { needs_base: true, ..Tag::plain(body, self.checksum) };
            encode(&mut self.selecting, tag, base, payload, &mut self.chunk)?;
            if self.chunk.len() < out.len() - start {
                out.truncate(start);
                out.extend_from_slice(&self.chunk);
            }
            let expected = match self.final_codec {
                Some(_) => self.chunk.len() - self.chunk.len() * EXPECTED_SAVING / 100,
                None => usize::MAX,
            };
            if expected < best_len {
                best_len = expected;
                best = Some((tag, payload));
            }
        }
        if let Some((codec, (tag, payload))) = self.final_codec.as_mut().zip(best) {
            encode(codec, tag, base, payload, &mut self.chunk)?;
            if self.chunk.len() < out.len() - start {
                out.truncate(start);
                out.extend_from_slice(&self.chunk);
            }
        }
        Ok(())
    }
}

/// Replaces the content of `chunk` with the chunk of `payload`.
fn encode(
    codec: &mut Zstd,
    tag: Tag,
    base: &DeltaBase<'_>,
    payload: &[u8],
    chunk: &mut Vec<u8>,
) -> Result<(), CodecError> {
    chunk.clear();
    tag.write(chunk);
    codec.encode_on(base.content, payload, chunk).map(drop)
}
