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
            Repository::Git(_) => self.git().map(|git| DeltaRecomputer::git(git.with_meter(meter()))),
            Repository::Hg(_) => self.hg().map(DeltaRecomputer::hg),
        }
    }
}

/// How hard git searches for deltas.
#[derive(Debug, Args)]
pub(crate) struct WindowArgument {
    /// Window of git's search for deltas [default: 10].
    ///
    /// git compares each object with N others, as in git repack --window. git gc --aggressive has 250.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = super::WHAT)]
    pub(crate) window: Option<u32>,
}

impl WindowArgument {
    /// What searches with this window, if the user chose one.
    pub(crate) fn recomputer(&self, programs: &ProgramArguments) -> Result<Option<DeltaRecomputer>, ClientError> {
        let with_window = |_| Ok(DeltaRecomputer::git(self.applied_to(programs.git()?).with_meter(meter())));
        self.window.map(with_window).transpose()
    }

    /// `git` with this window.
    pub(crate) fn applied_to(&self, git: GitProgram) -> GitProgram {
        match self.window {
            Some(window) => git.with_window(window),
            None => git,
        }
    }
}

/// The program that runs `peak-memory`, which is this one.
pub(crate) fn meter() -> Option<PathBuf> {
    env::current_exe().ok().filter(|program| program.is_file())
}
