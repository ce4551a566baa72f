//! Folders for copies of variants that one run reads and then removes.
//!
//! They are named `cold-copies-...`. The process that fills one holds a lock of the same name. That distinguishes the
//! copies of a killed process from those in use. Names are never reused, so the lock file is removed with its folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    Cache, CacheError, LOCKS_FOLDER, folder_bytes,
    lock::{VariantLock, WhenBusy},
    remove_folder,
};
use crate::leftovers::Leftover;

const PREFIX: &str = "cold-copies-";

/// A folder for copies, removed with this value.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: VariantLock,
    _leftovers: [Leftover; 2],
}

impl ScratchFolder {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // If it cannot be removed now, it is listed as left over, and removed when the cache is pruned.
        if fs::remove_dir_all(&self.path).is_ok() {
            let _ = fs::remove_file(&self.lock_path);
        }
    }
}

/// A folder of copies in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedCopies {
    /// The folder.
    pub folder: PathBuf,
    /// The lengths of its files, in bytes.
    pub bytes: u64,
    /// Whether a process uses it. Otherwise a killed process left it.
    pub in_use: bool,
}

impl Cache {
    /// Creates an empty folder for copies.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn scratch(&self) -> Result<ScratchFolder, CacheError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("{PREFIX}{}-{now}", process::id());
        let (path, lock_path) = (self.root.join(&name), self.copies_lock(&name));
        // Locked before there is anything to prune.
        let lock = VariantLock::exclusive(&lock_path, WhenBusy::Fail)?;
        let leftovers = [&path, &lock_path].map(|path| Leftover::new(path));
        fs::create_dir(&path).map_err(CacheError::io("create", &path))?;
        Ok(ScratchFolder { path, lock_path, _lock: lock, _leftovers: leftovers })
    }

    /// The folders of copies in the cache, by name.
    ///
    /// # Errors
    /// The folder of the cache cannot be read.
    pub fn cold_copies(&self) -> Result<Vec<CachedCopies>, CacheError> {
        let mut all = Vec::new();
        for name in self.names()?.iter().filter(|name| name.starts_with(PREFIX)) {
            let folder = self.root.join(name);
            let bytes = match folder_bytes(&folder) {
                // Its run has just ended.
                Err(CacheError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
                bytes => bytes?,
            };
            let in_use = matches!(self.lock_copies(name), Err(CacheError::Busy { .. }));
            all.push(CachedCopies { folder, bytes, in_use });
        }
        Ok(all)
    }

    /// Removes the copies that no process uses. Returns the number of removed folders, their bytes, and the number of
    /// folders that stay.
    pub(super) fn remove_left_copies(&self) -> Result<(u64, u64, u64), CacheError> {
        let (mut removed, mut bytes, mut in_use) = (0, 0_u64, 0);
        for copies in self.cold_copies()? {
            let Some(name) = copies.folder.file_name().and_then(|name| name.to_str()) else { continue };
            match self.lock_copies(name) {
                Ok(_lock) => {
                    remove_folder(&copies.folder)?;
                    let lock_path = self.copies_lock(name);
                    fs::remove_file(&lock_path).map_err(CacheError::io("remove", &lock_path))?;
                    removed += 1;
                    bytes = bytes.saturating_add(copies.bytes);
                }
                Err(CacheError::Busy { .. }) => in_use += 1,
                Err(error) => return Err(error),
            }
        }
        Ok((removed, bytes, in_use))
    }

    fn lock_copies(&self, name: &str) -> Result<VariantLock, CacheError> {
        VariantLock::exclusive(&self.copies_lock(name), WhenBusy::Fail)
    }

    fn copies_lock(&self, name: &str) -> PathBuf {
        self.root.join(LOCKS_FOLDER).join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Freed, PrunePolicy};

    #[test]
    fn copies_are_removed_with_their_run_or_by_pruning() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path().join("cache"))).unwrap();
        let running = cache.scratch().unwrap();
        fs::write(running.path().join("pack"), [1; 10]).unwrap();
        // Left as by a killed process: nobody holds the lock.
        let left = cache.root().join("cold-copies-AbCdEf");
        fs::create_dir_all(left.join("0-0/repo.git")).unwrap();
        fs::write(left.join("0-0/repo.git/pack"), [1; 300]).unwrap();

        let listed: Vec<_> = cache.cold_copies().unwrap();
        let find = |path: &Path| listed.iter().find(|copies| copies.folder == path).unwrap();
        assert_eq!((find(running.path()).bytes, find(running.path()).in_use), (10, true));
        assert_eq!((find(&left).bytes, find(&left).in_use), (300, false));
        assert_eq!(listed.len(), 2);

        let freed = cache.prune(PrunePolicy::KeepBytes(u64::MAX)).unwrap();
        assert_eq!(freed, Freed { cold_copies: 1, bytes: 300, in_use: 1, ..Freed::default() });
        assert!(!left.exists() && running.path().join("pack").exists());

        drop(running);
        assert_eq!(cache.cold_copies().unwrap(), []);
        assert_eq!(fs::read_dir(cache.root().join(LOCKS_FOLDER)).unwrap().count(), 0, "locks are left");
        assert_eq!(cache.prune(PrunePolicy::All).unwrap(), Freed::default());
    }
}
