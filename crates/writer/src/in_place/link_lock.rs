//! Locks that are symbolic links. A link is made with its text in one step, so a killed run never leaves an empty lock.
//!
//! git creates its lock files with `O_CREAT | O_EXCL`, which fails for a link too, wherever it leads. hg's locks are
//! links anyway.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::{
    Result, WriterError,
    leftovers::{Leftover, note_unless_gone},
};

/// A lock that is removed with this value.
#[derive(Debug)]
pub(super) struct LinkLock {
    path: PathBuf,
    text: PathBuf,
    _leftover: Leftover,
}

impl LinkLock {
    /// Takes the lock at `path` with this text; `None` if it exists.
    pub(super) fn take(path: &Path, text: &Path) -> Result<Option<Self>> {
        match symlink(text, path) {
            Ok(()) => {
                let leftover = Leftover::new(path);
                Ok(Some(LinkLock { path: path.to_owned(), text: text.to_owned(), _leftover: leftover }))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(WriterError::io("create", path, error)),
        }
    }
}

impl Drop for LinkLock {
    fn drop(&mut self) {
        // Another program may have taken it meanwhile, if it took this one for dead.
        match fs::read_link(&self.path) {
            Ok(text) if text != self.text => {}
            Ok(_) => note_unless_gone(&self.path, fs::remove_file(&self.path)),
            Err(error) => note_unless_gone(&self.path, Err(error)),
        }
    }
}
