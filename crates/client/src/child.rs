//! The runner: one command as a child, from its start to its end, or until the user wants to stop.
//!
//! The child leads a process group of its own, so that what it started ends with it.

use std::{
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use repackbench_reader::threads;

use crate::ClientError;

/// How often the runner asks whether the user wants to stop.
const POLL: Duration = Duration::from_millis(20);
/// How long a child may take to end after SIGTERM. The program itself ends within a second.
const PATIENCE: Duration = Duration::from_millis(400);
/// How much of a command's stderr is kept for messages, in bytes.
const KEPT: u64 = 4096;

/// Why a child gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It could not be started, or its output not read: why.
    #[error("{0}")]
    Failed(String),
    /// It ended with another status than 0.
    #[error("{status}{}{said}", if said.is_empty() { "" } else { ": " })]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// What it said on stderr, at least the beginning.
        said: String,
    },
    /// The stopwatch could not be read.
    #[error("cannot read the clock: {0}")]
    Stopwatch(io::Error),
    /// The system refuses to start a thread that attends to the child.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl ChildError {
    /// The error of the command that messages call `name`.
    pub fn of(self, name: &str) -> ClientError {
        match self {
            ChildError::Interrupted => ClientError::Interrupted,
            error => ClientError::Program { command: name.to_owned(), why: error.to_string() },
        }
    }
}

/// Receives what a command writes to stdout.
pub trait Sink {
    /// The next bytes.
    fn take(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn take(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Measures a child from outside.
pub trait Stopwatch {
    /// Called right before the child starts.
    ///
    /// # Errors
    /// The clock cannot be read.
    fn start(&mut self) -> io::Result<()>;

    /// Called right after the child has been waited for.
    ///
    /// # Errors
    /// The clock cannot be read.
    fn stop(&mut self) -> io::Result<()>;
}

/// Measures nothing.
impl Stopwatch for () {
    fn start(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn stop(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs `command`, which has its stdin already, to its end, or until `is_cancelled`. What it writes to stdout goes through a pipe into
/// `stdout`, in this thread, or nowhere if that is `None`.
///
/// # Errors
/// See [`ChildError`].
pub fn run_child(
    command: &mut Command,
    is_cancelled: &(dyn Fn() -> bool + Sync),
    stdout: Option<&mut dyn Sink>,
    stopwatch: &mut dyn Stopwatch,
) -> Result<(), ChildError> {
    let failed = |error: io::Error| ChildError::Failed(error.to_string());
    command.stdout(if stdout.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stderr(Stdio::piped()).process_group(0);
    stopwatch.start().map_err(ChildError::Stopwatch)?;
    let mut child = command.spawn().map_err(failed)?;
    let attended = attend(&mut child, is_cancelled, stdout);
    let status = child.wait().map_err(failed)?;
    stopwatch.stop().map_err(ChildError::Stopwatch)?;
    if is_cancelled() {
        return Err(ChildError::Interrupted);
    }
    let (read, said) = attended.map_err(ChildError::Thread)?;
    read.map_err(failed)?;
    if status.success() { Ok(()) } else { Err(ChildError::Ended { status, said }) }
}

/// Runs `command`, which messages call `name`, to its end, or until `is_cancelled`. Its output is ignored.
///
/// # Errors
/// [`ClientError::Program`] when it cannot be run or fails, with what it said; [`ClientError::Interrupted`].
pub fn run(mut command: Command, name: &str, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<(), ClientError> {
    command.stdin(Stdio::null());
    run_child(&mut command, is_cancelled, None, &mut ()).map_err(|error| error.of(name))
}

/// Runs `command`, which has its stdin already, to its end, and returns its output. The user cannot stop it: Ctrl-C at a terminal goes
/// to this process, which stops once the command is done.
///
/// # Errors
/// See [`ChildError`].
pub fn output(command: &mut Command) -> Result<Vec<u8>, ChildError> {
    let mut output = Vec::new();
    run_child(command, &|| false, Some(&mut output), &mut ())?;
    Ok(output)
}

/// The output of `command`, which messages call `name`, as text.
pub(crate) fn text(mut command: Command, name: &str) -> Result<String, ClientError> {
    let output = output(command.stdin(Stdio::null())).map_err(|error| error.of(name))?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

/// Takes what the child writes until it has ended, but does not wait for it yet. Returns how reading stdout ended, and the beginning of
/// stderr.
///
/// # Errors
/// A thread cannot be started, to read stderr or to end the child. Then the child is killed.
fn attend(
    child: &mut Child,
    is_cancelled: &(dyn Fn() -> bool + Sync),
    sink: Option<&mut dyn Sink>,
) -> io::Result<(io::Result<()>, String)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let pid = i32::try_from(child.id()).map(Pid::from_raw).ok();
    let (ended, has_ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let said = threads::spawn(scope, move || stderr.map_or_else(String::new, beginning));
        let started = said.and_then(|said| {
            threads::spawn(scope, move || end_when_cancelled(pid, is_cancelled, &has_ended)).map(|_| said)
        });
        // An error of the signal means that the child is gone already.
        let said = started.inspect_err(|_| {
            let _ = pid.map(|group| killpg(group, Signal::SIGKILL));
        })?;
        let read = stdout.zip(sink).map_or(Ok(()), |(stdout, sink)| drain(stdout, sink));
        if let Some(pid) = pid {
            // Not reaped: its number stays its own while it may still be sent a signal. An error shows when it is waited for.
            let _ = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
        }
        let said = said.join().unwrap_or_default();
        drop(ended);
        Ok((read, said))
    })
}

fn drain(mut from: impl Read, sink: &mut dyn Sink) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => sink.take(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The beginning of what is read. The rest is read as well, or the child would block.
fn beginning(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = from.by_ref().take(KEPT).read_to_end(&mut kept);
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&kept).trim_end().to_owned()
}

/// Waits until the child has ended. If the user wants to stop, ends its process group: by SIGTERM, and after a while by SIGKILL.
fn end_when_cancelled(pid: Option<Pid>, is_cancelled: &(dyn Fn() -> bool + Sync), has_ended: &Receiver<()>) {
    let mut asked: Option<Instant> = None;
    while let Err(RecvTimeoutError::Timeout) = has_ended.recv_timeout(POLL) {
        let Some(group) = pid.filter(|_| is_cancelled()) else { continue };
        // An error of a signal means that the group is gone already.
        match asked {
            None => {
                let _ = killpg(group, Signal::SIGTERM);
                asked = Some(Instant::now());
            }
            Some(when) if when.elapsed() > PATIENCE => {
                let _ = killpg(group, Signal::SIGKILL);
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    /// Counts its readings.
    #[derive(Default)]
    struct Counter {
        started: u32,
        stopped: u32,
    }

    impl Stopwatch for Counter {
        fn start(&mut self) -> io::Result<()> {
            self.started += 1;
            Ok(())
        }

        fn stop(&mut self) -> io::Result<()> {
            self.stopped += 1;
            if self.stopped == 2 { Err(io::Error::other("no more time")) } else { Ok(()) }
        }
    }

    #[test]
    fn stdout_is_taken_and_the_stopwatch_read() {
        let (mut out, mut stopwatch) = (Vec::new(), Counter::default());
        run_child(&mut shell("echo said; echo aside >&2"), &|| false, Some(&mut out), &mut stopwatch).unwrap();
        assert_eq!((out.as_slice(), stopwatch.started, stopwatch.stopped), (&b"said\n"[..], 1, 1));
        let error = run_child(&mut shell("exit 3"), &|| false, None, &mut stopwatch).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the clock: no more time");
        assert_eq!(output(&mut shell("echo a b")).unwrap(), b"a b\n");
    }

    #[test]
    fn failures_quote_what_the_command_said() {
        let error = |script: &str| run_child(&mut shell(script), &|| false, None, &mut ()).unwrap_err().to_string();
        assert_eq!(error("echo out; echo 'fatal: no such thing' >&2; exit 3"), "exit status: 3: fatal: no such thing");
        assert_eq!(error("exit 4"), "exit status: 4");
        assert!(error("kill -9 $$").contains("signal: 9"), "{}", error("kill -9 $$"));
        let found = run(Command::new("/no/such/program"), "some program", &|| false).unwrap_err().to_string();
        assert!(found.starts_with("some program: "), "{found}");
    }

    /// Gone, or a zombie that nobody has waited for yet. On a busy machine a signal takes its time to arrive.
    fn ends(pid: i32) -> bool {
        let is_alive = || {
            let state = fs::read_to_string(format!("/proc/{pid}/stat"));
            state.is_ok_and(|state| !state.contains(") Z "))
        };
        let begun = Instant::now();
        while is_alive() && begun.elapsed() < Duration::from_secs(1800) {
            thread::sleep(Duration::from_millis(5));
        }
        !is_alive()
    }

    #[test]
    fn cancelling_ends_the_child_and_its_own_children() {
        struct Stop<'a>(&'a AtomicBool, Vec<u8>);
        impl Sink for Stop<'_> {
            fn take(&mut self, bytes: &[u8]) {
                self.1.take(bytes);
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let cancelled = AtomicBool::new(false);
        let is_cancelled = || cancelled.load(Ordering::Relaxed);
        let mut sink = Stop(&cancelled, Vec::new());
        // Both would sleep for longer than any test may take, and the second holds the pipe open.
        let mut command = shell("sleep 1000 & echo $!; wait");
        let error = run_child(&mut command, &is_cancelled, Some(&mut sink), &mut ()).unwrap_err();
        assert!(matches!(error, ChildError::Interrupted), "{error}");
        assert!(ends(String::from_utf8(sink.1).unwrap().trim().parse().unwrap()));
    }

    #[test]
    fn cancelling_ends_a_child_whose_output_is_ignored() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("said");
        let said = || -> Option<i32> { fs::read_to_string(&file).ok()?.strip_suffix('\n')?.parse().ok() };
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $! > \"$1\"; wait", "sh"]).arg(&file);
        let error = run(command, "sh", &|| said().is_some()).unwrap_err();
        assert!(matches!(error, ClientError::Interrupted), "{error}");
        assert!(ends(said().unwrap()));
    }
}
