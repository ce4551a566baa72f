//! What a repository's folders may hold: files, folders, and links that stay within the repository.
//!
//! A link that leads out of it would let somebody else's repository have the user's own files copied, or quoted in a message; opening a
//! named pipe would wait for somebody to write into it. git and hg follow both.

use std::{
    fs::{self, FileType},
    io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use crate::{Place, ReaderError, Result};

/// The folders that make up one repository.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<'p> {
    folders: [&'p Path; 2],
}

impl<'p> Bounds<'p> {
    /// Those of a repository that lies in `folder`.
    pub(crate) fn of(folder: &'p Path) -> Self {
        Bounds { folders: [folder, folder] }
    }

    /// Those of a repository that lies in two folders.
    pub(crate) fn of_both(folder: &'p Path, other: &'p Path) -> Self {
        Bounds { folders: [folder, other] }
    }

    /// What lies at `path`, links followed; `None` where there is nothing, or a link that leads nowhere.
    ///
    /// # Errors
    /// As of [`Self::check_listed`].
    pub(crate) fn check(&self, path: &Path) -> Result<Option<FileType>> {
        match fs::symlink_metadata(path) {
            Ok(found) => self.check_listed(path, found.file_type()),
            Err(error) if leads_nowhere(&error) => Ok(None),
            Err(error) => Err(ReaderError::io("inspect", path, error)),
        }
    }

    /// What lies at `path`, which a listing says to be a `kind`, links followed; `None` where a link leads nowhere.
    ///
    /// # Errors
    /// A link leads out of the repository, or what is there is neither a file nor a folder.
    pub(crate) fn check_listed(&self, path: &Path, kind: FileType) -> Result<Option<FileType>> {
        let kind = match kind.is_symlink() {
            false => kind,
            true => match self.follow(path)? {
                Some(kind) => kind,
                None => return Ok(None),
            },
        };
        match kind.is_file() || kind.is_dir() {
            true => Ok(Some(kind)),
            false => Err(ReaderError::corrupt(path, Place::Whole, "a file or a folder", name_of(kind))),
        }
    }

    fn follow(&self, link: &Path) -> Result<Option<FileType>> {
        let failed = |error| ReaderError::io("follow", link, error);
        let target = match fs::canonicalize(link) {
            Ok(target) => target,
            Err(error) if leads_nowhere(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        for folder in self.folders {
            let folder = fs::canonicalize(folder).map_err(|error| ReaderError::io("open", folder, error))?;
            if target.starts_with(folder) {
                return fs::metadata(&target).map(|found| Some(found.file_type())).map_err(failed);
            }
        }
        let what = format!("a symbolic link to {}, which lies outside of the repository,", target.display());
        Err(ReaderError::unsupported(link, what))
    }
}

/// Reads the file at `path`, or `None` if there is none. Only a regular file is read, since a device or a pipe in the
/// place of one could go on without end.
///
/// # Errors
/// [`ReaderError::Io`] when it cannot be read, [`ReaderError::Corrupt`] when it is not a regular file.
pub fn read_regular_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let content = match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::read(path),
        Ok(found) => return Err(ReaderError::corrupt(path, Place::Whole, "a file", name_of(found.file_type()))),
        Err(error) => Err(error),
    };
    match content {
        Ok(content) => Ok(Some(content)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(ReaderError::io("read", path, error)),
    }
}

/// Makes sure that nothing but files and folders lies below `folder`, which has no links, if it is there.
///
/// # Errors
/// As of [`Bounds::check_listed`].
pub(crate) fn check_folder(bounds: Bounds<'_>, folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if leads_nowhere(&error) => return Ok(Vec::new()),
        Err(error) => return Err(ReaderError::io("list", folder, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| ReaderError::io("list", folder, error))?;
        let kind = entry.file_type().map_err(|error| ReaderError::io("inspect", entry.path(), error))?;
        bounds.check_listed(&entry.path(), kind)?;
        paths.push(entry.path());
    }
    Ok(paths)
}

fn leads_nowhere(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        // Links that lead round to themselves.
        || error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32)
}

fn name_of(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() || kind.is_char_device() {
        "a device"
    } else if kind.is_dir() {
        "a folder"
    } else {
        "something else"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;

    #[test]
    fn links_stay_within_and_nothing_waits() {
        let scratch = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| scratch.path().join(name));
        fs::create_dir_all(own.join("sub")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(own.join("file"), "").unwrap();
        fs::write(other.join("secret"), "").unwrap();
        for (name, target) in [
            ("file-within", "sub/../file"),
            ("folder-within", "sub"),
            ("nowhere", "none"),
            ("round", "round"),
            ("out", "../other/secret"),
            ("device", "/dev/zero"),
        ] {
            symlink(target, own.join(name)).unwrap();
        }
        let _socket = UnixListener::bind(own.join("socket")).unwrap();
        let bounds = Bounds::of(&own);
        let is_file = |name: &str| bounds.check(&own.join(name)).map(|kind| kind.map(|kind| kind.is_file()));
        assert_eq!(is_file("file").unwrap(), Some(true));
        assert_eq!(is_file("file-within").unwrap(), Some(true));
        assert_eq!(is_file("folder-within").unwrap(), Some(false));
        for name in ["nowhere", "round", "none", "file/below"] {
            assert_eq!(is_file(name).unwrap(), None, "{name}");
        }
        for (name, expected) in
            [("out", "outside of the repository"), ("device", "outside"), ("socket", "found a socket")]
        {
            let error = is_file(name).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(Bounds::of_both(&own, &other).check(&own.join("out")).unwrap().is_some());
        assert!(read_regular_file(&own.join("sub")).unwrap_err().to_string().contains("found a folder"));
    }
}
