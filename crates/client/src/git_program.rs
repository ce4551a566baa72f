//! The user's git, for commands of this program's own.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{ClientError, absolute, find_program, isolation, name_of, run};

/// What a version begins with.
const VERSION: &str = "git version ";

/// What git says where somebody else owns a repository, and the user has not allowed for that.
const DUBIOUS: &str = "dubious ownership";

/// The user's git, as found once, for commands in isolation.
#[derive(Debug, Clone)]
pub struct GitProgram {
    program: PathBuf,
    name: String,
    version: String,
}

impl GitProgram {
    /// The git that `name` starts, a path or a name on the PATH, asked for its version.
    ///
    /// # Errors
    /// [`ClientError::Program`]: there is none, or it is no git.
    pub fn new(name: impl AsRef<OsStr>) -> Result<Self, ClientError> {
        let program = find_program(name.as_ref())?;
        let name = program.file_name().unwrap_or(OsStr::new("git")).to_string_lossy().into_owned();
        let mut git = GitProgram { program, name, version: String::new() };
        let mut command = git.command([]);
        command.arg("--version");
        git.version = run::ask(command, &format!("{} --version", name_of(&git.program)))?;
        match git.version.starts_with(VERSION) {
            true => Ok(git),
            false => {
                let why = format!("expected \"{VERSION}...\", found {:?}", git.version);
                Err(ClientError::Program { command: format!("{} --version", name_of(&git.program)), why })
            }
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version, as it says itself: `git version 2.47.3`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// git in isolation, on no repository yet, told `settings` besides what isolation takes. The protocols that it speaks are none.
    pub fn command<'s>(&self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Command {
        isolation::git(&self.program, settings)
    }

    /// The configuration file that has what [`Self::command`] tells git.
    pub fn configuration<'s>(&self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> String {
        isolation::git_configuration(settings)
    }

    /// Refuses a repository in `folder` that git itself refuses, since somebody else owns it and the user has not named it in
    /// `safe.directory`. Nothing of the repository is run.
    ///
    /// # Errors
    /// [`ClientError::Refused`], with git's own words.
    pub fn check_owner(&self, folder: &Path) -> Result<(), ClientError> {
        check_owner(&self.program, folder)
    }
}

/// See [`GitProgram::check_owner`].
pub(crate) fn check_owner(git: &Path, folder: &Path) -> Result<(), ClientError> {
    let folder = absolute(folder)?;
    // The user's own configuration decides, so this one command is not isolated from it; it reads the repository's format and no more.
    let mut command = Command::new(git);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CEILING_DIRECTORIES"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").arg("-C").arg(&folder).args(["rev-parse", "--git-dir"]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| ClientError::refused(format!("{}: {error}", name_of(git))))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !said.contains(DUBIOUS) {
        return Ok(());
    }
    let message = format!("{}: git refuses it: somebody else owns it", name_of(&folder));
    let hint = format!("if you trust its owner: git config --global --add safe.directory {}", name_of(&folder));
    Err(ClientError::refused(message).with_hint(hint))
}
