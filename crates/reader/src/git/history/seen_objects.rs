//! Which objects a traversal has met.

use gix_hash::{Kind, ObjectId, oid};
use gix_hashtable::HashSet;

use crate::git::{ObjectStore, pack::PackFile};

/// The ids that a traversal has met.
///
/// An object of the largest pack, as most are, is known by its position in the index: a bit for each is less than a
/// hundredth of what a set of ids would take, and fits the processor's cache. Many look-ups repeat recent ones; a small table
/// answers those without a search of the index.
pub(super) struct SeenObjects {
    recent: Vec<ObjectId>,
    /// Its number.
    largest_pack: usize,
    in_largest_pack: Vec<u64>,
    elsewhere: HashSet<ObjectId>,
}

impl SeenObjects {
    const RECENT: usize = 1 << 16;

    /// An empty set for objects of `store`, whose ids are made by `hash`.
    pub(super) fn new(hash: Kind, store: &ObjectStore) -> Self {
        let largest = store.packs().iter().map(PackFile::entry_count).enumerate().max_by_key(|(_, entries)| *entries);
        let (largest_pack, entries) = largest.unwrap_or_default();
        SeenObjects {
            recent: vec![ObjectId::null(hash); Self::RECENT],
            largest_pack,
            in_largest_pack: vec![0; entries.div_ceil(64) as usize],
            elsewhere: HashSet::default(),
        }
    }

    /// Adds `id`; `false` if it was there. `store` is the one that the set was made for.
    pub(super) fn insert(&mut self, store: &ObjectStore, id: &oid) -> bool {
        // Ids are uniformly distributed, so any of their bytes make an index.
        let at = id.as_bytes().iter().skip(4).take(2).fold(0usize, |at, byte| at << 8 | usize::from(*byte));
        let Some(recent) = self.recent.get_mut(at % Self::RECENT) else { return true };
        // The table is filled with the null id.
        if *recent == id && !id.is_null() {
            return false;
        }
        *recent = id.to_owned();
        let position = store.packs().get(self.largest_pack).and_then(|pack| pack.position(id));
        let Some(position) = position else { return self.elsewhere.insert(*recent) };
        let Some(bits) = self.in_largest_pack.get_mut(position as usize / 64) else { return true };
        let bit = 1 << (position % 64);
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }
}
