//! The command as a child: signals go to it, and its end becomes ours.

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, ExitCode, ExitStatus},
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

use crate::failure::{FAILED, Failure};

/// What would end this program before it has told of the child.
const PASSED_ON: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// What a shell adds to a signal's number.
const SIGNALLED: u8 = 128;

/// Runs the command to its end; signals that arrive meanwhile go to it, once.
pub(crate) fn wait(mut command: Command) -> Result<ExitStatus, Failure> {
    let failed = |error: &dyn std::fmt::Display, command: &Command| {
        Failure::new(FAILED, format!("{}: {error}", command.get_program().display()))
    };
    // Handled before there is a child, and kept until it is known; the child begins with the defaults.
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
            // Gone already: then the signal is for nobody.
            let _ = kill(pid, signal);
        }
    }
    // What arrives from now on ends neither.
    child.wait().map_err(|error| failed(&error, &command))
}

/// Whether the kernel sent it, for a key or the end of a terminal: then every process of the group has got it, the child too.
fn is_from_terminal(origin: &Origin) -> bool {
    matches!(origin.cause, Cause::Kernel)
}

/// Ends as the child did: with its status, or by the same signal.
pub(crate) fn end_alike(ended: ExitStatus) -> Result<ExitCode, Failure> {
    if let Some(code) = ended.code() {
        return Ok(ExitCode::from(u8::try_from(code).unwrap_or(FAILED)));
    }
    let number = ended.signal().unwrap_or_default();
    let _ = emulate_default_handler(number);
    // One that cannot be had at will: what a shell would say of it.
    Ok(ExitCode::from(SIGNALLED.saturating_add(u8::try_from(number).unwrap_or_default())))
}
