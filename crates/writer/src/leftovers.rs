//! Files and folders that would be left over if the process ended now.
//!
//! A long call of a codec cannot be interrupted. When the user stops the program in one, another thread ends the
//! process, and removes beforehand what is registered here. It does not begin while a job gives its output the final
//! names ([`Commit`]): it would remove files from under the job, or those that have their names already.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::WriterError;

/// How to remove each path. A work folder may hold an earlier output, which has to be restored.
static REGISTERED: Mutex<BTreeMap<PathBuf, Removal>> = Mutex::new(BTreeMap::new());

/// What its owner could not remove.
static NOT_REMOVED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Which of the two goes on: the commits of jobs, or the removal before the process ends.
static ENDING: Mutex<Ending> = Mutex::new(Ending { commits: 0, has_begun: false });

#[derive(Debug)]
struct Ending {
    /// The commits that are in progress.
    commits: u32,
    /// Whether the process ends, so that no other commit may begin.
    has_begun: bool,
}

impl Ending {
    /// Begins a commit. Returns whether it may.
    fn begin_commit(&mut self) -> bool {
        self.commits = self.commits.saturating_add(u32::from(!self.has_begun));
        !self.has_begun
    }

    fn end_commit(&mut self) {
        self.commits = self.commits.saturating_sub(1);
    }

    /// Begins the end of the process, unless a commit is in progress. Returns whether it has begun.
    fn begin(&mut self) -> bool {
        self.has_begun = self.has_begun || self.commits == 0;
        self.has_begun
    }
}

fn ending() -> MutexGuard<'static, Ending> {
    ENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, a job gives its output the final names, and the process does not end but by a kill.
#[derive(Debug)]
pub struct Commit(());

impl Commit {
    /// Begins one, unless the process is ending.
    ///
    /// # Errors
    /// [`WriterError::Interrupted`].
    pub fn begin() -> Result<Self, WriterError> {
        if ending().begin_commit() { Ok(Commit(())) } else { Err(WriterError::Interrupted) }
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        ending().end_commit();
    }
}

/// Whether the process may end now. If so, no commit begins any more; [`remove_registered`] can follow.
pub fn may_end() -> bool {
    ending().begin()
}

/// How often a removal is tried: other threads may still create files in a folder.
const ATTEMPTS: usize = 5;

/// Removes what is at a path.
pub type Removal = fn(&Path) -> io::Result<()>;

/// A file or folder that is removed if the process has to end while this value lives.
#[derive(Debug)]
pub struct Leftover {
    path: PathBuf,
}

impl Leftover {
    /// Registers a file or folder. It need not exist yet.
    pub fn new(path: &Path) -> Self {
        Leftover::removed_by(path, remove)
    }

    /// Registers a file or folder that `removal` removes.
    pub fn removed_by(path: &Path, removal: Removal) -> Self {
        registered().insert(path.to_owned(), removal);
        Leftover { path: path.to_owned() }
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        registered().remove(&self.path);
    }
}

/// Remembers `path`, which its owner could not remove, unless `removed` says that it is gone.
pub(crate) fn note_unless_gone(path: &Path, removed: io::Result<()>) {
    if removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
        NOT_REMOVED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }
}

/// Locks and folders that could not be removed since the last call.
pub fn take_not_removed() -> Vec<PathBuf> {
    std::mem::take(&mut *NOT_REMOVED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Removes everything that is registered, for the end of the process, once it [may end](may_end). Returns what could not
/// be removed.
pub fn remove_registered() -> Vec<PathBuf> {
    remove_in(Path::new(""))
}

/// Removes what is registered in `folder`, a folder of tests, or anywhere if that is empty.
fn remove_in(folder: &Path) -> Vec<PathBuf> {
    let registered = registered();
    let fails = |(path, removal): &(&PathBuf, &Removal)| !(0..ATTEMPTS).any(|_| removal(path).is_ok());
    let in_folder = registered.iter().filter(|(path, _)| path.starts_with(folder));
    in_folder.filter(fails).map(|(path, _)| path.clone()).collect()
}

fn registered() -> MutexGuard<'static, BTreeMap<PathBuf, Removal>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes a file or a folder, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_does_not_end_during_a_commit() {
        let mut ending = Ending { commits: 0, has_begun: false };
        assert!(ending.begin_commit() && ending.begin_commit(), "one within another");
        ending.end_commit();
        assert!(!ending.begin());
        ending.end_commit();
        assert!(ending.begin() && ending.begin());
        assert!(!ending.begin_commit(), "it has begun");
        assert_eq!(ending.commits, 0);
    }

    #[test]
    fn files_and_folders_are_removed_while_registered() {
        let place = tempfile::tempdir().unwrap();
        let [folder, file, kept, missing] = ["folder", "file", "kept", "missing"].map(|name| place.path().join(name));
        fs::create_dir_all(folder.join("objects")).unwrap();
        for file in [&file, &kept, &folder.join("objects/half")] {
            fs::write(file, "half of it").unwrap();
        }
        let _left = [&folder, &file, &missing].map(|path| Leftover::new(path));
        drop(Leftover::new(&kept));
        assert_eq!(remove_in(place.path()), Vec::<PathBuf>::new());
        assert!(!folder.exists() && !file.exists() && kept.exists());
        let refused = place.path().join("refused");
        let _refused = Leftover::removed_by(&refused, |_| Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(remove_in(place.path()), [refused], "it is named");
    }
}
