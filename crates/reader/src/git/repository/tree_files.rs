//! Listing a folder of named files, as `refs/` and `logs/` are.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use bstr::BString;

use crate::{
    bounds::Bounds,
    error::{ReaderError, Result},
};

/// Deeper folders than this are taken for a loop of symbolic links. A path component takes two bytes at least, and
/// the longest path that Linux opens has 4096.
const MAX_DEPTH: usize = 2048;

/// A file that has a name inside the repository, `refs/heads/main` or `logs/HEAD`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeFile {
    /// The name: the path below the git directory, parts separated by `/`.
    pub name: BString,
    /// Where it lies.
    pub path: PathBuf,
    /// If it is a symbolic link, what the link says. (Git once wrote symbolic refs that way, and still reads them.)
    pub link: Option<PathBuf>,
}

impl TreeFile {
    /// The file at `path`, which a listing has named, looked at without following a symbolic link.
    pub(super) fn inspect(name: BString, path: PathBuf) -> Result<Self> {
        let link = match fs::read_link(&path) {
            Ok(link) => Some(link),
            // What `readlink` answers for a file that is no link.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ReaderError::Changed { path }),
            Err(error) => return Err(ReaderError::io("inspect", path, error)),
        };
        Ok(TreeFile { name, path, link })
    }
}

/// Lists all files below `root/folder`, in no particular order, except those that git itself never looks at there:
/// names that begin with a dot, and lock files. Folders are entered through symbolic links, as git does, but for those that lead out of
/// `bounds`. A folder that is not there is empty.
pub(super) fn list(root: &Path, folder: &str, bounds: Bounds<'_>) -> Result<Vec<TreeFile>> {
    let mut files = Vec::new();
    let mut pending = vec![(BString::from(folder), root.join(folder), 0)];
    while let Some((name, path, depth)) = pending.pop() {
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(ReaderError::io("list", path, error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| ReaderError::io("list", &path, error))?;
            let file_name = entry.file_name();
            if file_name.as_bytes().starts_with(b".") || file_name.as_bytes().ends_with(b".lock") {
                continue;
            }
            let mut entry_name = name.clone();
            entry_name.push(b'/');
            entry_name.extend_from_slice(file_name.as_bytes());
            let file_type = entry.file_type().map_err(|error| ReaderError::io("inspect", entry.path(), error))?;
            let leads_to = bounds.check_listed(&entry.path(), file_type)?;
            if leads_to.is_some_and(|kind| kind.is_dir()) {
                if depth == MAX_DEPTH {
                    return Err(ReaderError::unsupported(&path, "a loop of symbolic links"));
                }
                pending.push((entry_name, entry.path(), depth + 1));
            } else if file_type.is_symlink() {
                files.push(TreeFile::inspect(entry_name, entry.path())?);
            } else if file_type.is_file() {
                files.push(TreeFile { name: entry_name, path: entry.path(), link: None });
            }
        }
    }
    Ok(files)
}
