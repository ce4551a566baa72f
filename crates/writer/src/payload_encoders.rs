//! Encodes payloads as a conversion does, for callers that have them already. Nothing is decoded, compared or written.

use repackbench_codec::{
    BaseUse, ChunkDecoder, ChunkKind, CodecSpec, DecodeMemo, Decoders, DeltaBase, KindEncoders, RevlogDecoder,
    RevlogEncoder, StandInChunks, StandIns,
};
use repackbench_reader::{Repository, git::chunk::decode_delta_to_vec};

use crate::{Encoding, Result};

/// The encoders of one variant, and a decoder to check their output.
pub struct PayloadEncoders {
    container: Container,
    max_chain: Option<u32>,
}

/// A decoder for the chunks of one repository, as readers use it.
pub struct PayloadDecoder(DecoderOf);

enum DecoderOf {
    Git(Box<ChunkDecoder>),
    Hg(Box<RevlogDecoder>),
}

impl std::fmt::Debug for PayloadDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PayloadDecoder").finish_non_exhaustive()
    }
}

impl PayloadDecoder {
    /// A decoder for the chunks of `repository`.
    ///
    /// # Errors
    /// Its dictionaries cannot be read.
    pub fn of_repository(repository: &Repository, decoders: Decoders) -> Result<Self> {
        Ok(PayloadDecoder(match repository {
            Repository::Git(git) => DecoderOf::Git(Box::new(git.decoder(decoders)?)),
            Repository::Hg(hg) => DecoderOf::Hg(Box::new(hg.decoder(decoders)?)),
        }))
    }

    /// A decoder for the chunks that encoders of `encoding` make of payloads of `source`, with the implementation that
    /// reads such a variant.
    pub fn new(source: &Repository, encoding: &Encoding) -> Self {
        let (spec, dictionaries) = (encoding.spec(), encoding.dictionaries());
        PayloadDecoder(match source {
            Repository::Git(_) => {
                DecoderOf::Git(Box::new(ChunkDecoder::for_spec(spec).with_dictionaries(dictionaries)))
            }
            Repository::Hg(_) => DecoderOf::Hg(Box::new(RevlogDecoder::for_spec(spec).with_dictionaries(dictionaries))),
        })
    }

    /// The same decoder with a memo of the payloads that it decodes.
    pub fn with_memo(mut self, memo: DecodeMemo) -> Self {
        self.set_memo(Some(Box::new(memo)));
        self
    }

    /// Has `chunks` decoded by this decoder where they stand in for others.
    pub fn into_stand_ins(self, chunks: StandInChunks) -> StandIns {
        match self.0 {
            DecoderOf::Git(decoder) => StandIns::of_packs(*decoder, chunks),
            DecoderOf::Hg(decoder) => StandIns::of_revlogs(*decoder, chunks),
        }
    }

    /// From now on gives back what its memo remembers, if it has one.
    pub fn give_back(&mut self) {
        if let Some(mut memo) = self.set_memo(None) {
            memo.give_back();
            self.set_memo(Some(memo));
        }
    }

    fn set_memo(&mut self, memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>> {
        match &mut self.0 {
            DecoderOf::Git(decoder) => decoder.set_memo(memo),
            DecoderOf::Hg(decoder) => decoder.set_memo(memo),
        }
    }

    /// Whether `stored`, the chunk of one of Git's deltas, holds the object in its place, so that a reader applies no
    /// delta. Mercurial's readers merge deltas before they apply them, so the time that one delta would have taken is
    /// unknown.
    pub fn replaces_git_delta(&self, stored: &[u8]) -> bool {
        matches!(self.0, DecoderOf::Git(_)) && ChunkDecoder::base_use(stored) == BaseUse::Patch
    }

    /// Decodes `stored`, the chunk of a delta with this `base` or of anything else, into `payload`. The payload has
    /// `payload_len` bytes, or as many as `object_len` says if the chunk holds an object that replaces the delta. Chunks
    /// that are known to decode take as long as in a reader.
    ///
    /// # Errors
    /// The chunk does not decode.
    pub fn decode(
        &mut self,
        kind: ChunkKind,
        stored: &[u8],
        base: Option<&[u8]>,
        (payload_len, object_len): (usize, usize),
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        match &mut self.0 {
            DecoderOf::Git(decoder) => {
                let length = expected_len(ChunkDecoder::base_use(stored), payload_len, object_len);
                decode_delta_to_vec(decoder, stored, base, length as u64, payload)?;
            }
            DecoderOf::Hg(decoder) => {
                payload.clear();
                let limit = match RevlogDecoder::base_use(stored) {
                    // An index does not say how long deltas are, and zlib is fastest with room to spare.
                    BaseUse::None | BaseUse::Prefix if kind.is_delta => usize::MAX,
                    base_use => expected_len(base_use, payload_len, object_len),
                };
                match base {
                    Some(base) => decoder.decode_on_base(stored, base, limit, payload)?,
                    None => decoder.decode(stored, limit, payload)?,
                };
            }
        }
        Ok(())
    }
}

fn expected_len(base_use: BaseUse, payload_len: usize, object_len: usize) -> usize {
    if base_use == BaseUse::Patch { object_len } else { payload_len }
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
        Ok(PayloadEncoders::new(variant, &Encoding::of_variant(variant, spec)?))
    }

    /// Encoders for payloads of `source` under `encoding`.
    pub fn new(source: &Repository, encoding: &Encoding) -> Self {
        match source {
            Repository::Git(_) => PayloadEncoders::for_packs(encoding),
            Repository::Hg(_) => PayloadEncoders::for_revlogs(encoding),
        }
    }

    /// Encoders for packs and loose objects under `encoding`.
    pub fn for_packs(encoding: &Encoding) -> Self {
        let container = Container::Git {
            packed: Box::new(encoding.encoders()),
            loose: Box::new(encoding.for_loose_objects().encoders()),
            verifier: Box::new(encoding.decoder()),
        };
        PayloadEncoders { container, max_chain: encoding.spec().max_chain() }
    }

    /// Encoders for revlogs under `encoding`.
    pub fn for_revlogs(encoding: &Encoding) -> Self {
        let container = Container::Hg {
            revlogs: Box::new(encoding.revlog_encoders()),
            verifier: Box::new(encoding.revlog_decoder()),
        };
        PayloadEncoders { container, max_chain: encoding.spec().max_chain() }
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
