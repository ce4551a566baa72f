//! The last trees that a traversal read at each path, so that it does not visit the same entries again.
//!
//! The trees of one folder mostly differ by one or two entries between revisions. Entries that a tree has in common
//! with an earlier tree at its path were visited with that one. So only the entries between the common prefix and the
//! common suffix are new. Diverged branches alternate in a log, so a few trees are kept for each path.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::common_prefix::{common_prefix, common_suffix};

/// Limit on the kept content in bytes. All entries of further folders are visited.
const MAX_CONTENT: usize = 64 << 20;

/// Number of trees that are kept for one folder.
const TREES: usize = 4;

/// The number of a folder. Each path has one number.
pub(super) type Folder = usize;

/// The trees that were visited last in each folder.
#[derive(Debug)]
pub(super) struct LastTrees {
    /// The trees of each folder, most recent first.
    folders: Vec<Vec<LastTree>>,
    by_name: FxHashMap<(Folder, Box<[u8]>), Folder>,
    content_len: usize,
    spare: Vec<u32>,
}

#[derive(Debug, Default)]
struct LastTree {
    content: Arc<Vec<u8>>,
    /// The start of each of its entries.
    starts: Vec<u32>,
}

/// The entries of a tree that the kept tree of its folder does not have, or a superset of them, as positions in the
/// content.
#[derive(Debug)]
pub(super) struct NewEntries {
    /// The start of the first new entry.
    pub(super) start: usize,
    /// The kept tree that it was compared with; `None` if it has nothing in common with any.
    tree: Option<usize>,
    /// If an entry starts here, it and all later ones are known.
    known_from: usize,
    /// Number of entries before `start`.
    before: usize,
    /// The first entry of the kept tree's common suffix.
    suffix: usize,
    /// The entry of the kept tree that may come next.
    next: usize,
    /// Number of entries that the kept tree does not have.
    unknown: usize,
}

impl NewEntries {
    /// Counts an entry that the kept tree does not have.
    pub(super) fn count_unknown(&mut self) {
        self.unknown += 1;
    }

    /// Whether the entry at `position` and all later ones are known.
    pub(super) fn ends_at(&self, position: usize) -> bool {
        position == self.known_from
    }
}

impl LastTrees {
    /// The root folder.
    pub(super) const ROOT: Folder = 0;

    pub(super) fn new() -> Self {
        LastTrees { folders: vec![Vec::new()], by_name: FxHashMap::default(), content_len: 0, spare: Vec::new() }
    }

    /// Adds `folder`, a number assigned by the caller, if it is new.
    pub(super) fn add_folder(&mut self, folder: Folder) {
        if self.folders.len() <= folder {
            self.folders.resize_with(folder + 1, Vec::new);
        }
    }

    /// The folder `name` in `parent`.
    pub(super) fn folder(&mut self, parent: Folder, name: &[u8]) -> Folder {
        let next = self.folders.len();
        let folder = *self.by_name.entry((parent, name.into())).or_insert(next);
        if folder == next {
            self.folders.push(Vec::new());
        }
        folder
    }

    /// The entries of `content`, a tree of `folder`, that have to be visited.
    pub(super) fn new_entries(&self, folder: Folder, content: &[u8]) -> NewEntries {
        let all = NewEntries {
            start: 0,
            tree: None,
            known_from: content.len(),
            before: 0,
            suffix: usize::MAX,
            next: 0,
            unknown: 0,
        };
        let trees = self.folders.get(folder).map(Vec::as_slice).unwrap_or_default();
        let Some((at, common)) = most_similar(trees, content) else { return all };
        let Some(LastTree { content: last, starts }) = trees.get(at) else { return all };
        // The last entry that starts within the common prefix is the one that differs, unless it is the first.
        let before = starts.partition_point(|start| *start as usize <= common.prefix).saturating_sub(1);
        let start = starts.get(before).map_or(0, |start| *start as usize);
        let same_end = common.suffix.min(last.len() - start).min(content.len().saturating_sub(start));
        let suffix_start = last.len() - same_end;
        let suffix = starts.partition_point(|start| (*start as usize) < suffix_start);
        let known_len = starts.get(suffix).map_or(0, |start| last.len() - *start as usize);
        NewEntries {
            start,
            tree: Some(at),
            known_from: content.len() - known_len,
            before,
            suffix,
            next: before,
            unknown: 0,
        }
    }

    /// Skips the entries of `content` from `position` on that the kept tree has in the same order, and adds their
    /// starts to `starts`. Returns their end.
    pub(super) fn skip_known(
        &self,
        folder: Folder,
        new: &mut NewEntries,
        content: &[u8],
        position: usize,
        starts: &mut Vec<u32>,
    ) -> usize {
        let tree = self.folders.get(folder).zip(new.tree).and_then(|(trees, at)| trees.get(at));
        let Some((last, from)) = tree.and_then(|last| Some((last, *last.starts.get(new.next)? as usize))) else {
            return position;
        };
        let rest = content.get(position..new.known_from).unwrap_or_default();
        let same_to = from + common_prefix(last.content.get(from..).unwrap_or_default(), rest);
        let mut start = from;
        while let Some(end) = last.end(new.next).filter(|end| *end <= same_to) {
            starts.extend(u32::try_from(position + (start - from)));
            new.next += 1;
            start = end;
        }
        position + (start - from)
    }

    /// Advances in the kept tree past all entries for which `is_before` holds. Returns whether there was one.
    pub(super) fn advance(&self, folder: Folder, new: &mut NewEntries, is_before: impl Fn(&[u8]) -> bool) -> bool {
        let trees = self.folders.get(folder).map(Vec::as_slice).unwrap_or_default();
        let Some(last) = new.tree.and_then(|at| trees.get(at)) else { return false };
        let from = new.next;
        while last.entry(new.next).is_some_and(&is_before) {
            new.next += 1;
        }
        new.next > from
    }

    /// Keeps `content` as the last tree of `folder`. `visited` are the starts of the entries that were visited, which
    /// end at `end`.
    pub(super) fn keep(
        &mut self,
        folder: Folder,
        content: Arc<Vec<u8>>,
        new: &NewEntries,
        visited: &[u32],
        end: usize,
    ) {
        let Some(trees) = self.folders.get_mut(folder) else { return };
        self.spare.clear();
        if let Some(kept) = new.tree.and_then(|at| trees.get(at)) {
            self.spare.extend_from_slice(kept.starts.get(..new.before).unwrap_or_default());
            self.spare.extend_from_slice(visited);
            if new.ends_at(end) {
                let (old_len, new_len) = (kept.content.len(), content.len());
                let suffix = kept.starts.get(new.suffix..).unwrap_or_default().iter();
                // Distances from the end are equal in both trees.
                self.spare.extend(suffix.filter_map(|start| u32::try_from(new_len - (old_len - *start as usize)).ok()));
            }
        } else {
            self.spare.extend_from_slice(visited);
        }
        // A kept tree that mostly differs is not replaced: the log may return to its branch.
        let is_successor = new.unknown <= self.spare.len() / 2;
        let at = match new.tree.filter(|_| is_successor) {
            Some(at) => at,
            None => trees.len().min(TREES - 1),
        };
        let replaced = trees.get(at).map_or(0, |tree| tree.content.len());
        let content_len = self.content_len - replaced + content.len();
        if content_len > MAX_CONTENT || u32::try_from(content.len()).is_err() {
            return;
        }
        self.content_len = content_len;
        if at == trees.len() {
            trees.push(LastTree::default());
        }
        trees.get_mut(..=at).unwrap_or_default().rotate_right(1);
        let Some(last) = trees.first_mut() else { return };
        std::mem::swap(&mut last.starts, &mut self.spare);
        last.content = content;
    }
}

impl LastTree {
    /// The entry with this number.
    fn entry(&self, number: usize) -> Option<&[u8]> {
        self.content.get(*self.starts.get(number)? as usize..self.end(number)?)
    }

    /// The end of the entry with this number.
    fn end(&self, number: usize) -> Option<usize> {
        match self.starts.get(number + 1) {
            Some(end) => Some(*end as usize),
            None => (number < self.starts.len()).then_some(self.content.len()),
        }
    }
}

/// The lengths of the common prefix and suffix of two trees. They may overlap in the shorter tree.
#[derive(Debug, Clone, Copy)]
struct Common {
    prefix: usize,
    suffix: usize,
}

/// The position of the tree that has the most in common with `content`, or of the first one that has almost everything.
fn most_similar(trees: &[LastTree], content: &[u8]) -> Option<(usize, Common)> {
    /// A difference of this many bytes: mode, id and a name of usual length.
    const ENTRY: usize = 64;
    let mut best: Option<(usize, usize, Common)> = None;
    for (at, LastTree { content: last, .. }) in trees.iter().enumerate() {
        let common = Common { prefix: common_prefix(last, content), suffix: common_suffix(last, content) };
        let same = (common.prefix + common.suffix).min(last.len()).min(content.len());
        if best.is_none_or(|(most, ..)| same >= most) {
            best = Some((same, at, common));
        }
        if content.len() - same < ENTRY.min(content.len() / 8) {
            break;
        }
    }
    best.map(|(_, at, common)| (at, common))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Visits a tree whose entries are two bytes long, a digit and a dot. Returns the starts of the entries visited.
    fn visit(last: &mut LastTrees, folder: Folder, tree: &[u8]) -> Vec<usize> {
        let mut new = last.new_entries(folder, tree);
        let (mut starts, mut positions) = (Vec::new(), Vec::new());
        let mut at = new.start;
        while at < tree.len() && !new.ends_at(at) {
            last.advance(folder, &mut new, |entry| entry[0] < tree[at]);
            let known_to = last.skip_known(folder, &mut new, tree, at, &mut starts);
            if known_to == at {
                starts.push(at as u32);
                positions.push(at);
                new.count_unknown();
                at += 2;
            } else {
                at = known_to;
            }
        }
        last.keep(folder, Arc::new(tree.to_vec()), &new, &starts, at);
        positions
    }

    #[test]
    fn only_differing_entries_are_visited() {
        let mut last = LastTrees::new();
        assert_eq!(visit(&mut last, 0, b"a.b.c.d.e."), [0, 2, 4, 6, 8]);
        assert_eq!(visit(&mut last, 0, b"a.b.X.d.e."), [4]);
        assert_eq!(visit(&mut last, 0, b"a.b.X.Y.d.e."), [6]);
        assert_eq!(visit(&mut last, 0, b"a.b.d.e."), [4; 0], "removed entries are not new");
        assert_eq!(visit(&mut last, 0, b"a.b.d.e.f."), [8]);
        assert_eq!(visit(&mut last, 0, b"Z.b.c.e.g."), [0, 4, 8], "several");
        assert_eq!(visit(&mut last, 0, b"Z.b.d.e.f."), [0], "compared with the tree before");
        assert_eq!(visit(&mut last, 0, b""), [0; 0]);
        assert_eq!(visit(&mut last, 0, b"p.q.r."), [0, 2, 4]);
        assert_eq!(visit(&mut last, 0, b"Z.b.d.e."), [0; 0], "the other branch");
        assert_eq!(visit(&mut last, 0, b"p.Q.r."), [2]);
        let folder = last.folder(0, b"sub");
        assert_eq!(folder, last.folder(0, b"sub"));
        assert_ne!(folder, last.folder(folder, b"sub"));
        assert_eq!(visit(&mut last, folder, b"a."), [0], "another folder has other trees");
    }

    proptest! {
        #[test]
        fn new_entries_are_always_visited(trees: Vec<Vec<u8>>) {
            let mut last = LastTrees::new();
            let mut before: Vec<u8> = Vec::new();
            for tree in trees {
                let mut digits: Vec<u8> = tree.iter().map(|digit| digit % 8).collect();
                digits.sort_unstable();
                let tree: Vec<u8> = digits.into_iter().flat_map(|digit| [digit, b'.']).collect();
                let visited = visit(&mut last, 0, &tree);
                for at in (0..tree.len()).step_by(2).filter(|at| !visited.contains(at)) {
                    prop_assert!(before.chunks(2).any(|entry| entry == &tree[at..at + 2]), "{} of {:?}", at, tree);
                }
                let starts: Vec<u32> = (0..tree.len() as u32).step_by(2).collect();
                prop_assert_eq!(&last.folders[0][0].starts, &starts);
                before.extend_from_slice(&tree);
            }
        }
    }
}
