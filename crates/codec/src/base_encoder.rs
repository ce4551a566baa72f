//! Deltas compressed with the content of their base, which whoever reads a delta has at hand anyway.
//!
//! Two ways, of which a spec allows one or both: `prefix` compresses the delta, `patch` the whole object in its place. The
//! base's content has to be indexed for each payload anew, and for the levels above 9 that takes ten times as long as
//! for those below. So what is best is found out at level 9, and only that is encoded at the spec's level.

use crate::BLOCK_LEN;
use crate::codec::Codec;
use crate::codecs::zstd::Zstd;
use crate::codecs::zstd::prefix;
use crate::error::CodecError;
use crate::spec::CodecChoice;
use crate::tag::{Body, Tag};

/// The level at which the ways are compared, unless the spec's is below.
const SELECTION_LEVEL: i32 = 9;

/// How much the spec's level may save on top of [`SELECTION_LEVEL`], in per cent: on git's own packs it is 2 for deltas and
/// 6 for objects.
const EXPECTED_SAVING: usize = 6;

/// What a delta is based on, for codecs that can make use of it.
#[derive(Clone, Copy, Debug)]
pub struct DeltaBase<'a> {
    /// The base's content.
    pub content: &'a [u8],
    /// What the delta makes of it; `None` where that is not at hand.
    pub object: Option<&'a [u8]>,
}

/// Compresses with the base's content as prefix. The stored bytes depend on choice, payload and base alone.
pub(crate) struct BaseEncoder {
    /// At the lower of the two levels.
    selecting: Zstd,
    /// At the spec's level, where that is the higher one.
    final_codec: Option<Zstd>,
    prefix: bool,
    patch: bool,
    checksum: bool,
    /// A chunk that may turn out to be the shortest.
    chunk: Vec<u8>,
}

impl BaseEncoder {
    /// An encoder for `choice`, one of zstd.
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

    /// Puts a chunk that needs the base in the place of the delta's chunk, which is what `out` holds from `start` on, where
    /// it is shorter.
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

/// Replaces the content of `chunk` by the chunk of `payload`.
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
