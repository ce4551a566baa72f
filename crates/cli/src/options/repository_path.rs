//! Paths of repositories.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::builder::{OsStringValueParser, TypedValueParser};

/// Names in the root of a work tree.
const ROOTS: [&str; 2] = [".git", ".hg"];
/// Names in a git directory.
const GIT_DIRECTORY: [&str; 3] = ["HEAD", "objects", "refs"];

/// Parses the path of a repository. A single dot is the repository around the current folder, as for git and hg. Other
/// paths are taken as typed.
pub(crate) fn located() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|typed| {
        if typed == "." {
            return env::current_dir()
                .ok()
                .and_then(|folder| enclosing_repository(&folder))
                .unwrap_or_else(|| PathBuf::from(typed));
        }
        PathBuf::from(typed)
    })
}

/// The nearest repository above `folder`; `None` if there is none or `folder` is one itself.
fn enclosing_repository(folder: &Path) -> Option<PathBuf> {
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
    fn finds_the_repository_around_a_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("project");
        let inside = root.join("some/folder");
        fs::create_dir_all(&inside).unwrap();
        for sign in [".git", ".hg"] {
            fs::create_dir(root.join(sign)).unwrap();
            assert_eq!(enclosing_repository(&root), None);
            assert_eq!(enclosing_repository(&inside), Some(root.clone()));
            fs::remove_dir(root.join(sign)).unwrap();
        }
        assert_eq!(enclosing_repository(&inside), None);
        let hook = root.join("hooks");
        for folder in [&root.join("objects"), &root.join("refs"), &hook] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(root.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(enclosing_repository(&root), None);
        assert_eq!(enclosing_repository(&hook), Some(root), "a bare repository");
    }
}
