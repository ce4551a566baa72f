//! Commands that are run to their end, or to the user's wish to stop.

use std::{
    io::{self, Read, Seek},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, WaitStatus, waitid},
    },
    unistd::Pid,
};

use crate::ClientError;

/// How often the end of the program and the user's wish to stop are looked for.
const POLL: Duration = Duration::from_millis(20);

/// How long a program may take to end in order.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most of a program's last words that a message quotes, in bytes.
const LAST_WORDS: usize = 1000;

/// Runs `command`, which messages call `name`, to its end, or until `is_cancelled`: then what it started ends with it.
///
/// # Errors
/// [`ClientError::Program`] when it cannot be run or fails, with its last words; [`ClientError::Interrupted`].
pub fn run(mut command: Command, name: &str, is_cancelled: &dyn Fn() -> bool) -> Result<(), ClientError> {
    let failed = |why: String| ClientError::Program { command: name.to_owned(), why };
    let io = |error: io::Error| failed(error.to_string());
    let mut said = tempfile::tempfile().map_err(io)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(io)?);
    let mut child = command.process_group(0).spawn().map_err(io)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        if is_cancelled() {
            end(&mut child).map_err(io)?;
            return Err(ClientError::Interrupted);
        }
        thread::sleep(POLL);
    };
    if status.success() {
        return Ok(());
    }
    let mut words = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut words)).map_err(io)?;
    Err(failed(format!("{status}: {}", last_words(&words))))
}

/// Ends the child and all of its process group: in order, and what does not end so, at once.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let pid = i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)?;
    // Errors of the signals: it may have ended by itself meanwhile.
    let _ = killpg(pid, Signal::SIGTERM);
    let asked = Instant::now();
    // Not reaped: the group's number stays its own while it may still be sent a signal.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    while asked.elapsed() < PATIENCE && matches!(waitid(Id::Pid(pid), flags), Ok(WaitStatus::StillAlive)) {
        thread::sleep(POLL);
    }
    let _ = killpg(pid, Signal::SIGKILL);
    child.wait()
}

/// What `command`, which messages call `name`, prints.
pub(crate) fn ask(mut command: Command, name: &str) -> Result<String, ClientError> {
    let failed = |why: String| ClientError::Program { command: name.to_owned(), why };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(failed(last_words(&output.stderr))),
    }
}

fn last_words(said: &[u8]) -> String {
    let start = said.len().saturating_sub(LAST_WORDS);
    String::from_utf8_lossy(said.get(start..).unwrap_or_default()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_program_started_ends_with_it() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("said");
        let said = || -> Option<i32> { fs::read_to_string(&file).ok()?.strip_suffix('\n')?.parse().ok() };
        let mut command = Command::new("sh");
        // Both would sleep for longer than any test may take.
        command.args(["-c", "sleep 1000 & echo $! > \"$1\"; wait", "sh"]).arg(&file);
        let error = run(command, "sh", &|| said().is_some()).unwrap_err();
        assert!(matches!(error, ClientError::Interrupted), "{error}");
        // Gone, or about to be: killed, and not waited for by anyone yet.
        let place = format!("/proc/{}/stat", said().unwrap());
        let is_alive = || fs::read_to_string(&place).is_ok_and(|state| !state.contains(") Z "));
        let begun = Instant::now();
        while is_alive() && begun.elapsed() < Duration::from_secs(1800) {
            thread::sleep(POLL);
        }
        assert!(!is_alive());
    }
}
