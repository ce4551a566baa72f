//! Encodes payloads as a conversion does, for callers that have them already. Nothing is decoded, compared or written.

use repackbench_codec::{
    BaseUse, ChunkDecoder, ChunkKind, CodecSpec, DeltaBase, KindEncoders, RevlogDecoder, RevlogEncoder,
};
use repackbench_reader::{Repository, git::chunk::decode_delta_to_vec};

use crate::{Encoding, Result};

/// The encoders of one variant, and a decoder to check their output.
pub struct PayloadEncoders {
    container: Container,
    max_chain: Option<u32>,
}

/// The base of a delta.
#[derive(Debug, Clone, Copy)]
pub struct PayloadBase<'a> {
    /// The content of the base, and the object that results from the delta.
    pub delta: DeltaBase<'a>,
    /// The number of deltas from the whole object to that object, this delta included.
    pub chain_len: u32,
}

enum Container {
    Git { packed: Box<KindEncoders>, loose: Box<KindEncoders>, verifier: Box<ChunkDecoder> },
    Hg { revlogs: Box<KindEncoders<RevlogEncoder>>, verifier: Box<RevlogDecoder> },
}

impl std::fmt::Debug for PayloadEncoders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PayloadEncoders").finish_non_exhaustive()
    }
}

impl PayloadEncoders {
    /// Encoders for `spec` with the dictionaries of `variant`.
    ///
    /// # Errors
    /// The dictionaries cannot be read.
    pub fn of_variant(variant: &Repository, spec: &CodecSpec) -> Result<Self> {
        let encoding = Encoding::of_variant(variant, spec)?;
        let container = match variant {
            Repository::Git(_) => Container::Git {
                packed: Box::new(encoding.encoders()),
                loose: Box::new(encoding.for_loose_objects().encoders()),
                verifier: Box::new(encoding.decoder()),
            },
            Repository::Hg(_) => Container::Hg {
                revlogs: Box::new(encoding.revlog_encoders()),
                verifier: Box::new(encoding.revlog_decoder()),
            },
        };
        Ok(PayloadEncoders { container, max_chain: spec.max_chain() })
    }

    /// Appends the stored bytes of `payload` to `stored`, and returns their number. `is_loose` says that the payload
    /// belongs to a loose object; `base` is the base of a delta, which the spec may use.
    ///
    /// # Errors
    /// A codec fails.
    pub fn encode(
        &mut self,
        kind: ChunkKind,
        is_loose: bool,
        payload: &[u8],
        base: Option<&PayloadBase<'_>>,
        stored: &mut Vec<u8>,
    ) -> Result<usize> {
        let is_within = |base: &&PayloadBase<'_>| self.max_chain.is_none_or(|most| base.chain_len <= most);
        let base = base.filter(is_within).map(|base| &base.delta);
        Ok(match (&mut self.container, base) {
            (Container::Git { loose, .. }, _) if is_loose => loose.for_kind(kind)?.encode(payload, stored)?,
            (Container::Git { packed, .. }, Some(base)) => {
                packed.for_kind(kind)?.encode_delta(payload, base, stored)?
            }
            (Container::Git { packed, .. }, None) => packed.for_kind(kind)?.encode(payload, stored)?,
            (Container::Hg { revlogs, .. }, Some(base)) => {
                revlogs.for_kind(kind)?.encode_delta(payload, base, stored)?
            }
            (Container::Hg { revlogs, .. }, None) => revlogs.for_kind(kind)?.encode(payload, stored)?,
        })
    }

    /// Whether `stored` decodes to `payload`, or to the object that `payload` makes of `base`.
    pub fn is_faithful(
        &mut self,
        stored: &[u8],
        payload: &[u8],
        base: Option<&PayloadBase<'_>>,
        again: &mut Vec<u8>,
    ) -> bool {
        again.clear();
        let base_use = match &self.container {
            Container::Git { .. } => ChunkDecoder::base_use(stored),
            Container::Hg { .. } => RevlogDecoder::base_use(stored),
        };
        let object = base.and_then(|base| base.delta.object).unwrap_or_default();
        let expected = if base_use == BaseUse::Patch { object } else { payload };
        let content = base.filter(|_| base_use != BaseUse::None).map(|base| base.delta.content);
        let decoded = match (&mut self.container, content) {
            (Container::Git { verifier, .. }, content) => {
                let consumed = decode_delta_to_vec(verifier, stored, content, expected.len() as u64, again);
                consumed.is_ok_and(|consumed| consumed == stored.len() as u64)
            }
            (Container::Hg { verifier, .. }, None) => verifier.decode(stored, expected.len(), again).is_ok(),
            (Container::Hg { verifier, .. }, Some(content)) => {
                verifier.decode_on_base(stored, content, expected.len(), again).is_ok()
            }
        };
        decoded && again == expected
    }
}
