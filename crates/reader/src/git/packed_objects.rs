//! Reading objects from packs: applying the deltas of a chain one after another, and caching the bases for the next
//! object.

use std::sync::Arc;

use repackbench_codec::{BaseUse, ChunkDecoder, CodecError};

use super::{
    chunk::{decode_delta_to_vec, decode_to_vec},
    delta,
    pack::{DecodedChunk, EntryKind, PackEntryHeader, PackFile},
};
use crate::{
    ChunkKind, ObjectKind, ReaderError, Result,
    delta_base_cache::{CacheLookups, DeltaBaseCache, Key},
    memory,
};

/// A larger object, in bytes, is not cached after it was read: it would evict many others for one read.
const CACHED_LIMIT: usize = 4 << 20;

/// Reads objects from packs by offset. It belongs to one thread: it owns its decoder, cache and buffers.
pub struct PackedObjects {
    decoder: ChunkDecoder,
    cache: DeltaBaseCache<ObjectKind>,
    chain: Vec<Link>,
    delta_payload: Vec<u8>,
    /// Buffer for an object whose references are numbers.
    numbered: Vec<u8>,
}

/// A delta on the way from an object to its base.
#[derive(Debug, Clone, Copy)]
struct Link {
    offset: u64,
    chunk: u64,
    payload_len: u64,
}

/// The object that the deltas of a chain start from.
struct Base {
    offset: u64,
    kind: ObjectKind,
    /// Its content; `None` while it is in the cache.
    decoded: Option<Vec<u8>>,
}

impl PackedObjects {
    /// A reader with an empty cache that decodes chunks with `decoder`.
    pub fn new(decoder: ChunkDecoder) -> Self {
        PackedObjects {
            decoder,
            cache: DeltaBaseCache::new(memory::DEFAULT_CACHE_LIMIT),
            chain: Vec::new(),
            delta_payload: Vec::new(),
            numbered: Vec::new(),
        }
    }

    /// The decoder, for chunks that are not in packs.
    pub fn decoder(&mut self) -> &mut ChunkDecoder {
        &mut self.decoder
    }

    /// Clears the cache.
    pub fn clear_caches(&mut self) {
        self.cache.clear();
    }

    /// Clears the cache and sets its limit in decoded bytes; `None` for as much as the memory ceiling allows.
    pub fn set_cache_limit(&mut self, limit_bytes: Option<u64>) {
        self.cache.set_limit(limit_bytes);
    }

    /// The look-ups in the cache since it was last cleared.
    pub fn cache_lookups(&self) -> CacheLookups {
        self.cache.lookups()
    }

    /// Replaces `content` by that of the object whose entry starts at `offset` of `pack`. `pack_at` is the pack's
    /// number in the cache, unique among all packs that this value reads.
    ///
    /// # Errors
    /// The entry, or one that it is based on, is damaged.
    pub fn read(&mut self, pack: &PackFile, pack_at: usize, offset: u64, content: &mut Vec<u8>) -> Result<ObjectKind> {
        let kind = self.read_numbered(pack, pack_at, offset, content)?;
        if pack.is_numbered(kind) {
            self.expand(pack, offset, kind, content)?;
        }
        Ok(kind)
    }

    /// The same, but a numbered object stays as it is.
    pub fn read_numbered(
        &mut self,
        pack: &PackFile,
        pack_at: usize,
        offset: u64,
        content: &mut Vec<u8>,
    ) -> Result<ObjectKind> {
        let key = (pack_at, offset);
        if let Some(kind) = self.copy_cached(key, content) {
            return Ok(kind);
        }
        let kind = self.decode(pack, pack_at, offset, content)?;
        self.cache_copy(key, kind, content);
        Ok(kind)
    }

    /// Replaces the numbered object in `content`, which was read from `offset`, by what it stands for. The cache holds
    /// it as it was, since deltas are based on that.
    #[cold]
    fn expand(&mut self, pack: &PackFile, offset: u64, kind: ObjectKind, content: &mut Vec<u8>) -> Result<()> {
        std::mem::swap(content, &mut self.numbered);
        let expanded = pack.expand(offset, kind, &self.numbered, content);
        if self.numbered.capacity() > CACHED_LIMIT {
            self.numbered = Vec::new();
        }
        expanded
    }

    /// As [`read`](PackedObjects::read), for a caller that does not change the content: it is not copied into the cache
    /// or out of it.
    pub fn read_shared(&mut self, pack: &PackFile, pack_at: usize, offset: u64) -> Result<(ObjectKind, Arc<Vec<u8>>)> {
        let (kind, content) = self.read_numbered_shared(pack, pack_at, offset)?;
        if !pack.is_numbered(kind) {
            return Ok((kind, content));
        }
        let mut expanded = Vec::new();
        pack.expand(offset, kind, &content, &mut expanded)?;
        Ok((kind, Arc::new(expanded)))
    }

    /// The same, but a numbered object stays as it is.
    pub fn read_numbered_shared(
        &mut self,
        pack: &PackFile,
        pack_at: usize,
        offset: u64,
    ) -> Result<(ObjectKind, Arc<Vec<u8>>)> {
        let key = (pack_at, offset);
        if let Some(found) = self.cached(key) {
            return Ok(found);
        }
        let mut content = Vec::new();
        let kind = self.decode(pack, pack_at, offset, &mut content)?;
        let content = Arc::new(content);
        self.cache_shared(key, kind, &content);
        Ok((kind, content))
    }

    /// Replaces `content` by the cached object with this `key`. The key of an object in no pack has a number that no
    /// pack has.
    pub(super) fn copy_cached(&mut self, key: Key, content: &mut Vec<u8>) -> Option<ObjectKind> {
        let (kind, data) = self.cache.get(key)?;
        content.clear();
        content.extend_from_slice(data);
        Some(kind)
    }

    /// Caches a copy of `content` under `key`, as [`read`](PackedObjects::read) does.
    pub(super) fn cache_copy(&mut self, key: Key, kind: ObjectKind, content: &[u8]) {
        if is_cached(kind, content) {
            let mut copy = self.cache.buffer(content.len());
            copy.extend_from_slice(content);
            self.cache.put(key, kind, copy);
        }
    }

    /// The cached object with this `key`.
    pub(super) fn cached(&mut self, key: Key) -> Option<(ObjectKind, Arc<Vec<u8>>)> {
        self.cache.get_shared(key)
    }

    /// Caches `content` under `key`.
    pub(super) fn cache_shared(&mut self, key: Key, kind: ObjectKind, content: &Arc<Vec<u8>>) {
        if is_cached(kind, content) {
            self.cache.put_shared(key, kind, Arc::clone(content));
        }
    }

    /// Decodes the object whose entry starts at `offset`, from the nearest cached base of its chain.
    fn decode(&mut self, pack: &PackFile, pack_at: usize, offset: u64, content: &mut Vec<u8>) -> Result<ObjectKind> {
        let (header, chunk) = pack.entry(offset)?;
        match header.kind {
            EntryKind::Whole(kind) => {
                self.decode_whole(pack, offset, kind, (&header, chunk), content)?;
                Ok(kind)
            }
            _ => {
                let base = self.descend(pack, pack_at, offset)?;
                self.ascend(pack, pack_at, base, content)
            }
        }
    }

    /// Decodes the whole entry at `offset`, an object of `kind`. Its chunk is at the start of `stored`.
    fn decode_whole(
        &mut self,
        pack: &PackFile,
        offset: u64,
        kind: ObjectKind,
        (header, stored): (&PackEntryHeader, &[u8]),
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        let payload_len = header.payload_len;
        pack.check_size(offset, payload_len)?;
        self.make_room(payload, usize::try_from(payload_len).unwrap_or(usize::MAX));
        let consumed = decode_to_vec(&mut self.decoder, stored, payload_len, payload)
            .map_err(|e| chunk_error(pack, offset, payload_len, &e))?;
        if let Some(log) = pack.log() {
            let chunk = offset.saturating_add(header.header_len as u64);
            let kind = ChunkKind { object: kind, is_delta: false };
            log.chunk(&DecodedChunk { start: offset, chunk, consumed, payload_len, kind, base: None });
        }
        Ok(())
    }

    /// Exchanges `buffer` for one of the cache's if it has no room for `len` bytes.
    fn make_room(&mut self, buffer: &mut Vec<u8>, len: usize) {
        let len = len.min(CACHED_LIMIT);
        if buffer.capacity() < len {
            let roomy = self.cache.buffer(len);
            self.cache.recycle(std::mem::replace(buffer, roomy));
        }
    }

    /// Collects the deltas from the entry at `offset` down to a base that is whole or cached. Decodes a whole base.
    fn descend(&mut self, pack: &PackFile, pack_at: usize, offset: u64) -> Result<Base> {
        self.chain.clear();
        let mut at = offset;
        loop {
            if !self.chain.is_empty()
                && let Some((kind, _)) = self.cache.get((pack_at, at))
            {
                self.name_headers(pack, kind);
                return Ok(Base { offset: at, kind, decoded: None });
            }
            let (header, chunk) = pack.entry(at)?;
            if let Some(log) = pack.log()
                && !matches!(header.kind, EntryKind::Whole(_))
            {
                log.header(at, &header);
            }
            let next = match header.kind {
                EntryKind::Whole(kind) => {
                    let mut content = Vec::new();
                    self.decode_whole(pack, at, kind, (&header, chunk), &mut content)?;
                    self.name_headers(pack, kind);
                    return Ok(Base { offset: at, kind, decoded: Some(content) });
                }
                EntryKind::OffsetDelta { distance } => pack.base_offset(at, distance)?,
                EntryKind::RefDelta { base } => pack.base_offset_of_id(at, &base)?,
            };
            let chunk = at + header.header_len as u64;
            self.chain.push(Link { offset: at, chunk, payload_len: header.payload_len });
            check_chain(pack, at, self.chain.len())?;
            at = next;
        }
    }

    /// Records the kind of the object that the collected deltas belong to.
    fn name_headers(&self, pack: &PackFile, kind: ObjectKind) {
        if let Some(log) = pack.log() {
            log.name_headers(self.chain.len(), kind);
        }
    }

    /// Applies the collected deltas to `base`, the last one into `content`, and caches every base on the way.
    fn ascend(&mut self, pack: &PackFile, pack_at: usize, mut base: Base, content: &mut Vec<u8>) -> Result<ObjectKind> {
        while let Some(link) = self.chain.pop() {
            let stored = pack.bytes(link.chunk, pack.end())?;
            pack.check_size(link.offset, link.payload_len)?;
            let base_len = match &base.decoded {
                Some(bytes) => bytes.len(),
                None => self.cache.peek((pack_at, base.offset)).map_or(0, |(_, bytes)| bytes.len()),
            };
            let mut result = if self.chain.is_empty() { std::mem::take(content) } else { Vec::new() };
            // The result of a delta is about as long as its base.
            self.make_room(&mut result, base_len);
            let base_bytes = match &base.decoded {
                Some(bytes) => bytes.as_slice(),
                None => self.cache.peek((pack_at, base.offset)).map(|(_, bytes)| bytes).unwrap_or_default(),
            };
            let base_use = ChunkDecoder::base_use(stored);
            let is_patch = base_use == BaseUse::Patch;
            let payload = if is_patch { &mut result } else { &mut self.delta_payload };
            let consumed = decode_delta_to_vec(&mut self.decoder, stored, Some(base_bytes), link.payload_len, payload)
                .map_err(|e| chunk_error(pack, link.offset, link.payload_len, &e))?;
            if let Some(log) = pack.log() {
                log.chunk(&DecodedChunk {
                    start: link.chunk,
                    chunk: link.chunk,
                    consumed,
                    payload_len: link.payload_len,
                    kind: ChunkKind { object: base.kind, is_delta: true },
                    base: (base_use != BaseUse::None).then_some((base.offset, base_bytes)),
                });
            }
            if !is_patch {
                delta::apply(base_bytes, &self.delta_payload, &mut result)
                    .map_err(|error| pack.bad_delta(link.offset, error))?;
            }
            if let Some(bytes) = base.decoded.replace(result) {
                self.cache.put((pack_at, base.offset), base.kind, bytes);
            }
            base.offset = link.offset;
        }
        *content = base.decoded.unwrap_or_default();
        Ok(base.kind)
    }
}

fn chunk_error(pack: &PackFile, offset: u64, payload_len: u64, error: &CodecError) -> ReaderError {
    pack.corrupt(offset, format!("a chunk of {payload_len} payload bytes"), error.to_string())
}

/// Whether an object that was just read is cached: trees and blobs are. Commits and tags are read only once in any
/// walk.
fn is_cached(kind: ObjectKind, content: &[u8]) -> bool {
    matches!(kind, ObjectKind::Tree | ObjectKind::Blob) && content.len() <= CACHED_LIMIT
}

/// Fails if a chain has more links than the pack has entries. Offset deltas only refer back, but ref deltas can form a
/// cycle.
pub(super) fn check_chain(pack: &PackFile, offset: u64, links: usize) -> Result<()> {
    if links > pack.entry_count() as usize {
        return Err(pack.corrupt(offset, "a delta chain that ends in a whole object", "one that leads back to itself"));
    }
    Ok(())
}
