//! Notes where conversions write outside of the cache, so that pruning finds what killed ones left there.
//!
//! Each note is a symbolic link `outputs/...` to the folder that will hold the output. It is removed with the end of
//! the conversion, also if that is interrupted, or when the cache is pruned and nothing is left in that folder.

use std::{
    fs::{self, DirEntry},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{Cache, CacheError};
use crate::{leftovers::Leftover, work_folder::remove_leftovers};

const OUTPUTS_FOLDER: &str = "outputs";

/// A conversion in progress. Dropping this value marks its end.
#[derive(Debug)]
pub struct OutputNote {
    link: PathBuf,
    _leftover: Leftover,
}

impl Drop for OutputNote {
    fn drop(&mut self) {
        // If it cannot be removed, pruning the cache removes it.
        let _ = fs::remove_file(&self.link);
    }
}

impl Cache {
    /// Notes that an output is being made in `folder`.
    ///
    /// # Errors
    /// The folder does not exist, or the note cannot be written.
    pub fn note_output(&self, folder: &Path) -> Result<OutputNote, CacheError> {
        let folder = fs::canonicalize(folder).map_err(CacheError::io("find", folder))?;
        let outputs = self.root.join(OUTPUTS_FOLDER);
        fs::create_dir_all(&outputs).map_err(CacheError::io("create", &outputs))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let link = outputs.join(format!("{}-{now}", process::id()));
        symlink(folder, &link).map_err(CacheError::io("create", &link))?;
        Ok(OutputNote { _leftover: Leftover::new(&link), link })
    }

    /// Removes what killed runs left in folders of outputs. Returns the number of removed folders.
    pub(super) fn remove_left_outputs(&self) -> Result<u64, CacheError> {
        let outputs = self.root.join(OUTPUTS_FOLDER);
        let notes: Vec<DirEntry> = match fs::read_dir(&outputs) {
            Ok(entries) => entries.collect::<io::Result<_>>().map_err(CacheError::io("list", &outputs))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(CacheError::io("list", &outputs)(error)),
        };
        let mut removed = 0;
        for note in notes {
            let link = note.path();
            // Only links are ours. A dangling link has nothing left to clean up.
            let Ok(folder) = fs::read_link(&link) else { continue };
            let left = remove_leftovers(&folder);
            removed += left.removed;
            if left.kept == 0 {
                let _ = fs::remove_file(&link);
            }
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cache::{Freed, PrunePolicy},
        work_folder::WorkFolder,
    };

    #[test]
    fn pruning_removes_outputs_of_killed_conversions() {
        let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let cache = Cache::open(Some(folder.path().join("cache"))).unwrap();
        let notes = || fs::read_dir(cache.root().join(OUTPUTS_FOLDER)).unwrap().count();
        drop(cache.note_output(place.path()).unwrap());
        assert_eq!(notes(), 0);
        // Leaves both as a killed process does.
        std::mem::forget(cache.note_output(place.path()).unwrap());
        WorkFolder::create(place.path()).unwrap().leave();
        let living = WorkFolder::create(place.path()).unwrap();
        let freed = cache.prune(PrunePolicy::KeepBytes(u64::MAX)).unwrap();
        assert_eq!(freed, Freed { outputs: 1, ..Freed::default() });
        assert!(living.new_folder().is_dir());
        assert_eq!(notes(), 1, "of the living run");
        drop(living);
        assert_eq!(cache.prune(PrunePolicy::All).unwrap(), Freed::default());
        assert_eq!((notes(), fs::read_dir(place.path()).unwrap().count()), (0, 0));
    }
}
