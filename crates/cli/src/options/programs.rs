//! The user's own git and hg.

use std::{env, path::PathBuf};

use clap::Args;
use repackbench_client::{ClientError, GitProgram, HgProgram};
use repackbench_reader::Repository;
use repackbench_writer::DeltaRecomputer;

use super::find_hg_extension;

/// The user's own programs.
#[derive(Debug, Args)]
pub(crate) struct ProgramArguments {
    /// The git to run, for --rechosen and --client stock.
    #[arg(long = "git", value_name = "PROGRAM", default_value = "git")]
    pub(crate) git: PathBuf,

    /// The hg to run, for --rechosen and --client stock.
    #[arg(long = "hg", value_name = "PROGRAM", default_value = "hg")]
    pub(crate) hg: PathBuf,

    /// The extension that hg needs for codecs it does not have: the folder that `cargo xtask hg-extension` prints [default: the one that
    /// was installed with this program, if any].
    #[arg(long = "hg-extension", value_name = "DIR")]
    pub(crate) hg_extension: Option<PathBuf>,
}

impl ProgramArguments {
    pub(crate) fn git(&self) -> Result<GitProgram, ClientError> {
        GitProgram::new(&self.git)
    }

    pub(crate) fn hg(&self) -> Result<HgProgram, ClientError> {
        HgProgram::new(&self.hg, find_hg_extension(self.hg_extension.as_deref()).as_deref())
    }

    /// The one that knows `source`.
    pub(crate) fn recomputer(&self, source: &Repository) -> Result<DeltaRecomputer, ClientError> {
        match source {
            Repository::Git(_) => self.git().map(DeltaRecomputer::git),
            Repository::Hg(_) => self.hg().map(DeltaRecomputer::hg),
        }
    }
}

/// The program that has this command: the one that runs.
pub(crate) fn meter() -> Option<PathBuf> {
    env::current_exe().ok().filter(|program| program.is_file())
}
