//! A cache of decoded objects, the bases of deltas. The least recently used one is evicted first.
//!
//! The limit counts decoded bytes. Its default is git's, `core.deltaBaseCacheLimit` = 96 MiB. It is the same for every
//! variant: the policy of this cache changes timings more than most codecs do, so it must not depend on the codec.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::memory;

/// Largest capacity of a new buffer in bytes. The wanted length may be an unchecked claim.
const MAX_CAPACITY: usize = 8 << 20;

const NONE: usize = usize::MAX;

#[derive(Debug)]
struct Slot<T> {
    key: Key,
    tag: T,
    data: Arc<Vec<u8>>,
    newer: usize,
    older: usize,
}

/// The origin of an object: a pack and the offset of the entry, or a revlog and the revision.
pub(crate) type Key = (usize, u64);

/// A least-recently-used cache of decoded objects. Each object has a tag, such as its kind in Git.
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

/// Numbers of look-ups in a cache of decoded objects since it was last cleared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheLookups {
    /// Look-ups that found the object, or the base of a delta on the way to it.
    pub hits: u64,
    /// Look-ups that did not.
    pub misses: u64,
}

impl<T: Copy> DeltaBaseCache<T> {
    /// An empty cache for at most `limit` decoded bytes, and at most what the memory ceiling allows for it.
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

    /// Clears the cache and sets its limit in decoded bytes; `None` for as much as the memory ceiling allows.
    pub(crate) fn set_limit(&mut self, limit_bytes: Option<u64>) {
        let limit = limit_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX);
        *self = DeltaBaseCache::new(limit);
    }

    /// Numbers of look-ups since the cache was last cleared.
    pub(crate) fn lookups(&self) -> CacheLookups {
        self.lookups
    }

    /// Clears the cache so that a run starts cold. Spare buffers are freed too: several repositories may be open at
    /// once.
    pub(crate) fn clear(&mut self) {
        *self = DeltaBaseCache::new(self.limit);
    }

    /// The object at `key`, which becomes the most recently used one. Counts as a look-up.
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

    /// The object at `key`, without counting a look-up or changing the order of eviction.
    pub(crate) fn peek(&self, key: Key) -> Option<(T, &[u8])> {
        let slot = self.slots.get(*self.by_key.get(&key)?)?;
        Some((slot.tag, slot.data.as_slice()))
    }

    /// As [`get`](Self::get), shared: the object stays valid when the cache evicts it.
    pub(crate) fn get_shared(&mut self, key: Key) -> Option<(T, Arc<Vec<u8>>)> {
        self.get(key)?;
        self.slots.get(self.newest).map(|slot| (slot.tag, Arc::clone(&slot.data)))
    }

    /// Changes the tag of the object at `key`.
    pub(crate) fn set_tag(&mut self, key: Key, tag: T) {
        if let Some(slot) = self.by_key.get(&key).and_then(|at| self.slots.get_mut(*at)) {
            slot.tag = tag;
        }
    }

    /// An empty buffer for `len` bytes, recycled if possible. A new one has a capacity of at most [`MAX_CAPACITY`].
    pub(crate) fn buffer(&mut self, len: usize) -> Vec<u8> {
        // Neighbours in a chain differ a little in length. With some slack the buffer serves the next one too.
        let new = || Vec::with_capacity(len.saturating_add(len / 8).min(MAX_CAPACITY));
        self.spare.take(len).unwrap_or_else(new)
    }

    /// Takes back a buffer that was not put into the cache.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        if self.used + self.spare.bytes < self.limit.saturating_add(MAX_CAPACITY) {
            self.spare.put(buffer);
        }
    }

    /// Adds an object, unless it is larger than half of the limit: it would evict almost all others.
    pub(crate) fn put(&mut self, key: Key, tag: T, data: Vec<u8>) {
        self.put_shared(key, tag, Arc::new(data));
    }

    /// As [`put`](Self::put), for an object that has other owners.
    pub(crate) fn put_shared(&mut self, key: Key, tag: T, data: Arc<Vec<u8>>) {
        if data.len() > self.limit / 2 || self.by_key.contains_key(&key) {
            return self.release(data);
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
        self.release(data);
    }

    /// Recycles the buffer unless it has other owners.
    fn release(&mut self, data: Arc<Vec<u8>>) {
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

/// Buffers for reuse, grouped by the base-2 logarithm of their capacity.
#[derive(Debug, Default)]
struct SpareBuffers {
    by_size: Vec<Vec<Vec<u8>>>,
    bytes: usize,
}

impl SpareBuffers {
    /// Number of buffers that are tried in the group of the wanted size. Some of them are too small.
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

    /// A buffer with room for `len` bytes and not much more.
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
    fn least_recently_used_is_evicted_first() {
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
    fn lookups_are_counted_until_cleared() {
        let mut cache = DeltaBaseCache::new(100);
        put(&mut cache, 1, 25);
        assert!(cache.get((0, 1)).is_some() && cache.get_shared((0, 1)).is_some() && cache.get((0, 2)).is_none());
        assert_eq!(cache.peek((0, 1)).unwrap().1, &[1; 25]);
        assert_eq!(cache.lookups(), CacheLookups { hits: 2, misses: 1 });
        cache.clear();
        assert_eq!(cache.lookups(), CacheLookups::default());
    }

    #[test]
    fn limit_zero_keeps_nothing_and_no_limit_everything() {
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
    fn packs_have_separate_keys_and_slots_are_reused() {
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
