//! About how long a command of the user's own git or hg takes, before a benchmark of it is begun.

use std::{path::Path, process::Command, time::Duration};

use repackbench_timing::clock::Clock;
use repackbench_writer::{Progress, ProgressUnit, WriterError, run_program};

use crate::{Context, ExperimentError, budget::now, text};

/// What is known of the time that one run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Nothing.
    Unknown,
    /// About so much.
    Took(Duration),
    /// More than this, which is all that there was time for.
    TooLong(Duration),
}

impl Probe {
    /// The same of something that takes `part` of the time.
    pub(crate) fn scaled(self, part: f64) -> Self {
        match self {
            Probe::Unknown => Probe::Unknown,
            Probe::Took(time) => Probe::Took(time.mul_f64(part)),
            Probe::TooLong(time) => Probe::TooLong(time.mul_f64(part)),
        }
    }

    /// The time, which may be more.
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            Probe::Unknown => None,
            Probe::Took(time) | Probe::TooLong(time) => Some(time),
        }
    }

    /// In words.
    pub(crate) fn words(self) -> String {
        match self {
            Probe::Unknown => "an unknown time".to_owned(),
            Probe::Took(time) => format!("about {}", text::time(time)),
            Probe::TooLong(time) => format!("more than {}", text::time(time)),
        }
    }
}

/// Ends a command that takes longer than there is time for.
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

/// Runs `command`, which messages call `name`, once, for `limit` at most. One that fails tells nothing: the benchmark will say why.
pub(crate) fn time_of(
    context: &Context<'_>,
    command: Command,
    name: &str,
    limit: Option<Duration>,
) -> Result<Probe, ExperimentError> {
    let started = now(context.clock)?;
    let end = limit.map(|limit| started.saturating_add(limit));
    let limited = Limited { progress: context.progress, clock: context.clock, end };
    match run_program(command, name, &limited) {
        Ok(()) => Ok(Probe::Took(now(context.clock)?.saturating_sub(started))),
        Err(WriterError::Interrupted) if context.progress.is_cancelled() => Err(ExperimentError::Interrupted),
        Err(WriterError::Interrupted) => Ok(Probe::TooLong(limit.unwrap_or_default())),
        Err(WriterError::Program { .. }) => Ok(Probe::Unknown),
        Err(error) => Err(error.into()),
    }
}

/// The user's git on `git_dir`, without caches and on one thread.
pub(crate) fn git(context: &Context<'_>, git_dir: &Path) -> Command {
    let mut command = Command::new(&context.options.git);
    remove_environment(&mut command, "GIT_");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_NO_LAZY_FETCH", "1");
    // No attributes but the repository's own.
    command.env("GIT_ATTR_NOSYSTEM", "1").env("XDG_CONFIG_HOME", "/dev/null");
    command.env("GIT_DIR", git_dir).env("LC_ALL", "C");
    for setting in ["core.commitGraph=false", "core.multiPackIndex=false", "pack.useBitmaps=false", "pack.threads=1"] {
        command.args(["-c", setting]);
    }
    command.args(["-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null", "-c", "repack.writeBitmaps=false"]);
    command
}

/// The user's hg, without configuration.
pub(crate) fn hg(context: &Context<'_>) -> Command {
    let mut command = Command::new(&context.options.hg);
    remove_environment(&mut command, "HG");
    command.env("HGRCPATH", "").env("HGRCSKIPREPO", "1").env("HGPLAIN", "1").env("LC_ALL", "C.UTF-8");
    command.env("HGMODULEPOLICY", "c").args(["--config", "worker.enabled=no"]);
    for setting in SLOW_PATHS {
        command.args(["--config", setting]);
    }
    command
}

/// What hg does well in Rust, it may do in C and Python.
const SLOW_PATHS: [&str; 3] = [
    "storage.all-slow-path=allow",
    "storage.dirstate-v2.slow-path=allow",
    "storage.revlog.persistent-nodemap.slow-path=allow",
];

fn remove_environment(command: &mut Command, prefix: &str) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(prefix) {
            command.env_remove(name);
        }
    }
}
