//! Where the repository is that was named.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::builder::{OsStringValueParser, TypedValueParser};

/// What makes a folder a work tree's root.
const ROOTS: [&str; 2] = [".git", ".hg"];
/// What a folder has that is a git directory.
const GIT_DIRECTORY: [&str; 3] = ["HEAD", "objects", "refs"];

/// Parses a repository's path. A single dot is the repository that the current folder is in, as for git and hg; every other path is
/// taken as it is.
pub(crate) fn located() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|typed| {
        if typed == "." {
            return env::current_dir().ok().and_then(|folder| around(&folder)).unwrap_or_else(|| PathBuf::from(typed));
        }
        PathBuf::from(typed)
    })
}

/// The nearest folder above `folder` that is a repository's; none if it is one itself, or there is none.
fn around(folder: &Path) -> Option<PathBuf> {
    let is_repository = |folder: &&Path| {
        ROOTS.iter().any(|name| folder.join(name).exists())
            || GIT_DIRECTORY.iter().all(|name| folder.join(name).exists())
    };
    let root = folder.ancestors().find(is_repository)?;
    (root != folder).then(|| root.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_root_is_itself_and_a_folder_in_it_is_the_roots() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("project");
        let inside = root.join("some/folder");
        fs::create_dir_all(&inside).unwrap();
        for sign in [".git", ".hg"] {
            fs::create_dir(root.join(sign)).unwrap();
            assert_eq!(around(&root), None);
            assert_eq!(around(&inside), Some(root.clone()));
            fs::remove_dir(root.join(sign)).unwrap();
        }
        assert_eq!(around(&inside), None);
        let hook = root.join("hooks");
        for folder in [&root.join("objects"), &root.join("refs"), &hook] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(root.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(around(&root), None);
        assert_eq!(around(&hook), Some(root), "a bare repository");
    }
}
