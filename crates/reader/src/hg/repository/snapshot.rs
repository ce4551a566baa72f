//! Detecting that a repository changed while it was read.
//!
//! hg appends to revlogs in place, under a lock, and replaces other files by renaming. Files are compared by inode,
//! length and time of content. The time of the inode does not count, since a local clone hard-links the whole store.

use std::{num::NonZero, path::PathBuf, thread};

use super::{HgRepository, KEPT_IN_HG_DIR, Requirements, check_not_writing};
use crate::{
    ReaderError, Result,
    file_state::{FileState, PathState, add_file_state, first_difference},
    threads,
};

/// The state of every file that a conversion reads, at one point in time.
#[derive(Debug, Clone)]
pub struct HgSnapshot {
    hg_dir: PathBuf,
    requirements: Requirements,
    /// The files whose states were recorded.
    paths: Vec<PathBuf>,
    states: Vec<(PathBuf, PathState)>,
}

impl HgSnapshot {
    /// Records the state of `repository`. [`check`](HgSnapshot::check) also detects changes since it was opened,
    /// because it compares the listing from then.
    pub(super) fn take(repository: &HgRepository) -> Result<Self> {
        let (hg_dir, requirements) = (repository.hg_dir.clone(), repository.requirements.clone());
        let paths = paths_to_watch(repository);
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let states = file_states(&paths, threads)?;
        Ok(HgSnapshot { hg_dir, requirements, paths, states })
    }

    /// Fails if a file has changed since the snapshot.
    ///
    /// # Errors
    /// [`ReaderError::Changed`] names the first file, in path order, that changed, appeared or vanished.
    /// [`ReaderError::Locked`] if another program has started to write.
    pub fn check(&self) -> Result<()> {
        check_not_writing(&self.hg_dir)?;
        // The recorded files are inspected while the store is listed. Both take about the same time.
        let (again, states) = threads::both(|| HgRepository::open(&self.hg_dir), || file_states(&self.paths, 1));
        let again = again?;
        if again.requirements != self.requirements {
            return Err(ReaderError::Changed { path: self.hg_dir.join("requires") });
        }
        let paths = paths_to_watch(&again);
        let states = if paths == self.paths { states? } else { file_states(&paths, 1)? };
        match first_difference(&self.states, &states) {
            Some(path) => Err(ReaderError::Changed { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}

/// All files that a conversion of `repository` reads, or would read if they existed. A new file in the store is
/// detected because it is listed.
fn paths_to_watch(repository: &HgRepository) -> Vec<PathBuf> {
    let store = repository.store_dir();
    let kept = KEPT_IN_HG_DIR.iter().map(|name| repository.hg_dir.join(name));
    let fixed = [repository.hg_dir.join("requires"), store.join("requires")];
    let revlogs = repository.revlogs.iter().flat_map(|files| {
        let data = files.has_data.then(|| files.data.clone());
        // Almost in order, so that sorting takes little time.
        data.into_iter().chain([files.index.clone()])
    });
    let others = repository.other_files.iter().chain(&repository.dictionary_files).map(|path| store.join(path));
    fixed.into_iter().chain(kept).chain(revlogs).chain(others).collect()
}

/// The states of the files at `paths`, sorted by path. They are inspected on `threads` threads, since there may be
/// thousands.
fn file_states(paths: &[PathBuf], threads: usize) -> Result<Vec<(PathBuf, PathState)>> {
    let runs: Vec<_> = paths.chunks(paths.len().div_ceil(threads.max(1)).max(1)).collect();
    let mut states = threads::map(threads, &runs, |run| states_of_run(run))?.concat();
    states.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(states)
}

fn states_of_run(paths: &[PathBuf]) -> Result<Vec<(PathBuf, PathState)>> {
    let mut states = Vec::with_capacity(paths.len());
    for path in paths {
        add_file_state(path.clone(), FileState::of_linked_file, &mut states)?;
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// A repository with an inline revlog, a split one and a file that is no revlog, and a snapshot of it.
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
    fn unchanged_repository_passes() {
        let (_folder, snapshot) = repository_and_snapshot();
        snapshot.check().unwrap();
    }

    #[test]
    fn names_files_that_change_appear_or_vanish() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 5] = [
            ("data/a.i", |path| fs::write(path, "more bytes than before").unwrap()),
            ("data/b/split.d", |path| fs::remove_file(path).unwrap()),
            // The data file of a revlog that was inline before.
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
