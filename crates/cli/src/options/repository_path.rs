//! Paths of repositories.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::builder::{OsStringValueParser, TypedValueParser};

/// Names in the root of a work tree.
const ROOTS: [&str; 2] = [".git", ".hg"];
/// Names in a git directory.
const GIT_DIRECTORY: [&str; 3] = ["HEAD", "objects", "refs"];
/// Names in the folders of git and hg that other folders seldom have.
const PARTS: [&str; 3] = ["HEAD", "packed-refs", "requires"];

/// Parses the path of a repository. A folder in a repository stands for the repository, as for git and hg. A path that
/// is a repository, or looks like a damaged one, is taken as typed.
pub(crate) fn located() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|typed| {
        let typed = PathBuf::from(typed);
        match typed.canonicalize() {
            Ok(folder) if folder.is_dir() && !is_like_repository(&folder) => {
                enclosing_repository(&folder).unwrap_or(typed)
            }
            _ => typed,
        }
    })
}

/// The nearest repository at or above `folder`.
pub(crate) fn enclosing_repository(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| is_repository(folder)).map(Path::to_owned)
}

/// Whether there is a repository in `folder` itself.
pub(crate) fn is_repository(folder: &Path) -> bool {
    ROOTS.iter().any(|name| folder.join(name).exists()) || GIT_DIRECTORY.iter().all(|name| folder.join(name).exists())
}

/// Whether `folder` is a repository, or has a part of one and may be damaged.
fn is_like_repository(folder: &Path) -> bool {
    let is_own_folder = ROOTS.iter().any(|name| folder.file_name() == Some(OsStr::new(name)));
    is_own_folder || ROOTS.iter().chain(&PARTS).any(|name| folder.join(name).exists())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn finds_the_repository_around_a_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("project");
        let inside = root.join("some/folder");
        fs::create_dir_all(&inside).unwrap();
        for sign in [".git", ".hg"] {
            fs::create_dir(root.join(sign)).unwrap();
            assert_eq!(enclosing_repository(&root), Some(root.clone()));
            assert_eq!(enclosing_repository(&inside), Some(root.clone()));
            // The folder of git or hg itself is taken as typed.
            assert!(is_like_repository(&root) && is_like_repository(&root.join(sign)) && !is_like_repository(&inside));
            fs::remove_dir(root.join(sign)).unwrap();
        }
        assert_eq!(enclosing_repository(&inside), None);
        let hook = root.join("hooks");
        for folder in [&root.join("objects"), &root.join("refs"), &hook] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(root.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(enclosing_repository(&hook), Some(root), "a bare repository");
    }
}
