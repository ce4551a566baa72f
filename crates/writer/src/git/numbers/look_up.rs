//! Looks up ids in the index of a pack.

use gix_hash::oid;
use repackbench_reader::git::pack::PackFile;

use super::object::Reference;

/// How many references are remembered at least and at most. Most chains of deltas have fewer different ones.
const LEAST_REMEMBERED: usize = 1 << 8;
const MOST_REMEMBERED: usize = 1 << 16;

/// Looks up ids in the index of a pack. Along a chain most are the same, and are looked up once.
#[derive(Debug, Default)]
pub struct LookUp {
    /// The last reference of each place, which the first bytes of the id decide. Their number is a power of two.
    remembered: Vec<Option<Reference>>,
}

impl LookUp {
    /// Begins with the index of `pack`.
    pub fn new(pack: &PackFile) -> Self {
        let objects = pack.entry_count() as usize;
        LookUp { remembered: vec![None; objects.clamp(LEAST_REMEMBERED, MOST_REMEMBERED).next_power_of_two()] }
    }

    /// The reference to the object `id` in `pack`, which is that of [`new`](LookUp::new).
    pub fn reference(&mut self, pack: &PackFile, id: &oid) -> Reference {
        let first_bytes = id.as_bytes().iter().take(2).fold(0, |bytes, byte| bytes << 8 | usize::from(*byte));
        let slot = self.remembered.len().checked_sub(1).map_or(0, |last| first_bytes & last);
        if let Some(Some(reference)) = self.remembered.get(slot)
            && *reference.id == *id
        {
            return *reference;
        }
        let reference = Reference { id: id.to_owned(), position: pack.position(id) };
        if let Some(slot) = self.remembered.get_mut(slot) {
            *slot = Some(reference);
        }
        reference
    }
}
