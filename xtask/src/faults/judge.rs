//! What stock git or hg says of a repository.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::isolated;
use crate::files::entries;
use crate::mercurial;
use crate::process::{Failure, Outcome, output};

/// A repository to convert copies of.
#[derive(Debug)]
pub(super) struct Repository {
    path: PathBuf,
    /// The program of a Mercurial repository.
    hg: Option<OsString>,
}

impl Repository {
    pub(super) fn find(path: &Path) -> Outcome<Self> {
        let hg = if path.join(".hg").is_dir() { Some(mercurial::newest()?) } else { None };
        Ok(Repository { path: path.to_owned(), hg })
    }

    pub(super) fn is_git(&self) -> bool {
        self.hg.is_none()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A codec that changes most chunks.
    pub(super) fn codec(&self) -> &'static str {
        if self.hg.is_some() { "zstd:1" } else { "zlib:1" }
    }

    /// Checks the repository `work` with git or hg, and returns all that it holds.
    pub(super) fn facts(&self, work: &Path) -> Outcome<String> {
        let Some(hg) = &self.hg else {
            git(work, &["fsck", "--full", "--strict", "--no-progress"])?;
            let objects = git(work, &["cat-file", "--batch-all-objects", "--batch-check"])?;
            return Ok(objects + &git(work, &["for-each-ref"])?);
        };
        let run = |arguments: &[&str]| {
            let mut command = isolated(hg);
            output(command.env("HGRCPATH", "").env("HGPLAIN", "1").arg("-R").arg(work).args(arguments))
        };
        run(&["verify", "--quiet"])?;
        run(&["log", "--hidden", "-T", "{rev} {node} {phase} {bookmarks}\n"])
    }

    /// Fails if the folder of a variant has anything but what the chore put there.
    pub(super) fn check_tidy_around(&self, work: &Path, variant: &Path) -> Outcome<()> {
        let own = [work, variant].map(|path| path.file_name().unwrap_or_default());
        for path in entries(work.parent().unwrap_or(work))? {
            let name = path.file_name().unwrap_or_default();
            if !own.contains(&name) {
                return Err(Failure(format!("{} is left over", path.display())));
            }
        }
        Ok(())
    }

    /// Fails if a run has left anything but its backup.
    pub(super) fn check_tidy(&self, work: &Path) -> Outcome<()> {
        let git_dir = if work.join(".git").is_dir() { work.join(".git") } else { work.to_owned() };
        let folders = match self.hg {
            Some(_) => vec![work.join(".hg"), work.join(".hg/store")],
            None => vec![git_dir.clone(), git_dir.join("objects"), git_dir.join("objects/pack")],
        };
        for path in folders.iter().map(|folder| entries(folder)).collect::<Outcome<Vec<_>>>()?.concat() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_lock = name.ends_with("lock") || name.starts_with("gc.pid") || name.ends_with(".break");
            let is_pack_without_index = name.ends_with(".pack") && !path.with_extension("idx").exists();
            if name.starts_with(".repackbench") || is_lock || is_pack_without_index {
                return Err(Failure(format!("{} is left over", path.display())));
            }
            if name.starts_with("repackbench-backup") && path.join("incomplete").exists() {
                return Err(Failure(format!("{} is still marked as incomplete", path.display())));
            }
        }
        Ok(())
    }
}

fn git(work: &Path, arguments: &[&str]) -> Outcome<String> {
    output(isolated("git").env("GIT_CONFIG_GLOBAL", "/dev/null").arg("-C").arg(work).args(arguments))
}

/// Copies a folder with everything in it.
pub(super) fn copy(from: &Path, to: &Path) -> Outcome<()> {
    output(Command::new("cp").arg("-a").arg("--").arg(from).arg(to)).map(drop)
}
