//! What deltas are based on, held in memory before the clock starts: as at hand as it is for a conversion, which has just read it.

use std::path::PathBuf;

use repackbench_codec::{BLOCK_LEN, DeltaBase};
use repackbench_reader::{BaseReader, ChunkPlace, ReaderError};
use repackbench_writer::PayloadBase;
use rustc_hash::FxHashMap;

/// At most so many bytes of bases, and of what deltas make of them, are held by a workload whose payloads are given.
pub(super) const MOST_CONTENT: u64 = 1 << 30;

/// At most about so many by one that takes a sample, each counted for every delta that needs it. An encoder indexes each of them anew,
/// at a few megabytes a second under the highest levels.
pub(super) const SAMPLED_CONTENT: u64 = 128 << 20;

/// A delta's base and its object, by their places among the contents.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeldBase {
    base: usize,
    object: Option<usize>,
    chain_len: u32,
}

/// Contents, each once.
#[derive(Debug, Default)]
pub(super) struct HeldContents {
    contents: Vec<Vec<u8>>,
    bytes: u64,
}

impl HeldContents {
    /// How many bytes there are.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What an encoder is told of `held`.
    pub(super) fn get(&self, held: &HeldBase) -> Option<PayloadBase<'_>> {
        let content = |at: usize| self.contents.get(at).map(Vec::as_slice);
        let delta = DeltaBase { content: content(held.base)?, object: held.object.and_then(content) };
        Some(PayloadBase { delta, chain_len: held.chain_len })
    }
}

/// Collects contents.
pub(super) struct BaseCollector {
    reader: BaseReader,
    held: HeldContents,
    limit: u64,
    /// The pack or revlog that is being read, and which of its contents are held.
    file: PathBuf,
    known: FxHashMap<u64, usize>,
    base: Vec<u8>,
    object: Vec<u8>,
}

/// What became of a delta.
pub(super) enum Collected {
    /// There is nothing that its encoder could use.
    Nothing,
    /// It can be had.
    Held(HeldBase),
    /// It would take more memory than there is to be.
    TooMuch,
}

impl BaseCollector {
    /// Collects at most `limit` bytes with `reader`.
    pub(super) fn new(reader: BaseReader, limit: u64) -> Self {
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

    /// Reads what the delta `payload` at `place` in `file` is based on and makes, unless it is there. What is longer than a
    /// block is left out: no encoder uses it.
    pub(super) fn add(
        &mut self,
        file: &std::path::Path,
        place: ChunkPlace<'_>,
        payload: &[u8],
    ) -> Result<Collected, ReaderError> {
        let Some(links) = place.links()? else { return Ok(Collected::Nothing) };
        let (base_len, object_len) = place.content_lens(payload)?;
        if base_len > BLOCK_LEN as u64 {
            return Ok(Collected::Nothing);
        }
        if self.file != file {
            self.known.clear();
            file.clone_into(&mut self.file);
        }
        let has_object = object_len <= BLOCK_LEN as u64;
        let (known_base, known_object) = (self.known.get(&links.base).copied(), self.known.get(&links.object).copied());
        let needed = if known_base.is_some() { 0 } else { base_len }
            + if known_object.is_some() || !has_object { 0 } else { object_len };
        if self.held.bytes.saturating_add(needed) > self.limit {
            return Ok(Collected::TooMuch);
        }
        self.reader.read_base(place, &mut self.base)?;
        let base = match known_base {
            Some(base) => base,
            None => Self::hold(&mut self.held, &mut self.known, links.base, &self.base),
        };
        let object = match known_object {
            Some(object) => Some(object),
            None if has_object => {
                self.reader.read_object(place, &self.base, payload, &mut self.object)?;
                Some(Self::hold(&mut self.held, &mut self.known, links.object, &self.object))
            }
            None => None,
        };
        Ok(Collected::Held(HeldBase { base, object, chain_len: links.chain_len }))
    }

    fn hold(held: &mut HeldContents, known: &mut FxHashMap<u64, usize>, number: u64, content: &[u8]) -> usize {
        let at = held.contents.len();
        held.bytes += content.len() as u64;
        held.contents.push(content.to_vec());
        known.insert(number, at);
        at
    }

    /// What was collected.
    pub(super) fn finish(self) -> HeldContents {
        self.held
    }
}
