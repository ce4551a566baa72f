//! A git directory that shows a variant without the guard that stops plain git.
//!
//! `config`, without our extension, and `HEAD` are copies; everything else is a link into the variant, so that objects, refs and
//! reflogs are the variant's own. git replaces files by renaming, which replaces links in the view; so what changed there is brought
//! back when the command has ended. The folders of linked work trees are shown in the same way, each by itself.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStringExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    ClientError, name_of,
    shown_folder::ShownFolder,
    submodules,
    work_trees::{FOLDER, LinkedTrees, WorkTrees},
};

/// The key of the guard.
const GUARD: &str = "extensions.repackbench";

/// The files that are copied.
const COPIED: [&str; 2] = ["config", "HEAD"];

/// Files that git writes in place of a link, also where the variant has none yet.
const LINKED_ALWAYS: [&str; 1] = ["packed-refs"];

/// A view, and the variant behind it.
#[derive(Debug)]
pub(crate) struct View {
    root: ShownFolder,
    guard: OsString,
    work_trees: WorkTrees,
}

impl View {
    /// Makes a view of `variant` at `folder`.
    pub(crate) fn make(
        git: &Path,
        variant: &Path,
        folder: &Path,
        linked_trees: LinkedTrees,
    ) -> Result<Self, ClientError> {
        let mut root = ShownFolder::make(variant, folder, &COPIED, &LINKED_ALWAYS, &[FOLDER])?;
        let config = folder.join("config");
        let guard = setting(git, &config, GUARD)?;
        configure(git, &config, &["--unset-all", GUARD])?;
        root.begins_now()?;
        let work_trees = WorkTrees::show(variant, folder, linked_trees)?;
        Ok(View { root, guard, work_trees })
    }

    /// The git directory.
    pub(crate) fn folder(&self) -> &Path {
        self.root.folder()
    }

    /// Gives the variant what changed in the view.
    pub(crate) fn bring_back(&mut self, git: &Path) -> Result<(), ClientError> {
        self.root.bring_back(|name, shown| {
            if name == "config" {
                configure(git, shown, &["core.repositoryFormatVersion", "1"])?;
                configure(git, shown, &[OsStr::new(GUARD), &self.guard])?;
            }
            Ok(())
        })?;
        let (variant, view) = (self.root.behind(), self.root.folder());
        submodules::bring_back(git, view, variant)?;
        self.work_trees.bring_back(git, variant, view)
    }
}

/// The value of `key` in the file.
pub(crate) fn setting(git: &Path, file: &Path, key: &str) -> Result<OsString, ClientError> {
    let mut value = configure(git, file, &["--get", key])?;
    if value.last() == Some(&b'\n') {
        value.pop();
    }
    Ok(OsString::from_vec(value))
}

/// `git config` on the file; what it printed.
pub(crate) fn configure(git: &Path, file: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<Vec<u8>, ClientError> {
    let mut command = Command::new(git);
    // Not the repository around: nothing of it is to be read.
    command.env_remove("GIT_DIR").current_dir("/").arg("config").arg("--file").arg(file).args(arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(git, &error))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let typed: Vec<_> = arguments.iter().map(|word| word.as_ref().to_string_lossy()).collect();
    let message = format!("{} config {}: {}", name_of(git), typed.join(" "), said.trim_end());
    Err(ClientError::refused(message))
}

fn failed(path: &Path, error: &io::Error) -> ClientError {
    ClientError::refused(format!("{}: {error}", name_of(path)))
}
