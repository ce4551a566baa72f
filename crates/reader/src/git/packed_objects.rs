//! Objects out of packs: the deltas of a chain applied one after another, with the bases kept for the next.

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

/// A whole object that is larger than this is not kept after it was read: it would sweep the cache for one reader.
const KEEP_LIMIT: usize = 4 << 20;

/// Reads objects out of packs by offset. One thread's: it owns its decoder, its cache and its buffers.
pub struct PackedObjects {
    decoder: ChunkDecoder,
    cache: DeltaBaseCache<ObjectKind>,
    chain: Vec<Link>,
    delta_payload: Vec<u8>,
}

/// A delta on the way from an object to its base.
#[derive(Debug, Clone, Copy)]
struct Link {
    offset: u64,
    chunk: u64,
    payload_len: u64,
}

/// What the deltas of a chain start from.
struct Base {
    offset: u64,
    kind: ObjectKind,
    /// Its content; `None` while it lies in the cache.
    decoded: Option<Vec<u8>>,
}

impl PackedObjects {
    /// Chunks are decoded by `decoder`; nothing is cached yet.
    pub fn new(decoder: ChunkDecoder) -> Self {
        PackedObjects {
            decoder,
            cache: DeltaBaseCache::new(memory::DEFAULT_CACHE_LIMIT),
            chain: Vec::new(),
            delta_payload: Vec::new(),
        }
    }

    /// The decoder, for chunks that are not in packs.
    pub fn decoder(&mut self) -> &mut ChunkDecoder {
        &mut self.decoder
    }

    /// Empties the cache.
    pub fn clear_caches(&mut self) {
        self.cache.clear();
    }

    /// Empties the cache, which holds at most so many decoded bytes from now on; `None` for as many as
    /// the ceiling of memory leaves for it.
    pub fn set_cache_limit(&mut self, limit_bytes: Option<u64>) {
        self.cache.set_limit(limit_bytes);
    }

    /// How often the cache was asked since it was last emptied.
    pub fn cache_lookups(&self) -> CacheLookups {
        self.cache.lookups()
    }

    /// Reads the object whose entry starts at `offset` of `pack` into `content`, replacing what is there. `pack_at` tells
    /// the pack from every other that this value reads.
    ///
    /// # Errors
    /// The entry, or one that it is based on, is damaged.
    pub fn read(&mut self, pack: &PackFile, pack_at: usize, offset: u64, content: &mut Vec<u8>) -> Result<ObjectKind> {
        let key = (pack_at, offset);
        if let Some(kind) = self.copy_kept(key, content) {
            return Ok(kind);
        }
        let kind = self.decode(pack, pack_at, offset, content)?;
        self.keep(key, kind, content);
        Ok(kind)
    }

    /// The same for one who does not change the content: it is not copied into the cache or out of it.
    pub fn read_shared(&mut self, pack: &PackFile, pack_at: usize, offset: u64) -> Result<(ObjectKind, Arc<Vec<u8>>)> {
        let key = (pack_at, offset);
        if let Some(found) = self.shared(key) {
            return Ok(found);
        }
        let mut content = Vec::new();
        let kind = self.decode(pack, pack_at, offset, &mut content)?;
        let content = Arc::new(content);
        self.keep_shared(key, kind, &content);
        Ok((kind, content))
    }

    /// Copies the object that is kept under `key` into `content`, replacing what is there. The first half of a key of what lies in
    /// no pack is the number of none.
    pub(super) fn copy_kept(&mut self, key: Key, content: &mut Vec<u8>) -> Option<ObjectKind> {
        let (kind, data) = self.cache.get(key)?;
        content.clear();
        content.extend_from_slice(data);
        Some(kind)
    }

    /// Keeps a copy of `content` under `key`, as [`read`](PackedObjects::read) does.
    pub(super) fn keep(&mut self, key: Key, kind: ObjectKind, content: &[u8]) {
        if is_kept(kind, content) {
            let mut copy = self.cache.buffer(content.len());
            copy.extend_from_slice(content);
            self.cache.put(key, kind, copy);
        }
    }

    /// The object that is kept under `key`.
    pub(super) fn shared(&mut self, key: Key) -> Option<(ObjectKind, Arc<Vec<u8>>)> {
        self.cache.get_shared(key)
    }

    /// Keeps `content` under `key`.
    pub(super) fn keep_shared(&mut self, key: Key, kind: ObjectKind, content: &Arc<Vec<u8>>) {
        if is_kept(kind, content) {
            self.cache.put_shared(key, kind, Arc::clone(content));
        }
    }

    /// Decodes the object whose entry starts at `offset`, from the nearest of its bases that is cached.
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

    /// Decodes the chunk of the entry at `offset`, an object of `kind` with that header, which is at the start of `stored`.
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

    /// Changes `buffer` for one of the cache's if it has no room for `len` bytes.
    fn make_room(&mut self, buffer: &mut Vec<u8>, len: usize) {
        let len = len.min(KEEP_LIMIT);
        if buffer.capacity() < len {
            let roomy = self.cache.buffer(len);
            self.cache.recycle(std::mem::replace(buffer, roomy));
        }
    }

    /// Collects the deltas from the entry at `offset` down to a base that is whole or cached. A whole one is decoded.
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

    /// Tells the log, if there is one, what the collected deltas belong to.
    fn name_headers(&self, pack: &PackFile, kind: ObjectKind) {
        if let Some(log) = pack.log() {
            log.name_headers(self.chain.len(), kind);
        }
    }

    /// Applies the collected deltas to `base`, the last one into `content`. Every base that is made on the way is kept.
    fn ascend(&mut self, pack: &PackFile, pack_at: usize, mut base: Base, content: &mut Vec<u8>) -> Result<ObjectKind> {
        while let Some(link) = self.chain.pop() {
            let stored = pack.bytes(link.chunk, pack.end())?;
            pack.check_size(link.offset, link.payload_len)?;
            let base_len = match &base.decoded {
                Some(bytes) => bytes.len(),
                None => self.cache.peek((pack_at, base.offset)).map_or(0, |(_, bytes)| bytes.len()),
            };
            let mut result = if self.chain.is_empty() { std::mem::take(content) } else { Vec::new() };
            // What a delta makes is about as long as what it is made from.
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

/// Whether an object that was just read is kept: trees and blobs. Commits and tags are read once in any walk.
fn is_kept(kind: ObjectKind, content: &[u8]) -> bool {
    matches!(kind, ObjectKind::Tree | ObjectKind::Blob) && content.len() <= KEEP_LIMIT
}

/// Offset deltas only reach back, but ref deltas can form a circle.
pub(super) fn check_chain(pack: &PackFile, offset: u64, links: usize) -> Result<()> {
    if links > pack.entry_count() as usize {
        return Err(pack.corrupt(offset, "a delta chain that ends in a whole object", "one that leads back to itself"));
    }
    Ok(())
}
