//! The objects that a traversal has visited.

use gix_hash::{Kind, ObjectId, oid};
use gix_hashtable::HashSet;

use crate::git::{ObjectStore, object_store::PackPlace, pack::PackFile};

/// The result of adding an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sighting {
    /// It was added before.
    Seen,
    /// It is new. The place is that of the object, if it is known.
    New(Option<PackPlace>),
}

/// The number of the pack that has the most objects.
pub(super) fn largest_pack(store: &ObjectStore) -> usize {
    let packs = store.packs().iter().map(PackFile::entry_count).enumerate();
    packs.max_by_key(|(_, entries)| *entries).map_or(0, |(number, _)| number)
}

/// The ids that a traversal has visited.
///
/// Most objects are in the largest pack and are identified by their position in its index. One bit for each takes less
/// than a hundredth of the memory of a set of ids, and fits the processor's cache. Many look-ups repeat recent ones; a
/// small table answers those without a search in the index.
pub(super) struct SeenObjects {
    /// The last id of each slot, which bytes of the id decide. The number of slots is a power of two.
    recent: Vec<ObjectId>,
    /// The number of the largest pack.
    largest_pack: usize,
    in_largest_pack: Vec<u64>,
    elsewhere: HashSet<ObjectId>,
}

impl SeenObjects {
    /// The fewest and the most slots. A small store has fewer, since filling many takes longer than it saves.
    const LEAST_RECENT: usize = 1 << 10;
    const MOST_RECENT: usize = 1 << 16;

    /// An empty set for objects of `store`, whose ids are of the kind `hash`.
    pub(super) fn new(hash: Kind, store: &ObjectStore) -> Self {
        let largest_pack = largest_pack(store);
        let entries = store.packs().get(largest_pack).map_or(0, PackFile::entry_count);
        SeenObjects {
            recent: vec![ObjectId::null(hash); Self::slots(store.len())],
            largest_pack,
            in_largest_pack: vec![0; entries.div_ceil(64) as usize],
            elsewhere: HashSet::default(),
        }
    }

    fn slots(objects: usize) -> usize {
        objects.clamp(Self::LEAST_RECENT, Self::MOST_RECENT).next_power_of_two()
    }

    /// Adds the object at `position` of the largest pack.
    pub(super) fn insert_at(&mut self, position: u32) -> Sighting {
        let Some(bits) = self.in_largest_pack.get_mut(position as usize / 64) else { return Sighting::Seen };
        let bit = 1 << (position % 64);
        if *bits & bit != 0 {
            return Sighting::Seen;
        }
        *bits |= bit;
        Sighting::New(Some(PackPlace { pack: self.largest_pack, position }))
    }

    /// Adds `id`. `store` is the one that the set was made for.
    pub(super) fn insert(&mut self, store: &ObjectStore, id: &oid) -> Sighting {
        // Ids are uniformly distributed, so any of their bytes can serve as an index.
        let at = id.as_bytes().iter().skip(4).take(2).fold(0usize, |at, byte| at << 8 | usize::from(*byte));
        let slot = at & self.recent.len().saturating_sub(1);
        let Some(recent) = self.recent.get_mut(slot) else { return Sighting::Seen };
        // The table is initially filled with the null id.
        if *recent == id && !id.is_null() {
            return Sighting::Seen;
        }
        *recent = id.to_owned();
        match store.position_in(self.largest_pack, id) {
            Some(position) => self.insert_at(position),
            None if self.elsewhere.insert(*recent) => Sighting::New(None),
            None => Sighting::Seen,
        }
    }
}
