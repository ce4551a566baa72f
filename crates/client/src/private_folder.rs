//! Folders that only this user can write to, for libraries that git will load: whoever can replace such a library runs
//! code as this user.

use std::{
    fs::{self, DirBuilder},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
};

use nix::{
    sys::statvfs::{FsFlags, statvfs},
    unistd::geteuid,
};

use crate::{ClientError, name_of};

/// The mode of private folders.
const FOLDER_MODE: u32 = 0o700;

/// The mode of files in them.
pub(crate) const FILE_MODE: u32 = 0o600;

/// The bits of a mode that say who may do what.
const PERMISSIONS: u32 = 0o777;

/// Makes `folder` unless it exists, and checks that it is a folder of this user with mode 0700.
///
/// # Errors
/// Fails if it cannot be made, or if it is anything else. It is not corrected, because others may have put files there.
pub(crate) fn make(folder: &Path) -> Result<(), ClientError> {
    let failed = |error: io::Error| ClientError::refused(format!("{}: {error}", name_of(folder)));
    match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    // Of the link itself: a link may lead to a folder that someone else controls.
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    let (mode, owner, user) = (found.mode() & PERMISSIONS, found.uid(), geteuid().as_raw());
    if found.is_dir() && owner == user && mode == FOLDER_MODE {
        return Ok(());
    }
    let kind = if found.is_dir() { "folder" } else { "file or link" };
    let message = format!(
        "{}: expected a folder of user {user} with mode {FOLDER_MODE:o}, found a {kind} of user {owner} with mode {mode:o}",
        name_of(folder)
    );
    Err(ClientError::refused(message).with_hint("remove it, and it will be made again"))
}

/// Whether the regular file `path` belongs to this user, has the mode of private files and this content.
pub(crate) fn holds(path: &Path, content: &[u8]) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    let is_ours = found.is_file() && found.uid() == geteuid().as_raw() && found.mode() & PERMISSIONS == FILE_MODE;
    Ok(is_ours && found.len() == content.len() as u64 && fs::read(path)? == content)
}

/// Fails if programs may not be run from the file system that holds `path`: libraries cannot be loaded from there.
pub(crate) fn refuse_noexec(path: &Path) -> Result<(), ClientError> {
    // If the system does not say, the check of git shows whether it works.
    match statvfs(path) {
        Ok(found) if found.flags().contains(FsFlags::ST_NOEXEC) => {
            let message = format!("{}: its file system is mounted noexec, so git cannot load a library", name_of(path));
            Err(ClientError::refused(message))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn folder_with_another_mode_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("private");
        make(&folder).unwrap();
        make(&folder).unwrap();
        for mode in [0o755, 0o770, 0o701] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            let refusal = make(&folder).unwrap_err().to_string();
            assert!(refusal.ends_with(&format!("with mode {mode:o}")), "{refusal}");
        }
    }

    #[test]
    fn link_to_a_private_folder_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        make(&scratch.path().join("private")).unwrap();
        symlink("private", scratch.path().join("link")).unwrap();
        let refusal = make(&scratch.path().join("link")).unwrap_err().to_string();
        assert!(refusal.contains("found a file or link"), "{refusal}");
    }

    #[test]
    fn file_with_another_mode_or_content_is_not_ours() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        assert!(!holds(&path, b"content").unwrap(), "it does not exist");
        fs::write(&path, "content").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(FILE_MODE)).unwrap();
        assert!(holds(&path, b"content").unwrap());
        assert!(!holds(&path, b"contenT").unwrap());
        assert!(!holds(&path, b"contents").unwrap());
        symlink("file", scratch.path().join("link")).unwrap();
        assert!(!holds(&scratch.path().join("link"), b"content").unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(!holds(&path, b"content").unwrap());
    }
}
