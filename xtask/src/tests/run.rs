//! Runs a test program and reads the result of each test from its output.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Variables;
use super::build::TestBinary;
use crate::files::failed;
use crate::process::Outcome;

/// The environment of a test run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// How many tests run at once; `None` for libtest's default.
    pub(crate) threads: Option<u32>,
    /// The seed of a random order; `None` for the order by name.
    pub(crate) seed: Option<u64>,
    /// The words before the program, such as `setpriv` and its options.
    pub(crate) starter: Vec<OsString>,
    /// Environment variables to set, or to unset if there is no value.
    pub(crate) variables: Vec<(OsString, Option<OsString>)>,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestRun {
    pub(crate) name: String,
    pub(crate) has_passed: bool,
    pub(crate) is_ignored: bool,
    /// How long it took.
    pub(crate) time: Option<Duration>,
}

/// The results of a test program.
#[derive(Debug, Default)]
pub(crate) struct BinaryRun {
    pub(crate) tests: Vec<TestRun>,
    /// Whether the program exited with 0.
    pub(crate) has_succeeded: bool,
}

impl TestBinary {
    /// The name of a test with its package and target.
    pub(crate) fn full_name(&self, test: &str) -> String {
        format!("{} {} {test}", self.package, self.target)
    }
}

impl BinaryRun {
    /// The names of failed tests. If the program failed without a failed test, the name stands for the program itself.
    pub(crate) fn failed(&self) -> BTreeSet<String> {
        let failed = self.tests.iter().filter(|test| !test.has_passed);
        let mut names: BTreeSet<String> = failed.map(|test| test.name.clone()).collect();
        if names.is_empty() && !self.has_succeeded {
            names.insert("(the program itself)".to_owned());
        }
        names
    }
}

/// Runs the tests of `binary` whose names contain one of `names`, or all. The output is copied to `shown`.
pub(crate) fn run_binary(
    binary: &TestBinary,
    names: &[String],
    surroundings: &Surroundings,
    variables: &Variables,
    shown: &mut dyn Write,
) -> Outcome<BinaryRun> {
    let mut command = command(binary, surroundings, variables);
    command.args(names).stdin(Stdio::null()).stdout(Stdio::piped());
    let failed = |error: std::io::Error| failed(&binary.executable, &error);
    writeln!(shown, "\n$ {} {} {}", binary.package, binary.target, names.join(" ")).map_err(failed)?;
    let mut running = command.spawn().map_err(failed)?;
    let mut run = BinaryRun::default();
    if let Some(stdout) = running.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(failed)?;
            let line = String::from_utf8_lossy(&line);
            run.tests.extend(parse(&line));
            writeln!(shown, "{line}").map_err(failed)?;
        }
    }
    run.has_succeeded = running.wait().map_err(failed)?.success();
    Ok(run)
}

fn command(binary: &TestBinary, surroundings: &Surroundings, variables: &Variables) -> Command {
    let mut words = surroundings.starter.iter().cloned().chain([binary.executable.clone().into_os_string()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(&binary.folder).envs(variables.iter().cloned());
    for (name, value) in &surroundings.variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // Times and random order are unstable options, which a stable toolchain accepts only with RUSTC_BOOTSTRAP.
    command.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "unstable-options", "--report-time"]);
    if let Some(threads) = surroundings.threads {
        command.arg(format!("--test-threads={threads}"));
    }
    if let Some(seed) = surroundings.seed {
        command.arg(format!("--shuffle-seed={seed}"));
    }
    command
}

/// Parses a line such as `test part::name ... ok <0.123s>`.
fn parse(line: &str) -> Option<TestRun> {
    let (name, said) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let (outcome, time) = match said.split_once(" <") {
        Some((outcome, time)) => (outcome, time.strip_suffix("s>")?.parse().ok().map(Duration::from_secs_f64)),
        None => (said, None),
    };
    let is_ignored = outcome.starts_with("ignored");
    let has_passed = is_ignored || outcome == "ok";
    if !has_passed && outcome != "FAILED" {
        return None;
    }
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    Some(TestRun { name: name.to_owned(), has_passed, is_ignored, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harness_lines_are_parsed() {
        let read = |line| parse(line).map(|run| (run.name, run.has_passed, run.is_ignored, run.time));
        let ms = |millis| Some(Duration::from_millis(millis));
        assert_eq!(read("test a::b ... ok <1.250s>"), Some(("a::b".into(), true, false, ms(1250))));
        assert_eq!(read("test a::b ... FAILED <0.003s>"), Some(("a::b".into(), false, false, ms(3))));
        assert_eq!(read("test c - should panic ... ok"), Some(("c".into(), true, false, None)));
        assert_eq!(read("test slow ... ignored, takes long"), Some(("slow".into(), true, true, None)));
        for line in ["test result: ok. 3 passed; 0 failed", "running 3 tests", "test said ... something else", ""] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn program_killed_by_a_signal_has_failed() {
        let run = BinaryRun { tests: Vec::new(), has_succeeded: false };
        assert_eq!(run.failed().into_iter().collect::<Vec<_>>(), ["(the program itself)"]);
        let passed = parse("test a ... ok");
        let run = BinaryRun { tests: passed.into_iter().collect(), has_succeeded: true };
        assert!(run.failed().is_empty());
    }
}
