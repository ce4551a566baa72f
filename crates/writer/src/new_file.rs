//! Creates files, with the permissions that git or hg would give them.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use crate::{Result, WriterError};

/// The permissions that the owner of a file always gets.
const OWNER_MAY_READ_AND_WRITE: u32 = 0o600;

/// Creates the file `path`, which must not exist. It is read-only once it is closed, as git's object files are.
pub(crate) fn create_read_only(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o444);
    options.open(path).map_err(|e| WriterError::io("create", path, e))
}

/// Writes `content` to the read-only file `path`, and replaces a file that exists.
pub(crate) fn write_read_only(path: &Path, content: &[u8]) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(WriterError::io("replace", path, e)),
        _ => {}
    }
    create_read_only(path)?.write_all(content).map_err(|e| WriterError::io("write", path, e))
}

/// Creates the file `path`, which must not exist, with the permission bits of `mode` and those that its owner needs.
pub(crate) fn create_with_mode(path: &Path, mode: u32) -> Result<File> {
    let mode = mode & 0o777 | OWNER_MAY_READ_AND_WRITE;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let file = options.open(path).map_err(|e| WriterError::io("create", path, e))?;
    // Set again, since the umask applies to `open`: in a repository for several users, hg gives files the mode of their
    // folder.
    file.set_permissions(Permissions::from_mode(mode))
        .map_err(|e| WriterError::io("set the permissions of", path, e))?;
    Ok(file)
}

/// Copies a file with its permissions, and lets the owner write to the copy even if the original is read-only, as in a
/// repository of another user or on a read-only medium.
///
/// # Errors
/// Those of [`fs::copy`].
pub fn copy_as_owner(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let mode = fs::metadata(to)?.permissions().mode();
    if mode & OWNER_MAY_READ_AND_WRITE == OWNER_MAY_READ_AND_WRITE {
        return Ok(());
    }
    fs::set_permissions(to, Permissions::from_mode(mode | OWNER_MAY_READ_AND_WRITE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_read_only_files_are_writable() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, expected) in [(0o444, 0o644), (0o555, 0o755), (0o640, 0o640)] {
            let [from, to] = ["from", "to"].map(|name| folder.path().join(format!("{name}{mode:o}")));
            fs::write(&from, "content").unwrap();
            fs::set_permissions(&from, Permissions::from_mode(mode)).unwrap();
            copy_as_owner(&from, &to).unwrap();
            assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, expected, "{mode:o}");
            assert_eq!(fs::read(&to).unwrap(), b"content");
        }
    }
}
