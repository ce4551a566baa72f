//! Decoded objects that deltas may be applied to, least recently used ones forgotten first.
//!
//! The limit counts decoded bytes and is git's default, `core.deltaBaseCacheLimit` = 96 MiB. It is the same for every
//! variant: the policy of this cache moves timings more than most codecs do, so it must not depend on one.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::memory;

/// The most room that a new buffer has, in bytes: what it is for may be a claim.
const MOST_ROOM: usize = 8 << 20;

const NONE: usize = usize::MAX;

#[derive(Debug)]
struct Slot<T> {
    key: Key,
    tag: T,
    data: Arc<Vec<u8>>,
    newer: usize,
    older: usize,
}

/// Where an object came from: which pack and the offset of its entry, or which revlog and revision.
pub(crate) type Key = (usize, u64);

/// A least-recently-used cache of decoded objects, each with a tag that says something of it: Git's kind, say.
#[derive(Debug)]
pub(crate) struct DeltaBaseCache<T> {
    limit: usize,
    used: usize,
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
    by_key: FxHashMap<Key, usize>,
    newest: usize,
    oldest: usize,
    spare: SpareBuffers,
    lookups: CacheLookups,
}

/// How often a cache of decoded objects was asked, since it was last emptied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheLookups {
    /// How often it held what was asked for: an object, or the base of a delta on the way to one.
    pub hits: u64,
    /// How often it did not.
    pub misses: u64,
}

impl<T: Copy> DeltaBaseCache<T> {
    /// An empty cache for at most `limit` decoded bytes, and for no more than the ceiling of memory leaves for it.
    pub(crate) fn new(limit: usize) -> Self {
        DeltaBaseCache {
            limit: limit.min(memory::cache_limit()),
            used: 0,
            slots: Vec::new(),
            free: Vec::new(),
            by_key: FxHashMap::default(),
            newest: NONE,
            oldest: NONE,
            spare: SpareBuffers::default(),
            lookups: CacheLookups::default(),
        }
    }

    /// Forgets everything, and holds at most so many decoded bytes from now on; `None` for as many as the ceiling of
    /// memory leaves for it.
    pub(crate) fn set_limit(&mut self, limit_bytes: Option<u64>) {
        let limit = limit_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX);
        *self = DeltaBaseCache::new(limit);
    }

    /// How often it was asked since it was last emptied.
    pub(crate) fn lookups(&self) -> CacheLookups {
        self.lookups
    }

    /// Forgets everything, so that a run starts cold. The buffers go too: several repositories may be open at once.
    pub(crate) fn clear(&mut self) {
        *self = DeltaBaseCache::new(self.limit);
    }

    /// The object at `key`, which becomes the most recently used. Counted as a look-up.
    pub(crate) fn get(&mut self, key: Key) -> Option<(T, &[u8])> {
        let Some(&at) = self.by_key.get(&key) else {
            self.lookups.misses += 1;
            return None;
        };
        self.lookups.hits += 1;
        if at != self.newest {
            self.unlink(at);
            self.link_newest(at);
        }
        self.slots.get(at).map(|slot| (slot.tag, slot.data.as_slice()))
    }

    /// The same again for one who has looked it up before, and not counted.
    pub(crate) fn get_again(&self, key: Key) -> Option<(T, &[u8])> {
        let slot = self.slots.get(*self.by_key.get(&key)?)?;
        Some((slot.tag, slot.data.as_slice()))
    }

    /// What [`get`](Self::get) gives, shared: the cache may forget it meanwhile.
    pub(crate) fn get_shared(&mut self, key: Key) -> Option<(T, Arc<Vec<u8>>)> {
        self.get(key)?;
        self.slots.get(self.newest).map(|slot| (slot.tag, Arc::clone(&slot.data)))
    }

    /// Gives the object at `key` another tag.
    pub(crate) fn set_tag(&mut self, key: Key, tag: T) {
        if let Some(slot) = self.by_key.get(&key).and_then(|at| self.slots.get_mut(*at)) {
            slot.tag = tag;
        }
    }

    /// An empty buffer with room for `len` bytes, or as many as are taken on the word of an index; recycled where possible.
    pub(crate) fn buffer(&mut self, len: usize) -> Vec<u8> {
        // Neighbours in a chain differ a little in length: with some slack this buffer serves the next one too.
        let new = || Vec::with_capacity(len.saturating_add(len / 8).min(MOST_ROOM));
        self.spare.take(len).unwrap_or_else(new)
    }

    /// Takes a buffer back that was not put into the cache.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        if self.used + self.spare.bytes < self.limit.saturating_add(MOST_ROOM) {
            self.spare.put(buffer);
        }
    }

    /// Puts an object in, unless it is larger than half of the cache: one such would sweep all others out.
    pub(crate) fn put(&mut self, key: Key, tag: T, data: Vec<u8>) {
        self.put_shared(key, tag, Arc::new(data));
    }

    /// The same for an object that others hold too.
    pub(crate) fn put_shared(&mut self, key: Key, tag: T, data: Arc<Vec<u8>>) {
        if data.len() > self.limit / 2 || self.by_key.contains_key(&key) {
            return self.let_go(data);
        }
        self.used += data.len();
        while self.used > self.limit && self.oldest != NONE {
            self.evict_oldest();
        }
        let slot = Slot { key, tag, data, newer: NONE, older: NONE };
        let at = match self.free.pop() {
            Some(at) => {
                if let Some(place) = self.slots.get_mut(at) {
                    *place = slot;
                }
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.by_key.insert(key, at);
        self.link_newest(at);
    }

    fn evict_oldest(&mut self) {
        let at = self.oldest;
        self.unlink(at);
        let Some(slot) = self.slots.get_mut(at) else { return };
        let data = std::mem::take(&mut slot.data);
        let key = slot.key;
        self.by_key.remove(&key);
        self.used -= data.len();
        self.free.push(at);
        self.let_go(data);
    }

    /// Takes the buffer back if nobody else holds it.
    fn let_go(&mut self, data: Arc<Vec<u8>>) {
        if let Some(buffer) = Arc::into_inner(data) {
            self.recycle(buffer);
        }
    }

    fn unlink(&mut self, at: usize) {
        let Some((newer, older)) = self.slots.get(at).map(|slot| (slot.newer, slot.older)) else { return };
        match self.slots.get_mut(newer) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link_newest(&mut self, at: usize) {
        let older = self.newest;
        if let Some(slot) = self.slots.get_mut(at) {
            slot.newer = NONE;
            slot.older = older;
        }
        match self.slots.get_mut(older) {
            Some(slot) => slot.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
    }
}

/// Buffers for reuse, by the base-2 logarithm of their capacity.
#[derive(Debug, Default)]
struct SpareBuffers {
    by_size: Vec<Vec<Vec<u8>>>,
    bytes: usize,
}

impl SpareBuffers {
    /// How many buffers of the wanted size's own class are tried: some of them are too small.
    const TRIES: usize = 4;

    fn class(len: usize) -> usize {
        len.checked_ilog2().map_or(0, |log| log as usize)
    }

    fn put(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() == 0 {
            return;
        }
        buffer.clear();
        let class = Self::class(buffer.capacity());
        if self.by_size.len() <= class {
            self.by_size.resize_with(class + 1, Vec::new);
        }
        self.bytes += buffer.capacity();
        if let Some(buffers) = self.by_size.get_mut(class) {
            buffers.push(buffer);
        }
    }

    /// A buffer with room for `len` bytes, and not for very many more.
    fn take(&mut self, len: usize) -> Option<Vec<u8>> {
        let class = Self::class(len);
        let own = self.by_size.get_mut(class)?;
        let first = own.len().saturating_sub(Self::TRIES);
        let fitting = own.get(first..)?.iter().rposition(|buffer| buffer.capacity() >= len);
        let buffer = match fitting {
            Some(at) => own.swap_remove(first + at),
            None => self.by_size.get_mut(class + 1)?.pop()?,
        };
        self.bytes -= buffer.capacity();
        Some(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectKind;

    fn put(cache: &mut DeltaBaseCache<ObjectKind>, offset: u64, len: usize) {
        let mut data = cache.buffer(len);
        data.resize(len, offset as u8);
        cache.put((0, offset), ObjectKind::Blob, data);
    }

    fn holds(cache: &DeltaBaseCache<ObjectKind>) -> Vec<u64> {
        let mut keys: Vec<u64> = cache.by_key.keys().map(|(_, offset)| *offset).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut cache = DeltaBaseCache::new(100);
        for offset in 1..=4 {
            put(&mut cache, offset, 25);
        }
        assert_eq!(cache.get((0, 1)).unwrap().1, &[1; 25]);
        put(&mut cache, 5, 25);
        assert_eq!(holds(&cache), [1, 3, 4, 5]);
        put(&mut cache, 6, 50);
        assert_eq!(holds(&cache), [1, 5, 6]);
        put(&mut cache, 7, 51);
        assert_eq!(holds(&cache), [1, 5, 6], "larger than half of the cache");
        assert_eq!(cache.used, 100);
        cache.clear();
        assert!(cache.get((0, 1)).is_none());
    }

    #[test]
    fn lookups_are_counted_until_it_is_emptied() {
        let mut cache = DeltaBaseCache::new(100);
        put(&mut cache, 1, 25);
        assert!(cache.get((0, 1)).is_some() && cache.get_shared((0, 1)).is_some() && cache.get((0, 2)).is_none());
        assert_eq!(cache.get_again((0, 1)).unwrap().1, &[1; 25]);
        assert_eq!(cache.lookups(), CacheLookups { hits: 2, misses: 1 });
        cache.clear();
        assert_eq!(cache.lookups(), CacheLookups::default());
    }

    #[test]
    fn a_cache_without_room_keeps_nothing_and_one_without_limit_everything() {
        let mut cache = DeltaBaseCache::new(100);
        cache.set_limit(Some(0));
        put(&mut cache, 1, 1);
        assert!(cache.get((0, 1)).is_none());
        cache.set_limit(None);
        for offset in 0..100 {
            put(&mut cache, offset, 1 << 16);
        }
        assert_eq!(holds(&cache).len(), 100);
    }

    #[test]
    fn packs_are_told_apart_and_slots_reused() {
        let mut cache = DeltaBaseCache::new(40);
        for round in 0..50u64 {
            cache.put((1, round), ObjectKind::Tree, vec![1; 10]);
            assert!(cache.get((0, round)).is_none());
            assert!(cache.get((1, round)).is_some());
        }
        assert_eq!(cache.slots.len(), 4);
        assert_eq!(holds(&cache), [46, 47, 48, 49]);
    }
}
