//! Comparing trees as git does: depth first, in the order of paths.
//!
//! Trees of neighbouring revisions are mostly identical, so their common prefix is skipped before entries are compared.

use std::cmp::Ordering;

use gix_hash::{Kind, ObjectId};
use gix_object::tree::name_order;

use super::expect::{MAX_TREE_DEPTH, TreeContent, contains_itself, damaged, read_tree_or_empty, too_deep};
use crate::{
    Changes, FileVersion, Place, ReaderError, Result,
    git::{ObjectStore, numbered::PackNumbers},
    memory,
    traits::FileMode,
};

/// Finds the differences between two trees.
#[derive(Debug)]
pub(super) struct TreeDiff {
    hash: Kind,
    path: Vec<u8>,
    levels: Vec<Level>,
}

/// Two trees at one path, and the progress of comparing them.
#[derive(Debug)]
struct Level {
    old: TreeCursor,
    new: TreeCursor,
    /// Length of the path of the directory, including its slash.
    path_len: usize,
}

/// A tree and the position of the next entry.
#[derive(Debug)]
struct TreeCursor {
    id: Option<ObjectId>,
    tree: TreeContent,
    at: usize,
}

/// One entry of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeEntry<'a> {
    /// `None` for a directory.
    pub(super) mode: Option<FileMode>,
    pub(super) name: &'a [u8],
    pub(super) id: &'a [u8],
    /// Its length in bytes.
    pub(super) len: usize,
}

/// Parses the entry at the start of `bytes`: octal mode, space, name, NUL, id (git has no documentation of the format;
/// see decode_tree_entry() in its tree-walk.c).
pub(super) fn parse_entry(bytes: &[u8], hash_len: usize) -> Option<TreeEntry<'_>> {
    let EntryHead { mode, name, len: id_start } = parse_entry_head(bytes)?;
    let len = id_start + hash_len;
    Some(TreeEntry { mode, name, id: bytes.get(id_start..len)?, len })
}

/// What is before the id of an entry.
struct EntryHead<'a> {
    mode: Option<FileMode>,
    name: &'a [u8],
    /// Its length in bytes, with the NUL.
    len: usize,
}

/// Parses the entry at the start of `bytes`, a numbered tree. Its `id` is a number, or the escape and an id.
pub(super) fn parse_numbered_entry<'a>(bytes: &'a [u8], numbers: &PackNumbers) -> Option<TreeEntry<'a>> {
    let EntryHead { mode, name, len: id_start } = parse_entry_head(bytes)?;
    let rest = bytes.get(id_start..)?;
    let reference = rest.get(..numbers.len_at(rest))?;
    Some(TreeEntry { mode, name, id: reference, len: id_start + reference.len() })
}

/// Parses mode, space, name and NUL.
#[inline]
fn parse_entry_head(bytes: &[u8]) -> Option<EntryHead<'_>> {
    let name_end = memchr::memchr(0, bytes)?;
    let head = bytes.get(..name_end)?;
    // Modes have five or six digits, so a search would cost more than it saves.
    let space = head.iter().position(|byte| *byte == b' ')?;
    let mut mode = 0u32;
    for digit in head.get(..space)? {
        let value = digit.checked_sub(b'0').filter(|value| *value < 8)?;
        mode = mode.checked_mul(8)?.checked_add(u32::from(value))?;
    }
    Some(EntryHead { mode: file_mode(mode), name: head.get(space + 1..)?, len: name_end + 1 })
}

/// The type that git reads from a mode; `None` for a directory. Old histories have modes such as 100664, which are
/// equivalent to 100644 (canon_mode() in git).
fn file_mode(mode: u32) -> Option<FileMode> {
    const FILE_TYPE: u32 = 0o170_000;
    const OWNER_EXECUTES: u32 = 0o100;
    match mode & FILE_TYPE {
        0o040_000 => None,
        0o100_000 if mode & OWNER_EXECUTES != 0 => Some(FileMode::Executable),
        0o100_000 => Some(FileMode::Regular),
        0o120_000 => Some(FileMode::Symlink),
        _ => Some(FileMode::Gitlink),
    }
}

impl TreeEntry<'_> {
    fn object_id(&self) -> Option<ObjectId> {
        ObjectId::try_from(self.id).ok()
    }

    pub(super) fn is_tree(&self) -> bool {
        self.mode.is_none()
    }

    pub(super) fn tree_id(&self) -> Option<ObjectId> {
        if self.is_tree() { self.object_id() } else { None }
    }

    pub(super) fn file_version(&self) -> Option<FileVersion> {
        Some(FileVersion { id: self.object_id()?, mode: self.mode? })
    }

    /// The order of the two in a tree.
    pub(super) fn order(&self, other: &TreeEntry<'_>) -> Ordering {
        name_order(self.name, self.is_tree(), other.name, other.is_tree())
    }
}

impl TreeCursor {
    /// The next entry and its end; `None` at the end of the tree.
    fn next(&self, store: &ObjectStore, hash: Kind) -> Result<Option<(TreeEntry<'_>, usize)>> {
        let rest = self.tree.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        match parse_entry(rest, hash.len_in_bytes()) {
            Some(entry) => Ok(Some((entry, self.at + entry.len))),
            None => {
                let id = self.id.unwrap_or_else(|| hash.null());
                Err(damaged(store, id, "a tree", &format!("a malformed entry at offset {}", self.at)))
            }
        }
    }
}

/// Number of bytes of whole entries that `old` and `new` both start with, or a few less.
fn common_entries(old: &[u8], new: &[u8], hash_len: usize) -> usize {
    const STRIDE: usize = 64;
    let strides = old.chunks_exact(STRIDE).zip(new.chunks_exact(STRIDE));
    let same = STRIDE * strides.take_while(|(old, new)| old == new).count();
    let mut start = 0;
    while let Some(name_end) = old.get(start..same).and_then(|rest| memchr::memchr(0, rest)) {
        let end = start + name_end + 1 + hash_len;
        if end > same {
            break;
        }
        start = end;
    }
    start
}

impl TreeDiff {
    pub(super) fn new(hash: Kind) -> Self {
        TreeDiff { hash, path: Vec::new(), levels: Vec::new() }
    }

    /// Adds the differences between the trees `old` and `new` to `changes`. No tree counts as an empty one, and so does
    /// a missing one, which the store notes.
    pub(super) fn run(
        &mut self,
        store: &mut ObjectStore,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        changes: &mut Changes,
    ) -> Result<()> {
        self.path.clear();
        // A failed comparison may have left levels.
        self.levels.clear();
        self.enter(store, old, new)?;
        let most = memory::listing_limit();
        while let Some(level) = self.levels.last_mut() {
            match level.step(store, self.hash, &mut self.path, changes)? {
                // A few kilobytes of trees can list any number of paths: a tree that names another often, which in turn
                // names a third.
                Step::Next if changes.held_bytes() <= most => {}
                Step::Next => {
                    let id = new.or(old).unwrap_or_else(|| self.hash.null());
                    let excess = memory::excess(changes.held_bytes(), most);
                    let place = Place::Object(id);
                    return Err(ReaderError::too_large(store.object_dir(), place, "a list of changed files", excess));
                }
                Step::Leave => drop(self.levels.pop()),
                Step::Enter(old, new) => self.enter(store, old, new)?,
            }
        }
        Ok(())
    }

    fn enter(&mut self, store: &mut ObjectStore, old: Option<ObjectId>, new: Option<ObjectId>) -> Result<()> {
        if self.levels.len() >= MAX_TREE_DEPTH {
            return Err(too_deep(store, new.or(old).unwrap_or_else(|| self.hash.null())));
        }
        let new_open = new.filter(|_| self.levels.iter().any(|level| level.new.id == new));
        let old_open = || old.filter(|_| self.levels.iter().any(|level| level.old.id == old));
        if let Some(id) = new_open.or_else(old_open) {
            return Err(contains_itself(store, id));
        }
        let mut old = TreeCursor::open(store, old)?;
        let mut new = TreeCursor::open(store, new)?;
        let start = common_entries(&old.tree, &new.tree, self.hash.len_in_bytes());
        (old.at, new.at) = (start, start);
        self.levels.push(Level { old, new, path_len: self.path.len() });
        Ok(())
    }
}

impl TreeCursor {
    fn open(store: &mut ObjectStore, id: Option<ObjectId>) -> Result<Self> {
        Ok(TreeCursor { id, tree: read_tree_or_empty(store, id)?, at: 0 })
    }
}

/// What to do after comparing the entries at both cursors.
enum Step {
    Next,
    Leave,
    /// One or both sides have a directory at this path.
    Enter(Option<ObjectId>, Option<ObjectId>),
}

impl Level {
    fn step(&mut self, store: &ObjectStore, hash: Kind, path: &mut Vec<u8>, changes: &mut Changes) -> Result<Step> {
        let (old, new) = (self.old.next(store, hash)?, self.new.next(store, hash)?);
        let order = match (&old, &new) {
            (None, None) => return Ok(Step::Leave),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((old, _)), Some((new, _))) => old.order(new),
        };
        // Of two entries with different names, only the first in order is handled now.
        let old = old.filter(|_| order.is_le());
        let new = new.filter(|_| order.is_ge());
        let (old_at, new_at) = (old.map(|(_, end)| end), new.map(|(_, end)| end));
        let (old, new) = (old.map(|(entry, _)| entry), new.map(|(entry, _)| entry));

        let is_same = old.zip(new).is_some_and(|(old, new)| old.id == new.id && old.mode == new.mode);
        let mut step = Step::Next;
        if !is_same && let Some(entry) = old.or(new) {
            path.truncate(self.path_len);
            path.extend_from_slice(entry.name);
            let (old_file, new_file) =
                (old.and_then(|entry| entry.file_version()), new.and_then(|entry| entry.file_version()));
            if old_file.is_some() || new_file.is_some() {
                changes.push(path, old_file, new_file);
            }
            let (old_tree, new_tree) = (old.and_then(|entry| entry.tree_id()), new.and_then(|entry| entry.tree_id()));
            if old_tree.is_some() || new_tree.is_some() {
                path.push(b'/');
                step = Step::Enter(old_tree, new_tree);
            }
        }
        self.old.at = old_at.unwrap_or(self.old.at);
        self.new.at = new_at.unwrap_or(self.new.at);
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, &str, u8)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(&[*id; 20]);
        }
        bytes
    }

    #[test]
    fn parses_entries_and_rejects_malformed_ones() {
        let bytes = tree(&[("100755", "a b", 7)]);
        let entry = parse_entry(&bytes, 20).unwrap();
        assert_eq!((entry.name, entry.len), (&b"a b"[..], bytes.len()));
        assert_eq!(entry.file_version().unwrap().mode, FileMode::Executable);
        for cut in 0..bytes.len() {
            assert!(parse_entry(&bytes[..cut], 20).is_none());
        }
        assert!(parse_entry(&tree(&[("10x644", "a", 1)]), 20).is_none());
        assert!(parse_entry(&tree(&[("777777777777", "a", 1)]), 20).is_none());
    }

    #[test]
    fn modes_are_read_as_in_git() {
        let modes = [0o100_664, 0o100_644, 0o100_755, 0o100_775, 0o120_000, 0o160_000, 0o040_000].map(file_mode);
        use FileMode::{Executable, Gitlink, Regular, Symlink};
        let expected = [Regular, Regular, Executable, Executable, Symlink, Gitlink].map(Some);
        assert_eq!(modes[..6], expected);
        assert_eq!(modes[6], None);
    }

    #[test]
    fn common_entries_end_at_an_entry_boundary() {
        let names: Vec<String> = (0..40).map(|n| format!("file-{n:02}")).collect();
        let entries = |changed: usize| -> Vec<(&str, &str, u8)> {
            names.iter().enumerate().map(|(n, name)| ("100644", name.as_str(), u8::from(n == changed))).collect()
        };
        let old = tree(&entries(usize::MAX));
        let len = old.len() / 40;
        for changed in 0..40 {
            let new = tree(&entries(changed));
            let start = common_entries(&old, &new, 20);
            assert_eq!(start % len, 0);
            assert!(start <= changed * len && start + 64 + len > changed * len, "{changed}: {start}");
        }
        assert!(common_entries(&old, &old, 20) > old.len() - 64 - len);
        assert_eq!(common_entries(&old, b"", 20), 0);
    }
}
