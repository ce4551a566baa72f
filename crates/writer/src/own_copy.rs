//! Copies that belong to whoever makes them.

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

/// What the owner of a file may do with it at least.
pub(crate) const OWNER_MAY_READ_AND_WRITE: u32 = 0o600;

/// Copies a file with its permissions, but for those that would keep its owner from writing to the copy: a repository that may only
/// be read, such as somebody else's or one on a medium, has copies that can be worked in.
///
/// # Errors
/// As of [`fs::copy`].
pub fn copy_as_owner(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let mode = fs::metadata(to)?.permissions().mode();
    if mode & OWNER_MAY_READ_AND_WRITE == OWNER_MAY_READ_AND_WRITE {
        return Ok(());
    }
    fs::set_permissions(to, fs::Permissions::from_mode(mode | OWNER_MAY_READ_AND_WRITE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_what_may_only_be_read_can_be_written_to() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, expected) in [(0o444, 0o644), (0o555, 0o755), (0o640, 0o640)] {
            let [from, to] = ["from", "to"].map(|name| folder.path().join(format!("{name}{mode:o}")));
            fs::write(&from, "content").unwrap();
            fs::set_permissions(&from, fs::Permissions::from_mode(mode)).unwrap();
            copy_as_owner(&from, &to).unwrap();
            assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, expected, "{mode:o}");
            assert_eq!(fs::read(&to).unwrap(), b"content");
        }
    }
}
