//! The memory of one thread's contexts and dictionaries under each codec.

use std::collections::{BTreeMap, HashMap};

use repackbench_codec::{ChunkKind, HeapMark};
use repackbench_reader::Repository;
use repackbench_writer::{Encoding, PayloadDecoder, PayloadEncoders, Progress};

use crate::{
    BenchError,
    estimate::held::{Forms, HeldChunk, HeldChunks},
    workloads::WorkloadError,
};

/// Contexts grow with payloads. Longer ones than this are rare, and high levels take seconds for them.
const LONGEST_PAYLOAD: usize = 256 << 10;

/// Bytes on the heap, dictionaries included; `None` if that is unknown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextMemory {
    pub(crate) encode: Option<u64>,
    pub(crate) decode: Option<u64>,
}

/// Measures the contexts of each codec after they have encoded and decoded the longest chunk of each kind in `held`.
/// Other threads should rest.
///
/// # Errors
/// A codec fails.
pub(crate) fn measure<'a>(
    source: &Repository,
    held: &HeldChunks,
    encodings: impl Iterator<Item = &'a Encoding>,
) -> Result<Vec<ContextMemory>, BenchError> {
    let [chunks, with_bases] = [false, true].map(|with_bases| longest(&held.chunks, with_bases));
    let chunks = |encoding: &Encoding| if encoding.spec().uses_bases() { &with_bases } else { &chunks };
    encodings.map(|encoding| of_encoding(source, (held, chunks(encoding)), encoding)).collect()
}

/// Reads only those chunks of `source` that [`measure`] uses. With `with_bases`, also reads the bases of deltas.
///
/// # Errors
/// A chunk is damaged, or the user stops the work.
pub(crate) fn longest_of(
    source: &Repository,
    with_bases: bool,
    progress: &dyn Progress,
) -> Result<HeldChunks, BenchError> {
    let mut longest: BTreeMap<ChunkKind, (u64, u64)> = BTreeMap::new();
    let mut number = 0;
    source.store().for_each_chunk(&mut |chunk| {
        let of_kind = longest.entry(chunk.kind).or_default();
        if chunk.payload_len <= LONGEST_PAYLOAD as u64 && chunk.payload_len > of_kind.0 {
            *of_kind = (chunk.payload_len, number);
        }
        number += 1;
        Ok(())
    })?;
    let sample: HashMap<u64, _> =
        longest.into_values().filter(|(len, _)| *len > 0).map(|(_, number)| (number, Default::default())).collect();
    HeldChunks::read(source, &sample, Forms { bases: with_bases, ..Forms::default() }, progress)
}

/// The longest chunk of each kind within [`LONGEST_PAYLOAD`], for a codec that needs bases or for others.
fn longest(chunks: &[HeldChunk], with_bases: bool) -> Vec<&HeldChunk> {
    let mut longest: BTreeMap<ChunkKind, &HeldChunk> = BTreeMap::new();
    let is_usable = |chunk: &&HeldChunk| chunk.payload_len <= LONGEST_PAYLOAD && (!with_bases || chunk.has_its_base());
    for chunk in chunks.iter().filter(is_usable) {
        let of_kind = longest.entry(chunk.kind).or_insert(chunk);
        if of_kind.payload_len < chunk.payload_len {
            *of_kind = chunk;
        }
    }
    longest.into_values().collect()
}

fn of_encoding(
    source: &Repository,
    (held, chunks): (&HeldChunks, &[&HeldChunk]),
    encoding: &Encoding,
) -> Result<ContextMemory, BenchError> {
    let dictionaries: usize = encoding.dictionaries().iter().map(|dictionary| dictionary.bytes().len()).sum();
    let growth = |mark: HeapMark| mark.growth().map(|bytes| bytes + dictionaries as u64);
    let mut stored: Vec<Vec<u8>> = chunks.iter().map(|_| Vec::with_capacity(2 * LONGEST_PAYLOAD)).collect();
    let mark = HeapMark::now();
    let mut encoders = PayloadEncoders::new(source, encoding);
    for (chunk, stored) in chunks.iter().zip(&mut stored) {
        let base = held.base(chunk);
        encoders.encode(chunk.kind, false, held.payload(chunk), base.as_ref(), stored).map_err(WorkloadError::from)?;
    }
    let encode = growth(mark);
    let mut payload = Vec::with_capacity(2 * LONGEST_PAYLOAD);
    let mark = HeapMark::now();
    let mut decoder = PayloadDecoder::new(source, encoding);
    for (chunk, stored) in chunks.iter().zip(&stored) {
        let base = held.base(chunk);
        let object_len = base.as_ref().and_then(|base| base.delta.object).map_or(0, <[u8]>::len);
        let base = base.map(|base| base.delta.content);
        let lengths = (chunk.payload_len, object_len);
        decoder.decode(chunk.kind, stored, base, lengths, &mut payload).map_err(WorkloadError::from)?;
    }
    Ok(ContextMemory { encode, decode: growth(mark) })
}
