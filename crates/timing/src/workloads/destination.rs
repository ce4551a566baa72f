//! Where a workload writes: a place of the user's, or a folder that is removed after each run.

use std::path::{Path, PathBuf};

use super::{WorkloadError, files_error};

#[derive(Debug)]
pub(super) enum Destination {
    Kept(PathBuf),
    Scratch(Option<tempfile::TempDir>),
}

impl Destination {
    pub(super) fn new(into: Option<PathBuf>) -> Self {
        into.map_or(Destination::Scratch(None), Destination::Kept)
    }

    /// Makes the folder. One of the user's has to be empty.
    pub(super) fn make(&mut self, job: &str) -> Result<(), WorkloadError> {
        match self {
            Destination::Kept(path) => {
                let is_taken = path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
                if is_taken {
                    return Err(files_error("write into", path, "the folder is not empty"));
                }
                std::fs::create_dir_all(&path).map_err(|e| files_error("make", path, e))
            }
            Destination::Scratch(folder) => {
                let made = tempfile::Builder::new().prefix(&format!("repackbench-{job}-")).tempdir();
                *folder = Some(made.map_err(|e| files_error("make a folder in", &std::env::temp_dir(), e))?);
                Ok(())
            }
        }
    }

    pub(super) fn path(&self) -> Result<&Path, WorkloadError> {
        match self {
            Destination::Kept(path) => Ok(path),
            Destination::Scratch(Some(folder)) => Ok(folder.path()),
            Destination::Scratch(None) => Err(WorkloadError::not_prepared()),
        }
    }

    /// Removes the folder, unless it is the user's.
    pub(super) fn remove(&mut self) -> Result<(), WorkloadError> {
        if let Destination::Scratch(folder) = self
            && let Some(folder) = folder.take()
        {
            let path = folder.path().to_owned();
            folder.close().map_err(|e| files_error("remove", &path, e))?;
        }
        Ok(())
    }
}
