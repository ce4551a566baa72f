//! The folder that a workload writes to: chosen by the user, or a scratch folder that is removed after each run.

use std::path::PathBuf;

use repackbench_writer::WorkFolder;

use super::{WorkloadError, files_error};

#[derive(Debug)]
pub(super) enum Destination {
    Kept(PathBuf),
    Scratch(Option<WorkFolder>),
}

impl Destination {
    pub(super) fn new(into: Option<PathBuf>) -> Self {
        into.map_or(Destination::Scratch(None), Destination::Kept)
    }

    /// Creates the folder. If the user chose it, it has to be empty.
    pub(super) fn make(&mut self) -> Result<(), WorkloadError> {
        match self {
            Destination::Kept(path) => {
                let is_taken = path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
                if is_taken {
                    return Err(files_error("write into", path, "the folder is not empty"));
                }
                std::fs::create_dir_all(&path).map_err(|e| files_error("make", path, e))
            }
            Destination::Scratch(folder) => {
                let place = std::env::temp_dir();
                *folder = Some(WorkFolder::create(&place).map_err(|e| files_error("create a folder in", &place, e))?);
                Ok(())
            }
        }
    }

    pub(super) fn path(&self) -> Result<PathBuf, WorkloadError> {
        match self {
            Destination::Kept(path) => Ok(path.clone()),
            Destination::Scratch(Some(folder)) => Ok(folder.new_folder()),
            Destination::Scratch(None) => Err(WorkloadError::not_prepared()),
        }
    }

    /// Removes the folder, unless the user chose it.
    pub(super) fn remove(&mut self) -> Result<(), WorkloadError> {
        if let Destination::Scratch(folder) = self
            && let Some(folder) = folder.take()
        {
            let path = folder.new_folder();
            folder.close().map_err(|e| files_error("remove", &path, e))?;
        }
        Ok(())
    }
}
