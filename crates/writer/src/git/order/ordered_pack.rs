//! The orders, as positions in a pack, before bases are pulled forward.

use repackbench_reader::ObjectKind;

use super::positions::PositionSet;

/// What is needed to order the entries of a pack. Positions are in file order.
pub(super) struct OrderedPack<'a> {
    /// The base of each position. A whole entry is its own base.
    pub(super) bases: &'a [u32],
    pub(super) kinds: &'a [ObjectKind],
    /// Reachable objects, in the order of `git rev-list --objects --all`.
    pub(super) listed: Vec<u32>,
    /// The objects that a checkout of `HEAD` reads: its commit and trees, then its files.
    pub(super) head_trees: Vec<u32>,
    pub(super) head_files: Vec<u32>,
}

impl OrderedPack<'_> {
    /// Commits, tags, trees, files; each in the order of the listing.
    pub(super) fn by_kind(&self) -> Vec<u32> {
        let kinds = [ObjectKind::Commit, ObjectKind::Tag, ObjectKind::Tree, ObjectKind::Blob];
        let of_kind = |kind| self.listed.iter().copied().filter(move |position| self.kind(*position) == Some(kind));
        kinds.into_iter().flat_map(of_kind).collect()
    }

    /// Commits, then tags, then all others by the rank of the path at which they were found. Versions of a path are in
    /// the order of the listing.
    pub(super) fn by_path(&self, rank: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut wanted = self.listed.clone();
        wanted.sort_by_cached_key(|position| match self.kind(*position) {
            Some(ObjectKind::Commit) => (0, 0),
            Some(ObjectKind::Tag) => (1, 0),
            _ => (2, rank(*position)),
        });
        wanted
    }

    /// The objects that a checkout of `HEAD` reads, in that order; then `recency`.
    pub(super) fn checkout(&self, recency: &[u32]) -> Vec<u32> {
        [&self.head_trees, &self.head_files, recency].into_iter().flatten().copied().collect()
    }

    /// The trees of `HEAD` together, then its files, then the rest; each by `recency`. With `bases_are_first`, the
    /// bases of those trees come before them. If such a base is itself based on a tree of `HEAD`, that tree comes
    /// before it, and so apart from the others.
    pub(super) fn trees_first(&self, recency: &[u32], bases_are_first: bool) -> Vec<u32> {
        let trees = PositionSet::of(self.bases.len(), &self.head_trees);
        let files = PositionSet::of(self.bases.len(), &self.head_files);
        let mut wanted = Vec::new();
        if bases_are_first {
            let mut known = PositionSet::new(self.bases.len());
            for tree in &self.head_trees {
                let mut at = *tree;
                // If a base is known, so are all below it.
                while let Some(base) = self.bases.get(at as usize).copied().filter(|base| *base != at)
                    && known.insert(base)
                {
                    wanted.extend((!trees.contains(base)).then_some(base));
                    at = base;
                }
            }
        }
        wanted.extend_from_slice(&self.head_trees);
        wanted.extend(recency.iter().copied().filter(|position| files.contains(*position)));
        wanted.extend_from_slice(recency);
        wanted
    }

    fn kind(&self, position: u32) -> Option<ObjectKind> {
        self.kinds.get(position as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use ObjectKind::{Blob, Commit, Tag, Tree};

    use super::{super::bases_first::bases_first, *};

    /// Two commits, a tag, their trees and files; 5 is a delta on 8, which is a delta on 4.
    fn pack<'a>(bases: &'a [u32], kinds: &'a [ObjectKind]) -> OrderedPack<'a> {
        OrderedPack {
            bases,
            kinds,
            listed: vec![1, 0, 2, 4, 3, 5, 7, 6, 8, 9],
            head_trees: vec![1, 4, 5],
            head_files: vec![7, 3],
        }
    }

    const BASES: [u32; 10] = [0, 1, 2, 3, 4, 8, 6, 7, 4, 3];
    const KINDS: [ObjectKind; 10] = [Commit, Commit, Tag, Blob, Tree, Tree, Blob, Blob, Tree, Blob];

    #[test]
    fn kinds_are_grouped_in_the_order_of_the_listing() {
        assert_eq!(pack(&BASES, &KINDS).by_kind(), [1, 0, 2, 4, 5, 8, 3, 7, 6, 9]);
    }

    #[test]
    fn versions_of_a_path_are_grouped_newest_first() {
        let rank = |position| match position {
            4 => 0,
            5 | 8 => 7,
            7 | 6 => 9,
            _ => 2,
        };
        assert_eq!(pack(&BASES, &KINDS).by_path(rank), [1, 0, 2, 4, 3, 9, 5, 8, 7, 6]);
    }

    #[test]
    fn checkout_order_is_commit_then_trees_then_files() {
        let wanted = pack(&BASES, &KINDS).checkout(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(bases_first(wanted.iter().copied(), &BASES, |_| true), [1, 4, 5, 7, 3, 0, 2, 6, 8, 9]);
        assert_eq!(bases_first(wanted, &BASES, |_| false), [1, 4, 8, 5, 7, 3, 0, 2, 6, 9], "8 before 5");
    }

    #[test]
    fn bases_of_head_trees_come_before_them() {
        let recency = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let wanted = pack(&BASES, &KINDS).trees_first(&recency, true);
        assert_eq!(bases_first(wanted, &BASES, |_| false), [4, 8, 1, 5, 3, 7, 0, 2, 6, 9]);
        let wanted = pack(&BASES, &KINDS).trees_first(&recency, false);
        assert_eq!(bases_first(wanted, &BASES, |_| true), [1, 4, 5, 3, 7, 0, 2, 6, 8, 9]);
    }
}
