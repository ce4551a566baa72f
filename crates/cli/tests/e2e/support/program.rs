//! Running the binary (and anything else) in a known environment, and a folder of one's own to do it in.

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
    /// A gate tripped: something is worse than the user allows.
    pub(crate) const REGRESSION: i32 = 3;
    /// The input repository is damaged, not one at all, or of a sort that is not handled.
    pub(crate) const BAD_INPUT: i32 = 65;
    /// Something else was in the way: try again.
    pub(crate) const TRY_AGAIN: i32 = 75;
}

/// What a program did.
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

    /// Fails the test unless the program exited with `code`.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.text(), self.stderr);
        self
    }

    /// The one `repackbench: ...` line of standard error. Fails the test when there is any other line but hints.
    #[track_caller]
    pub(crate) fn error_line(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().filter(|line| !line.starts_with("hint: ")).collect();
        assert_eq!(lines.len(), 1, "one line of error expected:\n{}", self.stderr);
        assert!(lines[0].starts_with("repackbench: "), "{}", self.stderr);
        lines[0].to_owned()
    }
}

/// Runs a command to its end with nothing on its standard input.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Outcome {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Outcome {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The binary under test, without anything of the user's environment that git or the program would heed.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repackbench"));
    isolate(&mut command);
    command
}

/// Runs the binary with these arguments.
#[track_caller]
pub(crate) fn repackbench<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Outcome {
    run(command().args(arguments))
}

/// Asks the kernel for the peak memory of one child; the shell's own `time` does not tell.
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

/// Runs the binary with these arguments, and says how much memory was resident at most, in KiB.
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

/// Where nobody, not even root, can make a folder: a test that wants one names its own.
const NOWHERE: &str = "/dev/null/nowhere";

/// Removes what the user or an outer git set, and pins the rest.
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

/// Waits until `is_there`, which is for `program` to bring about. The time is only to end a test that would hang.
#[track_caller]
pub(crate) fn wait_for(program: &mut Child, is_there: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_there() {
        let ended = program.try_wait().expect("the program's state");
        if ended.is_some() || started.elapsed() > Duration::from_secs(1800) {
            let _ = program.kill();
            panic!("what was waited for did not come; the program has ended: {ended:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A folder that vanishes at the end of the test. It lies outside the checkout, so no repository surrounds it.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        // By the name that programs find when they ask where they are: the way there may lead through links.
        let place = std::env::temp_dir().canonicalize().expect("the folder for temporary files");
        Scratch(tempfile::tempdir_in(place).expect("a temporary folder"))
    }

    /// One that lies on a disk wherever temporary files lie: what is in memory never becomes cold.
    pub(crate) fn on_disk() -> Self {
        Scratch(on_disk::folder())
    }

    /// One that lies in memory, at a path without spaces.
    pub(crate) fn in_memory() -> Self {
        Scratch(tempfile::tempdir_in("/dev/shm").expect("a folder in memory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names in the folder, sorted: what a command left there.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("the temporary folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Converts, quietly, and fails the test unless that worked without a word.
#[track_caller]
pub(crate) fn convert(source: &Path, codec: &str, out: &Path) {
    let outcome = run(command().args(["convert", "--quiet", "--codec", codec]).arg(source).arg("-o").arg(out));
    let outcome = outcome.exits(exit::OK);
    assert_eq!(outcome.stderr, "", "--quiet says nothing when all is well");
}
