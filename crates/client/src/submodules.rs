//! Submodules that a command makes in a repository that it sees through a view.
//!
//! git keeps a submodule's git directory in `modules/`, and it and the submodule's work tree name each other: `core.worktree` the one, the
//! file `.git` the other, both by relative paths. Where the repository has a `modules/`, the view's is a link, which git follows before it
//! writes these paths. Else the folder is made in the view, and when it has been copied, both paths are set right.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use crate::{
    ClientError, name_of,
    view::{configure, setting},
    work_trees::PREFIX,
};

/// The folder of the git directories of submodules.
const FOLDER: &str = "modules";

/// The key of the work tree.
const WORK_TREE: &str = "core.worktree";

/// Lets the submodules that were made in the git directory `view`, and have been copied to `behind`, live there.
pub(crate) fn bring_back(git: &Path, view: &Path, behind: &Path) -> Result<(), ClientError> {
    let (from, to) = (view.join(FOLDER), behind.join(FOLDER));
    match fs::symlink_metadata(&from) {
        Ok(found) if found.is_dir() => settle_all(git, &from, &to),
        _ => Ok(()),
    }
}

/// A submodule's name may have slashes, and submodules have submodules.
fn settle_all(git: &Path, from: &Path, to: &Path) -> Result<(), ClientError> {
    for entry in fs::read_dir(from).map_err(|error| failed(from, &error))? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.join("HEAD").is_file() && from.join("config").is_file() {
            settle(git, &from, &to)?;
            bring_back(git, &from, &to)?;
        } else {
            settle_all(git, &from, &to)?;
        }
    }
    Ok(())
}

/// Lets the git directory `to`, a copy of `from`, and its work tree name each other.
fn settle(git: &Path, from: &Path, to: &Path) -> Result<(), ClientError> {
    // Without a work tree, or with one that is gone, there is nobody to be told.
    let Ok(named) = setting(git, &from.join("config"), WORK_TREE) else { return Ok(()) };
    let Ok(work_tree) = fs::canonicalize(from.join(named)) else { return Ok(()) };
    let file = work_tree.join(".git");
    let Ok(content) = fs::read(&file) else { return Ok(()) };
    let Some(named) = content.strip_prefix(PREFIX) else { return Ok(()) };
    let named = fs::canonicalize(work_tree.join(OsStr::from_bytes(named.trim_ascii_end())));
    let from = fs::canonicalize(from).map_err(|error| failed(from, &error))?;
    if !named.is_ok_and(|named| named == from) {
        return Ok(());
    }
    let to = fs::canonicalize(to).map_err(|error| failed(to, &error))?;
    configure(git, &to.join("config"), &[OsStr::new(WORK_TREE), relative(&to, &work_tree).as_os_str()])?;
    let line = [PREFIX, relative(&work_tree, &to).as_os_str().as_bytes(), b"\n"].concat();
    fs::write(&file, line).map_err(|error| failed(&file, &error))
}

/// The way from one folder to another one; both are absolute and without links.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(from, to)| from == to).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

fn failed(path: &Path, error: &io::Error) -> ClientError {
    ClientError::refused(format!("{}: {error}", name_of(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_goes_up_to_what_both_share() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(way("/a/tree/sub", "/a/variant/modules/sub"), Path::new("../../variant/modules/sub"));
        assert_eq!(way("/a/.git/modules/sub", "/a/sub"), Path::new("../../../sub"));
        assert_eq!(way("/a", "/a/sub"), Path::new("sub"));
        assert_eq!(way("/tree", "/variant"), Path::new("../variant"));
    }
}
