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
    ClientError, name_of,
    shown_folder::{ShownFolder, copy_folder},
};

/// The folder of the folders of linked work trees.
pub(crate) const FOLDER: &str = "worktrees";

/// In such a folder: where the work tree's file `.git` is.
const GITDIR: &str = "gitdir";

/// The files that are copied.
const COPIED: [&str; 2] = ["HEAD", GITDIR];

/// What the work tree's file begins with.
const PREFIX: &[u8] = b"gitdir: ";

/// Shows the folders of `variant` in `view`.
pub(crate) fn show(variant: &Path, view: &Path) -> Result<Vec<ShownFolder>, ClientError> {
    let mut shown = Vec::new();
    for name in names(&variant.join(FOLDER))? {
        fs::create_dir_all(view.join(FOLDER))?;
        let (behind, folder) = (variant.join(FOLDER).join(&name), view.join(FOLDER).join(&name));
        // One that is not complete is for `git worktree prune`, without us.
        if COPIED.iter().all(|file| behind.join(file).is_file()) {
            shown.push(ShownFolder::make(&behind, &folder, &COPIED, &[], &[])?);
            // A work tree that is gone, or cannot be written: git says so when it matters.
            let _ = point(&folder, &behind, &folder);
        }
    }
    Ok(shown)
}

/// Gives the variant what changed, and lets the work trees name it.
pub(crate) fn bring_back(known: &[ShownFolder], variant: &Path, view: &Path) -> Result<(), ClientError> {
    for shown in known {
        if shown.folder().exists() {
            shown.bring_back(|_, _| Ok(()))?;
        } else {
            let behind = shown.behind();
            fs::remove_dir_all(behind).map_err(|error| failed(behind, &error))?;
            // As git does after the last.
            let _ = fs::remove_dir(variant.join(FOLDER));
        }
    }
    for name in names(&view.join(FOLDER))? {
        let (behind, folder) = (variant.join(FOLDER).join(&name), view.join(FOLDER).join(&name));
        if !known.iter().any(|shown| shown.folder() == folder) {
            copy_folder(&folder, &behind)?;
            let file = dot_git(&folder)?;
            // Relative to the view it would lead nowhere.
            fs::write(behind.join(GITDIR), [file.as_os_str().as_bytes(), b"\n"].concat())?;
        }
        point(&folder, &folder, &behind)?;
    }
    Ok(())
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
