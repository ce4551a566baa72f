//! Listing a folder of named files, such as `refs/` or `logs/`.

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

/// Deeper folders are considered a loop of symbolic links. A path component takes at least two bytes, and the longest
/// path that Linux opens has 4096.
const MAX_DEPTH: usize = 2048;

/// A file with a name in the repository, such as `refs/heads/main` or `logs/HEAD`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeFile {
    /// The name: the path below the git directory, with parts separated by `/`.
    pub name: BString,
    /// The path of the file.
    pub path: PathBuf,
    /// The text of the link, if it is a symbolic link. (Git once wrote symbolic refs that way and still reads them.)
    pub link: Option<PathBuf>,
}

impl TreeFile {
    /// The file at `path`, which was found in a listing. A symbolic link is not followed.
    pub(super) fn inspect(name: BString, path: PathBuf) -> Result<Self> {
        let link = match fs::read_link(&path) {
            Ok(link) => Some(link),
            // The answer of `readlink` for a file that is no link.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ReaderError::Changed { path }),
            Err(error) => return Err(ReaderError::io("inspect", path, error)),
        };
        Ok(TreeFile { name, path, link })
    }
}

/// Lists all files below `root/folder`, in no particular order, except those that git itself ignores: names that begin
/// with a dot, and lock files. As in git, symbolic links to folders are followed, but not out of `bounds`. A missing
/// folder is empty.
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
