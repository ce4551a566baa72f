//! Finding a repository's directories from a path given by the user.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use bstr::ByteSlice;

use super::reftable::REFTABLE_FOLDER;
use crate::{
    bounds::{Bounds, read_regular_file},
    error::{ReaderError, Result},
};

/// Files and folders whose links are checked, in a git directory and in a common directory.
const OF_GIT_DIR: [&str; 4] = ["commondir", "logs", "refs", REFTABLE_FOLDER];
const OF_COMMON_DIR: [&str; 12] = [
    "config",
    "info",
    "info/grafts",
    "logs",
    "objects",
    "objects/info",
    "objects/info/alternates",
    "objects/pack",
    "packed-refs",
    "refs",
    REFTABLE_FOLDER,
    "shallow",
];

/// The two directories that make up a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// The directory with `HEAD` and everything that belongs to one work tree.
    pub(super) git_dir: PathBuf,
    /// The directory that linked work trees share. It is the same one unless this is a linked work tree.
    pub(super) common_dir: PathBuf,
}

impl Location {
    /// Finds the repository at `path`: `path/.git` (a folder or a gitfile), otherwise `path` itself.
    pub(super) fn find(path: &Path) -> Result<Self> {
        let dot_git = path.join(".git");
        let candidate = if exists(&dot_git)? { dot_git } else { path.to_owned() };
        let metadata = fs::metadata(&candidate).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => not_a_repository(path, "there is no such file or folder"),
            _ => ReaderError::io("open", &candidate, error),
        })?;
        let git_dir = if metadata.is_file() { follow_gitfile(&candidate)? } else { candidate };
        let common_dir = common_dir_of(&git_dir)?;
        let location = Location { git_dir, common_dir };
        location.bounds().check(&location.git_dir.join("HEAD"))?;
        require_git_directory(&location.git_dir, &location.common_dir)?;
        Ok(location)
    }

    /// The bounds of its folders.
    pub(super) fn bounds(&self) -> Bounds<'_> {
        Bounds::of_both(&self.git_dir, &self.common_dir)
    }

    /// Checks that the usual files and folders are within the repository.
    ///
    /// # Errors
    /// One is a link that leads out of it, or neither a file nor a folder.
    pub(super) fn check_bounds(&self) -> Result<()> {
        let own = OF_GIT_DIR.map(|name| self.git_dir.join(name));
        let shared = OF_COMMON_DIR.map(|name| self.common_dir.join(name));
        own.into_iter().chain(shared).try_for_each(|path| self.bounds().check(&path).map(drop))
    }

    /// Whether refs, objects and configuration are in another directory than `HEAD`.
    pub(super) fn is_linked_work_tree(&self) -> bool {
        self.git_dir != self.common_dir
    }
}

/// Whether anything is at `path`, even a dangling symbolic link.
fn exists(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(ReaderError::io("inspect", path, error)),
    }
}

/// The git directory that a `gitdir: <path>` file names, as in a linked work tree or a submodule.
fn follow_gitfile(gitfile: &Path) -> Result<PathBuf> {
    gix_discover::path::from_gitdir_file(gitfile)
        .map_err(|_| not_a_repository(gitfile, "expected a git directory or a file that reads 'gitdir: <path>'"))
}

/// The directory that the file `commondir` of a linked work tree's git directory names, otherwise `git_dir`.
fn common_dir_of(git_dir: &Path) -> Result<PathBuf> {
    let commondir = git_dir.join("commondir");
    // Rejects a named pipe, which would block.
    read_regular_file(&commondir)?;
    match gix_discover::path::from_plain_file(&commondir) {
        None => Ok(git_dir.to_owned()),
        Some(Ok(named)) => {
            let joined = git_dir.join(named);
            fs::canonicalize(&joined).map_err(|error| ReaderError::io("open", joined, error))
        }
        Some(Err(error)) => Err(ReaderError::io("read", commondir, error)),
    }
}

/// Git's own test for a git directory: a `HEAD` that looks like one, `objects/` and `refs/`.
fn require_git_directory(git_dir: &Path, common_dir: &Path) -> Result<()> {
    if !head_is_plausible(&git_dir.join("HEAD"))? {
        return Err(not_a_repository(git_dir, "expected a file HEAD that names a ref or an object"));
    }
    for folder in ["objects", "refs"] {
        if !common_dir.join(folder).is_dir() {
            return Err(not_a_repository(git_dir, &format!("expected a folder {folder}/")));
        }
    }
    Ok(())
}

/// Whether `head` is a symbolic link into `refs/`, contains `ref: refs/...`, or starts with an object id.
fn head_is_plausible(head: &Path) -> Result<bool> {
    if let Ok(link) = fs::read_link(head)
        && link.starts_with("refs")
    {
        return Ok(true);
    }
    let Some(content) = read_regular_file(head)? else { return Ok(false) };
    if let Some(name) = content.strip_prefix(b"ref:") {
        return Ok(name.trim_start().starts_with(b"refs/"));
    }
    let id_len = content.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    Ok(id_len >= gix_hash::Kind::Sha1.len_in_hex())
}

fn not_a_repository(path: &Path, why: &str) -> ReaderError {
    ReaderError::NotARepository { path: path.to_owned(), why: why.to_owned() }
}
