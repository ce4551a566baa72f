//! Which packs can hold an object, so that a search does not look into each of them.
//!
//! In a repository with many packs, most searches of an index find nothing. One look at a table that is made from all
//! indexes leaves the right pack, and hardly any other. The table costs a pass over all ids, so it is made only after as
//! many searches in vain as cost about the same.

use gix_hash::oid;

use crate::git::pack::PackFile;

/// A search in vain costs as much as this many ids of the pass.
const IDS_PER_SEARCH: u64 = 16;

/// A filter that lets everything pass until it has been worth making.
#[derive(Debug, Default)]
pub(super) struct PackFilter {
    /// For each value of the leading bits of an id, the packs that have such ids. Empty until the table is made.
    masks: Vec<u64>,
    /// The number of leading bits that are not used.
    shift: u32,
    searches_in_vain: u64,
}

impl PackFilter {
    /// The packs that may hold `id`: see [`bit`](PackFilter::bit).
    pub(super) fn packs_with(&self, id: &oid) -> u64 {
        if self.masks.is_empty() {
            return u64::MAX;
        }
        self.masks.get(slot(id, self.shift)).copied().unwrap_or(u64::MAX)
    }

    /// The bit of pack number `pack`. Packs beyond the 64th share the bits of others.
    pub(super) fn bit(pack: usize) -> u64 {
        1 << (pack % 64)
    }

    /// Counts searches in vain, and makes the table for `packs` once they are many.
    pub(super) fn count_in_vain(&mut self, searches: u64, packs: &[PackFile]) {
        self.searches_in_vain = self.searches_in_vain.saturating_add(searches);
        if !self.masks.is_empty() || searches == 0 {
            return;
        }
        let ids: u64 = packs.iter().map(|pack| u64::from(pack.entry_count())).sum();
        if self.searches_in_vain.saturating_mul(IDS_PER_SEARCH) < ids {
            return;
        }
        self.start(ids);
        for (at, pack) in packs.iter().enumerate() {
            self.add(at, (0..pack.entry_count()).map(|position| pack.index().oid_at_index(position)));
        }
    }

    /// Makes an empty table with about one slot for each of `ids`.
    fn start(&mut self, ids: u64) {
        let bits = ids.max(2).ilog2();
        self.shift = u64::BITS - bits;
        self.masks = vec![0; 1 << bits];
    }

    fn add<'a>(&mut self, pack: usize, ids: impl Iterator<Item = &'a oid>) {
        for id in ids {
            if let Some(mask) = self.masks.get_mut(slot(id, self.shift)) {
                *mask |= PackFilter::bit(pack);
            }
        }
    }
}

/// The leading bits of an id, as an index.
fn slot(id: &oid, shift: u32) -> usize {
    let leading = id.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    usize::try_from(leading >> shift).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use gix_hash::ObjectId;

    use super::*;
    use crate::hash::IdHasher;

    fn id(number: u32) -> ObjectId {
        let mut hasher = IdHasher::new(gix_hash::Kind::Sha1);
        hasher.update(&number.to_be_bytes());
        hasher.finish()
    }

    /// Pack `number % packs` holds the object `number`.
    fn filter(packs: usize, ids: u32) -> PackFilter {
        let mut filter = PackFilter::default();
        filter.start(ids.into());
        for pack in 0..packs {
            let ids: Vec<ObjectId> = (0..ids).filter(|number| *number as usize % packs == pack).map(id).collect();
            filter.add(pack, ids.iter().map(AsRef::as_ref));
        }
        filter
    }

    #[test]
    fn the_pack_of_an_object_always_passes_and_few_others_do() {
        for packs in [1, 7, 64, 100] {
            let filter = filter(packs, 5000);
            let masks: Vec<u64> = (0..5000).map(|number| filter.packs_with(&id(number))).collect();
            for (number, mask) in masks.iter().enumerate() {
                assert_ne!(mask & PackFilter::bit(number % packs), 0, "{number} of {packs}");
            }
            let passed: u32 = masks.iter().map(|mask| mask.count_ones()).sum();
            assert!(passed < 3 * 5000, "{passed} of {packs}");
        }
    }

    #[test]
    fn everything_passes_without_a_table() {
        let mut filter = PackFilter::default();
        assert_eq!(filter.packs_with(&id(1)), u64::MAX);
        filter.start(0);
        assert_eq!(filter.packs_with(&id(1)), 0);
    }
}
