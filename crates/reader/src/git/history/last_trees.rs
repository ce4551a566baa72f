//! What a traversal read last at each path, so that it need not look at the same entries again.
//!
//! The trees of one folder differ from revision to revision in an entry or two. Whatever a tree has in common with one
//! that was visited at its path before was visited with that one: only the entries between what both begin with and
//! what both end with are new. Branches that go their own way take turns in a log, so a few trees of each path are kept.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::common_prefix::{common_prefix, common_suffix};

/// The most content that is kept, in bytes. Folders beyond it are looked at entry by entry.
const MOST_CONTENT: usize = 64 << 20;

/// How many trees of one folder are kept.
const TREES: usize = 4;

/// A folder, as a number: the same path, the same number.
pub(super) type Folder = usize;

/// The tree that was visited last in each folder.
#[derive(Debug)]
pub(super) struct LastTrees {
    /// The trees of each folder, the last one first.
    folders: Vec<Vec<LastTree>>,
    by_name: FxHashMap<(Folder, Box<[u8]>), Folder>,
    content_len: usize,
    spare: Vec<u32>,
}

#[derive(Debug, Default)]
struct LastTree {
    content: Arc<Vec<u8>>,
    /// Where each entry of it starts.
    starts: Vec<u32>,
}

/// The entries of a tree that its folder's last one did not have: a superset, as positions in the content.
#[derive(Debug)]
pub(super) struct NewEntries {
    /// From here on.
    pub(super) start: usize,
    /// Which of the folder's trees it was held against; none where it has nothing in common with any.
    tree: Option<usize>,
    /// If an entry starts here, it and all behind it are known.
    known_from: usize,
    /// How many entries lie before `start`.
    before: usize,
    /// Which of the last tree's entries is the first behind.
    behind: usize,
    /// Which of the last tree's entries may come next.
    next: usize,
    /// How many entries it does not have.
    unknown: usize,
}

impl NewEntries {
    /// Counts an entry that the tree it is held against does not have.
    pub(super) fn count_unknown(&mut self) {
        self.unknown += 1;
    }

    /// Whether the entry at `position`, and all behind it, are known.
    pub(super) fn end_at(&self, position: usize) -> bool {
        position == self.known_from
    }
}

impl LastTrees {
    /// The root of all paths.
    pub(super) const ROOT: Folder = 0;

    pub(super) fn new() -> Self {
        LastTrees { folders: vec![Vec::new()], by_name: FxHashMap::default(), content_len: 0, spare: Vec::new() }
    }

    /// Lets `folder`, a number of the caller's own, have trees.
    pub(super) fn admit(&mut self, folder: Folder) {
        if self.folders.len() <= folder {
            self.folders.resize_with(folder + 1, Vec::new);
        }
    }

    /// The folder called `name` in `parent`.
    pub(super) fn folder(&mut self, parent: Folder, name: &[u8]) -> Folder {
        let next = self.folders.len();
        let folder = *self.by_name.entry((parent, name.into())).or_insert(next);
        if folder == next {
            self.folders.push(Vec::new());
        }
        folder
    }

    /// Which entries of `content`, a tree of `folder`, have to be looked at.
    pub(super) fn new_entries(&self, folder: Folder, content: &[u8]) -> NewEntries {
        let all = NewEntries {
            start: 0,
            tree: None,
            known_from: content.len(),
            before: 0,
            behind: usize::MAX,
            next: 0,
            unknown: 0,
        };
        let trees = self.folders.get(folder).map(Vec::as_slice).unwrap_or_default();
        let Some((at, common)) = most_alike(trees, content) else { return all };
        let Some(LastTree { content: last, starts }) = trees.get(at) else { return all };
        // The last entry that begins within is the one that differs, unless it is the first.
        let before = starts.partition_point(|start| *start as usize <= common.prefix).saturating_sub(1);
        let start = starts.get(before).map_or(0, |start| *start as usize);
        let same_end = common.suffix.min(last.len() - start).min(content.len().saturating_sub(start));
        let first_behind = last.len() - same_end;
        let behind = starts.partition_point(|start| (*start as usize) < first_behind);
        let known_len = starts.get(behind).map_or(0, |start| last.len() - *start as usize);
        NewEntries {
            start,
            tree: Some(at),
            known_from: content.len() - known_len,
            before,
            behind,
            next: before,
            unknown: 0,
        }
    }

    /// Goes over the entries from `position` of `content` on that the tree which it is held against has in the same
    /// order, and adds where each starts to `starts`. Returns where they end.
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

    /// Goes on in the tree that `new` is held against, behind all entries for which `is_passed` holds. Returns whether
    /// there was one.
    pub(super) fn pass(&self, folder: Folder, new: &mut NewEntries, is_passed: impl Fn(&[u8]) -> bool) -> bool {
        let trees = self.folders.get(folder).map(Vec::as_slice).unwrap_or_default();
        let Some(last) = new.tree.and_then(|at| trees.get(at)) else { return false };
        let from = new.next;
        while last.entry(new.next).is_some_and(&is_passed) {
            new.next += 1;
        }
        new.next > from
    }

    /// Remembers `content` as the last tree of `folder`. `looked_at` are the starts of those entries that were looked at,
    /// which end at `end`.
    pub(super) fn remember(
        &mut self,
        folder: Folder,
        content: Arc<Vec<u8>>,
        new: &NewEntries,
        looked_at: &[u32],
        end: usize,
    ) {
        let Some(trees) = self.folders.get_mut(folder) else { return };
        self.spare.clear();
        if let Some(held_against) = new.tree.and_then(|at| trees.get(at)) {
            self.spare.extend_from_slice(held_against.starts.get(..new.before).unwrap_or_default());
            self.spare.extend_from_slice(looked_at);
            if new.end_at(end) {
                let (old_len, new_len) = (held_against.content.len(), content.len());
                let behind = held_against.starts.get(new.behind..).unwrap_or_default().iter();
                // The start lies within the shorter distance from the end.
                self.spare.extend(behind.filter_map(|start| u32::try_from(new_len - (old_len - *start as usize)).ok()));
            }
        } else {
            self.spare.extend_from_slice(looked_at);
        }
        // A tree that mostly differs is left alone: its own branch may come back to it.
        let is_successor = new.unknown <= self.spare.len() / 2;
        let at = match new.tree.filter(|_| is_successor) {
            Some(at) => at,
            None => trees.len().min(TREES - 1),
        };
        let replaced = trees.get(at).map_or(0, |tree| tree.content.len());
        let kept = self.content_len - replaced + content.len();
        if kept > MOST_CONTENT || u32::try_from(content.len()).is_err() {
            return;
        }
        self.content_len = kept;
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
    /// The entry of that number.
    fn entry(&self, number: usize) -> Option<&[u8]> {
        self.content.get(*self.starts.get(number)? as usize..self.end(number)?)
    }

    /// Where the entry of that number ends.
    fn end(&self, number: usize) -> Option<usize> {
        match self.starts.get(number + 1) {
            Some(end) => Some(*end as usize),
            None => (number < self.starts.len()).then_some(self.content.len()),
        }
    }
}

/// How many bytes two trees both begin and end with. The two may overlap in the shorter one.
#[derive(Debug, Clone, Copy)]
struct Common {
    prefix: usize,
    suffix: usize,
}

/// Which of `trees` has the most in common with `content`, or the first one that has nearly all.
fn most_alike(trees: &[LastTree], content: &[u8]) -> Option<(usize, Common)> {
    /// Bytes that differ: an entry's mode, id and a name of usual length.
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

    /// Entries of one digit each: a tree whose entries start at every multiple of two.
    fn visit(last: &mut LastTrees, folder: Folder, tree: &[u8]) -> Vec<usize> {
        let mut new = last.new_entries(folder, tree);
        let (mut starts, mut positions) = (Vec::new(), Vec::new());
        let mut at = new.start;
        while at < tree.len() && !new.end_at(at) {
            last.pass(folder, &mut new, |entry| entry[0] < tree[at]);
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
        last.remember(folder, Arc::new(tree.to_vec()), &new, &starts, at);
        positions
    }

    #[test]
    fn only_what_differs_is_looked_at() {
        let mut last = LastTrees::new();
        assert_eq!(visit(&mut last, 0, b"a.b.c.d.e."), [0, 2, 4, 6, 8]);
        assert_eq!(visit(&mut last, 0, b"a.b.X.d.e."), [4]);
        assert_eq!(visit(&mut last, 0, b"a.b.X.Y.d.e."), [6]);
        assert_eq!(visit(&mut last, 0, b"a.b.d.e."), [4; 0], "entries that are gone show nothing new");
        assert_eq!(visit(&mut last, 0, b"a.b.d.e.f."), [8]);
        assert_eq!(visit(&mut last, 0, b"Z.b.c.e.g."), [0, 4, 8], "several");
        assert_eq!(visit(&mut last, 0, b"Z.b.d.e.f."), [0], "held against the one before");
        assert_eq!(visit(&mut last, 0, b""), [0; 0]);
        assert_eq!(visit(&mut last, 0, b"p.q.r."), [0, 2, 4]);
        assert_eq!(visit(&mut last, 0, b"Z.b.d.e."), [0; 0], "the other branch");
        assert_eq!(visit(&mut last, 0, b"p.Q.r."), [2]);
        let folder = last.folder(0, b"sub");
        assert_eq!(folder, last.folder(0, b"sub"));
        assert_ne!(folder, last.folder(folder, b"sub"));
        assert_eq!(visit(&mut last, folder, b"a."), [0], "another folder has another past");
    }

    proptest! {
        #[test]
        fn whatever_was_not_there_before_is_looked_at(trees: Vec<Vec<u8>>) {
            let mut last = LastTrees::new();
            let mut before: Vec<u8> = Vec::new();
            for tree in trees {
                let mut digits: Vec<u8> = tree.iter().map(|digit| digit % 8).collect();
                digits.sort_unstable();
                let tree: Vec<u8> = digits.into_iter().flat_map(|digit| [digit, b'.']).collect();
                let looked_at = visit(&mut last, 0, &tree);
                for at in (0..tree.len()).step_by(2).filter(|at| !looked_at.contains(at)) {
                    prop_assert!(before.chunks(2).any(|entry| entry == &tree[at..at + 2]), "{} of {:?}", at, tree);
                }
                let starts: Vec<u32> = (0..tree.len() as u32).step_by(2).collect();
                prop_assert_eq!(&last.folders[0][0].starts, &starts);
                before.extend_from_slice(&tree);
            }
        }
    }
}
