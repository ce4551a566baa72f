//! `repackbench peak-memory`: a small parent for one command, so that the kernel's figures for its children are those
//! of the command.

use std::{
    ffi::OsString,
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
};

use clap::Parser;
use nix::sys::resource::{UsageWho, getrusage};
use repackbench_timing::arms::stock::METER_COMMAND;

use crate::{
    child,
    failure::{FAILED, Failure, USAGE},
    repository::name_of,
};

/// Run a command, and write the peak memory of its processes, in bytes, to a file.
#[derive(Debug, Parser)]
#[command(name = METER_COMMAND, hide = true)]
pub(crate) struct PeakMemoryArguments {
    /// File to write, new or existing; it is left unchanged if the peak is unknown.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Program and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Runs the command, writes its peak, and ends with the status of the command.
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

/// The peak memory of any child that was waited for, or of its own children, in bytes.
///
/// `None` if the system does not report it, or if it is not above the peak of this program: a child starts with the
/// memory of its parent, and `exec` keeps the peak of the program it replaces, so a smaller peak is invisible.
fn peak_of_children() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        // Other systems use other units.
        return None;
    }
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?.max_rss();
    let peak = u64::try_from(kibibytes).ok().filter(|peak| *peak > 0)?;
    // The peak since this program started. That of `getrusage` includes the parent of this program.
    let own = fs::read_to_string("/proc/self/status").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let own: u64 = own.split_whitespace().next()?.parse().ok()?;
    if peak > own { peak.checked_mul(1024) } else { None }
}
