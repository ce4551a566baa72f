//! The chunks of a revlog: how they are cut into batches, and what a thread makes of one.

use std::ops::Range;

use repackbench_codec::{RevlogDecoder, RevlogEncoder, ZlibReader};
use repackbench_reader::hg::{
    delta::longest_payload,
    revlog::{Entry, Revlog},
};

use crate::{Result, WriterError, pipeline::EncodedBatch};

/// The chunks of a batch lie in about so many bytes: enough to make hand-over cheap, little enough to keep the buffers
/// small.
const BATCH_STORED_BYTES: u64 = 256 << 10;

/// And there are at most so many, since a changelog has many in few bytes.
const BATCH_CHUNKS: usize = 4096;

/// And about so many payload bytes.
const BATCH_PAYLOAD_BYTES: u64 = 4 << 20;

/// The payload of a delta is guessed to be at most so many times as long as its stored bytes: only decoding would tell.
const USUAL_EXPANSION: u64 = 32;

/// A buffer that one chunk made larger than this is given back to the allocator.
const LARGEST_KEPT: usize = 4 << 20;

/// Neighbouring revisions of a revlog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) revisions: Range<usize>,
    /// About how many bytes their new chunks may take.
    pub(super) cost: u64,
}

/// Cuts a revlog into parts.
pub(super) fn cut(revlog: &Revlog) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut first = 0;
    let (mut start, mut payload) = (0, 0);
    for (revision, entry) in revlog.entries().iter().enumerate() {
        let end = entry.offset + u64::from(entry.stored_len);
        let guess = guessed_payload(revlog, revision, entry);
        let is_full = end.saturating_sub(start) > BATCH_STORED_BYTES
            || payload + guess > BATCH_PAYLOAD_BYTES
            || revision - first >= BATCH_CHUNKS;
        // Chunks may lie far apart, so a part ends before the chunk that does not fit.
        if is_full && revision > first {
            parts.push(Part { revisions: first..revision, cost: payload });
            (first, payload) = (revision, 0);
        }
        if revision == first {
            start = entry.offset;
        }
        payload += guess;
    }
    if first < revlog.len() {
        parts.push(Part { revisions: first..revlog.len(), cost: payload });
    }
    parts
}

fn guessed_payload(revlog: &Revlog, revision: usize, entry: &Entry) -> u64 {
    match revlog.delta_base(revision) {
        None => u64::from(entry.text_len),
        Some(_) => u64::from(entry.text_len).min(u64::from(entry.stored_len) * USUAL_EXPANSION),
    }
}

/// One thread's contexts and buffers.
pub(super) struct ChunkConverter {
    encoder: RevlogEncoder,
    decoder: RevlogDecoder,
    stored: Vec<u8>,
    payload: Vec<u8>,
    again: Vec<u8>,
}

impl ChunkConverter {
    pub(super) fn new(spec: &repackbench_codec::CodecSpec) -> Result<Self> {
        Ok(ChunkConverter {
            encoder: RevlogEncoder::new(spec)?,
            // Nothing is being timed here, so zlib streams are read by the fastest reader, which for what other
            // implementations wrote is a second opinion too.
            decoder: RevlogDecoder::new(ZlibReader::Libdeflate),
            stored: Vec::new(),
            payload: Vec::new(),
            again: Vec::new(),
        })
    }

    /// Appends the new chunks of `revisions`, each decoded again and compared, to `encoded`.
    pub(super) fn convert(
        &mut self,
        revlog: &Revlog,
        revisions: Range<usize>,
        encoded: &mut EncodedBatch,
    ) -> Result<()> {
        let ChunkConverter { encoder, decoder, stored, payload, again } = self;
        if revisions.is_empty() {
            return Ok(());
        }
        let chunks = revlog.chunks(revisions.start, revisions.end - 1, stored)?;
        for revision in revisions {
            decode(decoder, revlog, revision, chunks.get(revision)?, payload)?;

            let start = encoded.stored.len();
            make_room(&mut encoded.stored, payload.len())
                .map_err(|wanted| revlog.corrupt(revision, "a payload that there is memory for", wanted))?;
            let length = encoder.encode(payload, &mut encoded.stored)?;
            encoded.lengths.push(length);

            again.clear();
            let chunk = encoded.stored.get(start..).unwrap_or_default();
            let detail = match decoder.decode(chunk, payload.len(), again) {
                Ok(_) if again == payload => continue,
                Ok(found) if found != payload.len() => format!("{found} bytes instead of {}", payload.len()),
                Ok(_) => "same length, other content".to_owned(),
                Err(error) => error.to_string(),
            };
            let what = format!("revision {revision}");
            return Err(WriterError::Unfaithful { path: revlog.files().index.clone(), what, detail });
        }
        for buffer in [stored, payload, again] {
            buffer.clear();
            buffer.shrink_to(LARGEST_KEPT);
        }
        Ok(())
    }
}

/// Takes memory for the new chunk of a payload of `payload_len` bytes, so that no encoder has to, which would end the program
/// where there is none. Says what was wanted if it cannot be had.
fn make_room(stored: &mut Vec<u8>, payload_len: usize) -> std::result::Result<(), String> {
    // No encoder needs more for what does not shrink.
    let most = payload_len.saturating_add(payload_len / 128).saturating_add(1024);
    stored.try_reserve(most).map_err(|_| format!("one of {payload_len} bytes"))
}

/// Puts the payload of `revision`, whose chunk is `chunk`, into `payload`.
fn decode(
    decoder: &mut RevlogDecoder,
    revlog: &Revlog,
    revision: usize,
    chunk: &[u8],
    payload: &mut Vec<u8>,
) -> Result<()> {
    let text_len = revlog.entry(revision)?.text_len as usize;
    let base = revlog.delta_base(revision);
    let limit = match base {
        None => text_len,
        Some(base) => longest_payload(revlog.entry(base)?.text_len as usize, text_len),
    };
    payload.clear();
    let length = decoder
        .decode(chunk, limit, payload)
        .map_err(|error| revlog.corrupt(revision, "a chunk that decodes", error.to_string()))?;
    if base.is_none() && length != text_len {
        let expected = format!("a full text of {text_len} bytes");
        return Err(revlog.corrupt(revision, expected, length.to_string()).into());
    }
    Ok(())
}
