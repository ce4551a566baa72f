//! The whole state of a folder, to show that it did not change or that two folders are equal.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A folder.
    Folder,
    /// A regular file.
    File { executable: bool, content: Vec<u8> },
    /// A symbolic link and its target.
    Link(PathBuf),
}

/// Everything below `root`, by relative path. Times are left out, so that folders made at different times can be equal.
pub(crate) fn content(root: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut entries = BTreeMap::new();
    for (path, metadata) in walk(root) {
        let entry = if metadata.is_dir() {
            Entry::Folder
        } else if metadata.is_symlink() {
            Entry::Link(fs::read_link(&path).expect("a link"))
        } else {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            Entry::File { executable, content: fs::read(&path).expect("a file") }
        };
        entries.insert(path.strip_prefix(root).expect("a path below the root").to_path_buf(), entry);
    }
    entries
}

/// Fails the test unless both folders are equal; names the first path that differs.
#[track_caller]
pub(crate) fn assert_same(expected: &BTreeMap<PathBuf, Entry>, found: &BTreeMap<PathBuf, Entry>) {
    let names = |entries: &BTreeMap<PathBuf, Entry>| entries.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(expected), names(found));
    for (path, entry) in expected {
        assert!(found.get(path) == Some(entry), "{}: {entry:?} became {:?}", path.display(), found.get(path));
    }
}

/// Everything below `root` with length, mode, inode and time of change, so that any write shows. Files are not read.
pub(crate) fn state(root: &Path) -> BTreeMap<PathBuf, (u64, u32, u64, SystemTime)> {
    walk(root)
        .into_iter()
        .map(|(path, metadata)| {
            let changed = metadata.modified().expect("a time of modification");
            (path, (metadata.len(), metadata.mode(), metadata.ino(), changed))
        })
        .collect()
}

/// The total length of the regular files below `root`.
pub(crate) fn bytes(root: &Path) -> u64 {
    walk(root).iter().filter(|(_, metadata)| metadata.is_file()).map(|(_, metadata)| metadata.len()).sum()
}

/// Every path below `root`, without following links.
fn walk(root: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            found.push((path, metadata));
        }
    }
    found
}
