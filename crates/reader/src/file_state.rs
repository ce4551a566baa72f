//! The states of files, to detect that a source changed while it was read.

use std::{
    cmp::Ordering,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::error::{ReaderError, Result};

/// The state of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathState {
    Absent,
    File(FileState),
    /// Number of loose objects in one fan-out folder, and a digest of their names that does not depend on their order.
    Names {
        count: u64,
        digest: u64,
    },
}

/// The metadata that changes when a file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileState {
    inode: u64,
    len: u64,
    /// Time of the content in seconds and nanoseconds; `None` for a file that may be touched without a change.
    modified: Option<(i64, i64)>,
    /// Time of the inode; `None` for a file that may be hard-linked.
    inode_changed: Option<(i64, i64)>,
}

impl FileState {
    /// The state of a file that may be rewritten in place.
    pub(crate) fn of_small_file(metadata: &Metadata) -> Self {
        let inode_changed = Some((metadata.ctime(), metadata.ctime_nsec()));
        FileState { inode_changed, ..FileState::of_linked_file(metadata) }
    }

    /// The state of a file that may be appended to. Hard-linking it is no change.
    pub(crate) fn of_linked_file(metadata: &Metadata) -> Self {
        let modified = Some((metadata.mtime(), metadata.mtime_nsec()));
        FileState { modified, ..FileState::of_pack_file(metadata) }
    }

    /// The state of a file that is written once. Touching and hard-linking it is no change.
    pub(crate) fn of_pack_file(metadata: &Metadata) -> Self {
        FileState { inode: metadata.ino(), len: metadata.len(), modified: None, inode_changed: None }
    }
}

/// Adds the state of the file at `path` to `states`. For a symbolic link, adds that of the link and of its target.
pub(crate) fn add_file_state(
    path: PathBuf,
    state: fn(&Metadata) -> FileState,
    states: &mut Vec<(PathBuf, PathState)>,
) -> Result<()> {
    let path_state =
        |metadata: Option<&Metadata>| metadata.map_or(PathState::Absent, |metadata| PathState::File(state(metadata)));
    let own = inspect(&path, fs::symlink_metadata(&path))?;
    if own.as_ref().is_some_and(Metadata::is_symlink) {
        let target = inspect(&path, fs::metadata(&path))?;
        states.push((path.clone(), path_state(target.as_ref())));
    }
    states.push((path, path_state(own.as_ref())));
    Ok(())
}

fn inspect(path: &Path, answer: io::Result<Metadata>) -> Result<Option<Metadata>> {
    match answer {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(ReaderError::io("inspect", path, error)),
    }
}

/// The first path at which two sorted lists of states differ.
pub(crate) fn first_difference<'s>(
    before: &'s [(PathBuf, PathState)],
    after: &'s [(PathBuf, PathState)],
) -> Option<&'s Path> {
    let differs = before.iter().zip(after).find(|(before, after)| before != after);
    match differs {
        Some(((before, _), (after, _))) => match before.cmp(after) {
            Ordering::Greater => Some(after),
            Ordering::Less | Ordering::Equal => Some(before),
        },
        // One list is a prefix of the other. The first entry of the rest appeared or vanished.
        None => before.get(after.len()).or_else(|| after.get(before.len())).map(|(path, _)| path.as_path()),
    }
}
