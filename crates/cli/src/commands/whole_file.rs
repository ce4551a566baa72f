//! Files that get their names when they are whole.

use std::{
    fs::Permissions,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::failure::{FAILED, Failure};

/// A file under another name beside its own, made before there is anything to write: an hour of measuring should not end in a
/// misspelt folder.
pub(super) struct WholeFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl WholeFile {
    /// The file that `path` will name.
    pub(super) fn prepare(path: &Path) -> Result<Self, Failure> {
        let cannot = |error: io::Error| Failure::new(FAILED, format!("{}: cannot create: {error}", path.display()));
        Ok(WholeFile { path: path.to_owned(), file: beside(path).map_err(cannot)? })
    }

    /// Writes all of it, and names it.
    pub(super) fn write(mut self, content: impl AsRef<[u8]>) -> Result<(), Failure> {
        let written = self.file.write_all(content.as_ref());
        let named = written.and_then(|()| self.file.persist(&self.path).map(drop).map_err(io::Error::from));
        named.map_err(|error| Failure::new(FAILED, format!("{}: cannot write: {error}", self.path.display())))
    }
}

/// A new file in the folder of `path`, with the permissions that any new file has.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}
