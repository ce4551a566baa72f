//! The time that child processes and this process take.

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};

use crate::{BenchError, Result};

/// Stock git without configuration, network or any repository but the one that is named.
/// `home` must be a folder without git configuration.
pub fn stock_git(home: &Path) -> Command {
    let mut git = Command::new("git");
    git.env_clear();
    git.envs(env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"));
    git.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_ALLOW_PROTOCOL", "file").env("LC_ALL", "C");
    git
}

/// The time of a child process from its start to its end, including its start-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildTime {
    /// Elapsed time.
    pub wall: Duration,
    /// User and system CPU time of all its threads and of the processes that it waited for.
    pub cpu: Duration,
}

/// Runs `command`, discards its output and returns its time.
///
/// The CPU time is the difference of that of all finished children, so this process must have no other child meanwhile.
///
/// # Errors
/// The command cannot be started, or fails.
pub fn time_child(command: &mut Command) -> Result<ChildTime> {
    let before = cpu_of_children()?;
    let start = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| BenchError::io("run", command.get_program(), e))?;
    let wall = start.elapsed();
    let cpu = cpu_of_children()?.saturating_sub(before);
    check(command, output.status, &output.stderr)?;
    Ok(ChildTime { wall, cpu })
}

/// Runs `command` and counts the lines of its output that `wanted` accepts. The lines have no newline.
///
/// # Errors
/// The command cannot be started, or fails, or its output cannot be read.
pub fn count_lines(command: &mut Command, wanted: impl Fn(&[u8]) -> bool) -> Result<u64> {
    let program = command.get_program().to_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|e| BenchError::io("run", &program, e))?;
    let mut count = 0;
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.read_until(b'\n', &mut line).map_err(|e| BenchError::io("read from", &program, e))? == 0 {
                break;
            }
            count += u64::from(wanted(line.strip_suffix(b"\n").unwrap_or(&line)));
        }
    }
    let status = child.wait().map_err(|e| BenchError::io("wait for", &program, e))?;
    check(command, status, b"")?;
    Ok(count)
}

fn check(command: &Command, status: ExitStatus, stderr: &[u8]) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let why = format!("{status}\n{}", String::from_utf8_lossy(stderr).trim_end());
    Err(BenchError::Child { command: words.join(" "), why })
}

/// The user and system CPU time of all threads of this process.
///
/// # Errors
/// The operating system does not report it.
pub fn cpu_of_this_process() -> Result<Duration> {
    cpu_of(UsageWho::RUSAGE_SELF)
}

fn cpu_of_children() -> Result<Duration> {
    cpu_of(UsageWho::RUSAGE_CHILDREN)
}

fn cpu_of(who: UsageWho) -> Result<Duration> {
    let usage = getrusage(who).map_err(std::io::Error::from)?;
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}

/// Converts a `timeval` of CPU time, which is never negative. A negative one would count as zero.
fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let microseconds = u64::try_from(time.tv_usec()).unwrap_or(0);
    Duration::from_secs(seconds).saturating_add(Duration::from_micros(microseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// The test does not check the time: other tests have children meanwhile, and the machine may be busy.
    #[test]
    fn time_child_accepts_success() {
        time_child(&mut shell("echo said; echo aside >&2")).unwrap();
    }

    #[test]
    fn failure_includes_the_childs_message() {
        let error = time_child(&mut shell("echo no such thing >&2; exit 3")).unwrap_err().to_string();
        assert!(error.contains("exit 3") && error.contains("no such thing"), "{error}");
    }

    #[test]
    fn count_lines_counts_accepted_lines() {
        let is_not_blank = |line: &[u8]| !line.is_empty();
        assert_eq!(count_lines(&mut shell("printf 'a\\n\\nb\\nlast'"), is_not_blank).unwrap(), 3);
        assert!(count_lines(&mut shell("exit 1"), is_not_blank).is_err());
    }
}
