//! The user's own git and hg.

use std::{env, path::PathBuf};

use clap::Args;
use repackbench_client::{ClientError, GitProgram, HgProgram};
use repackbench_reader::Repository;
use repackbench_writer::DeltaRecomputer;

use super::HgExtensionArgument;

/// The user's own programs.
#[derive(Debug, Args)]
pub(crate) struct ProgramArguments {
    /// git program, for --rechosen and --client stock.
    #[arg(long = "git", value_name = "PROGRAM", default_value = "git", help_heading = super::EXPERT)]
    pub(crate) git: PathBuf,

    /// hg program, for --rechosen and --client stock.
    #[arg(long = "hg", value_name = "PROGRAM", default_value = "hg", help_heading = super::EXPERT)]
    pub(crate) hg: PathBuf,

    #[command(flatten)]
    pub(crate) hg_extension: HgExtensionArgument,
}

impl ProgramArguments {
    /// The user's git.
    pub(crate) fn git(&self) -> Result<GitProgram, ClientError> {
        GitProgram::new(&self.git)
    }

    /// The user's hg, with the extension.
    pub(crate) fn hg(&self) -> Result<HgProgram, ClientError> {
        HgProgram::new(&self.hg, self.hg_extension.folder().as_deref())
    }

    /// The program that searches for the deltas of `source` again.
    pub(crate) fn recomputer(&self, source: &Repository) -> Result<DeltaRecomputer, ClientError> {
        match source {
            Repository::Git(_) => self.git().map(DeltaRecomputer::git),
            Repository::Hg(_) => self.hg().map(DeltaRecomputer::hg),
        }
    }
}

/// The program that runs `peak-memory`, which is this one.
pub(crate) fn meter() -> Option<PathBuf> {
    env::current_exe().ok().filter(|program| program.is_file())
}
