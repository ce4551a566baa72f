//! Numbering paths, with a few bytes per path.

use std::{
    cmp::Ordering,
    hash::{BuildHasher, RandomState},
};

use rustc_hash::FxHashMap;

/// The number of a path. Each path has one number.
pub type PathNumber = u32;

/// Stands for no path.
const NONE: u32 = u32::MAX;

/// The paths found so far.
#[derive(Debug)]
pub struct PathTable {
    paths: Vec<NumberedPath>,
    names: Vec<u8>,
    /// The last path for each hash of folder and name.
    by_hash: FxHashMap<u64, PathNumber>,
    /// It has a random seed: names come from the repository and may have been chosen to collide with a known seed.
    hasher: RandomState,
    numbers_files: bool,
}

#[derive(Debug, Clone, Copy)]
struct NumberedPath {
    folder: PathNumber,
    /// Another path whose folder and name have the same hash.
    same_hash: PathNumber,
    /// The start of its last part in [`PathTable::names`].
    name: usize,
    name_len: usize,
}

impl Default for PathTable {
    fn default() -> Self {
        let root = NumberedPath { folder: Self::ROOT, same_hash: NONE, name: 0, name_len: 0 };
        PathTable {
            paths: vec![root],
            names: Vec::new(),
            by_hash: FxHashMap::default(),
            hasher: RandomState::new(),
            numbers_files: true,
        }
    }
}

impl PathTable {
    /// The root folder.
    pub const ROOT: PathNumber = 0;

    /// A table that only numbers folders.
    pub fn of_folders() -> Self {
        PathTable { numbers_files: false, ..PathTable::default() }
    }

    /// As [`number`](PathTable::number), for a file. It is the root if files are not numbered.
    pub fn file_number(&mut self, folder: PathNumber, name: &[u8]) -> PathNumber {
        if self.numbers_files { self.number(folder, name) } else { Self::ROOT }
    }

    /// The number of the path `name` in `folder`; that of the root if there are more paths than numbers.
    pub fn number(&mut self, folder: PathNumber, name: &[u8]) -> PathNumber {
        let hash = self.hasher.hash_one((folder, name));
        let mut same_hash = self.by_hash.get(&hash).copied().unwrap_or(NONE);
        let first = same_hash;
        while let Some(path) = self.path(same_hash) {
            if path.folder == folder && self.name(same_hash) == name {
                return same_hash;
            }
            same_hash = path.same_hash;
        }
        let Some(number) = u32::try_from(self.paths.len()).ok().filter(|number| *number != NONE) else {
            return Self::ROOT;
        };
        let path = NumberedPath { folder, same_hash: first, name: self.names.len(), name_len: name.len() };
        self.names.extend_from_slice(name);
        self.paths.push(path);
        self.by_hash.insert(hash, number);
        number
    }

    /// Number of paths, including the root.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether the root is the only path.
    pub fn is_empty(&self) -> bool {
        self.paths.len() == 1
    }

    /// The rank of each path, by its number, in an order where each folder is followed by its contents, sorted by name.
    pub fn ranks(&self) -> Vec<u32> {
        let mut sorted: Vec<PathNumber> = (0..NONE).take(self.paths.len()).skip(1).collect();
        sorted.sort_unstable_by(|one, other| self.by_folder_and_name(*one, *other));
        let mut ranks = vec![0; self.paths.len()];
        let mut pending = vec![Self::ROOT];
        let mut next = 0;
        while let Some(number) = pending.pop() {
            if let Some(rank) = ranks.get_mut(number as usize) {
                *rank = next;
            }
            next += 1;
            let folder_of = |path: &PathNumber| self.path(*path).map_or(NONE, |path| path.folder);
            let first = sorted.partition_point(|path| folder_of(path) < number);
            let within = sorted.get(first..).unwrap_or_default().iter().take_while(|path| folder_of(path) == number);
            let before = pending.len();
            pending.extend(within);
            pending.get_mut(before..).unwrap_or_default().reverse();
        }
        ranks
    }

    fn by_folder_and_name(&self, one: PathNumber, other: PathNumber) -> Ordering {
        let folder = |number| self.path(number).map(|path| path.folder);
        folder(one).cmp(&folder(other)).then_with(|| self.name(one).cmp(self.name(other)))
    }

    fn path(&self, number: PathNumber) -> Option<&NumberedPath> {
        self.paths.get(number as usize)
    }

    /// The last part of a path.
    fn name(&self, number: PathNumber) -> &[u8] {
        let name = self.path(number).and_then(|path| self.names.get(path.name..path.name + path.name_len));
        name.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_number_and_folders_rank_before_contents() {
        let mut paths = PathTable::default();
        assert!(paths.is_empty());
        let src = paths.number(PathTable::ROOT, b"src");
        let dotted = paths.number(PathTable::ROOT, b"src.rs");
        let main = paths.number(src, b"main.rs");
        let lib = paths.number(src, b"lib.rs");
        let same_name = paths.number(PathTable::ROOT, b"lib.rs");
        assert_eq!(paths.number(src, b"lib.rs"), lib);
        assert_eq!((paths.len(), paths.is_empty()), (6, false));
        let ranks = paths.ranks();
        let mut sorted = [PathTable::ROOT, src, dotted, main, lib, same_name];
        sorted.sort_by_key(|path| ranks[*path as usize]);
        assert_eq!(sorted, [PathTable::ROOT, same_name, src, lib, main, dotted]);
    }

    #[test]
    fn files_are_numbered_only_on_request() {
        let mut paths = PathTable::of_folders();
        let src = paths.number(PathTable::ROOT, b"src");
        assert_eq!(paths.file_number(src, b"main.rs"), PathTable::ROOT);
        assert_eq!(paths.len(), 2);
        let mut paths = PathTable::default();
        let src = paths.number(PathTable::ROOT, b"src");
        let main = paths.file_number(src, b"main.rs");
        assert_eq!((paths.number(src, b"main.rs"), paths.len()), (main, 3));
    }

    #[test]
    fn hashes_differ_between_tables() {
        let hash = |paths: &PathTable| paths.hasher.hash_one((PathTable::ROOT, b"name".as_slice()));
        let hashes: Vec<u64> = (0..4).map(|_| hash(&PathTable::default())).collect();
        assert!(hashes.iter().any(|hash| *hash != hashes[0]), "{hashes:?}");
    }

    #[test]
    fn paths_with_the_same_hash_are_distinct() {
        let mut paths = PathTable::default();
        let one = paths.number(PathTable::ROOT, b"one");
        let hash = paths.hasher.hash_one((PathTable::ROOT, b"two".as_slice()));
        paths.by_hash.insert(hash, one);
        let two = paths.number(PathTable::ROOT, b"two");
        assert_ne!(one, two);
        assert_eq!(paths.number(PathTable::ROOT, b"two"), two);
        assert_eq!(paths.number(PathTable::ROOT, b"one"), one);
    }
}
