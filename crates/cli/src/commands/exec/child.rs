//! The command as a child: signals go to it, and its end becomes ours.

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, ExitCode, ExitStatus},
    thread,
};

use nix::{
    sys::signal::{SigSet, Signal, kill, raise},
    unistd::Pid,
};

use crate::failure::{FAILED, Failure};

/// What would end this program before the child's work is brought back.
const PASSED_ON: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];

/// What a shell adds to a signal's number.
const SIGNALLED: u8 = 128;

/// Runs the command to its end, and ends alike.
pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    end_alike(wait(command)?)
}

/// Runs the command to its end; signals that arrive meanwhile go to it.
pub(super) fn wait(mut command: Command) -> Result<ExitStatus, Failure> {
    let failed = |error: &dyn std::fmt::Display, command: &Command| {
        Failure::new(FAILED, format!("{}: {error}", command.get_program().display()))
    };
    let signals = SigSet::from_iter(PASSED_ON);
    // Blocked for this thread and those that it starts; a child begins with none blocked.
    signals.thread_block().map_err(|error| failed(&error, &command))?;
    let mut child = command.spawn().map_err(|error| failed(&error, &command))?;
    let pid = i32::try_from(child.id()).map(Pid::from_raw).map_err(|error| failed(&error, &command))?;
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            // Gone already: then the signal is for nobody.
            let _ = kill(pid, signal);
        }
    });
    child.wait().map_err(|error| failed(&error, &command))
}

/// Ends as the child did: with its status, or by the same signal.
pub(super) fn end_alike(ended: ExitStatus) -> Result<ExitCode, Failure> {
    if let Some(code) = ended.code() {
        return Ok(ExitCode::from(u8::try_from(code).unwrap_or(FAILED)));
    }
    let number = ended.signal().unwrap_or_default();
    if let Ok(signal) = Signal::try_from(number) {
        let _ = SigSet::from_iter([signal]).thread_unblock();
        let _ = raise(signal);
    }
    // Ignored, as SIGPIPE is: what a shell would say of it.
    Ok(ExitCode::from(SIGNALLED.saturating_add(u8::try_from(number).unwrap_or_default())))
}
