//! A command that runs in this program's place: signals are passed on to it, and this program ends as it does.

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
};

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{Id, WaitPidFlag, WaitStatus, waitid},
    },
    unistd::Pid,
};
use signal_hook::{
    consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    iterator::{SignalsInfo, exfiltrator::WithOrigin},
    low_level::{
        emulate_default_handler,
        siginfo::{Cause, Origin},
    },
};

use crate::{ClientError, name_of};

/// Signals that would end this program before the command's end is known.
const PASSED_ON: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// What a shell adds to a signal's number for an exit status.
const SIGNALLED: u8 = 128;

/// Runs the command to its end. Signals that arrive meanwhile are passed on to it, once.
///
/// # Errors
/// [`ClientError::Program`]: it cannot be started, or signals cannot be handled.
pub fn run_in_foreground(mut command: Command) -> Result<ExitStatus, ClientError> {
    let failed = |error: &dyn std::fmt::Display, command: &Command| {
        let name = name_of(command.get_program().as_ref());
        ClientError::Program { command: name, why: error.to_string() }
    };
    // Handled before the child exists, and kept until its number is known; the child begins with the defaults.
    let handled = PASSED_ON.into_iter().chain([SIGCHLD]);
    let mut signals = SignalsInfo::<WithOrigin>::new(handled).map_err(|error| failed(&error, &command))?;
    let mut child = command.spawn().map_err(|error| failed(&error, &command))?;
    let pid = i32::try_from(child.id()).map(Pid::from_raw).map_err(|error| failed(&error, &command))?;
    for origin in signals.forever() {
        if origin.signal == SIGCHLD {
            // Not reaped: its number stays its own while it may still be sent a signal. An error shows when it is
            // waited for.
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
            match waitid(Id::Pid(pid), flags) {
                Ok(WaitStatus::StillAlive) => {}
                _ => break,
            }
        } else if !is_from_terminal(&origin)
            && let Ok(signal) = Signal::try_from(origin.signal)
        {
            // An error means that it is gone already.
            let _ = kill(pid, signal);
        }
    }
    // Signals that arrive from now on end neither.
    child.wait().map_err(|error| failed(&error, &command))
}

/// Whether the kernel sent it, for a key or the end of a terminal: then every process of the group has received it, including the child.
fn is_from_terminal(origin: &Origin) -> bool {
    matches!(origin.cause, Cause::Kernel)
}

/// Ends this process by the signal that ended the command, if one did. Returns the exit status to end with: the command's own, or what a
/// shell reports for a signal that this process cannot be ended by.
pub fn end_like(ended: ExitStatus) -> u8 {
    if let Some(code) = ended.code() {
        return u8::try_from(code).unwrap_or(u8::MAX);
    }
    let number = ended.signal().unwrap_or_default();
    let _ = emulate_default_handler(number);
    SIGNALLED.saturating_add(u8::try_from(number).unwrap_or_default())
}
