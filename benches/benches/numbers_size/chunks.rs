//! Payloads of one kind in memory, and their sizes under a codec.

use std::time::Duration;

use repackbench_benches::{BenchError, Result};
use repackbench_codec::{ChunkDecoder, ChunkEncoder, ChunkKind, CodecSpec, Dictionaries, Dictionary, DictionarySource};
use repackbench_reader::git::chunk::decode_to_vec;
use repackbench_timing::clock::{SystemClock, measure};
use repackbench_writer::dictionaries::{WantedDictionary, train_on, training::DictionaryPurpose};

use crate::reference::Form;

/// How the pieces of an object are laid out in its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layout {
    /// In their order. Deltas copy names and numbers on their own.
    Plain,
    /// Deltas of trees that copy whole entries.
    ByEntry,
    /// Whole trees: all modes and names, a NUL, all numbers.
    Columns,
    /// As columns, with each number as a difference to the one before.
    Differences,
}

impl Layout {
    /// The name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Layout::Plain => "",
            Layout::ByEntry => ", whole entries",
            Layout::Columns => ", columns",
            Layout::Differences => ", columns, each less the one before",
        }
    }
}

/// The chunks of one kind that are written in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arm {
    pub(crate) kind: ChunkKind,
    pub(crate) form: Form,
    pub(crate) layout: Layout,
}

impl Arm {
    /// The chunks of `kind` as found.
    pub(crate) fn found(kind: ChunkKind) -> Self {
        Arm { kind, form: Form::Found, layout: Layout::Plain }
    }
}

/// A range of bytes that belongs to an object.
#[derive(Debug, Clone, Copy)]
struct Slot {
    object: u32,
    start: usize,
    len: usize,
}

/// Some payloads, each with the number of its object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunks {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

impl Chunks {
    pub(crate) fn push(&mut self, object: u32, payload: &[u8]) {
        self.slots.push(Slot { object, start: self.bytes.len(), len: payload.len() });
        self.bytes.extend_from_slice(payload);
    }

    /// Adds the payloads of `other`.
    pub(crate) fn append(&mut self, other: Chunks) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.slots.extend(other.slots.into_iter().map(|slot| Slot { start: start + slot.start, ..slot }));
    }

    /// Sorts the payloads by the numbers of their objects.
    pub(crate) fn sort(&mut self) {
        self.slots.sort_unstable_by_key(|slot| slot.object);
    }

    /// The number of payloads.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The length of all payloads.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> + Clone {
        self.slots.iter().map(|slot| (slot.object, &self.bytes[slot.start..slot.start + slot.len]))
    }

    /// The dictionary that `spec` wants for these payloads of `kind`, if it pays.
    ///
    /// # Errors
    /// A codec fails.
    pub(crate) fn dictionary(&self, kind: ChunkKind, spec: &CodecSpec) -> Result<Option<Dictionary>> {
        let choice = spec.choice(kind);
        let Some(DictionarySource::Trained { max_len }) = choice.dictionary() else { return Ok(None) };
        let purpose = DictionaryPurpose::Zstd(choice.without_options());
        let wanted = WantedDictionary { kinds: vec![kind], capacity: *max_len, purpose, must_pay: true };
        let outcome = train_on(self.iter().map(|(_, payload)| payload), &wanted)?;
        Ok(outcome.result.ok().map(|trained| trained.dictionary))
    }

    /// Encodes all payloads with the codec of `spec` for `kind`.
    ///
    /// # Errors
    /// A codec fails.
    pub(crate) fn encode(&self, kind: ChunkKind, spec: &CodecSpec, dictionary: Option<Dictionary>) -> Result<Encoded> {
        let mut encoder =
            ChunkEncoder::for_choice(spec.choice(kind), dictionary.as_ref().map(|dictionary| (0, dictionary)))?;
        let mut stored = Vec::new();
        let mut chunks = Vec::with_capacity(self.len());
        let (result, sample) = measure(&SystemClock::new(), || -> Result<()> {
            for (object, payload) in self.iter() {
                let stored_len = encoder.encode(payload, &mut stored)?;
                chunks.push(EncodedChunk { object, payload_len: payload.len() as u64, end: stored.len(), stored_len });
            }
            Ok(())
        })?;
        result?;
        let mut dictionary_bytes = Vec::new();
        if let Some(dictionary) = &dictionary {
            ChunkEncoder::new(&CodecSpec::for_dictionaries())?.encode(dictionary.bytes(), &mut dictionary_bytes)?;
        }
        let dictionary_len = dictionary_bytes.len() as u64;
        Ok(Encoded { stored, chunks, dictionary, dictionary_len, time: sample.user + sample.sys })
    }
}

/// A chunk that was encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodedChunk {
    pub(crate) object: u32,
    pub(crate) payload_len: u64,
    pub(crate) stored_len: usize,
    end: usize,
}

/// Encoded chunks, sorted by the numbers of their objects.
#[derive(Debug)]
pub(crate) struct Encoded {
    stored: Vec<u8>,
    pub(crate) chunks: Vec<EncodedChunk>,
    pub(crate) dictionary: Option<Dictionary>,
    /// The stored bytes of the dictionary.
    pub(crate) dictionary_len: u64,
    /// The CPU time of encoding, without that of training.
    pub(crate) time: Duration,
}

impl Encoded {
    /// The length of all chunks.
    pub(crate) fn stored_len(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.stored_len as u64).sum()
    }

    /// The length of all chunks and of their dictionary.
    pub(crate) fn len_with_dictionary(&self) -> u64 {
        self.stored_len() + self.dictionary_len
    }

    /// Frees the memory of stored bytes, of which the lengths stay.
    pub(crate) fn forget_bytes(&mut self) {
        self.stored = Vec::new();
    }

    /// A decoder for these chunks.
    pub(crate) fn decoder(&self, spec: &CodecSpec) -> ChunkDecoder {
        ChunkDecoder::for_spec(spec).with_dictionaries(&Dictionaries::new(self.dictionary.clone()))
    }

    /// Replaces `payload` by that of the chunk of `object`.
    ///
    /// # Errors
    /// There is none, or it does not decode.
    pub(crate) fn decode(&self, object: u32, decoder: &mut ChunkDecoder, payload: &mut Vec<u8>) -> Result<()> {
        let at = self.chunks.binary_search_by_key(&object, |chunk| chunk.object);
        let chunk = at.ok().map(|at| self.chunks[at]);
        let chunk = chunk.ok_or_else(|| BenchError::Setup(format!("object {object} has no chunk")))?;
        let stored = &self.stored[chunk.end - chunk.stored_len..chunk.end];
        decode_to_vec(decoder, stored, chunk.payload_len, payload)?;
        Ok(())
    }
}
