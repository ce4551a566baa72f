//! Files that get their names when they are complete.

use std::{
    fs::Permissions,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use repackbench_writer::leftovers::Leftover;
use tempfile::NamedTempFile;

use super::{cannot_create, cannot_write};
use crate::failure::Failure;

/// A file that replaces the one at its path when it is complete. Until then it has another name in the same folder,
/// where it is created early, so that a misspelt folder does not cost the results of a long run.
pub(crate) struct AtomicFile {
    path: PathBuf,
    file: NamedTempFile,
    _leftover: Leftover,
}

impl AtomicFile {
    /// Creates the file that `path` will name.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = create_beside(path).map_err(|error| cannot_create(path, &error))?;
        let leftover = Leftover::new(file.path());
        Ok(AtomicFile { path: path.to_owned(), file, _leftover: leftover })
    }

    /// Writes the whole content and names the file.
    pub(crate) fn write(mut self, content: impl AsRef<[u8]>) -> Result<(), Failure> {
        let written = self.file.write_all(content.as_ref());
        let named = written.and_then(|()| self.file.persist(&self.path).map(drop).map_err(io::Error::from));
        named.map_err(|error| cannot_write(&self.path, &error))
    }
}

/// A new file in the folder of `path`, with the usual permissions.
fn create_beside(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}
