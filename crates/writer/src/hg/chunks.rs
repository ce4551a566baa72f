//! Cuts the chunks of a revlog into batches, and converts a batch on one thread.

use std::{ops::Range, path::PathBuf};

use repackbench_codec::{
    BaseUse, ChunkKind, DeltaBase, Dictionaries, KindEncoders, RevlogDecoder, RevlogEncoder, ZlibReader,
};
use repackbench_reader::{
    ReaderError,
    hg::revlog::{Entry, Revlog, TextReader},
    memory::{self, TurnTaker},
};

use crate::{Encoding, Result, WriterError, pipeline::EncodedBatch};

/// The approximate number of stored bytes in a batch: enough to make the hand-over cheap, few enough to keep buffers
/// small.
const BATCH_STORED_BYTES: u64 = 256 << 10;

/// The most chunks in a batch. A changelog has many chunks in few bytes.
const BATCH_CHUNKS: usize = 4096;

/// The approximate number of payload bytes in a batch.
const BATCH_PAYLOAD_BYTES: u64 = 4 << 20;

/// The estimated payload length of a delta, at most, as a multiple of its stored bytes. Only decoding would give the
/// exact length.
const USUAL_EXPANSION: u64 = 32;

/// A buffer that one chunk made larger than this is shrunk to this size.
const LARGEST_KEPT: usize = 4 << 20;

/// Consecutive revisions of a revlog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RevisionBatch {
    pub(super) revisions: Range<usize>,
    /// The approximate size of their new chunks, in bytes.
    pub(super) cost: u64,
}

/// Cuts a revlog into batches.
pub(super) fn cut_into_batches(revlog: &Revlog) -> Vec<RevisionBatch> {
    let mut parts = Vec::new();
    let mut first = 0;
    let (mut start, mut payload) = (0, 0);
    for (revision, entry) in revlog.entries().iter().enumerate() {
        let end = entry.offset + u64::from(entry.stored_len);
        let guess = guessed_payload(revlog, revision, entry);
        let is_full = end.saturating_sub(start) > BATCH_STORED_BYTES
            || payload + guess > BATCH_PAYLOAD_BYTES
            || revision - first >= BATCH_CHUNKS;
        // There may be gaps between chunks, so a part ends before the chunk that does not fit.
        if is_full && revision > first {
            parts.push(RevisionBatch { revisions: first..revision, cost: payload });
            (first, payload) = (revision, 0);
        }
        if revision == first {
            start = entry.offset;
        }
        payload += guess;
    }
    if first < revlog.len() {
        parts.push(RevisionBatch { revisions: first..revlog.len(), cost: payload });
    }
    parts
}

fn guessed_payload(revlog: &Revlog, revision: usize, entry: &Entry) -> u64 {
    match revlog.delta_base(revision) {
        None => u64::from(entry.text_len),
        Some(_) => u64::from(entry.text_len).min(u64::from(entry.stored_len) * USUAL_EXPANSION),
    }
}

/// The contexts and buffers of one thread.
pub(super) struct ChunkConverter {
    encoders: KindEncoders<RevlogEncoder>,
    decoder: RevlogDecoder,
    /// Decodes the new chunks.
    verifier: RevlogDecoder,
    bases: Bases,
    stored: Vec<u8>,
    payload: Vec<u8>,
    again: Vec<u8>,
    turn: TurnTaker,
}

impl ChunkConverter {
    /// A converter to `encoding` of chunks that may name `dictionaries`.
    pub(super) fn new(encoding: &Encoding, dictionaries: &Dictionaries) -> Self {
        // Nothing is timed here, so zlib streams are read with the fastest reader. If another implementation wrote
        // them, that is a second opinion too.
        let decoder = || RevlogDecoder::new(ZlibReader::Libdeflate).with_dictionaries(dictionaries);
        ChunkConverter {
            encoders: encoding.revlog_encoders(),
            decoder: decoder(),
            verifier: encoding.revlog_decoder(),
            bases: Bases::new(TextReader::new(decoder()), encoding.spec().max_chain()),
            stored: Vec::new(),
            payload: Vec::new(),
            again: Vec::new(),
            turn: TurnTaker::default(),
        }
    }

    /// Appends the new chunks of `revisions` to `encoded`. Each is decoded again and compared.
    pub(super) fn convert(
        &mut self,
        revlog: &Revlog,
        revisions: Range<usize>,
        encoded: &mut EncodedBatch,
    ) -> Result<()> {
        let ChunkConverter { encoders, decoder, verifier, bases, stored, payload, again, turn } = self;
        if revisions.is_empty() {
            return Ok(());
        }
        let chunks = revlog.chunks(revisions.start, revisions.end - 1, stored)?;
        for revision in revisions {
            let chunk = chunks.get(revision)?;
            let decoded = match revlog.decode(decoder, revision, chunk, turn.room(), payload) {
                Err(ReaderError::TooLarge { .. }) if turn.wait() => {
                    revlog.decode(decoder, revision, chunk, turn.room(), payload)
                }
                decoded => decoded,
            };
            decoded?;

            let start = encoded.stored.len();
            make_room(&mut encoded.stored, payload.len())
                .map_err(|wanted| revlog.corrupt(revision, "a payload that fits into memory", wanted))?;
            let is_delta = revlog.delta_base(revision).is_some();
            let encoder = encoders.for_kind(ChunkKind { object: revlog.files().kind, is_delta })?;
            let length = match bases.read(encoder, revlog, revision)? {
                Some(base) => encoder.encode_delta(payload, &base, &mut encoded.stored)?,
                None => encoder.encode(payload, &mut encoded.stored)?,
            };
            encoded.lengths.push(length);
            // The payload length of the batch was only an estimate.
            memory::check(encoded.stored.len() as u64)
                .map_err(|excess| revlog.too_large(revision, "a batch of new chunks", excess))?;

            let chunk = encoded.stored.get(start..).unwrap_or_default();
            check_faithful(verifier, chunk, payload, bases, again).map_err(|detail| {
                let what = format!("revision {revision}");
                WriterError::Unfaithful { path: revlog.files().index.clone(), what, detail }
            })?;
        }
        turn.finish([payload, again, &mut bases.base, &mut bases.text]);
        for buffer in [stored, payload, again] {
            buffer.clear();
            buffer.shrink_to(LARGEST_KEPT);
        }
        Ok(())
    }
}

/// Decodes the new chunk of `payload`, or of the full text in `bases`, and compares the result with it. The error
/// describes the difference.
fn check_faithful(
    verifier: &mut RevlogDecoder,
    chunk: &[u8],
    payload: &[u8],
    bases: &Bases,
    again: &mut Vec<u8>,
) -> std::result::Result<(), String> {
    again.clear();
    let (expected, decoded) = match RevlogDecoder::base_use(chunk) {
        BaseUse::None => (payload, verifier.decode(chunk, payload.len(), again)),
        base_use => {
            let expected = if base_use == BaseUse::Patch { bases.text.as_slice() } else { payload };
            (expected, verifier.decode_on_base(chunk, &bases.base, expected.len(), again))
        }
    };
    match decoded {
        Ok(_) if again == expected => Ok(()),
        Ok(found) if found != expected.len() => Err(format!("{found} bytes instead of {}", expected.len())),
        Ok(_) => Err("same length, different content".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads the full texts that deltas are compressed with.
struct Bases {
    texts: TextReader,
    max_chain: Option<u32>,
    /// The revlog that the reader's cached texts belong to.
    revlog: PathBuf,
    /// The text of the base that was read last, and of the revision that is a delta on it.
    base: Vec<u8>,
    text: Vec<u8>,
}

impl Bases {
    fn new(mut texts: TextReader, max_chain: Option<u32>) -> Self {
        texts.set_cache_limit(Some(memory::thread_cache_limit(1)));
        Bases { texts, max_chain, revlog: PathBuf::new(), base: Vec::new(), text: Vec::new() }
    }

    /// The base of the delta `revision`, if `encoder` uses bases.
    fn read(&mut self, encoder: &RevlogEncoder, revlog: &Revlog, revision: usize) -> Result<Option<DeltaBase<'_>>> {
        let Some(base) = revlog.delta_base(revision).filter(|_| encoder.uses_bases()) else { return Ok(None) };
        // The hash of its text is not its node, so a wrong base would not be detected.
        if !revlog.entry(revision)?.is_hashed() || !self.is_within_limit(revlog, revision) {
            return Ok(None);
        }
        if self.revlog != revlog.files().index {
            self.texts.clear_caches();
            self.revlog.clone_from(&revlog.files().index);
        }
        self.texts.read(revlog, 0, base, &mut self.base)?;
        self.texts.read(revlog, 0, revision, &mut self.text)?;
        Ok(Some(DeltaBase { content: &self.base, object: Some(&self.text) }))
    }

    /// Whether the chain of deltas that ends with `revision` is short enough.
    fn is_within_limit(&self, revlog: &Revlog, revision: usize) -> bool {
        self.max_chain.is_none_or(|most| revlog.chain_length(revision) <= most)
    }
}

/// Reserves memory for the new chunk of a payload of `payload_len` bytes. Otherwise the encoder would allocate it, and
/// abort the program if there is none. The error describes the payload.
fn make_room(stored: &mut Vec<u8>, payload_len: usize) -> std::result::Result<(), String> {
    // No encoder needs more for incompressible data.
    let most = payload_len.saturating_add(payload_len / 128).saturating_add(1024);
    stored.try_reserve(most).map_err(|_| format!("one of {payload_len} bytes"))
}
