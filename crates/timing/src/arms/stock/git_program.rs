//! The git of a session, with the settings of all rows.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use repackbench_client::{GitProgram, Preload};

use super::{Caches, StockError};

/// Settings that do not depend on the job.
const SETTINGS: [(&str, &str); 7] = [
    ("pack.threads", "1"),
    ("index.threads", "1"),
    ("checkout.workers", "1"),
    ("grep.threads", "1"),
    ("repack.writeBitmaps", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("uploadpack.allowAnySHA1InWant", "true"),
];

/// The settings of caches, which do a part of the work beforehand.
const CACHE_SETTINGS: [&str; 3] = ["core.commitGraph", "core.multiPackIndex", "pack.useBitmaps"];

/// The date of commits that a job makes.
const DATE: &str = "2005-04-07T22:13:13Z";

/// The git of a session.
#[derive(Debug)]
pub(crate) struct Git {
    pub(super) program: GitProgram,
    /// A folder for files that live as long as the session.
    pub(super) scratch: PathBuf,
}

impl Git {
    /// Finds the git that `program` names; `scratch` is an empty folder that outlives it.
    pub(crate) fn new(program: &OsStr, scratch: &Path) -> Result<Self, StockError> {
        let git = Git { program: GitProgram::new(program)?, scratch: scratch.to_owned() };
        // Rows look for it again. If it is missing, the error should come before variants are made.
        Preload::find()?;
        for caches in [Caches::Off, Caches::Forge] {
            let path = git.config(caches);
            fs::write(&path, git.program.configuration(settings(caches)))
                .map_err(|error| StockError::files("write", &path, error))?;
        }
        Ok(git)
    }

    pub(crate) fn name(&self) -> &str {
        self.program.name()
    }

    /// The version line.
    pub(crate) fn version(&self) -> &str {
        self.program.version()
    }

    fn config(&self, caches: Caches) -> PathBuf {
        self.scratch.join(if caches == Caches::Off { "config" } else { "config-forge" })
    }

    /// A command in isolation, without a repository.
    pub(super) fn command(&self, caches: Caches) -> Command {
        let mut command = self.program.command(settings(caches));
        // For processes that git starts in other repositories, which lose all other settings.
        command.env("GIT_CONFIG_GLOBAL", self.config(caches));
        command.env("GIT_AUTHOR_DATE", DATE).env("GIT_COMMITTER_DATE", DATE).current_dir(&self.scratch);
        // The index of a work tree may hold attributes, which variants do not have.
        command.env("GIT_INDEX_FILE", self.scratch.join("no-index"));
        command
    }
}

fn settings(caches: Caches) -> impl Iterator<Item = (&'static str, &'static str)> {
    let state = if caches == Caches::Forge { "true" } else { "false" };
    SETTINGS.into_iter().chain(CACHE_SETTINGS.map(|key| (key, state)))
}
