//! Programs of the user's that do a part of the work: hg and git, where they choose deltas again.

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

use crate::{Progress, Result, WriterError};

/// How often the end of the program and the user's wish to stop are looked for.
const POLL: Duration = Duration::from_millis(20);

/// How long a program may take to end in order.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most of a program's last words that a message quotes, in bytes.
const LAST_WORDS: usize = 1000;

/// Runs `command`, which messages call `name`, to its end, or to the user's wish to stop: then what it started ends with it.
///
/// # Errors
/// [`WriterError::Program`] when it cannot be run or fails, with its last words; [`WriterError::Interrupted`].
pub fn run(mut command: Command, name: &str, progress: &dyn Progress) -> Result<()> {
    let failed = |why: String| WriterError::Program { command: name.to_owned(), why };
    let io = |error: io::Error| failed(error.to_string());
    let mut said = tempfile::tempfile().map_err(io)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(io)?);
    let mut child = command.process_group(0).spawn().map_err(io)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        if progress.is_cancelled() {
            end(&mut child).map_err(io)?;
            return Err(WriterError::Interrupted);
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
pub(crate) fn ask(mut command: Command, name: &str) -> Result<String> {
    let failed = |why: String| WriterError::Program { command: name.to_owned(), why };
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
    use std::{fs, path::PathBuf};

    use super::*;
    use crate::ProgressUnit;

    /// Cancelled once the file holds a line.
    struct UntilSaid(PathBuf);

    impl UntilSaid {
        fn said(&self) -> Option<i32> {
            fs::read_to_string(&self.0).ok()?.strip_suffix('\n')?.parse().ok()
        }
    }

    impl Progress for UntilSaid {
        fn start(&self, _step: &str, _total: u64, _unit: ProgressUnit) {}
        fn advance(&self, _amount: u64) {}
        fn finish(&self) {}
        fn is_cancelled(&self) -> bool {
            self.said().is_some()
        }
    }

    #[test]
    fn what_a_program_started_ends_with_it() {
        let scratch = tempfile::tempdir().unwrap();
        let progress = UntilSaid(scratch.path().join("said"));
        let mut command = Command::new("sh");
        // Both would sleep for longer than any test may take.
        command.args(["-c", "sleep 1000 & echo $! > \"$1\"; wait", "sh"]).arg(&progress.0);
        let error = run(command, "sh", &progress).unwrap_err();
        assert!(matches!(error, WriterError::Interrupted), "{error}");
        // Gone, or about to be: killed, and not waited for by anyone yet.
        let place = format!("/proc/{}/stat", progress.said().unwrap());
        let is_alive = || fs::read_to_string(&place).is_ok_and(|state| !state.contains(") Z "));
        let begun = Instant::now();
        while is_alive() && begun.elapsed() < Duration::from_secs(1800) {
            thread::sleep(POLL);
        }
        assert!(!is_alive());
    }
}
