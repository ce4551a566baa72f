//! Creates the files of a tree. It never replaces a file and makes no symbolic link, so it follows none either.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, ErrorKind, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{Result, WriterError};

/// Folders whose settings can name programs to run. A revision must not contain them.
const FORBIDDEN: [&[u8]; 2] = [b".git", b".hg"];

/// Writes files into a folder of its own.
#[derive(Debug)]
pub(super) struct TreeWriter {
    root: PathBuf,
    suffix: &'static str,
    /// The folder of the last file.
    folder: Vec<u8>,
    files: u64,
    bytes: u64,
}

impl TreeWriter {
    /// Creates the folder `root`. `suffix` is appended to the name of every file.
    pub(super) fn new(root: &Path, suffix: &'static str) -> Result<Self> {
        fs::create_dir(root).map_err(|e| WriterError::io("create", root, e))?;
        Ok(TreeWriter { root: root.to_owned(), suffix, folder: Vec::new(), files: 0, bytes: 0 })
    }

    /// The number of files that were written.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// Their total length.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes a file of the revision, and creates its folders.
    pub(super) fn put(&mut self, path: &[u8], stored: &[u8]) -> Result<()> {
        let (place, mut file) = self.create(path)?;
        file.write_all(stored).map_err(|error| WriterError::io("write", &place, error))?;
        self.count(stored.len() as u64);
        Ok(())
    }

    /// Creates a file of the revision and its folders. The caller fills it and calls [`count`](Self::count).
    pub(super) fn create(&mut self, path: &[u8]) -> Result<(PathBuf, File)> {
        let mut name = OsString::from(OsStr::from_bytes(path));
        name.push(self.suffix);
        let place = self.root.join(name);
        let failed = |error: io::Error| WriterError::io("write", &place, error);
        check_path(path).map_err(failed)?;
        self.make_folders(path).map_err(failed)?;
        let file = File::create_new(&place).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
                failed(io::Error::other("conflicts with another path of the revision"))
            }
            _ => failed(error),
        })?;
        Ok((place, file))
    }

    /// Counts a file of `len` bytes that was created and filled.
    pub(super) fn count(&mut self, len: u64) {
        self.files += 1;
        self.bytes += len;
    }

    /// Creates the folders of `path`, unless they are those of the previous file.
    fn make_folders(&mut self, path: &[u8]) -> io::Result<()> {
        let folder = path.iter().rposition(|byte| *byte == b'/').and_then(|end| path.get(..end)).unwrap_or_default();
        if folder != self.folder {
            let made = fs::create_dir_all(self.root.join(OsStr::from_bytes(folder)));
            made.map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                    io::Error::other("conflicts with another path of the revision")
                }
                _ => error,
            })?;
            self.folder.clear();
            self.folder.extend_from_slice(folder);
        }
        Ok(())
    }
}

/// Checks that `path` stays in the tree, and outside of folders that belong to a version-control system.
pub(super) fn check_path(path: &[u8]) -> io::Result<()> {
    let is_allowed = path.split(|byte| *byte == b'/').all(|component| {
        !matches!(component, b"" | b"." | b"..") && !FORBIDDEN.iter().any(|name| component.eq_ignore_ascii_case(name))
    });
    match is_allowed {
        true => Ok(()),
        false => Err(io::Error::other("its path leads outside of the tree, or into a repository's own folder")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_get_their_folders_and_suffix() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("files");
        let mut tree = TreeWriter::new(&root, ".gz").unwrap();
        for path in ["a", "sub/a", "sub/b", "sub/deep/c", "sub/d", "a.gz"] {
            tree.put(path.as_bytes(), path.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(root.join(format!("{path}.gz"))).unwrap(), path);
        }
        assert_eq!((tree.files(), tree.bytes()), (6, 30));
    }

    #[test]
    fn escaping_and_colliding_paths_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut tree = TreeWriter::new(&folder.path().join("files"), "").unwrap();
        tree.put(b"a", b"").unwrap();
        tree.put(b"sub/b", b"").unwrap();
        for path in ["../x", "/x", "", "a//b", "./x", "sub/..", ".git/config", "sub/.GIT/x", ".hg/hgrc", "x/", "x\0y"] {
            assert!(tree.put(path.as_bytes(), b"x").is_err(), "{path:?}");
        }
        for path in ["a", "a/b", "a/b/c", "sub", "sub/b"] {
            let error = tree.put(path.as_bytes(), b"x").unwrap_err().to_string();
            assert!(error.contains("conflicts with another path") && error.contains(path), "{error}");
        }
        assert_eq!(tree.files(), 2);
        assert!(!folder.path().join("x").exists());
    }
}
