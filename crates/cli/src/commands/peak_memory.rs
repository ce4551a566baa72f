//! `repackbench peak-memory`: a small parent for one command, so that what the kernel tells of its children is that command's.

use std::{
    ffi::OsString,
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
};

use clap::Parser;
use nix::sys::resource::{UsageWho, getrusage};
use repackbench_timing::arms::stock::METER_COMMAND;

use super::name_of;
use crate::{
    child,
    failure::{FAILED, Failure, USAGE},
};

/// Run a command, and write the most bytes of memory that any of its processes held to a file.
#[derive(Debug, Parser)]
#[command(name = METER_COMMAND, hide = true)]
pub(crate) struct PeakMemoryArguments {
    /// The file, new or not; it is left as it is where nothing is known.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The program, and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Runs the command, writes its peak, and ends as it did.
pub(crate) fn run(arguments: &PeakMemoryArguments) -> Result<ExitCode, Failure> {
    let Some((program, words)) = arguments.command.split_first() else {
        return Err(Failure::new(USAGE, "expected a command"));
    };
    let mut command = Command::new(program);
    command.args(words);
    let ended = child::wait(command)?;
    if let Some(bytes) = peak_of_children() {
        let written = fs::write(&arguments.file, format!("{bytes}\n"));
        written.map_err(|error| Failure::new(FAILED, format!("{}: {error}", name_of(&arguments.file))))?;
    }
    child::end_alike(ended)
}

/// The most memory that a process held which this one has waited for, or one that such a process has waited for.
///
/// `None` where the system does not tell, and where it is no more than this program held: a child begins with what its parent holds
/// (`exec` keeps the peak of what it replaces), so that nothing smaller can be seen.
fn peak_of_children() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        // Other systems count in other units.
        return None;
    }
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?.max_rss();
    let peak = u64::try_from(kibibytes).ok().filter(|peak| *peak > 0)?;
    // Of this program since it was started: what `getrusage` tells of itself is also what its own parent held.
    let own = fs::read_to_string("/proc/self/status").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let own: u64 = own.split_whitespace().next()?.parse().ok()?;
    if peak > own { peak.checked_mul(1024) } else { None }
}
