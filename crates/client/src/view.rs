//! A git directory that shows a variant without the guard that stops plain git.
//!
//! `config`, without our extension, and `HEAD` are copies; everything else is a link into the variant, so that objects, refs and
//! reflogs are the variant's own. git replaces files by renaming, which replaces links in the view; so what changed there is brought
//! back when the command has ended. The folders of linked work trees are shown in the same way, each by itself.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    ClientError, name_of,
    shown_folder::ShownFolder,
    work_trees::{self, FOLDER},
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
    work_trees: Vec<ShownFolder>,
}

impl View {
    /// Makes a view of `variant` at `folder`.
    pub(crate) fn make(git: &Path, variant: &Path, folder: &Path) -> Result<Self, ClientError> {
        let mut root = ShownFolder::make(variant, folder, &COPIED, &LINKED_ALWAYS, &[FOLDER])?;
        let config = folder.join("config");
        let guard = configure(git, &config, &["--get", GUARD])?;
        configure(git, &config, &["--unset-all", GUARD])?;
        root.begins_now()?;
        let guard = OsString::from(guard.trim_end());
        let work_trees = work_trees::show(variant, folder)?;
        Ok(View { root, guard, work_trees })
    }

    /// The git directory.
    pub(crate) fn folder(&self) -> &Path {
        self.root.folder()
    }

    /// Gives the variant what changed in the view.
    pub(crate) fn bring_back(&self, git: &Path) -> Result<(), ClientError> {
        self.root.bring_back(|name, shown| {
            if name == "config" {
                let guard = self.guard.to_string_lossy();
                configure(git, shown, &["core.repositoryFormatVersion", "1"])?;
                configure(git, shown, &[GUARD, &guard])?;
            }
            Ok(())
        })?;
        work_trees::bring_back(&self.work_trees, self.root.behind(), self.root.folder())
    }
}

/// `git config` on the file; what it printed.
fn configure(git: &Path, file: &Path, arguments: &[&str]) -> Result<String, ClientError> {
    let mut command = Command::new(git);
    // Not the repository around: nothing of it is to be read.
    command.env_remove("GIT_DIR").current_dir("/").arg("config").arg("--file").arg(file).args(arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(git, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let message = format!("{} config {}: {}", name_of(git), arguments.join(" "), said.trim_end());
    Err(ClientError::refused(message))
}

fn failed(path: &Path, error: &io::Error) -> ClientError {
    ClientError::refused(format!("{}: {error}", name_of(path)))
}
