//! Objects that an index lists more than once.

use gix_hash::oid;

/// The positions that a search for the id at them does not find, because another entry has the same id. They are
/// ascending.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::git) struct RepeatedIds(Vec<(u32, u32)>);

impl RepeatedIds {
    /// Those of a sorted list of `len` ids, which `id_at` returns. `find` is the search.
    pub(super) fn new<'a>(len: u32, id_at: impl Fn(u32) -> &'a oid, find: impl Fn(&oid) -> Option<u32>) -> Self {
        let mut repeated = Vec::new();
        let mut start = 0;
        for end in 1..=len {
            if end < len && id_at(start) == id_at(end) {
                continue;
            }
            if end - start > 1
                && let Some(found) = find(id_at(start))
            {
                repeated.extend((start..end).filter(|position| *position != found).map(|position| (position, found)));
            }
            start = end;
        }
        RepeatedIds(repeated)
    }

    /// The position that a search for the id at `position` finds.
    #[inline]
    pub(in crate::git) fn found(&self, position: u32) -> u32 {
        if self.0.is_empty() {
            return position;
        }
        let at = self.0.binary_search_by_key(&position, |(repeated, _)| *repeated);
        at.ok().and_then(|at| self.0.get(at)).map_or(position, |(_, found)| *found)
    }
}

#[cfg(test)]
mod tests {
    use gix_hash::ObjectId;

    use super::*;
    use crate::git::pack::search;

    #[test]
    fn every_position_leads_to_the_one_that_is_found() {
        for bytes in [vec![], vec![1], vec![1, 1], vec![1, 2, 3], vec![1, 1, 2, 3, 3, 3, 4, 9, 9], vec![7; 5]] {
            let ids: Vec<ObjectId> = bytes.iter().map(|byte| ObjectId::Sha1([*byte; 20])).collect();
            let id_at = |at: u32| -> &oid { &ids[at as usize] };
            let len = u32::try_from(ids.len()).unwrap();
            let find = |id: &oid| search::position(len, id_at, id);
            let repeated = RepeatedIds::new(len, id_at, find);
            for position in 0..len {
                assert_eq!(Some(repeated.found(position)), find(id_at(position)), "{bytes:?} {position}");
            }
            let mut distinct = bytes.clone();
            distinct.dedup();
            assert_eq!(repeated.0.len(), bytes.len() - distinct.len(), "{bytes:?}");
        }
    }
}
