//! The order in which git writes a pack.
//!
//! Source: `compute_write_order()` in git's `builtin/pack-objects.c`. First the listing up to the first tagged commit,
//! then everything tagged, the other commits and tags, the other trees, and finally the blobs. Each blob brings along
//! all blobs of its delta family.

use repackbench_reader::ObjectKind;

use super::positions::PositionSet;

/// The absence of a position.
const NONE: u32 = u32::MAX;

/// Sorts `listed`, positions in the order of `git rev-list --objects`, into the order in which git would write them.
/// `bases` and `kinds` are those of all positions; a whole entry is its own base.
pub(super) fn recency(listed: &[u32], bases: &[u32], kinds: &[ObjectKind], tagged: &[u32]) -> Vec<u32> {
    let tagged = PositionSet::of(bases.len(), tagged);
    let kind = |position: &u32| kinds.get(*position as usize).copied();
    let mut order = GrowingOrder::new(listed, bases);
    let first_tagged = listed.iter().position(|position| tagged.contains(*position)).unwrap_or(listed.len());
    let (before, rest) = listed.split_at_checked(first_tagged).unwrap_or((listed, &[]));
    order.add_all(before.iter());
    order.add_all(rest.iter().filter(|position| tagged.contains(**position)));
    let is_history = |position: &&u32| matches!(kind(position), Some(ObjectKind::Commit | ObjectKind::Tag));
    order.add_all(rest.iter().filter(is_history));
    order.add_all(rest.iter().filter(|position| kind(position) == Some(ObjectKind::Tree)));
    for position in rest {
        if !order.written.contains(*position) {
            order.add_family(*position);
        }
    }
    order.order
}

/// An order under construction, and the delta tree of its entries.
struct GrowingOrder {
    order: Vec<u32>,
    written: PositionSet,
    /// The base of each delta if it is listed, or [`NONE`].
    bases: Vec<u32>,
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
}

impl GrowingOrder {
    fn new(listed: &[u32], bases: &[u32]) -> Self {
        let is_listed = PositionSet::of(bases.len(), listed);
        let mut order = GrowingOrder {
            order: Vec::with_capacity(listed.len()),
            written: PositionSet::new(bases.len()),
            bases: vec![NONE; bases.len()],
            first_child: vec![NONE; bases.len()],
            next_sibling: vec![NONE; bases.len()],
        };
        // Start with the last, so that what was listed first becomes the first child.
        for position in listed.iter().rev() {
            let at = *position as usize;
            let base = bases.get(at).copied().filter(|base| base != position && is_listed.contains(*base));
            let Some(base) = base else { continue };
            let first = order.first_child.get_mut(base as usize).map(|first| std::mem::replace(first, *position));
            if let Some((next, slot)) = order.next_sibling.get_mut(at).zip(order.bases.get_mut(at)) {
                *next = first.unwrap_or(NONE);
                *slot = base;
            }
        }
        order
    }

    fn add_all<'a>(&mut self, positions: impl Iterator<Item = &'a u32>) {
        positions.for_each(|position| self.add(*position));
    }

    fn add(&mut self, position: u32) {
        if self.written.insert(position) {
            self.order.push(position);
        }
    }

    /// Adds all entries of the delta family of `position`, including itself.
    fn add_family(&mut self, position: u32) {
        let mut root = position;
        while let Some(base) = linked(&self.bases, root) {
            root = base;
        }
        self.add_descendants(root);
    }

    /// Adds `root` and all deltas on it: all deltas on one base together, then those based on the first of them.
    fn add_descendants(&mut self, root: u32) {
        let mut at = root;
        let mut is_new = true;
        loop {
            if is_new {
                self.add(at);
                let mut sibling = linked(&self.next_sibling, at);
                while let Some(position) = sibling {
                    self.add(position);
                    sibling = linked(&self.next_sibling, position);
                }
            }
            if let Some(child) = linked(&self.first_child, at) {
                (at, is_new) = (child, true);
                continue;
            }
            is_new = false;
            at = loop {
                if let Some(sibling) = linked(&self.next_sibling, at) {
                    break sibling;
                }
                match linked(&self.bases, at) {
                    Some(base) => at = base,
                    None => return,
                }
            };
        }
    }
}

/// The target of the link at `position`, if there is one.
fn linked(links: &[u32], position: u32) -> Option<u32> {
    links.get(position as usize).copied().filter(|to| *to != NONE)
}

#[cfg(test)]
mod tests {
    use ObjectKind::{Blob, Commit, Tag, Tree};

    use super::*;

    /// Positions are in the order of the listing.
    fn order(kinds: &[ObjectKind], bases: &[u32], tagged: &[u32]) -> Vec<u32> {
        let listed: Vec<u32> = (0..kinds.len() as u32).collect();
        recency(&listed, bases, kinds, tagged)
    }

    #[test]
    fn order_without_tags_is_that_of_the_listing() {
        let kinds = [Commit, Commit, Tree, Blob, Tree, Blob];
        assert_eq!(order(&kinds, &[0, 1, 2, 3, 2, 3], &[]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn tagged_commits_come_first_and_families_stay_together() {
        let kinds = [Commit, Commit, Commit, Tag, Tree, Blob, Blob, Tree, Blob, Blob];
        // 8 is a delta on 5, 9 on 8; 6 is whole.
        let bases = [0, 1, 2, 3, 4, 5, 6, 4, 5, 8];
        assert_eq!(order(&kinds, &bases, &[2, 3]), [0, 1, 2, 3, 4, 7, 5, 8, 9, 6]);
        // The tagged commit comes first, then older ones.
        assert_eq!(order(&kinds, &bases, &[1, 3]), [0, 1, 3, 2, 4, 7, 5, 8, 9, 6]);
    }

    #[test]
    fn deltas_on_one_base_come_before_deltas_on_them() {
        let kinds = [Commit, Blob, Blob, Blob, Blob, Blob, Blob];
        // 2, 5 and 6 are deltas on 1; 3 on 2; 4 on 5.
        let bases = [0, 1, 1, 2, 5, 1, 1];
        assert_eq!(order(&kinds, &bases, &[0]), [0, 1, 2, 5, 6, 3, 4]);
    }

    #[test]
    fn unlisted_bases_do_not_connect_families() {
        let kinds = [Commit, Blob, Blob, Blob];
        let bases = [0, 1, 1, 1];
        assert_eq!(recency(&[0, 3, 2], &bases, &kinds, &[0]), [0, 3, 2]);
    }
}
