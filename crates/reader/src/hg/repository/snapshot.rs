//! Noticing that a repository changed while it was read.
//!
//! hg appends to revlogs in place, under a lock, and replaces other files by renaming. Files are compared by inode, length
//! and time of content; the time of the inode says nothing, since a local clone hard-links the whole store.

use std::path::PathBuf;

use super::{HgRepository, KEPT_IN_HG_DIR, refuse_writers};
use crate::{
    ReaderError, Result,
    file_state::{FileState, Seen, first_difference, look_at_file},
};

/// The state of every file that a conversion reads, at one moment.
#[derive(Debug, Clone)]
pub struct HgSnapshot {
    hg_dir: PathBuf,
    seen: Vec<(PathBuf, Seen)>,
}

impl HgSnapshot {
    /// Records the state of `repository`, and makes sure that it still is what was opened.
    pub(super) fn take(repository: &HgRepository) -> Result<Self> {
        let seen = look(repository)?;
        let again = HgRepository::open(&repository.hg_dir)?;
        if again.requirements != repository.requirements {
            return Err(ReaderError::Changed { path: repository.hg_dir.join("requires") });
        }
        match first_difference(&seen, &look(&again)?) {
            Some(path) => Err(ReaderError::Changed { path: path.to_owned() }),
            None => Ok(HgSnapshot { hg_dir: repository.hg_dir.clone(), seen }),
        }
    }

    /// Looks again.
    ///
    /// # Errors
    /// [`ReaderError::Changed`] that names the first file, in path order, that changed, appeared or vanished;
    /// [`ReaderError::Locked`] when another program has begun to write.
    pub fn check(&self) -> Result<()> {
        refuse_writers(&self.hg_dir)?;
        let again = HgRepository::open(&self.hg_dir)?;
        match first_difference(&self.seen, &look(&again)?) {
            Some(path) => Err(ReaderError::Changed { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}

/// The state of everything that a conversion of `repository` reads, sorted by path.
fn look(repository: &HgRepository) -> Result<Vec<(PathBuf, Seen)>> {
    let mut seen = Vec::new();
    let store = repository.store_dir();
    let kept = KEPT_IN_HG_DIR.iter().map(|name| repository.hg_dir.join(name));
    let fixed = [repository.hg_dir.join("requires"), store.join("requires")];
    let revlogs = repository.revlogs.iter().flat_map(|files| [files.index.clone(), files.data.clone()]);
    let others = repository.other_files.iter().map(|path| store.join(path));
    for path in fixed.into_iter().chain(kept).chain(revlogs).chain(others) {
        look_at_file(path, FileState::of_linked_file, &mut seen)?;
    }
    seen.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(seen)
}
