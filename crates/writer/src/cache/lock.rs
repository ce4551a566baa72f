//! One lock file for each variant.
//!
//! Whoever reads a variant holds its lock shared, whoever makes or removes it holds it alone. The operating system
//! drops locks of processes that die. Lock files stay when their variant goes: one that was removed while another
//! process waits for it would let two processes hold "the" lock.

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
    /// Held open, for the lock goes when it closes.
    file: File,
}

impl Drop for VariantLock {
    fn drop(&mut self) {
        // Closing alone may not be enough: a process that another thread is starting just now holds the file, too, until it runs its
        // program. What cannot be unlocked goes with the last of them.
        let _ = self.file.unlock();
    }
}

impl VariantLock {
    /// Takes the lock of `path` together with other readers, after waiting for whoever holds it alone.
    pub(super) fn shared(path: &Path) -> Result<Self, CacheError> {
        let file = open(path)?;
        file.lock_shared().map_err(CacheError::io("lock", path))?;
        Ok(VariantLock { file })
    }

    /// Takes the lock of `path` alone.
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

/// Opens the lock file `path`, made where it is missing.
fn open(path: &Path) -> Result<File, CacheError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(CacheError::io("create", folder))?;
    }
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    options.open(path).map_err(CacheError::io("open", path))
}
