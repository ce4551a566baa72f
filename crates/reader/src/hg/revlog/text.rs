//! Reading full texts: a snapshot and the deltas of its chain.

use gix_hash::ObjectId;
use repackbench_codec::{BaseUse, DecodeMemo, RevlogDecoder};

use super::{Entry, Revlog};
use crate::{
    ChunkInMemory, Place, ReaderError, Result,
    delta_base_cache::{CacheLookups, DeltaBaseCache},
    hash::IdHasher,
    hg::{
        delta::{DeltaApplier, Deltas},
        filelog,
    },
    memory,
};

/// From this many deltas on, intermediate texts of a chain are cached. Logs go backwards, from the end of a chain to
/// its start. Without intermediate texts, each text would be rebuilt from the snapshot.
const MIN_DELTAS_FOR_STOPS: usize = 8;

/// Pending deltas are applied when they take more than this many bytes.
const MAX_PENDING: usize = 16 << 20;

/// Limit on the stored bytes that are read in one call. A longer chunk is read on its own.
const MAX_READ: u64 = 16 << 20;

/// Gaps up to this many bytes between chunks are read with the chunks, in one call.
const MAX_GAP: u64 = 16 << 10;

/// Reads full texts, reusing contexts and buffers. Its cache of texts is the same for every codec.
pub struct TextReader {
    decoder: RevlogDecoder,
    /// Texts, and whether their hash has been checked.
    cache: DeltaBaseCache<bool>,
    applier: DeltaApplier,
    chain: Vec<usize>,
    stored: Vec<u8>,
    payloads: Vec<u8>,
    ends: Vec<usize>,
    /// Number of revisions of `chain` that the text already includes. Other decoded ones are pending in `payloads`.
    applied: usize,
    /// Limit in bytes for one text or delta.
    room: usize,
}

impl std::fmt::Debug for TextReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextReader").finish_non_exhaustive()
    }
}

impl TextReader {
    /// A reader with an empty cache that decodes chunks with `decoder`.
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

    /// Sets the limit for each text and delta to `room` bytes, at most [`memory::largest`]. Returns whether it has
    /// grown.
    pub(crate) fn set_room(&mut self, room: usize) -> bool {
        let before = std::mem::replace(&mut self.room, room);
        room > before
    }

    /// Clears the cache of texts and frees large buffers.
    pub fn clear_caches(&mut self) {
        self.cache.clear();
        self.applier.shrink(MAX_PENDING);
        for buffer in [&mut self.stored, &mut self.payloads] {
            buffer.clear();
            buffer.shrink_to(MAX_PENDING);
        }
    }

    /// Clears the cache of texts and sets its limit; `None` for as much as the memory ceiling allows.
    pub fn set_cache_limit(&mut self, limit_bytes: Option<u64>) {
        self.cache.set_limit(limit_bytes);
    }

    /// The look-ups in the cache since it was last cleared.
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

    /// Sets the memo of decoded payloads: see [`History::set_memo`](crate::History::set_memo).
    pub fn set_memo(&mut self, memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>> {
        self.decoder.set_memo(memo)
    }

    /// Replaces `text` by the full text of `revision`. `number` identifies `revlog` in the cache.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] names the chunk that cannot be decoded or applied, or the text that does not hash to
    /// its node.
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

    /// Puts the nearest cached text of the chain of `revision` into `text`, and lists the later revisions of the chain
    /// in `self.chain`, oldest first. `true` if the cached text is that of `revision` and was checked.
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
            // Bases are earlier revisions, which was checked on opening, so the loop ends.
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

    /// As `decode_chain`, with a buffer for stored bytes.
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
                if self.payloads.len() > MAX_PENDING {
                    self.apply(revlog, number, longest, text)?;
                }
            }
        }
        self.apply(revlog, number, longest, text)
    }

    /// Decodes the chunk of the revision `at` in `self.chain`. A delta is then pending in `self.payloads`. A full text
    /// replaces `text`. If the chunk needs the content of its base, pending deltas are applied first.
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

    /// Applies pending deltas so that `text` is that of the base of the revision `at` in `self.chain`, which was
    /// compressed with it. Caches the text, because neighbours mostly have the same base.
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

    /// Applies the pending deltas to `text`. A long chain is halved again and again, and the texts at these stops are
    /// cached.
    fn apply(&mut self, revlog: &Revlog, number: usize, longest: usize, text: &mut Vec<u8>) -> Result<()> {
        let mut rest = Deltas::new(&self.payloads, &self.ends);
        while !rest.is_empty() {
            let stop = if rest.len() >= MIN_DELTAS_FOR_STOPS { rest.len() / 2 } else { rest.len() };
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

/// Number of chunks at the start of `chain` that are read in one call.
fn run_len(revlog: &Revlog, chain: &[usize]) -> Result<usize> {
    let mut run: Option<(u64, u64)> = None;
    for (len, revision) in chain.iter().enumerate() {
        let entry = revlog.entry(*revision)?;
        if run.is_some_and(|(start, end)| {
            entry.offset.saturating_sub(end) > MAX_GAP || entry.end().saturating_sub(start) > MAX_READ
        }) {
            return Ok(len);
        }
        run = Some((run.map_or(entry.offset, |(start, _)| start), entry.end()));
    }
    Ok(chain.len())
}

/// The node of a revision: SHA-1 of the nodes of its parents, the smaller one first, and its full text.
pub fn node_of(first: &ObjectId, second: &ObjectId, text: &[u8]) -> ObjectId {
    let mut hasher = node_hasher(first, second);
    hasher.update(text);
    hasher.finish()
}

/// The hasher of a node, before the text.
pub(crate) fn node_hasher(first: &ObjectId, second: &ObjectId) -> IdHasher {
    let (low, high) = if first <= second { (first, second) } else { (second, first) };
    let mut hasher = IdHasher::new(gix_hash::Kind::Sha1);
    hasher.update(low.as_bytes());
    hasher.update(high.as_bytes());
    hasher
}

/// Checks the length and the hash of a full text against its entry. Only zlib chunks have a checksum, and hg also
/// checks the hash on every read.
fn check_text(revlog: &Revlog, revision: usize, entry: &Entry, text: &[u8]) -> Result<()> {
    if text.len() != entry.text_len as usize {
        let expected = format!("a full text of {} bytes", entry.text_len);
        return Err(revlog.corrupt(revision, expected, text.len().to_string()));
    }
    // hg hashes a censored revision, too, and asks for the tombstone if the hash is another one.
    if entry.is_stored_externally() || entry.is_censored() && filelog::is_tombstone(text) {
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
    /// The nodes of the parents of `entry`; null for no parent.
    pub fn parent_nodes(&self, entry: &Entry) -> [ObjectId; 2] {
        entry.parents.map(|parent| {
            let parent = usize::try_from(parent).ok().and_then(|parent| self.entries.get(parent));
            parent.map_or_else(|| ObjectId::null(gix_hash::Kind::Sha1), |parent| parent.node)
        })
    }
}
