//! What tells a file from its earlier and later self, for noticing that a source changed while it was read.

use std::{
    cmp::Ordering,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::error::{ReaderError, Result};

/// What was found at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Absent,
    File(FileState),
    /// How many loose objects one fan-out folder holds, and a digest of their names that does not depend on their order.
    Names {
        count: u64,
        digest: u64,
    },
}

/// What tells a file from its earlier and later self.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileState {
    inode: u64,
    len: u64,
    /// Of content, in seconds and nanoseconds; of a file that may be touched without being changed, none.
    modified: Option<(i64, i64)>,
    /// Of the inode; of a file that may be hard-linked, none.
    inode_changed: Option<(i64, i64)>,
}

impl FileState {
    /// Of a file that may be rewritten in place.
    pub(crate) fn of_small_file(metadata: &Metadata) -> Self {
        let inode_changed = Some((metadata.ctime(), metadata.ctime_nsec()));
        FileState { inode_changed, ..FileState::of_linked_file(metadata) }
    }

    /// Of a file that may be appended to, and may be hard-linked meanwhile.
    pub(crate) fn of_linked_file(metadata: &Metadata) -> Self {
        let modified = Some((metadata.mtime(), metadata.mtime_nsec()));
        FileState { modified, ..FileState::of_pack_file(metadata) }
    }

    /// Of a file that is written once, and may be touched and hard-linked afterwards.
    pub(crate) fn of_pack_file(metadata: &Metadata) -> Self {
        FileState { inode: metadata.ino(), len: metadata.len(), modified: None, inode_changed: None }
    }
}

/// Adds the state of the file at `path`; of a symbolic link, its own and that of the file it leads to.
pub(crate) fn look_at_file(
    path: PathBuf,
    state: fn(&Metadata) -> FileState,
    seen: &mut Vec<(PathBuf, Seen)>,
) -> Result<()> {
    let seen_as = |metadata: Option<&Metadata>| metadata.map_or(Seen::Absent, |metadata| Seen::File(state(metadata)));
    let own = inspect(&path, fs::symlink_metadata(&path))?;
    if own.as_ref().is_some_and(Metadata::is_symlink) {
        let led_to = inspect(&path, fs::metadata(&path))?;
        seen.push((path.clone(), seen_as(led_to.as_ref())));
    }
    seen.push((path, seen_as(own.as_ref())));
    Ok(())
}

fn inspect(path: &Path, answer: io::Result<Metadata>) -> Result<Option<Metadata>> {
    match answer {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(ReaderError::io("inspect", path, error)),
    }
}

/// The first path, in order, at which two sorted looks differ.
pub(crate) fn first_difference<'seen>(
    before: &'seen [(PathBuf, Seen)],
    after: &'seen [(PathBuf, Seen)],
) -> Option<&'seen Path> {
    let differs = before.iter().zip(after).find(|(before, after)| before != after);
    match differs {
        Some(((before, _), (after, _))) => match before.cmp(after) {
            Ordering::Greater => Some(after),
            Ordering::Less | Ordering::Equal => Some(before),
        },
        // One is a prefix of the other: the first entry of the rest appeared or vanished.
        None => before.get(after.len()).or_else(|| after.get(before.len())).map(|(path, _)| path.as_path()),
    }
}
