//! The places of the files of a Mercurial revision: creates directories, and applies Mercurial's rules for names.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// The characters that HFS+ ignores in names, and hg therefore as well: in UTF-8, U+200C to U+200F, U+202A to U+202E,
/// U+206A to U+206F, and U+FEFF.
const IGNORED: [(char, char); 4] =
    [('\u{200c}', '\u{200f}'), ('\u{202a}', '\u{202e}'), ('\u{206a}', '\u{206f}'), ('\u{feff}', '\u{feff}')];

/// The start of the short name of `.hg` on Windows, before a `~` and digits.
const SHORT_NAMES: [&[u8]; 2] = [b"hg", b"hg8b6c"];

/// A path that must not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its path has a component that hg forbids")]
pub(super) struct ForbiddenPath;

/// Checks that hg would write `path` into a work tree. It does not if the path could be part of `.hg`, whose settings
/// can name programs to run, or a place elsewhere.
///
/// The rules are those of hg's `pathutil.pathauditor`, and `.` and empty components are forbidden as well.
pub(super) fn check_path(path: &[u8]) -> Result<(), ForbiddenPath> {
    let is_allowed = |component: &[u8]| !matches!(component, b"" | b"." | b"..") && !is_hg_dir(component);
    if path.split(|byte| *byte == b'/').all(is_allowed) { Ok(()) } else { Err(ForbiddenPath) }
}

/// Whether some system treats `component` as `.hg`.
fn is_hg_dir(component: &[u8]) -> bool {
    let is_short = |(first, digits): (&[u8], &[u8])| {
        SHORT_NAMES.iter().any(|name| first.eq_ignore_ascii_case(name))
            && !digits.is_empty()
            && digits.iter().all(u8::is_ascii_digit)
    };
    let tilde = component.iter().position(|byte| *byte == b'~');
    if tilde.and_then(|at| Some((component.get(..at)?, component.get(at + 1..)?))).is_some_and(is_short) {
        return true;
    }
    let is_hg = |name: &[u8]| name.eq_ignore_ascii_case(b".hg") || name.eq_ignore_ascii_case(b".hg.");
    is_hg(component) || !component.is_ascii() && is_hg(&without_ignored(component))
}

fn without_ignored(component: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(component.len());
    for chunk in component.utf8_chunks() {
        let is_ignored = |letter: char| IGNORED.iter().any(|(first, last)| (*first..=*last).contains(&letter));
        let text: String = chunk.valid().chars().filter(|letter| !is_ignored(*letter)).collect();
        kept.extend_from_slice(text.as_bytes());
        kept.extend_from_slice(chunk.invalid());
    }
    kept
}

/// Creates the directories of files; many files share a directory.
#[derive(Debug)]
pub(super) struct Folders {
    root: PathBuf,
    /// The last requested path.
    at: PathBuf,
    /// Its directory below the root, with a slash at the end unless it is the root itself.
    directory: Vec<u8>,
}

impl Folders {
    /// Creates directories in `root`, which exists and is empty.
    pub(super) fn new(root: &Path) -> Self {
        Folders { root: root.to_owned(), at: PathBuf::new(), directory: Vec::new() }
    }

    /// The place of `path`, whose directories exist and are directories: no link is followed.
    pub(super) fn place(&mut self, path: &[u8]) -> io::Result<&Path> {
        let directory_len = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let directory = path.get(..directory_len).unwrap_or_default();
        if directory != self.directory {
            // The directories of the last file are known to exist: nothing is ever replaced.
            let shared = shared_directories(&self.directory, directory);
            self.directory.truncate(shared);
            for component in directory.get(shared..).unwrap_or_default().split_inclusive(|byte| *byte == b'/') {
                let made = [&self.directory, component].concat();
                make_directory(&self.root.join(OsStr::from_bytes(made.strip_suffix(b"/").unwrap_or(&made))))?;
                self.directory = made;
            }
        }
        self.at = self.root.join(OsStr::from_bytes(path));
        Ok(&self.at)
    }
}

/// The length of the common leading directories.
fn shared_directories(left: &[u8], right: &[u8]) -> usize {
    let shared = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    left.get(..shared).and_then(|shared| shared.iter().rposition(|byte| *byte == b'/')).map_or(0, |at| at + 1)
}

fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(path)?.is_dir() => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_could_be_hgs_own_are_forbidden() {
        for path in [
            ".hg/hgrc",
            "sub/.hg/hgrc",
            ".HG/hgrc",
            "a/.hG",
            ".hg.",
            "sub/.hg./x",
            "HG~1/hgrc",
            "a/hg8b6C~12/x",
            ".h\u{200c}g/hgrc",
            "\u{feff}.hg/hgrc",
            "/etc/passwd",
            "../x",
            "a/../x",
            "a/./x",
            "a//x",
            "a/",
            "",
        ] {
            assert_eq!(check_path(path.as_bytes()), Err(ForbiddenPath), "{path:?}");
        }
        assert_eq!(check_path(b".h\xe2\x80\x8cg\xff"), Ok(()));
    }

    #[test]
    fn paths_that_only_git_forbids_are_allowed() {
        for path in [
            ".git/config",
            ".GIT",
            "git~1",
            ".gitmodules",
            ".hgignore",
            "hg",
            "hg~1x",
            "hg~",
            "~1",
            "a/.hgtags",
            "C:x",
            "...",
            "a\\b",
            "\u{e9}.hg",
            ".hg ",
        ] {
            assert_eq!(check_path(path.as_bytes()), Ok(()), "{path:?}");
        }
    }

    #[test]
    fn directories_are_created_once_and_are_no_links() {
        let root = tempfile::tempdir().unwrap();
        let mut folders = Folders::new(root.path());
        for path in ["a/b/c/file", "a/b/other", "a/bc/file", "top", "a/b/c/again", "d/e/f"] {
            let place = folders.place(path.as_bytes()).unwrap();
            assert_eq!(place, root.path().join(path));
            fs::write(place, b"").unwrap();
        }
        std::os::unix::fs::symlink("a", root.path().join("link")).unwrap();
        for path in ["link/x", "top/x", "top/y/z"] {
            let error = folders.place(path.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{path}");
        }
        assert_eq!(folders.place(b"a/x").unwrap(), root.path().join("a/x"), "an error changes nothing");
    }
}
