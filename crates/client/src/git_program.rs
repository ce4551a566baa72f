//! Runs the user's git for commands of this program's own.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{ClientError, absolute, child, find_program, isolation, name_of};

/// The beginning of git's version line.
const VERSION: &str = "git version ";

/// Part of git's message about a repository that another user owns and that is not in `safe.directory`.
const DUBIOUS: &str = "dubious ownership";

/// The user's git, found once, for commands in isolation.
#[derive(Debug, Clone)]
pub struct GitProgram {
    program: PathBuf,
    name: String,
    version: String,
    /// The number of objects that a search for deltas compares each with; `None` for git's default.
    pub(crate) window: Option<u32>,
    /// The program that measures the memory of such a search.
    pub(crate) meter: Option<PathBuf>,
}

impl GitProgram {
    /// Finds the git that `name` starts, a path or a name on the PATH, and queries its version.
    ///
    /// # Errors
    /// [`ClientError::Program`] if there is none, or if it is not git.
    pub fn new(name: impl AsRef<OsStr>) -> Result<Self, ClientError> {
        let program = find_program(name.as_ref())?;
        let name = program.file_name().unwrap_or(OsStr::new("git")).to_string_lossy().into_owned();
        let mut git = GitProgram { program, name, version: String::new(), window: None, meter: None };
        let mut command = git.command([]);
        command.arg("--version");
        git.version = child::text(command, &format!("{} --version", name_of(&git.program)))?;
        match git.version.starts_with(VERSION) {
            true => Ok(git),
            false => {
                let why = format!("expected \"{VERSION}...\", found {:?}", git.version);
                Err(ClientError::Program { command: format!("{} --version", name_of(&git.program)), why })
            }
        }
    }

    /// The path of its file.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version line: `git version 2.47.3`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The same with a search for deltas that compares each object with `window` others.
    #[must_use]
    pub fn with_window(self, window: u32) -> Self {
        GitProgram { window: Some(window), ..self }
    }

    /// The same with searches for deltas whose memory `meter` measures, if there is one.
    #[must_use]
    pub fn with_meter(self, meter: Option<PathBuf>) -> Self {
        GitProgram { meter, ..self }
    }

    /// A git command in isolation, without a repository and with no allowed protocol. `settings` are added to those of
    /// the isolation.
    pub fn command<'s>(&self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Command {
        isolation::git(&self.program, settings)
    }

    /// The text of a configuration file with the settings of [`command`](Self::command).
    pub fn configuration<'s>(&self, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> String {
        isolation::git_configuration(settings)
    }

    /// Refuses a repository in `folder` that git itself refuses because another user owns it and it is not in
    /// `safe.directory`. Nothing in the repository is run.
    ///
    /// # Errors
    /// [`ClientError::Refused`] if git refuses it.
    pub fn check_owner(&self, folder: &Path) -> Result<(), ClientError> {
        check_owner(&self.program, folder)
    }
}

/// See [`GitProgram::check_owner`].
pub(crate) fn check_owner(git: &Path, folder: &Path) -> Result<(), ClientError> {
    let folder = absolute(folder)?;
    // The user's own configuration decides, so only this command is not isolated from it. It reads only the
    // repository's format.
    let mut command = Command::new(git);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CEILING_DIRECTORIES"] {
        command.env_remove(name);
    }
    // git looks at safe.bareRepository first, and would not say what it thinks of the owner.
    command.env("LC_ALL", "C").args(["-c", "safe.bareRepository=all"]);
    command.arg("-C").arg(&folder).args(["rev-parse", "--git-dir"]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| ClientError::refused(format!("{}: {error}", name_of(git))))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !said.contains(DUBIOUS) {
        return Ok(());
    }
    let message = format!("{}: git refuses it, because another user owns it", name_of(&folder));
    let hint = format!("if you trust its owner: git config --global --add safe.directory {}", name_of(&folder));
    Err(ClientError::refused(message).with_hint(hint))
}
