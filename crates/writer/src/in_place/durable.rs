//! Steps that survive a crash: each is synced to disk before the next one depends on it.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use nix::unistd::geteuid;
use repackbench_reader::ReaderError;

use super::locked;
use crate::{Result, WriterError};

/// The bytes that are compared at a time.
const BLOCK: usize = 128 << 10;

/// Syncs a file or folder.
pub(super) fn sync(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| WriterError::io("sync", path, e))
}

/// Renames a file or folder.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| WriterError::io("rename", from, e))
}

/// Renames a file or folder unless it does not exist. Returns whether it did.
pub(super) fn rename_if_there(from: &Path, to: &Path) -> Result<bool> {
    match fs::rename(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound && from.symlink_metadata().is_err() => Ok(false),
        Err(error) => Err(WriterError::io("rename", from, error)),
    }
}

/// Removes a file unless it does not exist.
pub(super) fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(WriterError::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// Creates a folder and its parents.
pub(super) fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| WriterError::io("create", path, e))
}

/// Replaces the file `path` by one with `content`, which is prepared in the folder `scratch` of the same file system.
/// The new file has the mode of the old one.
pub(super) fn replace(path: &Path, content: &[u8], scratch: &Path) -> Result<()> {
    let new = scratch.join("replacement");
    let write = || -> io::Result<()> {
        let mut file = File::create(&new)?;
        file.write_all(content)?;
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(fs::Permissions::from_mode(old.permissions().mode() & 0o7777))?;
        }
        file.sync_all()
    };
    write().map_err(|e| WriterError::io("write", &new, e))?;
    rename(&new, path)?;
    path.parent().map_or(Ok(()), sync)
}

/// Copies the file `from` to `to`, which appears with all of its content.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut part = to.to_owned().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    fs::copy(from, &part).map_err(|e| WriterError::io("copy", from, e))?;
    sync(&part)?;
    rename(&part, to)
}

/// Locks the folder `path` against other runs of this program on the same host, while the result lives. `None` on a file
/// system without such locks.
///
/// # Errors
/// [`ReaderError::Locked`](repackbench_reader::ReaderError::Locked).
pub(super) fn lock_folder(path: &Path) -> Result<Option<File>> {
    let folder = File::open(path).map_err(|e| WriterError::io("open", path, e))?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(locked(path.to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Refuses to work for another user than the owner of `path`, `what`: the new files would be this user's, and its owner
/// could not write to them, or not even read them.
pub(super) fn check_owner(path: &Path, what: &str) -> Result<()> {
    let owner = fs::metadata(path).map_err(|e| ReaderError::io("inspect", path, e))?.uid();
    if owner == geteuid().as_raw() {
        return Ok(());
    }
    Err(ReaderError::unsupported(path, format!("converting in place {what} of another user")).into())
}

/// The length of a file; 0 if it does not exist.
pub(super) fn length(path: &Path) -> Result<u64> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(WriterError::io("inspect", path, error)),
    }
}

/// Whether two files hold the same bytes. A file that does not exist holds none.
pub(super) fn is_same_file(left: &Path, right: &Path) -> Result<bool> {
    let length_of_both = length(left)?;
    if length_of_both != length(right)? {
        return Ok(false);
    }
    if length_of_both == 0 {
        return Ok(true);
    }
    let open = |path: &Path| File::open(path).map_err(|e| WriterError::io("open", path, e));
    let (mut of_left, mut of_right) = (open(left)?, open(right)?);
    let (mut block, mut other) = (vec![0; BLOCK], vec![0; BLOCK]);
    let read = |path: &Path, file: &mut File, block: &mut [u8], wanted: u64| {
        let wanted = usize::try_from(wanted).unwrap_or(BLOCK).min(BLOCK);
        let block = block.get_mut(..wanted).unwrap_or_default();
        file.read_exact(block).map_err(|e| WriterError::io("read", path, e))
    };
    let mut left_over = length_of_both;
    while left_over > 0 {
        read(left, &mut of_left, &mut block, left_over)?;
        read(right, &mut of_right, &mut other, left_over)?;
        if block != other {
            return Ok(false);
        }
        left_over = left_over.saturating_sub(BLOCK as u64);
    }
    Ok(true)
}

/// The existing file names in `folder`; none if there is no such folder.
pub(super) fn names_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e| WriterError::io("list", folder, e);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    entries.map(|entry| Ok(entry.map_err(failed)?.file_name().into())).collect()
}
