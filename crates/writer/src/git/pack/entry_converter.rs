//! Converts a batch of entries on one thread.

use repackbench_codec::{
    BaseUse, ChunkDecoder, ChunkKind, DeltaBase, Dictionaries, KindEncoders, ObjectKind, ZlibReader,
};
use repackbench_reader::{
    git::{
        chunk::decode_delta_to_vec,
        delta::{self, DeltaSizes},
        pack::{DeltaForest, EntryPlace, EntryTable, PackFile, StoredEntry},
        packed_objects::PackedObjects,
    },
    memory::{self, TurnTaker},
};

use super::batch::unfaithful;
use crate::{
    Encoding, Result,
    git::{numbers::PayloadTranslator, order::WriteOrder},
    pipeline::EncodedBatch,
};

/// A pack, and the information that is needed to convert its entries.
pub(super) struct SourcePack<'a> {
    pub(super) pack: &'a PackFile,
    pub(super) table: &'a EntryTable,
    /// The order in which its entries are written.
    pub(super) order: &'a WriteOrder,
    /// The dictionaries that its chunks may name.
    pub(super) dictionaries: &'a Dictionaries,
    /// The kind and base of each entry; `None` if the encoding is the same for all.
    pub(super) structure: Option<DeltaForest>,
    /// Whether commits, trees and tags name others in another form than before.
    pub(super) is_translated: bool,
}

impl SourcePack<'_> {
    /// The kind of the entry at `position`, or an arbitrary kind if the encoding does not depend on it.
    pub(super) fn kind(&self, position: usize) -> ChunkKind {
        let any = ChunkKind { object: ObjectKind::Blob, is_delta: false };
        let Some(forest) = &self.structure else { return any };
        forest.kind(position).map_or(any, |object| ChunkKind { object, is_delta: forest.base(position).is_some() })
    }

    /// The offset of the base of the entry at `position`, if that is a delta whose chain has at most `max_chain`
    /// deltas.
    fn base_within(&self, position: usize, max_chain: Option<u32>) -> Option<u64> {
        let forest = self.structure.as_ref()?;
        let length = forest.chain_lengths().get(position)?;
        let base = forest.base(position).filter(|_| max_chain.is_none_or(|most| *length <= most))?;
        self.table.extent(base).map(|(offset, _)| offset)
    }

    pub(super) fn decoder(&self) -> ChunkDecoder {
        ChunkDecoder::new(ZlibReader::Libdeflate).with_dictionaries(self.dictionaries)
    }
}

/// The contexts and buffers of one thread.
pub(super) struct EntryConverter<'a> {
    source: &'a SourcePack<'a>,
    max_chain: Option<u32>,
    encoders: KindEncoders,
    decoder: ChunkDecoder,
    /// Decodes the new chunks.
    verifier: ChunkDecoder,
    /// Reads the bases of deltas.
    bases: PackedObjects,
    payload: Vec<u8>,
    again: Vec<u8>,
    base: Vec<u8>,
    object: Vec<u8>,
    /// Writes payloads anew, if the form of references changes.
    translator: Option<PayloadTranslator>,
    turn: TurnTaker,
}

impl<'a> EntryConverter<'a> {
    pub(super) fn new(source: &'a SourcePack<'a>, encoding: &Encoding) -> Self {
        let mut bases = PackedObjects::new(source.decoder());
        let cache_limit = memory::thread_cache_limit(if source.is_translated { 2 } else { 1 });
        bases.set_cache_limit(Some(cache_limit));
        let becomes_numbered = encoding.spec().uses_numbers();
        let new_translator = || PayloadTranslator::new(source.decoder(), cache_limit, becomes_numbered);
        let translator = source.is_translated.then(new_translator);
        EntryConverter {
            source,
            max_chain: encoding.spec().max_chain(),
            encoders: encoding.encoders(),
            decoder: source.decoder(),
            verifier: encoding.decoder(),
            bases,
            payload: Vec::new(),
            again: Vec::new(),
            base: Vec::new(),
            object: Vec::new(),
            translator,
            turn: TurnTaker::default(),
        }
    }

    /// Converts the entries at `places` of the write order into `encoded`, and replaces the previous content.
    pub(super) fn convert(&mut self, places: std::ops::Range<usize>, encoded: &mut EncodedBatch) -> Result<()> {
        encoded.clear();
        for position in self.source.order.positions(places) {
            let entry = self.source.table.entry(self.source.pack, position)?;
            entry.check_crc(self.source.pack)?;
            self.turn.reserve(entry.header.payload_len);
            entry.decode(self.source.pack, &mut self.decoder, &mut self.payload)?;
            let is_translated = self.translate(position)?;
            encoded.payload_lens.push(is_translated.then_some(self.payload.len() as u64));

            let start = encoded.stored.len();
            let length = self.encode(&entry, position, &mut encoded.stored)?;
            encoded.lengths.push(length);
            let chunk = encoded.stored.get(start..).unwrap_or_default();
            self.check_faithful(&entry, chunk)?;
        }
        let EntryConverter { turn, payload, again, base, object, translator, .. } = self;
        translator.iter_mut().for_each(|translator| translator.finish(turn));
        turn.finish([payload, again, base, object]);
        Ok(())
    }

    /// Replaces the payload of the entry at `position`, which is decoded, by that of the same object with references in
    /// another form. `false` if the payload stays as it is.
    fn translate(&mut self, position: usize) -> Result<bool> {
        let SourcePack { pack, table, structure, .. } = self.source;
        let Some((translator, forest)) = self.translator.as_mut().zip(structure.as_ref()) else { return Ok(false) };
        let place = EntryPlace { pack, table, forest, position };
        let Some(translated) = translator.translate(place, &self.payload, &mut self.turn)? else { return Ok(false) };
        self.payload.clear();
        self.payload.extend_from_slice(translated);
        Ok(true)
    }

    /// Appends the new chunk of `entry`, whose payload is decoded, to `stored`. Returns its length.
    fn encode(&mut self, entry: &StoredEntry<'_>, position: usize, stored: &mut Vec<u8>) -> Result<usize> {
        let encoder = self.encoders.for_kind(self.source.kind(position))?;
        let base = self.source.base_within(position, self.max_chain).filter(|_| encoder.uses_bases());
        let Some(base) = base else { return Ok(encoder.encode(&self.payload, stored)?) };
        let pack = self.source.pack;
        let bad_delta = |error| pack.bad_delta(entry.offset, error);
        let sizes = DeltaSizes::parse(&self.payload).map_err(bad_delta)?;
        self.turn.reserve(sizes.base.max(sizes.result));
        self.bases.read(pack, 0, base, &mut self.base)?;
        delta::apply(&self.base, &self.payload, &mut self.object).map_err(bad_delta)?;
        let base = DeltaBase { content: &self.base, object: Some(&self.object) };
        Ok(encoder.encode_delta(&self.payload, &base, stored)?)
    }

    /// Decodes the new chunk of `entry` and compares the result with the payload.
    fn check_faithful(&mut self, entry: &StoredEntry<'_>, chunk: &[u8]) -> Result<()> {
        let base_use = ChunkDecoder::base_use(chunk);
        let expected = if base_use == BaseUse::Patch { &self.object } else { &self.payload };
        let base = (base_use != BaseUse::None).then_some(self.base.as_slice());
        let again = decode_delta_to_vec(&mut self.verifier, chunk, base, expected.len() as u64, &mut self.again);
        let detail = match again {
            Ok(consumed) if consumed != chunk.len() as u64 => format!("{consumed} of {} stored bytes", chunk.len()),
            Ok(_) if self.again != *expected => "same length, different content".to_string(),
            Ok(_) => return Ok(()),
            Err(error) => error.to_string(),
        };
        Err(unfaithful(self.source.pack, entry, detail))
    }
}
