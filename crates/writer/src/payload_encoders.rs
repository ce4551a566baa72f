//! Encodes payloads as a conversion does, for those who have them already: nothing is decoded, compared or written.

use repackbench_codec::{ChunkDecoder, ChunkKind, CodecSpec, KindEncoders, RevlogDecoder, RevlogEncoder};
use repackbench_reader::Repository;

use crate::{Encoding, Result, WriterError};

/// The encoders of one variant and, to check what they write, a decoder.
pub struct PayloadEncoders {
    container: Container,
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
    /// Encoders for `spec` with the dictionaries that `variant` has.
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
        Ok(PayloadEncoders { container })
    }

    /// The same for payloads with deltas among them.
    ///
    /// # Errors
    /// Also when the spec compresses deltas with their bases, which are not at hand here.
    pub fn for_deltas(variant: &Repository, spec: &CodecSpec) -> Result<Self> {
        if spec.uses_bases() {
            let why = "prefix and patch compress a delta with its base, which is not among the payloads".to_owned();
            return Err(WriterError::Spec { spec: spec.to_string(), why });
        }
        PayloadEncoders::of_variant(variant, spec)
    }

    /// Appends the stored bytes of `payload` to `stored`, returns how many. `is_loose` says that it is a loose object's.
    ///
    /// # Errors
    /// When a codec fails.
    pub fn encode(&mut self, kind: ChunkKind, is_loose: bool, payload: &[u8], stored: &mut Vec<u8>) -> Result<usize> {
        Ok(match &mut self.container {
            Container::Git { loose, .. } if is_loose => loose.for_kind(kind)?.encode(payload, stored)?,
            Container::Git { packed, .. } => packed.for_kind(kind)?.encode(payload, stored)?,
            Container::Hg { revlogs, .. } => revlogs.for_kind(kind)?.encode(payload, stored)?,
        })
    }

    /// Whether `stored` decodes to `payload`.
    pub fn is_faithful(&mut self, stored: &[u8], payload: &[u8], again: &mut Vec<u8>) -> bool {
        again.clear();
        let decoded = match &mut self.container {
            Container::Git { verifier, .. } => {
                again.resize(payload.len(), 0);
                verifier.decode(stored, again).is_ok_and(|consumed| consumed == stored.len())
            }
            Container::Hg { verifier, .. } => verifier.decode(stored, payload.len(), again).is_ok(),
        };
        decoded && again == payload
    }
}
