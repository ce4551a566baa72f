//! One lock file for each variant.
//!
//! Readers of a variant share its lock. A process that makes or removes the variant holds the lock exclusively. The
//! operating system releases the locks of processes that die. Lock files stay when their variant is removed: if one
//! were removed while another process waits for it, two processes could hold "the" lock.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use super::error::CacheError;

/// What to do when another process holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenBusy {
    /// Wait until it is released.
    Wait,
    /// Fail with [`CacheError::Busy`].
    Fail,
}

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub(super) struct VariantLock {
    /// Kept open, since closing it releases the lock.
    file: File,
}

impl Drop for VariantLock {
    fn drop(&mut self) {
        // Closing may not be enough: a process that another thread is starting at this moment also holds the file,
        // until it executes its program. If unlocking fails, the last of them releases the lock.
        let _ = self.file.unlock();
    }
}

impl VariantLock {
    /// Takes the lock of `path` together with other readers. Waits while another process holds it exclusively.
    pub(super) fn shared(path: &Path) -> Result<Self, CacheError> {
        let file = open(path)?;
        file.lock_shared().map_err(CacheError::io("lock", path))?;
        Ok(VariantLock { file })
    }

    /// Takes the lock of `path` exclusively.
    pub(super) fn exclusive(path: &Path, when_busy: WhenBusy) -> Result<Self, CacheError> {
        let file = open(path)?;
        match when_busy {
            WhenBusy::Wait => file.lock().map_err(CacheError::io("lock", path))?,
            WhenBusy::Fail => file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => CacheError::Busy { path: PathBuf::from(path) },
                TryLockError::Error(source) => CacheError::io("lock", path)(source),
            })?,
        }
        Ok(VariantLock { file })
    }
}

/// Opens the lock file `path`, and creates it if it is missing.
fn open(path: &Path) -> Result<File, CacheError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(CacheError::io("create", folder))?;
    }
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    options.open(path).map_err(CacheError::io("open", path))
}
