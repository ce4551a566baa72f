//! Folders that a run works in, and what killed runs left of theirs.
//!
//! ```text
//! .repackbench-AbCdEf/
//!   lock          held by the living process; its content says whose folder this is
//!   new/          what is being built; gets its name when it is whole
//!   replaced/     what had that name before, until the new one has it
//!   target        a symbolic link that says that name, made before anything is moved to `replaced`
//! ```
//!
//! The operating system drops locks of processes that die, whichever way. A number of a process would say less:
//! numbers are used again, and those of another machine or container mean nothing here. Where the file system has no
//! locks nothing is removed.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, symlink},
    path::{Path, PathBuf},
};

use nix::{fcntl::OFlag, unistd::geteuid};

/// What the names of such folders begin with.
const PREFIX: &str = ".repackbench-";
/// How many random letters and digits follow.
const RANDOM_LEN: usize = 6;
const LOCK: &str = "lock";
const NEW: &str = "new";
const REPLACED: &str = "replaced";
const TARGET: &str = "target";

/// The content of the lock file.
const OWNER: &[u8] = b"A folder that repackbench works in. When no process holds the lock on this file, the next run removes the folder.\n";

/// How often a folder is made again that another process took for one that a killed run left: it had no lock yet.
const ATTEMPTS: usize = 8;

/// A folder that is locked while this lives, and removed with it.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    _lock: File,
}

impl WorkFolder {
    /// Makes one in `parent`, open to nobody else, and in it the folder to build in, with the permissions that the
    /// user's mask gives.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(parent: &Path) -> io::Result<Self> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let path = tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM_LEN).tempdir_in(parent)?.keep();
            match lock_own(&path) {
                Ok(lock) => {
                    let work = WorkFolder { path, _lock: lock };
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

    /// Removes it.
    ///
    /// # Errors
    /// Something in it cannot be removed. The next run tries again.
    pub fn close(self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }

    /// Where what `target`, a name beside this folder, names so far is kept until it is replaced.
    pub(crate) fn replaced(&self, target: &Path) -> io::Result<PathBuf> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        symlink(Path::new("..").join(name), self.path.join(TARGET))?;
        Ok(self.path.join(REPLACED))
    }

    /// Leaves everything where it is; the next run puts what was replaced back in its place, or leaves it, too.
    pub(crate) fn leave(mut self) -> PathBuf {
        std::mem::take(&mut self.path)
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // What cannot be removed now is left to the next run.
        if !self.path.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.path);
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
        // No locks here: without the content nobody takes the folder for one that may be removed.
        return Ok(lock);
    }
    let (own, found) = (lock.metadata()?, fs::symlink_metadata(&name)?);
    if (own.dev(), own.ino()) != (found.dev(), found.ino()) {
        return Err(io::ErrorKind::NotFound.into());
    }
    lock.write_all(OWNER)?;
    Ok(lock)
}

/// What looking for the folders of killed runs came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftFolders {
    /// How many were removed.
    pub removed: u64,
    /// How many folders of such a name stay: those of living runs, and what cannot be removed or is not surely ours.
    pub kept: u64,
}

/// Removes what killed runs left in `parent`. What a killed run was about to replace is put back first.
pub fn remove_left(parent: &Path) -> LeftFolders {
    let mut left = LeftFolders::default();
    let Ok(entries) = fs::read_dir(parent) else { return left };
    for entry in entries.flatten() {
        // Not through a link, and of no other user.
        let is_own_folder = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
        if !is_of_a_run(&entry.file_name()) || !entry.metadata().is_ok_and(is_own_folder) {
            continue;
        }
        match remove_if_left(parent, &entry.path()) {
            Ok(true) => left.removed += 1,
            Ok(false) | Err(_) => left.kept += 1,
        }
    }
    left
}

/// Whether a folder of a run might have this name.
fn is_of_a_run(name: &OsStr) -> bool {
    let random = name.as_encoded_bytes().strip_prefix(PREFIX.as_bytes());
    random.is_some_and(|random| random.len() == RANDOM_LEN && random.iter().all(u8::is_ascii_alphanumeric))
}

/// Removes the folder `path` in `parent` if it is ours and nobody's; says whether it was.
fn remove_if_left(parent: &Path, path: &Path) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let mut lock = match options.open(path.join(LOCK)) {
        Ok(lock) => lock,
        // Killed before it made one, or when it had removed that already. A living run has one before there is
        // anything else.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let names = names_in(path)?;
            if names.is_empty() {
                // It fails if a living run puts its lock there meanwhile.
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
    // Killed while it wrote that, if there is nothing else.
    let is_ours = owner == OWNER || OWNER.starts_with(&owner) && names_in(path)?.len() == 1;
    remove_ours(parent, path, is_ours)
}

/// Removes the folder `path` if it `is_ours` and holds nothing that has to be kept; says whether it did. The removal
/// follows no link, whatever takes the folder's place meanwhile.
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

/// Puts back what a killed run had moved aside and not replaced yet. Says whether nothing of it is left in the folder
/// `path`.
fn restore_replaced(parent: &Path, path: &Path) -> io::Result<bool> {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let replaced = path.join(REPLACED);
    // Without a new one it was replaced.
    if !is_there(&replaced) || !is_there(&path.join(NEW)) {
        return Ok(true);
    }
    let target = fs::read_link(path.join(TARGET))?;
    let Some(name) = target.file_name() else { return Ok(false) };
    let target = parent.join(name);
    // Somebody has made another one meanwhile: what was there before is still the user's.
    if is_there(&target) {
        return Ok(false);
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

    /// A folder as a killed process leaves it: complete, and nobody holds the lock.
    fn left_in(parent: &Path) -> PathBuf {
        let path = WorkFolder::create(parent).unwrap().leave();
        fs::create_dir_all(path.join(NEW).join("objects")).unwrap();
        fs::write(path.join(NEW).join("objects/pack"), "half of it").unwrap();
        path
    }

    #[test]
    fn what_a_living_run_has_stays_and_what_a_killed_one_left_goes() {
        let parent = tempfile::tempdir().unwrap();
        let living = WorkFolder::create(parent.path()).unwrap();
        left_in(parent.path());
        // Killed before there was a lock file, and before anything was in it.
        fs::create_dir(parent.path().join(".repackbench-000000")).unwrap();
        let early = parent.path().join(".repackbench-111111");
        fs::create_dir(&early).unwrap();
        fs::write(early.join(LOCK), &OWNER[..9]).unwrap();
        // Killed when it had removed a part.
        let late = left_in(parent.path());
        fs::remove_file(late.join(LOCK)).unwrap();
        assert_eq!(remove_left(parent.path()), LeftFolders { removed: 4, kept: 1 });
        assert!(living.new_folder().is_dir());
        assert_eq!(names(parent.path()), 1);
        drop(living);
        assert_eq!(names(parent.path()), 0);
    }

    #[test]
    fn what_is_not_ours_stays() {
        let (parent, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let outside = left_in(elsewhere.path());
        // A link to a folder, a folder of the user's with and without a file of that name, and a lock that is a link.
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
        // Of another name, even if it is empty.
        fs::create_dir(parent.path().join(".repackbench-of-mine")).unwrap();
        assert_eq!(remove_left(parent.path()), LeftFolders { removed: 0, kept: 3 });
        assert_eq!((names(parent.path()), names(&outside)), (5, 2));
        // Links in a folder that goes are removed, and not what they lead to.
        let left = left_in(parent.path());
        symlink(&outside, left.join("link")).unwrap();
        symlink(&outside, left.join(NEW).join("link")).unwrap();
        assert_eq!(remove_left(parent.path()).removed, 1);
        assert_eq!((names(parent.path()), names(&outside)), (5, 2));
    }

    #[test]
    fn what_was_to_be_replaced_is_put_back_unless_its_place_is_taken() {
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
        assert_eq!(remove_left(parent.path()).removed, 1);
        assert_eq!(fs::read_to_string(target.join("HEAD")).unwrap(), "the only one");

        fs::remove_dir_all(&target).unwrap();
        let left = replacing().leave();
        fs::create_dir(&target).unwrap();
        assert_eq!(remove_left(parent.path()).removed, 0);
        assert_eq!(fs::read_to_string(left.join(REPLACED).join("HEAD")).unwrap(), "the only one");

        // Killed when the new one had its name.
        fs::remove_dir_all(&target).unwrap();
        fs::rename(left.join(NEW), &target).unwrap();
        assert_eq!((remove_left(parent.path()).removed, names(parent.path())), (1, 1));
        assert!(!target.join("HEAD").exists());
    }
}
