//! Noticing that a repository changed while it was read.
//!
//! hg appends to revlogs in place, under a lock, and replaces other files by renaming. Files are compared by inode, length
//! and time of content; the time of the inode says nothing, since a local clone hard-links the whole store.

use std::{num::NonZero, panic::resume_unwind, path::PathBuf, thread};

use super::{HgRepository, KEPT_IN_HG_DIR, Requirements, refuse_writers};
use crate::{
    ReaderError, Result,
    file_state::{FileState, Seen, first_difference, look_at_file},
};

/// The state of every file that a conversion reads, at one moment.
#[derive(Debug, Clone)]
pub struct HgSnapshot {
    hg_dir: PathBuf,
    requirements: Requirements,
    seen: Vec<(PathBuf, Seen)>,
}

impl HgSnapshot {
    /// Records the state of `repository`. What changed since it was opened is noticed by [`check`](HgSnapshot::check): what
    /// was found then is compared too.
    pub(super) fn take(repository: &HgRepository) -> Result<Self> {
        let (hg_dir, requirements) = (repository.hg_dir.clone(), repository.requirements.clone());
        Ok(HgSnapshot { hg_dir, requirements, seen: look(repository)? })
    }

    /// Looks again.
    ///
    /// # Errors
    /// [`ReaderError::Changed`] that names the first file, in path order, that changed, appeared or vanished;
    /// [`ReaderError::Locked`] when another program has begun to write.
    pub fn check(&self) -> Result<()> {
        refuse_writers(&self.hg_dir)?;
        let again = HgRepository::open(&self.hg_dir)?;
        if again.requirements != self.requirements {
            return Err(ReaderError::Changed { path: self.hg_dir.join("requires") });
        }
        match first_difference(&self.seen, &look(&again)?) {
            Some(path) => Err(ReaderError::Changed { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}

/// The state of everything that a conversion of `repository` reads, sorted by path.
fn look(repository: &HgRepository) -> Result<Vec<(PathBuf, Seen)>> {
    let store = repository.store_dir();
    let kept = KEPT_IN_HG_DIR.iter().map(|name| repository.hg_dir.join(name));
    let fixed = [repository.hg_dir.join("requires"), store.join("requires")];
    let revlogs = repository.revlogs.iter().flat_map(|files| [files.index.clone(), files.data.clone()]);
    let others = repository.other_files.iter().map(|path| store.join(path));
    let paths: Vec<PathBuf> = fixed.into_iter().chain(kept).chain(revlogs).chain(others).collect();
    let mut seen = look_at_files(&paths)?;
    seen.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(seen)
}

/// The states of the files at `paths`, looked at on as many threads as there are processors: there are thousands.
fn look_at_files(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Seen)>> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let look = |paths: &[PathBuf]| -> Result<Vec<_>> {
        let mut seen = Vec::with_capacity(paths.len());
        for path in paths {
            look_at_file(path.clone(), FileState::of_linked_file, &mut seen)?;
        }
        Ok(seen)
    };
    let runs = thread::scope(|scope| -> Result<Vec<_>> {
        let spawn = |run| scope.spawn(move || look(run));
        let threads: Vec<_> = paths.chunks(paths.len().div_ceil(threads).max(1)).map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })?;
    Ok(runs.concat())
}
