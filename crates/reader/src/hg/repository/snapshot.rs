//! Noticing that a repository changed while it was read.
//!
//! hg appends to revlogs in place, under a lock, and replaces other files by renaming. Files are compared by inode, length
//! and time of content; the time of the inode says nothing, since a local clone hard-links the whole store.

use std::{num::NonZero, path::PathBuf, thread};

use super::{HgRepository, KEPT_IN_HG_DIR, Requirements, refuse_writers};
use crate::{
    ReaderError, Result,
    file_state::{FileState, PathState, add_file_state, first_difference},
    threads,
};

/// The state of every file that a conversion reads, at one moment.
#[derive(Debug, Clone)]
pub struct HgSnapshot {
    hg_dir: PathBuf,
    requirements: Requirements,
    /// What was looked at.
    paths: Vec<PathBuf>,
    seen: Vec<(PathBuf, PathState)>,
}

impl HgSnapshot {
    /// Records the state of `repository`. What changed since it was opened is noticed by [`check`](HgSnapshot::check): what
    /// was found then is compared too.
    pub(super) fn take(repository: &HgRepository) -> Result<Self> {
        let (hg_dir, requirements) = (repository.hg_dir.clone(), repository.requirements.clone());
        let paths = paths_to_watch(repository);
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let seen = look(&paths, threads)?;
        Ok(HgSnapshot { hg_dir, requirements, paths, seen })
    }

    /// Looks again.
    ///
    /// # Errors
    /// [`ReaderError::Changed`] that names the first file, in path order, that changed, appeared or vanished;
    /// [`ReaderError::Locked`] when another program has begun to write.
    pub fn check(&self) -> Result<()> {
        refuse_writers(&self.hg_dir)?;
        // What was there before is looked at while the store is listed: each takes about as long as the other.
        let (again, seen) = threads::both(|| HgRepository::open(&self.hg_dir), || look(&self.paths, 1));
        let again = again?;
        if again.requirements != self.requirements {
            return Err(ReaderError::Changed { path: self.hg_dir.join("requires") });
        }
        let paths = paths_to_watch(&again);
        let seen = if paths == self.paths { seen? } else { look(&paths, 1)? };
        match first_difference(&self.seen, &seen) {
            Some(path) => Err(ReaderError::Changed { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}

/// Everything that a conversion of `repository` reads, or would if it were there. A file that appears in the store later is
/// noticed by its being listed.
fn paths_to_watch(repository: &HgRepository) -> Vec<PathBuf> {
    let store = repository.store_dir();
    let kept = KEPT_IN_HG_DIR.iter().map(|name| repository.hg_dir.join(name));
    let fixed = [repository.hg_dir.join("requires"), store.join("requires")];
    let revlogs = repository.revlogs.iter().flat_map(|files| {
        let data = files.has_data.then(|| files.data.clone());
        // Nearly in order, so that little is left to be sorted.
        data.into_iter().chain([files.index.clone()])
    });
    let others = repository.other_files.iter().chain(&repository.dictionary_files).map(|path| store.join(path));
    fixed.into_iter().chain(kept).chain(revlogs).chain(others).collect()
}

/// The states of the files at `paths`, sorted by path, looked at on `threads` threads: there are thousands.
fn look(paths: &[PathBuf], threads: usize) -> Result<Vec<(PathBuf, PathState)>> {
    let runs: Vec<_> = paths.chunks(paths.len().div_ceil(threads.max(1)).max(1)).collect();
    let mut seen = threads::map(threads, &runs, |run| look_in_turn(run))?.concat();
    seen.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(seen)
}

fn look_in_turn(paths: &[PathBuf]) -> Result<Vec<(PathBuf, PathState)>> {
    let mut seen = Vec::with_capacity(paths.len());
    for path in paths {
        add_file_state(path.clone(), FileState::of_linked_file, &mut seen)?;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// A repository with an inline revlog, a split one and a file that is no revlog, and the snapshot of it.
    fn repository_and_snapshot() -> (tempfile::TempDir, HgSnapshot) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join(".hg/store");
        fs::create_dir_all(store.join("data/b")).unwrap();
        fs::write(folder.path().join(".hg/requires"), "revlogv1\nstore\n").unwrap();
        for name in ["00changelog.i", "data/a.i", "data/b/split.i", "data/b/split.d", "phaseroots"] {
            fs::write(store.join(name), "some bytes").unwrap();
        }
        let snapshot = HgRepository::open(folder.path()).unwrap().snapshot().unwrap();
        (folder, snapshot)
    }

    #[test]
    fn what_stays_as_it_was_passes() {
        let (_folder, snapshot) = repository_and_snapshot();
        snapshot.check().unwrap();
    }

    #[test]
    fn files_that_change_appear_or_vanish_are_named() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 5] = [
            ("data/a.i", |path| fs::write(path, "more bytes than before").unwrap()),
            ("data/b/split.d", |path| fs::remove_file(path).unwrap()),
            // Of a revlog that was inline so far.
            ("data/a.d", |path| fs::write(path, "new").unwrap()),
            ("data/c/new.i", |path| {
                fs::create_dir(path.parent().unwrap()).unwrap();
                fs::write(path, "new").unwrap();
            }),
            ("phaseroots", |path| fs::write(path, "more bytes than before").unwrap()),
        ];
        for (name, change) in changes {
            let (folder, snapshot) = repository_and_snapshot();
            let path = folder.path().join(".hg/store").join(name);
            change(&path);
            match snapshot.check() {
                Err(ReaderError::Changed { path: named }) => assert_eq!(named, path),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
