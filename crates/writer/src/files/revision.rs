//! Reads the files of one revision with their content.

use std::{ffi::OsStr, ops::Range, os::unix::ffi::OsStrExt};

use gix_hash::ObjectId;
use repackbench_codec::{Decoders, ZlibReader};
use repackbench_reader::{Changes, History, Repository, traits::FileMode};

use super::tree_writer::check_path;
use crate::{Result, WriterError};

/// The number of content bytes that are collected before they are encoded. A longer file is a batch of its own.
const BATCH_BYTES: usize = 32 << 20;

/// The parts of a revision that are not in a tree of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOutFiles {
    /// Symbolic links.
    pub symlinks: u64,
    /// Commits of other repositories.
    pub gitlinks: u64,
    /// Files that a partial clone lacks.
    pub missing: u64,
}

/// Receives the path and content of a file.
pub type FileVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// The files of one revision. Symbolic links and gitlinks are counted, and left out.
pub struct RevisionFiles {
    history: Box<dyn History>,
    id: ObjectId,
    files: Changes,
    left_out: LeftOutFiles,
    content_bytes: u64,
}

impl std::fmt::Debug for RevisionFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RevisionFiles").field("id", &self.id).finish_non_exhaustive()
    }
}

impl RevisionFiles {
    /// Lists the files of a revision of `source`: the given one, or HEAD or the tip.
    ///
    /// # Errors
    /// The revision does not exist or cannot be read.
    pub fn open(source: &Repository, revision: Option<&str>) -> Result<Self> {
        // Nothing is timed here.
        let mut history = source.history(Decoders::from(ZlibReader::Libdeflate))?;
        let id = history.resolve(revision.unwrap_or(source.default_revision()))?;
        let mut files = Changes::default();
        history.manifest(&id, &mut files)?;
        Ok(RevisionFiles { history, id, files, left_out: LeftOutFiles::default(), content_bytes: 0 })
    }

    /// The id of the revision.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// The number of paths in the revision, including those that are left out.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether the revision has no paths.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Calls `visit` with path and content of every file, in the order of paths. Each path can be written below a
    /// folder: it does not lead outside, and not into the repository's own folder.
    ///
    /// # Errors
    /// An invalid path, before any visit: only a forged tree has one. The error of `visit`; content that cannot be
    /// read.
    pub fn for_each(&mut self, visit: &mut FileVisitor<'_>) -> Result<()> {
        self.check_paths()?;
        (self.left_out, self.content_bytes) = (LeftOutFiles::default(), 0);
        let mut content = Vec::new();
        for (path, change) in self.files.iter() {
            let Some(version) = change.new else { continue };
            match version.mode {
                FileMode::Symlink => self.left_out.symlinks += 1,
                FileMode::Gitlink => self.left_out.gitlinks += 1,
                FileMode::Regular | FileMode::Executable => {
                    if self.history.content(path, &version, &mut content)? {
                        self.content_bytes += content.len() as u64;
                        visit(path, &content)?;
                    } else {
                        self.left_out.missing += 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_paths(&self) -> Result<()> {
        let is_file = |mode| matches!(mode, FileMode::Regular | FileMode::Executable);
        let mut files = self.files.iter().filter(|(_, change)| change.new.is_some_and(|version| is_file(version.mode)));
        files.try_for_each(|(path, _)| {
            check_path(path).map_err(|error| WriterError::io("write", OsStr::from_bytes(path), error))
        })
    }

    /// What the last call of [`for_each`](Self::for_each) left out.
    pub fn left_out(&self) -> LeftOutFiles {
        self.left_out
    }

    /// The number of content bytes that it visited.
    pub fn content_bytes(&self) -> u64 {
        self.content_bytes
    }
}

/// Files in memory, one after another, that are worth encoding on several threads.
#[derive(Debug, Default)]
pub(super) struct FileBatch {
    paths: Vec<u8>,
    contents: Vec<u8>,
    files: Vec<(Range<usize>, Range<usize>)>,
}

impl FileBatch {
    pub(super) fn push(&mut self, path: &[u8], content: &[u8]) {
        let (path_start, content_start) = (self.paths.len(), self.contents.len());
        self.paths.extend_from_slice(path);
        self.contents.extend_from_slice(content);
        self.files.push((path_start..self.paths.len(), content_start..self.contents.len()));
    }

    /// Whether the batch has room for a content of `len` bytes.
    pub(super) fn has_room(&self, len: usize) -> bool {
        self.files.is_empty() || self.contents.len().saturating_add(len) <= BATCH_BYTES
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn path(&self, number: usize) -> &[u8] {
        self.files.get(number).and_then(|(path, _)| self.paths.get(path.clone())).unwrap_or_default()
    }

    pub(super) fn content(&self, number: usize) -> &[u8] {
        self.files.get(number).and_then(|(_, content)| self.contents.get(content.clone())).unwrap_or_default()
    }

    /// The numbers of the files, as one range per thread, with about the same number of bytes each.
    pub(super) fn shares(&self, threads: usize) -> Vec<Range<usize>> {
        let share_len = self.contents.len().div_ceil(threads.max(1)).max(1);
        let mut shares = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (number, (_, content)) in self.files.iter().enumerate() {
            bytes += content.len();
            if bytes >= share_len {
                shares.push(start..number + 1);
                (start, bytes) = (number + 1, 0);
            }
        }
        if start < self.files.len() {
            shares.push(start..self.files.len());
        }
        shares
    }

    pub(super) fn clear(&mut self) {
        self.paths.clear();
        self.contents.clear();
        self.files.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_contain_every_file_once_in_order() {
        for lengths in [&[][..], &[0], &[0, 0, 0], &[1, 1, 1, 1], &[100, 1, 1], &[1, 1, 100], &[5, 0, 5, 0, 5]] {
            let mut batch = FileBatch::default();
            lengths.iter().for_each(|len| batch.push(b"path", &vec![b'x'; *len]));
            for threads in [0, 1, 2, 16] {
                let shares = batch.shares(threads);
                let numbers: Vec<usize> = shares.iter().cloned().flatten().collect();
                assert_eq!(numbers, (0..lengths.len()).collect::<Vec<_>>(), "{lengths:?}");
                assert!(shares.len() <= threads.max(1) + 1, "{lengths:?}: {shares:?}");
            }
        }
    }
}
