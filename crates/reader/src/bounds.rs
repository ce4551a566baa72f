//! Which kinds of files a repository's folders may hold: files, folders, and links that stay within the repository.
//!
//! With a link that leads out of the repository, somebody else's repository could have the user's own files copied or
//! quoted in a message. Opening a named pipe would block until somebody writes to it. git and hg follow both.

use std::{
    fs::{self, FileType},
    io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use crate::{Place, ReaderError, Result, memory};

/// The folders that make up one repository.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<'p> {
    folders: [&'p Path; 2],
}

impl<'p> Bounds<'p> {
    /// The bounds of a repository in `folder`.
    pub(crate) fn of(folder: &'p Path) -> Self {
        Bounds { folders: [folder, folder] }
    }

    /// The bounds of a repository in two folders.
    pub(crate) fn of_both(folder: &'p Path, other: &'p Path) -> Self {
        Bounds { folders: [folder, other] }
    }

    /// The type of the file at `path`, following links; `None` if nothing is there, or a dangling link.
    ///
    /// # Errors
    /// As for [`Self::check_listed`].
    pub(crate) fn check(&self, path: &Path) -> Result<Option<FileType>> {
        match fs::symlink_metadata(path) {
            Ok(found) => self.check_listed(path, found.file_type()),
            Err(error) if is_dangling(&error) => Ok(None),
            Err(error) => Err(ReaderError::io("inspect", path, error)),
        }
    }

    /// The type of the file at `path`, following links; `None` for a dangling link. `kind` is its type in a listing.
    ///
    /// # Errors
    /// A link leads out of the repository, or its target is neither a file nor a folder.
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
            Err(error) if is_dangling(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        for folder in self.folders {
            let folder = fs::canonicalize(folder).map_err(|error| ReaderError::io("open", folder, error))?;
            if target.starts_with(folder) {
                return fs::metadata(&target).map(|found| Some(found.file_type())).map_err(failed);
            }
        }
        let what = format!("a symbolic link to {}, outside the repository,", target.display());
        Err(ReaderError::unsupported(link, what))
    }
}

/// Reads the file at `path`; `None` if it does not exist. Only a regular file is read, because a device or a pipe in
/// its place might never end.
///
/// # Errors
/// [`ReaderError::Io`] if it cannot be read, [`ReaderError::Corrupt`] if it is not a regular file, and an error if it is
/// larger than the memory that may be used.
pub fn read_regular_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let content = match fs::metadata(path) {
        Ok(found) if found.is_file() => {
            memory::check(found.len())
                .map_err(|excess| ReaderError::too_large(path, Place::Whole, "a file", excess))?;
            fs::read(path)
        }
        Ok(found) => return Err(ReaderError::corrupt(path, Place::Whole, "a file", name_of(found.file_type()))),
        Err(error) => Err(error),
    };
    match content {
        Ok(content) => Ok(Some(content)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(ReaderError::io("read", path, error)),
    }
}

/// Lists `folder` and checks that it holds only what the bounds allow. A missing folder is empty.
///
/// # Errors
/// As for [`Bounds::check_listed`].
pub(crate) fn check_folder(bounds: Bounds<'_>, folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_dangling(&error) => return Ok(Vec::new()),
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

fn is_dangling(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        // A loop of links.
        || error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32)
}

/// The name of a file type in messages.
pub(crate) fn name_of(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() || kind.is_char_device() {
        "a device"
    } else if kind.is_dir() {
        "a folder"
    } else {
        "a file of another type"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;

    #[test]
    fn rejects_links_that_leave_and_special_files() {
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
        for (name, expected) in [("out", "outside the repository"), ("device", "outside"), ("socket", "found a socket")]
        {
            let error = is_file(name).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(Bounds::of_both(&own, &other).check(&own.join("out")).unwrap().is_some());
        assert!(read_regular_file(&own.join("sub")).unwrap_err().to_string().contains("found a folder"));
    }
}
