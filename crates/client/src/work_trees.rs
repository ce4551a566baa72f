//! Linked work trees of a variant.
//!
//! git keeps a folder for each in `worktrees/`, and in the work tree a file `.git` that names this folder. The two have to name each other
//! for `git worktree`, and git finds the repository from the folder. So while a command runs, both are those of the view, and afterwards
//! those of the variant again.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use crate::{
    ClientError,
    git::FOLDER_PREFIX,
    name_of,
    shown_folder::{ShownFolder, copy_folder},
    submodules,
};

/// The folder of the folders of linked work trees.
pub(crate) const FOLDER: &str = "worktrees";

/// In such a folder: where the work tree's file `.git` is.
const GITDIR: &str = "gitdir";

/// The files that are copied.
const COPIED: [&str; 2] = ["HEAD", GITDIR];

/// What the work tree's file begins with.
pub(crate) const PREFIX: &[u8] = b"gitdir: ";

/// Whether the linked work trees name the view while it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkedTrees {
    /// For commands that may be about them.
    NameTheView,
    /// For commands that only read: the folders are shown, since their heads and indexes hold on to objects, and the work trees are not
    /// touched.
    StayAsTheyAre,
}

/// The folders of a view. Dropped before they are brought back, they leave the work trees as they were found.
#[derive(Debug)]
pub(crate) struct WorkTrees {
    known: Vec<ShownFolder>,
    linked_trees: LinkedTrees,
}

impl WorkTrees {
    /// Shows the folders of `variant` in `view`.
    pub(crate) fn show(variant: &Path, view: &Path, linked_trees: LinkedTrees) -> Result<Self, ClientError> {
        let mut shown = WorkTrees { known: Vec::new(), linked_trees };
        for name in names(&variant.join(FOLDER))? {
            fs::create_dir_all(view.join(FOLDER))?;
            let (behind, folder) = (variant.join(FOLDER).join(&name), view.join(FOLDER).join(&name));
            // One that is not complete is for `git worktree prune`, without us.
            if !COPIED.iter().all(|file| behind.join(file).is_file()) {
                continue;
            }
            shown.known.push(ShownFolder::make(&behind, &folder, &COPIED, &[], &[])?);
            if linked_trees == LinkedTrees::NameTheView {
                // A work tree that is gone, or cannot be written: git says so when it matters.
                let _ = point(&folder, &behind, &folder);
            }
        }
        Ok(shown)
    }

    /// Gives the variant what changed, and lets the work trees name it.
    pub(crate) fn bring_back(&mut self, git: &Path, variant: &Path, view: &Path) -> Result<(), ClientError> {
        for shown in &self.known {
            let behind = shown.behind();
            if shown.folder().exists() {
                shown.bring_back(|_, _| Ok(()))?;
                submodules::bring_back(git, shown.folder(), behind)?;
            } else {
                fs::remove_dir_all(behind).map_err(|error| failed(behind, &error))?;
                // As git does after the last.
                let _ = fs::remove_dir(variant.join(FOLDER));
            }
        }
        for name in names(&view.join(FOLDER))? {
            let (behind, folder) = (variant.join(FOLDER).join(&name), view.join(FOLDER).join(&name));
            if !self.known.iter().any(|shown| shown.folder() == folder) {
                copy_folder(&folder, &behind)?;
                let file = dot_git(&folder)?;
                // Relative to the view it would lead nowhere.
                fs::write(behind.join(GITDIR), [file.as_os_str().as_bytes(), b"\n"].concat())?;
                submodules::bring_back(git, &folder, &behind)?;
            }
            point(&folder, &folder, &behind)?;
        }
        // Nothing is left to do when this is dropped.
        self.known.clear();
        Ok(())
    }
}

impl Drop for WorkTrees {
    fn drop(&mut self) {
        if self.linked_trees == LinkedTrees::NameTheView {
            for shown in &self.known {
                // As much as can be: there is an error already, and the next command tries again.
                let _ = point(shown.folder(), shown.folder(), shown.behind());
            }
        }
    }
}

/// The view that the work tree at `place` still names although it is gone: that of a command that was killed.
pub fn abandoned_view(place: &Path) -> Option<PathBuf> {
    let content = fs::read(place.join(".git")).ok()?;
    let named = place.join(OsStr::from_bytes(content.strip_prefix(PREFIX)?.trim_ascii_end()));
    let is_of_a_view = |name: &OsStr| name.as_bytes().starts_with(FOLDER_PREFIX.as_bytes());
    (named.iter().any(is_of_a_view) && !named.exists()).then_some(named)
}

/// Lets the work tree of `folder` name `target`, if it names `present`, or a view that an earlier command left when it was killed. What
/// another repository has in its place stays as it is.
fn point(folder: &Path, present: &Path, target: &Path) -> Result<(), ClientError> {
    let file = dot_git(folder)?;
    let content = match fs::read(&file) {
        Ok(content) => content,
        // Removed by hand: `git worktree prune` sees to it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(&file, &error)),
    };
    let Some(named) = content.strip_prefix(PREFIX) else { return Ok(()) };
    let named = file.with_file_name(OsStr::from_bytes(named.trim_ascii_end()));
    let is_present = match (fs::canonicalize(&named), fs::canonicalize(present)) {
        (Ok(named), Ok(present)) => named == present,
        _ => false,
    };
    let is_stale = !named.exists() && named.file_name() == folder.file_name();
    if !is_present && !is_stale {
        return Ok(());
    }
    let line = [PREFIX, target.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(&file, line).map_err(|error| failed(&file, &error))
}

/// The file `.git` of the work tree whose folder this is.
fn dot_git(folder: &Path) -> Result<PathBuf, ClientError> {
    let place = folder.join(GITDIR);
    let mut path = fs::read(&place).map_err(|error| failed(&place, &error))?;
    path.truncate(path.trim_ascii_end().len());
    let path = folder.join(OsString::from_vec(path));
    Ok(fs::canonicalize(&path).unwrap_or(path))
}

/// What is in the folder, if it is there.
fn names(folder: &Path) -> Result<Vec<OsString>, ClientError> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<_>>()?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(folder, &error)),
    }
}

fn failed(path: &Path, error: &io::Error) -> ClientError {
    ClientError::refused(format!("{}: {error}", name_of(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variant's folder of a linked work tree, and the work tree, which name each other.
    fn linked(scratch: &Path) -> (PathBuf, PathBuf) {
        let (folder, tree) = (scratch.join("variant/worktrees/tree"), scratch.join("tree"));
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir(scratch.join("view")).unwrap();
        fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(folder.join(GITDIR), format!("{}\n", tree.join(".git").display())).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", folder.display())).unwrap();
        (folder, tree)
    }

    #[test]
    fn a_work_tree_names_the_view_until_that_is_dropped() {
        let scratch = tempfile::tempdir().unwrap();
        let (variant, view) = (scratch.path().join("variant"), scratch.path().join("view"));
        let (folder, tree) = linked(scratch.path());
        let named = || fs::read_to_string(tree.join(".git")).unwrap();
        let shown = WorkTrees::show(&variant, &view, LinkedTrees::NameTheView).unwrap();
        assert_eq!(named(), format!("gitdir: {}\n", view.join("worktrees/tree").display()));
        drop(shown);
        assert_eq!(named(), format!("gitdir: {}\n", folder.display()));
    }

    #[test]
    fn for_commands_that_only_read_no_work_tree_is_touched() {
        let scratch = tempfile::tempdir().unwrap();
        let (variant, view) = (scratch.path().join("variant"), scratch.path().join("view"));
        let (folder, tree) = linked(scratch.path());
        let shown = WorkTrees::show(&variant, &view, LinkedTrees::StayAsTheyAre).unwrap();
        assert!(view.join("worktrees/tree/HEAD").is_file());
        let named = fs::read_to_string(tree.join(".git")).unwrap();
        assert_eq!(named, format!("gitdir: {}\n", folder.display()));
        drop(shown);
        assert_eq!(fs::read_to_string(tree.join(".git")).unwrap(), named);
    }
}
