//! Runs a program and measures its CPU time, its elapsed time, and its peak memory, anonymous and mapped from files. All
//! of it comes from `/proc`, so this works on Linux only.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::process::{Failure, Outcome, shown};

/// The time between two looks at the memory. A peak that is shorter can be missed, except in `peak`.
const INTERVAL: Duration = Duration::from_millis(10);

/// The kernel's clock ticks in a second, on every architecture that Linux has today.
const TICKS: f64 = 100.0;

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Usage {
    /// CPU seconds, user and system.
    pub(super) user: f64,
    pub(super) system: f64,
    /// CPU seconds of the programs that it started and waited for. They are not in `user` and `system`.
    pub(super) children: f64,
    /// Elapsed seconds.
    pub(super) elapsed: f64,
    /// The largest `RssAnon` (and `RssShmem`) seen, in bytes: memory of the process's own.
    pub(super) anonymous: u64,
    /// The largest `RssFile` seen, in bytes: pages of mapped files, which the kernel can drop at any time.
    pub(super) mapped: u64,
    /// `VmHWM`, in bytes: the peak of both together, exactly.
    pub(super) peak: u64,
}

impl Usage {
    /// CPU seconds of the process and of the programs that it started.
    pub(super) fn cpu(&self) -> f64 {
        self.user + self.system + self.children
    }
}

/// Runs the command without its output on stdout, and measures it. Fails unless it exits with 0.
pub(super) fn measure(command: &mut Command) -> Outcome<Usage> {
    let shown = shown(command);
    eprintln!("$ {shown}");
    let failed = |error: &dyn std::fmt::Display| Failure(format!("{shown}: {error}"));
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map_err(|error| failed(&error))?;
    let watched = watch(&child, start);
    if watched.is_none() {
        // Not Linux, or not allowed to look.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| failed(&error))?;
    match watched {
        Some(usage) if status.success() => Ok(usage),
        Some(_) => Err(failed(&status)),
        None => Err(failed(&"no figures in /proc")),
    }
}

/// Watches the process until it ends. Its times stay in `/proc` until somebody waits for it.
fn watch(child: &Child, start: Instant) -> Option<Usage> {
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let (mut anonymous, mut mapped, mut peak) = (0, 0, 0);
    loop {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        let (state, [user, system, children]) = times(&stat)?;
        if state == 'Z' {
            let elapsed = start.elapsed().as_secs_f64();
            return Some(Usage { user, system, children, elapsed, anonymous, mapped, peak });
        }
        let status = fs::read_to_string(folder.join("status")).ok()?;
        anonymous = anonymous.max(memory(&status, "RssAnon:") + memory(&status, "RssShmem:"));
        mapped = mapped.max(memory(&status, "RssFile:"));
        peak = peak.max(memory(&status, "VmHWM:"));
        sleep(INTERVAL);
    }
}

/// The state of a process, and its CPU seconds (user, system, children), from the text of `/proc/PID/stat`.
fn times(stat: &str) -> Option<(char, [f64; 3])> {
    // The second field is the program's name in parentheses, which may hold spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let seconds = |index: usize| Some(fields.get(index)?.parse::<f64>().ok()? / TICKS);
    let state = fields.first()?.chars().next()?;
    Some((state, [seconds(11)?, seconds(12)?, seconds(13)? + seconds(14)?]))
}

/// A figure of `/proc/PID/status` in bytes. 0 if it is not there: a process that just ended has none.
fn memory(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|number| number.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times_after_a_name_with_spaces() {
        let stat = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 25 7 3 20 0 1";
        assert_eq!(times(stat), Some(('S', [1.5, 0.25, 0.1])));
        assert_eq!(times("12 (a) S 1"), None);
    }

    #[test]
    fn reads_memory() {
        let status = "VmHWM:\t  300 kB\nRssAnon:\t     100 kB\nRssFile:\t 2 kB\n";
        assert_eq!(memory(status, "RssAnon:"), 102_400);
        assert_eq!(memory(status, "RssShmem:"), 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn measures_a_program() {
        let usage =
            measure(Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"])).unwrap();
        assert!(usage.cpu() > 0.0 && usage.peak > 0, "{usage:?}");
        assert!(measure(Command::new("sh").args(["-c", "exit 3"])).is_err());
    }
}
