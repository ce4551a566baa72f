//! A command as a child, timed.

use std::{io, process::Command};

use repackbench_client::{Sink, Stopwatch, run_child};
use repackbench_writer::Progress;

use super::StockError;
use crate::{
    clock::{Clock, ClockReading, Sample},
    probe::{Faults, JobUsage},
};

/// A command that has succeeded.
#[derive(Debug, Clone, Copy)]
pub struct Finished {
    /// CPU time of the process and of all that it waited for; elapsed time until it was waited for.
    pub sample: Sample,
    pub(crate) usage: JobUsage,
}

/// Runs `command`, which has its stdin already, to its end. What it writes to stdout goes through a pipe into `sink`,
/// in this thread, whose time is not the child's.
///
/// # Errors
/// It cannot be started, ends with another status than 0, or the user wants to stop.
pub fn run_timed(
    command: &mut Command,
    clock: &dyn Clock,
    progress: &dyn Progress,
    sink: &mut dyn Sink,
) -> Result<Finished, StockError> {
    let mut stopwatch = ChildrenClock { clock, faults: Faults::default(), start: None, finished: None };
    run_child(command, &|| progress.is_cancelled(), Some(sink), &mut stopwatch)
        .map_err(|error| StockError::of(command, error))?;
    let unread = || StockError::Clock(io::Error::other("it was not read"));
    stopwatch.finished.ok_or_else(unread)
}

/// The clock of child processes, read before a child and after it.
struct ChildrenClock<'a> {
    clock: &'a dyn Clock,
    faults: Faults,
    start: Option<ClockReading>,
    finished: Option<Finished>,
}

impl Stopwatch for ChildrenClock<'_> {
    fn start(&mut self) -> io::Result<()> {
        self.faults = Faults::of_children();
        self.start = Some(self.clock.read_children()?);
        Ok(())
    }

    fn stop(&mut self) -> io::Result<()> {
        let end = self.clock.read_children()?;
        let usage = JobUsage { read_calls: None, ..self.faults.until(Faults::of_children()) };
        self.finished = self.start.map(|start| Finished { sample: Sample::between(start, end), usage });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, process::Stdio, time::Duration};

    use repackbench_writer::NoProgress;

    use super::*;
    use crate::clock::SystemClock;

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
            Err(io::Error::other("nothing is measured by this thread's time"))
        }

        fn read_cpu(&self) -> io::Result<Duration> {
            Err(io::Error::other("nothing is measured by this thread's time"))
        }

        fn read_children(&self) -> io::Result<ClockReading> {
            let count = self.0.replace(self.0.get() + 1);
            let after = |step: u64| Duration::from_millis(step) * count;
            Ok(ClockReading { wall: after(90), user: after(30), sys: after(10) })
        }
    }

    #[test]
    fn sample_is_the_time_of_children() {
        let mut out = Vec::new();
        let clock = FakeClock::default();
        let finished = run_timed(&mut shell("echo said; echo aside >&2"), &clock, &NoProgress, &mut out).unwrap();
        assert_eq!(out, b"said\n");
        let milliseconds = Duration::from_millis;
        let expected = Sample { wall: milliseconds(90), user: milliseconds(30), sys: milliseconds(10), writing: None };
        assert_eq!(finished.sample, expected);
    }

    #[test]
    fn time_of_grandchildren_counts() {
        let spin = "i=0; while test $i -lt 20000; do i=$((i+1)); done";
        let clock = SystemClock::new();
        let script = format!("sh -c '{spin}' | cat");
        let finished = run_timed(&mut shell(&script), &clock, &NoProgress, &mut Vec::new()).unwrap();
        assert!(finished.sample.user + finished.sample.sys > Duration::from_millis(2), "{finished:?}");
    }

    #[test]
    fn errors_name_the_command() {
        let error = |command: &mut Command| {
            run_timed(command, &SystemClock::new(), &NoProgress, &mut Vec::new()).unwrap_err().to_string()
        };
        let found = error(&mut shell("echo 'fatal: no such thing' >&2; exit 3"));
        assert!(found.ends_with("exit status: 3: fatal: no such thing") && found.starts_with("sh -c "), "{found}");
        let found = error(&mut Command::new("/no/such/program"));
        assert!(found.starts_with("/no/such/program: "), "{found}");
    }
}
