//! The folders in which a run works, and the removal of those that killed runs left.
//!
//! ```text
//! .repackbench-AbCdEf/
//!   lock          locked by the living process; its content says that the folder is ours
//!   new/          the output under construction; renamed when it is complete
//!   replaced/     the earlier output, until the new one has its name
//!   target        a symbolic link to that name, made before anything is moved to `replaced`
//! ```
//!
//! The operating system releases the locks of a process that dies, however it dies. A process id would be less
//! reliable: ids are reused, and those of another machine or container mean nothing here. On a file system without
//! locks nothing is removed.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, symlink},
    path::{Path, PathBuf},
};

use nix::{fcntl::OFlag, unistd::geteuid};

use crate::leftovers::{Leftover, note_unless_gone};

/// The start of the name of a work folder.
const PREFIX: &str = ".repackbench-";
/// The number of random letters and digits after the prefix.
const RANDOM_LEN: usize = 6;
const LOCK: &str = "lock";
const NEW: &str = "new";
const REPLACED: &str = "replaced";
const TARGET: &str = "target";

/// The content of the lock file.
const OWNER: &[u8] = b"A folder that repackbench works in. When no process holds the lock on this file, the next run removes the folder.\n";

/// How often a new folder is created if another process removes it as a leftover, because it had no lock yet.
const ATTEMPTS: usize = 8;

/// A folder that is locked while this value lives, and removed with it.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    _lock: File,
    _leftover: Leftover,
}

impl WorkFolder {
    /// Creates a work folder in `parent`, accessible only to its owner. The folder to build in is inside it, and gets
    /// the permissions that the umask allows.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(parent: &Path) -> io::Result<Self> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let path = tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM_LEN).tempdir_in(parent)?.keep();
            match lock_own(&path) {
                Ok(lock) => {
                    let work = WorkFolder { _leftover: Leftover::removed_by(&path, give_up), path, _lock: lock };
                    fs::create_dir(work.new_folder())?;
                    return Ok(work);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {}
                Err(error) => {
                    let _ = fs::remove_dir_all(&path);
                    return Err(error);
                }
            }
        }
    }

    /// The folder to build in.
    pub fn new_folder(&self) -> PathBuf {
        self.path.join(NEW)
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// Something in the folder cannot be removed. The next run tries again.
    pub fn close(self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }

    /// Where the earlier output is kept until it is replaced. `target` is its name, beside this folder.
    pub(crate) fn replaced(&self, target: &Path) -> io::Result<PathBuf> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        symlink(Path::new("..").join(name), self.path.join(TARGET))?;
        Ok(self.path.join(REPLACED))
    }

    /// Leaves the folder as it is. The next run restores the earlier output, or leaves the folder too.
    pub(crate) fn leave(mut self) -> PathBuf {
        std::mem::take(&mut self.path)
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // If something cannot be removed now, the next run removes it.
        if !self.path.as_os_str().is_empty() {
            note_unless_gone(&self.path, fs::remove_dir_all(&self.path));
        }
    }
}

/// Makes the lock file in the new folder `path` and locks it.
///
/// # Errors
/// [`NotFound`](io::ErrorKind::NotFound) if another process has removed the folder meanwhile.
fn lock_own(path: &Path) -> io::Result<File> {
    let name = path.join(LOCK);
    let mut lock = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&name)?;
    if lock.lock().is_err() {
        // This file system has no locks. Without the content, no process takes the folder for a leftover.
        return Ok(lock);
    }
    let (own, found) = (lock.metadata()?, fs::symlink_metadata(&name)?);
    if (own.dev(), own.ino()) != (found.dev(), found.ino()) {
        return Err(io::ErrorKind::NotFound.into());
    }
    lock.write_all(OWNER)?;
    Ok(lock)
}

/// The result of looking for the folders of killed runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// The number of folders that were removed.
    pub removed: u64,
    /// The number of work folders that stay: those of living runs, and those that cannot be removed or may not be ours.
    pub kept: u64,
}

/// Removes the folders that killed runs left in `parent`. First restores what a killed run was about to replace.
pub fn remove_leftovers(parent: &Path) -> Leftovers {
    let mut left = Leftovers::default();
    let Ok(entries) = fs::read_dir(parent) else { return left };
    for entry in entries.flatten() {
        // Do not follow links, and leave folders of other users alone.
        let is_own_folder = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
        if !is_work_folder_name(&entry.file_name()) || !entry.metadata().is_ok_and(is_own_folder) {
            continue;
        }
        match remove_if_left(parent, &entry.path()) {
            Ok(true) => left.removed += 1,
            Ok(false) | Err(_) => left.kept += 1,
        }
    }
    left
}

/// Removes the work folder `path` of this process, and restores the earlier output if it was not replaced yet.
fn give_up(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if remove_ours(parent, path, true)? { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) }
}

/// Whether `name` has the form of a work folder's name.
pub(crate) fn is_work_folder_name(name: &OsStr) -> bool {
    let random = name.as_encoded_bytes().strip_prefix(PREFIX.as_bytes());
    random.is_some_and(|random| random.len() == RANDOM_LEN && random.iter().all(u8::is_ascii_alphanumeric))
}

/// Removes the folder `path` in `parent` if it is ours and no process has locked it. Returns whether it was removed.
fn remove_if_left(parent: &Path, path: &Path) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let mut lock = match options.open(path.join(LOCK)) {
        Ok(lock) => lock,
        // The run was killed before it created the lock, or after it had removed it. A living run creates the lock
        // before anything else.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let names = names_in(path)?;
            if names.is_empty() {
                // Fails if a living run creates its lock meanwhile.
                return fs::remove_dir(path).map(|()| true);
            }
            let is_ours = names.iter().all(|name| [NEW, REPLACED, TARGET].iter().any(|known| name == known));
            return remove_ours(parent, path, is_ours);
        }
        Err(error) => return Err(error),
    };
    if !lock.metadata()?.is_file() {
        return Ok(false);
    }
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut owner = Vec::new();
    Read::by_ref(&mut lock).take(OWNER.len() as u64 + 1).read_to_end(&mut owner)?;
    // If there is nothing else, the run was killed while it wrote the content.
    let is_ours = owner == OWNER || OWNER.starts_with(&owner) && names_in(path)?.len() == 1;
    remove_ours(parent, path, is_ours)
}

/// Removes the folder `path` if it `is_ours` and holds nothing that has to be kept. Returns whether it was removed. The
/// removal follows no link, whatever takes the place of the folder meanwhile.
fn remove_ours(parent: &Path, path: &Path, is_ours: bool) -> io::Result<bool> {
    let goes = is_ours && restore_replaced(parent, path)?;
    if goes {
        fs::remove_dir_all(path)?;
    }
    Ok(goes)
}

fn names_in(path: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Restores what a killed run had moved aside and not replaced yet. Returns whether nothing of it is left in the folder
/// `path`.
fn restore_replaced(parent: &Path, path: &Path) -> io::Result<bool> {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let replaced = path.join(REPLACED);
    if !is_there(&replaced) {
        return Ok(true);
    }
    let target = fs::read_link(path.join(TARGET))?;
    let Some(name) = target.file_name() else { return Ok(false) };
    let target = parent.join(name);
    if is_there(&target) {
        // Without `new`, the replacement was complete. Otherwise someone has created another one meanwhile, and the
        // earlier output still belongs to the user.
        return Ok(!is_there(&path.join(NEW)));
    }
    fs::rename(replaced, target)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parent: &Path) -> usize {
        fs::read_dir(parent).unwrap().count()
    }

    /// Leaves a folder as a killed process does: complete, and not locked.
    fn left_in(parent: &Path) -> PathBuf {
        let path = WorkFolder::create(parent).unwrap().leave();
        fs::create_dir_all(path.join(NEW).join("objects")).unwrap();
        fs::write(path.join(NEW).join("objects/pack"), "half of it").unwrap();
        path
    }

    #[test]
    fn only_folders_of_killed_runs_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let living = WorkFolder::create(parent.path()).unwrap();
        left_in(parent.path());
        // The runs were killed before the lock file existed, and before it had its content.
        fs::create_dir(parent.path().join(".repackbench-000000")).unwrap();
        let early = parent.path().join(".repackbench-111111");
        fs::create_dir(&early).unwrap();
        fs::write(early.join(LOCK), &OWNER[..9]).unwrap();
        // The run was killed after it had removed a part of its folder.
        let late = left_in(parent.path());
        fs::remove_file(late.join(LOCK)).unwrap();
        assert_eq!(remove_leftovers(parent.path()), Leftovers { removed: 4, kept: 1 });
        assert!(living.new_folder().is_dir());
        assert_eq!(names(parent.path()), 1);
        drop(living);
        assert_eq!(names(parent.path()), 0);
    }

    #[test]
    fn links_and_folders_of_others_are_kept() {
        let (parent, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let outside = left_in(elsewhere.path());
        // A link to a folder, user folders with and without a file named `lock`, and a lock that is a link.
        symlink(&outside, parent.path().join(".repackbench-linked")).unwrap();
        for (name, lock) in [(".repackbench-000000", None), (".repackbench-mylock", Some("mine"))] {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("content"), "precious").unwrap();
            lock.inspect(|lock| fs::write(folder.join(LOCK), lock).unwrap());
        }
        let folder = parent.path().join(".repackbench-tolock");
        fs::create_dir(&folder).unwrap();
        symlink(outside.join(LOCK), folder.join(LOCK)).unwrap();
        // Another name: stays although it is empty.
        fs::create_dir(parent.path().join(".repackbench-of-mine")).unwrap();
        assert_eq!(remove_leftovers(parent.path()), Leftovers { removed: 0, kept: 3 });
        assert_eq!((names(parent.path()), names(&outside)), (5, 2));
        // Links in a removed folder are removed, but not their targets.
        let left = left_in(parent.path());
        symlink(&outside, left.join("link")).unwrap();
        symlink(&outside, left.join(NEW).join("link")).unwrap();
        assert_eq!(remove_leftovers(parent.path()).removed, 1);
        assert_eq!((names(parent.path()), names(&outside)), (5, 2));
    }

    #[test]
    fn replaced_output_is_restored_unless_its_name_is_taken() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("variant");
        let replacing = || {
            let work = WorkFolder::create(parent.path()).unwrap();
            fs::create_dir(&target).unwrap();
            fs::write(target.join("HEAD"), "the only one").unwrap();
            fs::rename(&target, work.replaced(&target).unwrap()).unwrap();
            work
        };
        replacing().leave();
        assert_eq!(remove_leftovers(parent.path()).removed, 1);
        assert_eq!(fs::read_to_string(target.join("HEAD")).unwrap(), "the only one");

        fs::remove_dir_all(&target).unwrap();
        let left = replacing().leave();
        fs::create_dir(&target).unwrap();
        assert_eq!(remove_leftovers(parent.path()).removed, 0);
        assert_eq!(fs::read_to_string(left.join(REPLACED).join("HEAD")).unwrap(), "the only one");

        // The folder was removed in part, and neither output has the name.
        fs::remove_dir_all(&target).unwrap();
        let half = replacing();
        fs::remove_dir_all(half.new_folder()).unwrap();
        half.leave();
        assert_eq!(remove_leftovers(parent.path()).removed, 1);
        assert_eq!(fs::read_to_string(target.join("HEAD")).unwrap(), "the only one");

        // The run was killed after the new output had got its name.
        fs::remove_dir_all(&target).unwrap();
        fs::rename(left.join(NEW), &target).unwrap();
        assert_eq!((remove_leftovers(parent.path()).removed, names(parent.path())), (1, 1));
        assert!(!target.join("HEAD").exists());
    }
}
