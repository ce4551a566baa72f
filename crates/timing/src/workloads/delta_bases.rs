//! The bases of deltas, held in memory before the clock starts, since a conversion also has just read them.

use std::path::PathBuf;

use repackbench_codec::{BLOCK_LEN, DeltaBase};
use repackbench_reader::{BaseReader, ChunkPlace, ReaderError};
use repackbench_writer::PayloadBase;
use rustc_hash::FxHashMap;

use crate::byte_strings::ByteStrings;

/// The largest number of bytes of bases and resulting objects that a workload with given payloads holds.
pub(crate) const MOST_CONTENT: u64 = 1 << 30;

/// The approximate limit of a workload that takes a sample, in which each base counts for every delta that needs it. An
/// encoder indexes each base again, at a few megabytes a second under the highest levels.
pub(super) const SAMPLED_CONTENT: u64 = 128 << 20;

/// The base and the object of a delta, as indexes of contents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldBase {
    base: usize,
    object: Option<usize>,
    chain_len: u32,
}

/// Distinct contents.
#[derive(Debug, Default)]
pub(crate) struct HeldContents {
    contents: ByteStrings,
}

impl HeldContents {
    /// The number of bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.contents.total_len() as u64
    }

    /// The base for an encoder of `held`.
    pub(crate) fn get(&self, held: &HeldBase) -> Option<PayloadBase<'_>> {
        let content = |at: usize| self.contents.get(at);
        let delta = DeltaBase { content: content(held.base)?, object: held.object.and_then(content) };
        Some(PayloadBase { delta, chain_len: held.chain_len })
    }
}

/// Collects contents.
pub(crate) struct BaseCollector {
    reader: BaseReader,
    held: HeldContents,
    limit: u64,
    /// The pack or revlog that is being read, and its contents that are held.
    file: PathBuf,
    known: FxHashMap<u64, usize>,
    base: Vec<u8>,
    object: Vec<u8>,
}

/// The lengths of the base and the object of the delta `payload` at `place`; the latter is `None` if an encoder cannot
/// use the object. `None` if it cannot use the base, or there is none.
fn usable_lens(place: ChunkPlace<'_>, payload: &[u8]) -> Result<Option<(u64, Option<u64>)>, ReaderError> {
    let is_usable = |len: &u64| *len <= BLOCK_LEN as u64;
    let (base, object) = place.content_lens(payload)?;
    Ok(is_usable(&base).then(|| (base, Some(object).filter(is_usable))))
}

/// The number of bytes that [`BaseCollector::add`] would hold for the delta `payload` at `place`, if it shares none
/// with others; `None` if an encoder could not use its base.
pub(crate) fn content_len(place: ChunkPlace<'_>, payload: &[u8]) -> Result<Option<u64>, ReaderError> {
    if place.links()?.is_none() {
        return Ok(None);
    }
    Ok(usable_lens(place, payload)?.map(|(base, object)| base.saturating_add(object.unwrap_or(0))))
}

/// The result of looking for a delta's base.
pub(crate) enum Collected {
    /// The encoder could not use a base.
    Nothing,
    /// The base is available.
    Held(HeldBase),
    /// The base would exceed the memory limit.
    TooMuch,
}

impl BaseCollector {
    /// A collection of at most `limit` bytes, read by `reader`.
    pub(crate) fn new(reader: BaseReader, limit: u64) -> Self {
        BaseCollector {
            reader,
            held: HeldContents::default(),
            limit,
            file: PathBuf::new(),
            known: FxHashMap::default(),
            base: Vec::new(),
            object: Vec::new(),
        }
    }

    /// Reads the base and the object of the delta `payload` at `place` in `file`, unless they are held. Contents longer
    /// than a block are left out, since no encoder uses them.
    pub(crate) fn add(
        &mut self,
        file: &std::path::Path,
        place: ChunkPlace<'_>,
        payload: &[u8],
    ) -> Result<Collected, ReaderError> {
        let Some(links) = place.links()? else { return Ok(Collected::Nothing) };
        let Some((base_len, object_len)) = usable_lens(place, payload)? else { return Ok(Collected::Nothing) };
        if self.file != file {
            self.known.clear();
            file.clone_into(&mut self.file);
        }
        let (known_base, known_object) = (self.known.get(&links.base).copied(), self.known.get(&links.object).copied());
        let needed = if known_base.is_some() { 0 } else { base_len }
            + if known_object.is_some() { 0 } else { object_len.unwrap_or(0) };
        if self.held.bytes().saturating_add(needed) > self.limit {
            return Ok(Collected::TooMuch);
        }
        self.reader.read_base(place, &mut self.base)?;
        let base = match known_base {
            Some(base) => base,
            None => Self::hold(&mut self.held, &mut self.known, links.base, &self.base),
        };
        let object = match known_object {
            Some(object) => Some(object),
            None if object_len.is_some() => {
                self.reader.read_object(place, &self.base, payload, &mut self.object)?;
                Some(Self::hold(&mut self.held, &mut self.known, links.object, &self.object))
            }
            None => None,
        };
        Ok(Collected::Held(HeldBase { base, object, chain_len: links.chain_len }))
    }

    fn hold(held: &mut HeldContents, known: &mut FxHashMap<u64, usize>, number: u64, content: &[u8]) -> usize {
        let at = held.contents.push(content);
        known.insert(number, at);
        at
    }

    /// The collected contents.
    pub(crate) fn finish(self) -> HeldContents {
        self.held
    }
}
