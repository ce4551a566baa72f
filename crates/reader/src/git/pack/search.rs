//! Searching a sorted list of object ids.
//!
//! Ids are hashes and so evenly spread. The position of an id can be estimated from its value, with an error of about
//! the square root of the number of entries. A binary search would touch a dozen distant places of a large index, each
//! probably a cache miss.
//!
//! git does a binary search within the bounds that the fan-out gives for the first byte. It is implemented here too,
//! for traces of what git reads.

use std::{cmp::Ordering, ops::Range};

use gix_hash::oid;

/// After this many steps the ids are considered unevenly spread, and each further step halves the range.
const INTERPOLATIONS: u32 = 8;

/// The position of `id` in a sorted list of `len` ids, which `id_at` returns. Of equal ids it is any one, but always
/// the same.
pub(super) fn position<'a>(len: u32, id_at: impl Fn(u32) -> &'a oid, id: &oid) -> Option<u32> {
    let wanted = leading(id);
    // The id is in low..high. The leading bytes of all ids in that range are between low_key and high_key.
    let (mut low, mut high) = (0, len);
    let (mut low_key, mut high_key) = (0, u64::MAX);
    let mut steps = 0;
    while low < high {
        let at = if steps < INTERPOLATIONS {
            let range = u128::from(high_key.saturating_sub(low_key)) + 1;
            let above = u128::from(wanted.saturating_sub(low_key));
            let offset = above * u128::from(high - low) / range;
            low + u32::try_from(offset).unwrap_or(u32::MAX).min(high - low - 1)
        } else {
            low + (high - low) / 2
        };
        steps += 1;
        let found = id_at(at);
        let found_key = leading(found);
        match found_key.cmp(&wanted).then_with(|| found.cmp(id)) {
            Ordering::Equal => return Some(at),
            Ordering::Less => (low, low_key) = (at + 1, found_key),
            Ordering::Greater => (high, high_key) = (at, found_key),
        }
    }
    None
}

/// The position of `id` within `range`, by a binary search in git's order (`bsearch_hash` in its hash-lookup.c).
pub(super) fn position_by_halving<'a>(range: Range<u32>, id_at: impl Fn(u32) -> &'a oid, id: &oid) -> Option<u32> {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let at = low + (high - low) / 2;
        match id_at(at).cmp(id) {
            Ordering::Equal => return Some(at),
            Ordering::Less => low = at + 1,
            Ordering::Greater => high = at,
        }
    }
    None
}

/// The range that the fan-out of a sorted list of `len` ids gives for `first_byte`: the positions of the ids that begin
/// with it.
pub(super) fn fan_out<'a>(len: u32, id_at: impl Fn(u32) -> &'a oid, first_byte: u8) -> Range<u32> {
    let first_beyond = |is_before: &dyn Fn(u8) -> bool| {
        let (mut low, mut high) = (0, len);
        while low < high {
            let at = low + (high - low) / 2;
            if is_before(id_at(at).first_byte()) { low = at + 1 } else { high = at }
        }
        low
    };
    first_beyond(&|byte| byte < first_byte)..first_beyond(&|byte| byte <= first_byte)
}

/// The first eight bytes as a number.
fn leading(id: &oid) -> u64 {
    id.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use gix_hash::ObjectId;
    use proptest::prelude::*;

    use super::*;
    use crate::hash::IdHasher;

    fn check(ids: &[ObjectId], wanted: &oid) {
        let found = position(ids.len() as u32, |at| &ids[at as usize], wanted);
        assert_eq!(found.is_some(), ids.binary_search(&wanted.to_owned()).is_ok(), "{wanted} in {ids:?}");
        assert!(found.is_none_or(|at| *ids[at as usize] == *wanted), "{wanted} in {ids:?}");
        let id_at = |at: u32| -> &oid { &ids[at as usize] };
        let as_git = position_by_halving(fan_out(ids.len() as u32, id_at, wanted.first_byte()), id_at, wanted);
        assert_eq!(as_git.map(id_at), found.map(id_at), "{wanted} in {ids:?}");
    }

    #[test]
    fn halving_visits_ids_in_the_order_of_git() {
        let id = |first: u8, last: u8| {
            let mut bytes = [0; 20];
            (bytes[0], bytes[19]) = (first, last);
            ObjectId::from(bytes)
        };
        // Positions 3 to 10 begin with 7.
        let mut ids = vec![id(0, 0), id(0, 1), id(6, 0)];
        ids.extend((0..8).map(|last| id(7, 2 * last)));
        ids.push(id(255, 0));
        let looked_at = |wanted: ObjectId| {
            let looks = std::cell::RefCell::new(Vec::new());
            let id_at = |at: u32| -> &oid { &ids[at as usize] };
            let range = fan_out(ids.len() as u32, id_at, wanted.first_byte());
            let logged = |at: u32| {
                looks.borrow_mut().push(at);
                id_at(at)
            };
            let found = position_by_halving(range, logged, &wanted);
            (looks.into_inner(), found)
        };
        assert_eq!(looked_at(id(7, 0)), (vec![7, 5, 4, 3], Some(3)));
        assert_eq!(looked_at(id(7, 12)), (vec![7, 9], Some(9)));
        assert_eq!(looked_at(id(7, 15)), (vec![7, 9, 10], None));
        assert_eq!(looked_at(id(0, 1)), (vec![1], Some(1)));
        assert_eq!(looked_at(id(255, 0)), (vec![11], Some(11)));
        assert_eq!(looked_at(id(8, 0)), (vec![], None));
    }

    proptest! {
        /// With few different bytes, many ids have common prefixes and some are equal.
        #[test]
        fn both_searches_find_the_same_ids(mut ids: Vec<(u8, u8, u8)>, absent: (u8, u8, u8)) {
            let id = |(first, eighth, last): (u8, u8, u8)| {
                let mut bytes = [0; 20];
                (bytes[0], bytes[7], bytes[19]) = (if first < 128 { 0 } else { first }, eighth % 8, last % 4);
                ObjectId::from(bytes)
            };
            ids.sort_unstable_by_key(|bytes| id(*bytes));
            let ids: Vec<ObjectId> = ids.into_iter().map(id).collect();
            for wanted in ids.iter().chain([&id(absent)]) {
                check(&ids, wanted);
            }
        }
    }

    #[test]
    fn number_of_comparisons_is_bounded() {
        let looks_for = |ids: &[ObjectId], wanted: &oid| {
            let looks = std::cell::Cell::new(0u32);
            let id_at = |at: u32| -> &oid {
                looks.set(looks.get() + 1);
                &ids[at as usize]
            };
            assert!(position(ids.len() as u32, id_at, wanted).is_some());
            looks.get()
        };
        let hash = |number: u32| {
            let mut hasher = IdHasher::new(gix_hash::Kind::Sha1);
            hasher.update(&number.to_le_bytes());
            hasher.finish()
        };
        let mut spread: Vec<ObjectId> = (0..20_000).map(hash).collect();
        spread.sort_unstable();
        let looks: u32 = spread.iter().map(|id| looks_for(&spread, id)).sum();
        assert!(looks < 20_000 * 6, "{looks}");
        let mut crowded: Vec<ObjectId> = (0..20_000u32)
            .map(|number| {
                let mut bytes = [0; 20];
                bytes[16..].copy_from_slice(&number.to_be_bytes());
                ObjectId::from(bytes)
            })
            .collect();
        crowded.push(ObjectId::from([255; 20]));
        let most = crowded.iter().map(|id| looks_for(&crowded, id)).max().unwrap();
        assert!(most <= INTERPOLATIONS + 15, "{most}");
    }
}
