//! Running the binary and other programs in a known environment, and scratch folders.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../../../../../fixtures/on_disk.rs"]
mod on_disk;

/// The exit codes that the program promises.
pub(crate) mod exit {
    /// The job was done, or nothing differs.
    pub(crate) const OK: i32 = 0;
    /// The job failed, or something differs.
    pub(crate) const FAILURE: i32 = 1;
    /// The command line is wrong.
    pub(crate) const USAGE: i32 = 2;
    /// A gate tripped: something became worse than the user allows.
    pub(crate) const REGRESSION: i32 = 3;
    /// The input is damaged, unsupported or not a repository.
    pub(crate) const BAD_INPUT: i32 = 65;
    /// A temporary obstacle: try again.
    pub(crate) const TRY_AGAIN: i32 = 75;
}

/// The result of running a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Outcome {
    /// Standard output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The count that a replayed workload prints under this name.
    #[track_caller]
    pub(crate) fn count(&self, name: &str) -> u64 {
        let text = self.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().expect("a number")
    }

    /// Fails the test unless the program exited with `code`.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.text(), self.stderr);
        self
    }

    /// The one `repackbench: ...` line of standard error. Fails the test when there is any other line but hints and
    /// progress.
    #[track_caller]
    pub(crate) fn error_line(&self) -> String {
        let is_other = |line: &&str| ["hint: ", "repackbench: progress: "].iter().any(|start| line.starts_with(start));
        let lines: Vec<&str> = self.stderr.lines().filter(|line| !is_other(line)).collect();
        assert_eq!(lines.len(), 1, "one line of error expected:\n{}", self.stderr);
        assert!(lines[0].starts_with("repackbench: "), "{}", self.stderr);
        lines[0].to_owned()
    }
}

/// Runs a command to its end, without standard input.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Outcome {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Outcome {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The binary under test, without the parts of the environment that git or the program would use.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repackbench"));
    isolate(&mut command);
    command
}

/// The binary with its cache of variants in the scratch folder.
pub(crate) fn cached(scratch: &Scratch) -> Command {
    let mut command = command();
    command.env("XDG_CACHE_HOME", scratch.join("cache"));
    command
}

/// `repackbench bench` with its cache in the scratch folder and runs of a millisecond.
pub(crate) fn bench(scratch: &Scratch) -> Command {
    let mut bench = cached(scratch);
    bench.args(["bench", "--min-run-time", "1ms", "--quiet"]);
    bench
}

/// Replays a workload, which may fail.
#[track_caller]
pub(crate) fn replay(repo: &Path, workload: &str, options: &[&str]) -> Outcome {
    run(command().args(["replay", "--workload", workload]).args(options).arg(repo))
}

/// Arguments as they are typed.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The option before each of the values.
pub(crate) fn each<'a>(option: &'a str, values: &[&'a str]) -> Vec<&'a str> {
    values.iter().flat_map(|value| [option, *value]).collect()
}

/// A path as an argument among words.
#[track_caller]
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Runs the binary with these arguments.
#[track_caller]
pub(crate) fn repackbench<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Outcome {
    run(command().args(arguments))
}

/// Asks the kernel for the peak memory of one child, which the `time` of a shell does not show.
const MEASURE: &str = "\
import os, sys
child = os.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], 'w') as peak:
    peak.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
";

/// Runs the binary with these arguments, and returns its peak resident memory in KiB.
#[track_caller]
pub(crate) fn measured<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> (Outcome, u64) {
    let scratch = Scratch::new();
    let peak = scratch.join("peak");
    let mut command = Command::new("python3");
    isolate(&mut command);
    command.args(["-c", MEASURE]).arg(&peak).arg(env!("CARGO_BIN_EXE_repackbench")).args(arguments);
    let outcome = run(&mut command);
    let peak = fs::read_to_string(&peak).ok().and_then(|peak| peak.parse().ok());
    (outcome, peak.expect("a number of KiB"))
}

/// A path where not even root can make a folder. A test that needs one names its own.
const NOWHERE: &str = "/dev/null/nowhere";

/// Removes variables of the user or an outer git, and pins the rest.
pub(crate) fn isolate(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    for name in ["CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LANGUAGE", "LD_PRELOAD", "NO_COLOR"] {
        command.env_remove(name);
    }
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env(name, NOWHERE);
    }
    command.env("LC_ALL", "C").env("TZ", "UTC");
}

/// Waits until `is_there` holds, while `program` runs. The time limit ends a test that would hang.
#[track_caller]
pub(crate) fn wait_for(program: &mut Child, is_there: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_there() {
        let ended = program.try_wait().expect("the program's state");
        if ended.is_some() || started.elapsed() > Duration::from_secs(1800) {
            let _ = program.kill();
            panic!("the condition was never met; the program has ended: {ended:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A folder that is removed at the end of the test. It is outside the checkout, so no repository surrounds it.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        // The real path, as programs report their current folder: the path may lead through links.
        let place = std::env::temp_dir().canonicalize().expect("the folder for temporary files");
        Scratch(tempfile::tempdir_in(place).expect("a temporary folder"))
    }

    /// A folder on a disk, even if temporary files are in memory, where nothing becomes cold.
    pub(crate) fn on_disk() -> Self {
        Scratch(on_disk::folder())
    }

    /// A folder in memory, at a path without spaces.
    pub(crate) fn in_memory() -> Self {
        Scratch(tempfile::tempdir_in("/dev/shm").expect("a folder in memory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The sorted names in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("the temporary folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Converts quietly, and fails the test unless that succeeds without any output.
#[track_caller]
pub(crate) fn convert(source: &Path, codec: &str, out: &Path) {
    let outcome = run(command().args(["convert", "--quiet", "--codec", codec]).arg(source).arg("-o").arg(out));
    let outcome = outcome.exits(exit::OK);
    assert_eq!(outcome.stderr, "", "--quiet says nothing when all is well");
}
