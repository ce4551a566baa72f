//! Full texts: a snapshot and the deltas of its chain.

use gix_hash::ObjectId;
use repackbench_codec::{BaseUse, RevlogDecoder};
use sha1::{Digest, Sha1};

use super::{Entry, Revlog};
use crate::{
    ChunkInMemory, Place, ReaderError, Result,
    delta_base_cache::{CacheLookups, DeltaBaseCache},
    hg::delta::{DeltaApplier, Deltas},
    memory,
};

/// A chain with this many deltas or more leaves texts on its way in the cache. Logs go backwards, from the end of a chain to
/// its start: without those, each of its texts would be made from the snapshot anew.
const WORTH_STOPS: usize = 8;

/// When deltas that wait to be applied take more than this, in bytes, they are.
const MOST_WAITING: usize = 16 << 20;

/// The most stored bytes that are read in one go, unless one chunk alone has more.
const MOST_STORED: u64 = 16 << 20;

/// Chunks this many bytes apart are read in one go, with what lies between.
const WORTH_READING: u64 = 16 << 10;

/// Reads full texts, with contexts and buffers that are reused, through a cache of texts that is the same for every codec.
pub struct TextReader {
    decoder: RevlogDecoder,
    /// Texts, and whether they were found to hash to their node.
    cache: DeltaBaseCache<bool>,
    applier: DeltaApplier,
    chain: Vec<usize>,
    stored: Vec<u8>,
    payloads: Vec<u8>,
    ends: Vec<usize>,
    /// How many revisions of `chain` the text holds already; the rest of those decoded wait in `payloads`.
    applied: usize,
    /// How many bytes one text or delta may take.
    room: usize,
}

impl std::fmt::Debug for TextReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextReader").finish_non_exhaustive()
    }
}

impl TextReader {
    /// Reads chunks with `decoder`.
    pub fn new(decoder: RevlogDecoder) -> Self {
        TextReader {
            decoder,
            cache: DeltaBaseCache::new(memory::DEFAULT_CACHE_LIMIT),
            applier: DeltaApplier::default(),
            chain: Vec::new(),
            stored: Vec::new(),
            payloads: Vec::new(),
            ends: Vec::new(),
            applied: 0,
            room: memory::largest(),
        }
    }

    /// Allows each text and delta `room` bytes from now on, which are no more than [`memory::largest`].
    /// Says whether that is more than before.
    pub(crate) fn set_room(&mut self, room: usize) -> bool {
        let before = std::mem::replace(&mut self.room, room);
        room > before
    }

    /// Empties the cache of texts, and gives back what large ones took.
    pub fn clear_caches(&mut self) {
        self.cache.clear();
        self.applier.shrink(MOST_WAITING);
        for buffer in [&mut self.stored, &mut self.payloads] {
            buffer.clear();
            buffer.shrink_to(MOST_WAITING);
        }
    }

    /// Empties the cache of texts, which holds at most so many bytes from now on; `None` for as many as
    /// the ceiling of memory leaves for it.
    pub fn set_cache_limit(&mut self, limit_bytes: Option<u64>) {
        self.cache.set_limit(limit_bytes);
    }

    /// How often the cache was asked since it was last emptied.
    pub fn cache_lookups(&self) -> CacheLookups {
        self.cache.lookups()
    }

    /// Decodes a chunk again: see [`History::decode_again`](crate::History::decode_again).
    ///
    /// # Errors
    /// It does not decode.
    pub fn decode_again(&mut self, chunk: &ChunkInMemory<'_>, payload: &mut Vec<u8>) -> Result<()> {
        let ChunkInMemory { file, decode, stored, base } = *chunk;
        payload.clear();
        let limit = usize::try_from(decode.payload_limit).unwrap_or(usize::MAX);
        let decoded = match base {
            Some(base) => self.decoder.decode_on_base(stored, base, limit, payload),
            None => self.decoder.decode(stored, limit, payload),
        };
        let corrupt =
            |found| ReaderError::corrupt(file, Place::Offset(decode.offset), "a chunk that decodes, as before", found);
        decoded.map(drop).map_err(|error| corrupt(error.to_string()))
    }

    /// Puts the full text of `revision` into `text`. `number` tells `revlog` from others in the cache.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`](crate::ReaderError::Corrupt) names the chunk that cannot be decoded or applied, or the text that does not hash to its node.
    pub fn read(&mut self, revlog: &Revlog, number: usize, revision: usize, text: &mut Vec<u8>) -> Result<()> {
        let entry = revlog.entry(revision)?;
        text.clear();
        let is_checked = self.find_chain(revlog, number, revision, text);
        if !self.chain.is_empty() {
            self.decode_chain(revlog, number, text)?;
        }
        if !is_checked {
            check_text(revlog, revision, entry, text)?;
        }
        if self.chain.is_empty() {
            self.cache.set_tag((number, revision as u64), true);
        } else {
            keep(&mut self.cache, (number, revision as u64), text, true);
        }
        Ok(())
    }

    /// Lists in `self.chain` the revisions whose chunks make `revision`, oldest first, on top of `text`, which is the
    /// longest start of the chain that the cache holds. `true` if that is all of it and was checked.
    fn find_chain(&mut self, revlog: &Revlog, number: usize, revision: usize, text: &mut Vec<u8>) -> bool {
        self.chain.clear();
        let mut at = revision;
        let mut is_checked = false;
        loop {
            if let Some((checked, cached)) = self.cache.get((number, at as u64)) {
                text.extend_from_slice(cached);
                is_checked = checked;
                break;
            }
            self.chain.push(at);
            // Bases are earlier revisions, which was checked: this comes to an end.
            match revlog.delta_base(at) {
                Some(base) => at = base,
                None => break,
            }
        }
        self.chain.reverse();
        is_checked && self.chain.is_empty()
    }

    /// Decodes the chunks of `self.chain` and applies them to `text`.
    fn decode_chain(&mut self, revlog: &Revlog, number: usize, text: &mut Vec<u8>) -> Result<()> {
        let mut stored = std::mem::take(&mut self.stored);
        let decoded = self.decode_runs(revlog, number, &mut stored, text);
        self.stored = stored;
        decoded
    }

    /// As `decode_chain`, with room for stored bytes.
    fn decode_runs(&mut self, revlog: &Revlog, number: usize, stored: &mut Vec<u8>, text: &mut Vec<u8>) -> Result<()> {
        self.payloads.clear();
        self.ends.clear();
        self.applied = 0;
        let mut longest = text.len();
        let mut at = 0;
        while let Some(first) = self.chain.get(at).copied() {
            let end = at + run_len(revlog, self.chain.get(at..).unwrap_or_default())?;
            let last = self.chain.get(end - 1).copied().unwrap_or(first);
            let chunks = revlog.chunks(first, last, stored)?;
            if let Some(log) = revlog.log() {
                log.run(revlog, self.chain.get(at..end).unwrap_or_default());
            }
            while at < end
                && let Some(revision) = self.chain.get(at).copied()
            {
                self.decode_next(revlog, number, (at, revision), chunks.get(revision)?, longest, text)?;
                longest = longest.max(revlog.entry(revision)?.text_len as usize);
                at += 1;
                if self.payloads.len() > MOST_WAITING {
                    self.apply(revlog, number, longest, text)?;
                }
            }
        }
        self.apply(revlog, number, longest, text)
    }

    /// Decodes the chunk of the revision `at` in `self.chain`. A delta then waits in `self.payloads`; a full text is put into
    /// `text`, and so is what a chunk needs as its base.
    fn decode_next(
        &mut self,
        revlog: &Revlog,
        number: usize,
        (at, revision): (usize, usize),
        chunk: &[u8],
        longest: usize,
        text: &mut Vec<u8>,
    ) -> Result<()> {
        let text_len = revlog.entry(revision)?.text_len as usize;
        let is_snapshot = revlog.delta_base(revision).is_none();
        let base_use = if is_snapshot { BaseUse::None } else { RevlogDecoder::base_use(chunk) };
        if base_use != BaseUse::None {
            self.make_base(revlog, number, at, longest, text)?;
        }
        let limit = match base_use {
            BaseUse::None => revlog.payload_limit(revision, longest, self.room)?,
            BaseUse::Prefix => revlog.payload_limit(revision, text.len(), self.room)?,
            BaseUse::Patch => revlog.payload_limit(revision, text.len(), self.room)?.min(text_len),
        };
        if let Some(log) = revlog.log() {
            log.decode(revlog, revision, limit, (base_use != BaseUse::None).then_some(text.as_slice()));
        }
        let decoded = match base_use {
            BaseUse::None if is_snapshot => {
                self.applied = at + 1;
                self.decoder.decode(chunk, limit, text)
            }
            BaseUse::None => self.decoder.decode(chunk, limit, &mut self.payloads),
            BaseUse::Prefix => self.decoder.decode_on_base(chunk, text, limit, &mut self.payloads),
            BaseUse::Patch => {
                let mut patched = self.cache.buffer(text_len);
                let decoded = self.decoder.decode_on_base(chunk, text, limit, &mut patched);
                self.cache.recycle(std::mem::replace(text, patched));
                self.applied = at + 1;
                decoded
            }
        };
        decoded.map_err(|error| revlog.undecodable(revision, &error, self.room))?;
        if self.applied <= at {
            self.ends.push(self.payloads.len());
        }
        Ok(())
    }

    /// Makes `text` that of the revision before the one `at` in `self.chain`, which is compressed with it. It stays in the cache:
    /// neighbours are mostly based on the same.
    fn make_base(
        &mut self,
        revlog: &Revlog,
        number: usize,
        at: usize,
        longest: usize,
        text: &mut Vec<u8>,
    ) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        self.apply(revlog, number, longest, text)?;
        if let Some(base) = at.checked_sub(1).and_then(|before| self.chain.get(before)) {
            keep(&mut self.cache, (number, *base as u64), text, false);
        }
        Ok(())
    }

    /// Applies the deltas that wait to `text`. A long chain is halved again and again on the way, and what the text is at those
    /// stops goes into the cache.
    fn apply(&mut self, revlog: &Revlog, number: usize, longest: usize, text: &mut Vec<u8>) -> Result<()> {
        let mut rest = Deltas::new(&self.payloads, &self.ends);
        while !rest.is_empty() {
            let stop = if rest.len() >= WORTH_STOPS { rest.len() / 2 } else { rest.len() };
            let (now, later) = rest.split_at(stop);
            rest = later;
            self.applied += stop;
            let last = self.chain.get(self.applied - 1).copied().unwrap_or_default();
            let applied = self.applier.apply(text, now, longest);
            applied.map_err(|e| revlog.corrupt(last, "deltas that fit their base", e.to_string()))?;
            if !rest.is_empty() {
                keep(&mut self.cache, (number, last as u64), text, false);
            }
        }
        self.payloads.clear();
        self.ends.clear();
        Ok(())
    }
}

/// Puts a copy of `text` into the cache.
fn keep(cache: &mut DeltaBaseCache<bool>, key: (usize, u64), text: &[u8], is_checked: bool) {
    let mut kept = cache.buffer(text.len());
    kept.extend_from_slice(text);
    cache.put(key, is_checked, kept);
}

/// How many chunks at the start of `chain` are read in one go.
fn run_len(revlog: &Revlog, chain: &[usize]) -> Result<usize> {
    let mut run: Option<(u64, u64)> = None;
    for (len, revision) in chain.iter().enumerate() {
        let entry = revlog.entry(*revision)?;
        if run.is_some_and(|(start, end)| {
            entry.offset.saturating_sub(end) > WORTH_READING || entry.end().saturating_sub(start) > MOST_STORED
        }) {
            return Ok(len);
        }
        run = Some((run.map_or(entry.offset, |(start, _)| start), entry.end()));
    }
    Ok(chain.len())
}

/// The node of a revision with these parents' nodes and this full text: SHA-1 of the parents, smaller first, and the text.
pub fn node_of(first: &ObjectId, second: &ObjectId, text: &[u8]) -> ObjectId {
    let (low, high) = if first <= second { (first, second) } else { (second, first) };
    let mut hasher = Sha1::new();
    hasher.update(low.as_bytes());
    hasher.update(high.as_bytes());
    hasher.update(text);
    ObjectId::Sha1(hasher.finalize().into())
}

/// Holds a full text against what its entry says: no chunk but zlib's has a checksum, and hg checks this on every read.
fn check_text(revlog: &Revlog, revision: usize, entry: &Entry, text: &[u8]) -> Result<()> {
    if text.len() != entry.text_len as usize {
        let expected = format!("a full text of {} bytes", entry.text_len);
        return Err(revlog.corrupt(revision, expected, text.len().to_string()));
    }
    if !entry.is_hashed() {
        return Ok(());
    }
    let [first, second] = revlog.parent_nodes(entry);
    let node = node_of(&first, &second, text);
    if node != entry.node {
        let expected = format!("a text that hashes to its node {}", entry.node);
        return Err(revlog.corrupt(revision, expected, node.to_string()));
    }
    Ok(())
}

impl Revlog {
    /// The nodes of the parents of `entry`; null where there is none.
    pub fn parent_nodes(&self, entry: &Entry) -> [ObjectId; 2] {
        entry.parents.map(|parent| {
            let parent = usize::try_from(parent).ok().and_then(|parent| self.entries.get(parent));
            parent.map_or_else(|| ObjectId::null(gix_hash::Kind::Sha1), |parent| parent.node)
        })
    }
}
