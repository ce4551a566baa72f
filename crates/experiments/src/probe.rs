//! Trial runs: the approximate time of a git or hg command, before a benchmark of it starts.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use repackbench_client::{ClientError, isolated_git, isolated_hg, run};
use repackbench_records::{Figure, Statement, StatementValue};
use repackbench_timing::{BenchError, arms::stock::copy_repository, clock::Clock};
use repackbench_writer::{Progress, ProgressUnit};

use crate::{Context, ExperimentError, budget::now};

/// What is known about the time of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Nothing.
    Unknown,
    /// About this long.
    Took(Duration),
    /// Longer than this, the limit of the trial.
    TooLong(Duration),
}

impl Probe {
    /// The time of work that takes `part` as long.
    pub(crate) fn scaled(self, part: f64) -> Self {
        match self {
            Probe::Unknown => Probe::Unknown,
            Probe::Took(time) => Probe::Took(time.mul_f64(part)),
            Probe::TooLong(time) => Probe::TooLong(time.mul_f64(part)),
        }
    }

    /// The time, or a lower bound of it.
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            Probe::Unknown => None,
            Probe::Took(time) | Probe::TooLong(time) => Some(time),
        }
    }

    /// The time as a value of a statement.
    pub(crate) fn value(self) -> StatementValue {
        let seconds = |time: Duration| Figure::seconds(time.as_secs_f64());
        match self {
            Probe::Unknown => Statement::new("unknown-time").into(),
            Probe::Took(time) => Statement::new("about").with("time", seconds(time)).into(),
            Probe::TooLong(time) => Statement::new("more-than").with("time", seconds(time)).into(),
        }
    }
}

/// Ends a command that exceeds its time limit.
struct Limited<'a> {
    progress: &'a dyn Progress,
    clock: &'a (dyn Clock + Sync),
    end: Option<Duration>,
}

impl Progress for Limited<'_> {
    fn start(&self, _step: &str, _total: u64, _unit: ProgressUnit) {}

    fn advance(&self, _amount: u64) {}

    fn finish(&self) {}

    fn is_cancelled(&self) -> bool {
        let is_late = || self.end.is_some_and(|end| now(self.clock).is_ok_and(|now| now > end));
        self.progress.is_cancelled() || is_late()
    }
}

/// Runs `command`, which messages call `name`, once, for at most `limit`. A failure is not an error here: the benchmark reports it.
pub(crate) fn time_of(
    context: &Context<'_>,
    command: Command,
    name: &str,
    limit: Option<Duration>,
) -> Result<Probe, ExperimentError> {
    let started = now(context.clock)?;
    let end = limit.map(|limit| started.saturating_add(limit));
    let limited = Limited { progress: context.progress, clock: context.clock, end };
    match run(command, name, &|| limited.is_cancelled()) {
        Ok(()) => Ok(Probe::Took(now(context.clock)?.saturating_sub(started))),
        Err(ClientError::Interrupted) if context.progress.is_cancelled() => Err(ExperimentError::Interrupted),
        Err(ClientError::Interrupted) => Ok(Probe::TooLong(limit.unwrap_or_default())),
        Err(ClientError::Program { .. }) => Ok(Probe::Unknown),
        Err(error) => Err(error.into()),
    }
}

/// The user's git on `git_dir`, in isolation, without caches and on one thread.
pub(crate) fn git(context: &Context<'_>, git_dir: &Path) -> Command {
    let settings = [
        ("core.commitGraph", "false"),
        ("core.multiPackIndex", "false"),
        ("pack.useBitmaps", "false"),
        ("pack.threads", "1"),
        ("repack.writeBitmaps", "false"),
    ];
    let mut command = isolated_git(&context.options.git, settings);
    command.env("GIT_DIR", git_dir);
    command
}

/// A copy in `scratch` of the repository at `root`, for commands of hg, which writes caches beside what it reads. Its files are links.
pub(crate) fn copy_for_hg(root: &Path, scratch: &Path) -> Result<PathBuf, ExperimentError> {
    let copy = scratch.join("copy");
    fs::create_dir(&copy).map_err(|error| ExperimentError::io("create", &copy, error))?;
    copy_repository(&root.join(".hg"), &copy.join(".hg")).map_err(BenchError::from)?;
    Ok(copy)
}

/// The user's hg, in isolation. Files that it keeps outside of repositories, such as large files, go to the folder `home`.
pub(crate) fn hg(context: &Context<'_>, home: &Path) -> Command {
    let mut command = isolated_hg(&context.options.hg);
    command.env("HOME", home).env_remove("XDG_CACHE_HOME");
    command
}
