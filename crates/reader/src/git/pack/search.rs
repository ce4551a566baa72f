//! Searching a sorted list of object ids.
//!
//! Ids are hashes, so they are evenly spread, and where one lies can be computed from its value, off by the square root of
//! the number of entries. A binary search would touch a dozen far-apart places of a large index, each likely a cache miss.

use std::cmp::Ordering;

use gix_hash::oid;

/// After so many steps the list is not evenly spread, and is halved at each further one.
const INTERPOLATIONS: u32 = 8;

/// The position of `id` in a sorted list of `len` ids, which `id_at` gives. Of equal ones it is any, always the same.
pub(super) fn position<'a>(len: u32, id_at: impl Fn(u32) -> &'a oid, id: &oid) -> Option<u32> {
    let wanted = leading(id);
    // The id lies in low..high, and the leading bytes of those between lie between these two.
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

/// The first eight bytes as a number.
fn leading(id: &oid) -> u64 {
    id.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use gix_hash::ObjectId;
    use proptest::prelude::*;

    use super::*;
    use crate::git::hash::GitHasher;

    fn check(ids: &[ObjectId], wanted: &oid) {
        let found = position(ids.len() as u32, |at| &ids[at as usize], wanted);
        assert_eq!(found.is_some(), ids.binary_search(&wanted.to_owned()).is_ok(), "{wanted} in {ids:?}");
        assert!(found.is_none_or(|at| *ids[at as usize] == *wanted), "{wanted} in {ids:?}");
    }

    proptest! {
        /// Few different bytes, so that many ids share their beginnings, and some are equal.
        #[test]
        fn what_is_there_is_found(mut ids: Vec<(u8, u8, u8)>, absent: (u8, u8, u8)) {
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
    fn evenly_spread_ids_take_few_looks_and_others_no_more_than_halving() {
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
            let mut hasher = GitHasher::new(gix_hash::Kind::Sha1);
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
