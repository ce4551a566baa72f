//! One command as a child: its time, its output, its end.
//!
//! The child leads a process group of its own, so that what it started ends with it when the user stops the benchmark.

use std::{
    io::{self, Read},
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
use repackbench_writer::Progress;

use super::StockError;
use crate::{
    clock::{Clock, Sample},
    probe::{Faults, JobUsage},
};

/// How often it is asked whether the user wants to stop.
const ASKED_EVERY: Duration = Duration::from_millis(50);
/// How long a child may take to end in order.
const PATIENCE: Duration = Duration::from_secs(2);
/// As much of what a command says on stderr is kept.
const KEPT: u64 = 4096;

/// Takes what a command writes to stdout.
pub(crate) trait Sink {
    fn take(&mut self, bytes: &[u8]);
}

/// A command that has ended well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished {
    /// CPU time of the process and of all that it waited for; elapsed time until it was waited for.
    pub(crate) sample: Sample,
    pub(crate) usage: JobUsage,
}

/// Runs `command`, which has its stdin already, to its end. What it writes to stdout goes through a pipe into `sink`, in this thread, whose time is not the
/// child's.
///
/// # Errors
/// It cannot be started, ends with another status than 0, or the user wants to stop: then it is ended, too.
pub(crate) fn run(
    command: &mut Command,
    clock: &dyn Clock,
    progress: &dyn Progress,
    sink: &mut dyn Sink,
) -> Result<Finished, StockError> {
    use std::os::unix::process::CommandExt;
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let faults = Faults::of_children();
    let start = clock.read_children().map_err(StockError::Clock)?;
    let mut child = command.spawn().map_err(|error| StockError::failed(command, &error.to_string()))?;
    let attended = attend(&mut child, progress, sink);
    let status = child.wait().map_err(|error| StockError::failed(command, &error.to_string()))?;
    let end = clock.read_children().map_err(StockError::Clock)?;
    let usage = JobUsage { read_calls: None, ..faults.until(Faults::of_children()) };
    if progress.is_cancelled() {
        return Err(StockError::Interrupted);
    }
    let (read, said) = attended.map_err(StockError::Thread)?;
    read.map_err(|error| StockError::failed(command, &error.to_string()))?;
    if !status.success() {
        return Err(StockError::failed(command, &end_in_words(status, &said)));
    }
    Ok(Finished { sample: Sample::between(start, end), usage })
}

/// Takes what the child says until it has ended; it is not waited for yet.
///
/// # Errors
/// There is no thread for what it says besides its output, or for ending it. It is ended, then.
fn attend(child: &mut Child, progress: &dyn Progress, sink: &mut dyn Sink) -> io::Result<(io::Result<()>, String)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let pid = i32::try_from(child.id()).map(Pid::from_raw).ok();
    let (ended, has_ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let said = threads::spawn(scope, move || stderr.map_or_else(String::new, first_of));
        let started = said.and_then(|said| {
            threads::spawn(scope, move || end_when_cancelled(pid, progress, &has_ended)).map(|_| said)
        });
        // Where it cannot be ended, it is gone already, and what waits for its end goes on.
        let said = started.inspect_err(|_| {
            let _ = pid.map(|group| killpg(group, Signal::SIGKILL));
        })?;
        let read = stdout.map_or(Ok(()), |stdout| drain(stdout, sink));
        if let Some(pid) = pid {
            // Not reaped: its number stays its own while it may still be sent a signal. An error shows when it is waited for.
            let _ = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
        }
        drop(ended);
        Ok((read, said.join().unwrap_or_default()))
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

/// The beginning of what is read; the rest is read, too, or the child would wait.
fn first_of(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = from.by_ref().take(KEPT).read_to_end(&mut kept);
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&kept).trim_end().to_owned()
}

/// Waits until the child has ended, and ends it if the user wants that: in order, and if it does not, at once.
fn end_when_cancelled(pid: Option<Pid>, progress: &dyn Progress, has_ended: &Receiver<()>) {
    let mut asked: Option<Instant> = None;
    while let Err(RecvTimeoutError::Timeout) = has_ended.recv_timeout(ASKED_EVERY) {
        let Some(group) = pid.filter(|_| progress.is_cancelled()) else { continue };
        // Gone already: then the signal is for nobody.
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

/// `exit status: 3: fatal: ...`.
fn end_in_words(status: ExitStatus, said: &str) -> String {
    if said.is_empty() { status.to_string() } else { format!("{status}: {said}") }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, sync::atomic::AtomicBool, sync::atomic::Ordering};

    use repackbench_writer::{NoProgress, ProgressUnit};

    use super::*;
    use crate::clock::{ClockReading, SystemClock};

    impl Sink for Vec<u8> {
        fn take(&mut self, bytes: &[u8]) {
            self.extend_from_slice(bytes);
        }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    /// Children that take 40 ms of CPU time each, and 90 elapsed.
    #[derive(Default)]
    struct FakeClock(Cell<u32>);

    impl Clock for FakeClock {
        fn read(&self) -> io::Result<ClockReading> {
            Err(io::Error::other("this thread's time is nobody's business"))
        }

        fn read_cpu(&self) -> io::Result<Duration> {
            Err(io::Error::other("this thread's time is nobody's business"))
        }

        fn read_children(&self) -> io::Result<ClockReading> {
            let count = self.0.replace(self.0.get() + 1);
            let after = |step: u64| Duration::from_millis(step) * count;
            Ok(ClockReading { wall: after(90), user: after(30), sys: after(10) })
        }
    }

    #[test]
    fn a_sample_is_the_children_s_time() {
        let mut out = Vec::new();
        let clock = FakeClock::default();
        let finished = run(&mut shell("echo said; echo aside >&2"), &clock, &NoProgress, &mut out).unwrap();
        assert_eq!(out, b"said\n");
        let milliseconds = Duration::from_millis;
        let expected = Sample { wall: milliseconds(90), user: milliseconds(30), sys: milliseconds(10), writing: None };
        assert_eq!(finished.sample, expected);
    }

    #[test]
    fn children_of_children_count() {
        let spin = "i=0; while test $i -lt 20000; do i=$((i+1)); done";
        let clock = SystemClock::new();
        let script = format!("sh -c '{spin}' | cat");
        let finished = run(&mut shell(&script), &clock, &NoProgress, &mut Vec::new()).unwrap();
        assert!(finished.sample.user + finished.sample.sys > Duration::from_millis(2), "{finished:?}");
    }

    #[test]
    fn an_end_that_is_not_well_says_what_the_command_said() {
        let error = |script: &str| {
            run(&mut shell(script), &SystemClock::new(), &NoProgress, &mut Vec::new()).unwrap_err().to_string()
        };
        let found = error("echo out; echo 'fatal: no such thing' >&2; exit 3");
        assert!(found.ends_with("exit status: 3: fatal: no such thing") && found.starts_with("sh -c "), "{found}");
        assert!(error("kill -9 $$").contains("signal: 9"), "{}", error("kill -9 $$"));
        let mut none = Command::new("/no/such/program");
        let found = run(&mut none, &SystemClock::new(), &NoProgress, &mut Vec::new()).unwrap_err().to_string();
        assert!(found.starts_with("/no/such/program: "), "{found}");
    }

    /// Cancelled once the child has said something.
    #[derive(Default)]
    struct Cancelled(AtomicBool);

    impl Progress for Cancelled {
        fn start(&self, _step: &str, _total: u64, _unit: ProgressUnit) {}
        fn advance(&self, _amount: u64) {}
        fn finish(&self) {}
        fn is_cancelled(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn a_child_ends_with_the_benchmark_and_so_do_its_own() {
        struct Stop<'a>(&'a Cancelled, Vec<u8>);
        impl Sink for Stop<'_> {
            fn take(&mut self, bytes: &[u8]) {
                self.1.extend_from_slice(bytes);
                self.0.0.store(true, Ordering::Relaxed);
            }
        }
        let cancelled = Cancelled::default();
        let mut sink = Stop(&cancelled, Vec::new());
        // Both would sleep for longer than any test may take, and the second holds the pipe open.
        let mut command = shell("sleep 1000 & echo $!; wait");
        let error = run(&mut command, &SystemClock::new(), &cancelled, &mut sink).unwrap_err();
        assert!(matches!(error, StockError::Interrupted), "{error}");
        let pid: i32 = String::from_utf8(sink.1).unwrap().trim().parse().unwrap();
        // Gone, or a zombie that nobody has waited for yet; on a busy machine a signal takes its time to arrive.
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_gone = |state: &str| state.is_empty() || state.contains(") Z ");
        let patience = Instant::now() + Duration::from_secs(1800);
        while !is_gone(&state()) && Instant::now() < patience {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(is_gone(&state()), "{}", state());
    }
}
