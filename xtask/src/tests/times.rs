//! Reports where the time of a test run went: by part, and the slowest tests.

use std::fmt;
use std::time::{Duration, Instant};

use super::build::TestBinary;
use super::run::TestRun;

/// How many of the slowest tests are shown.
const SLOWEST: usize = 10;

/// A part of a test run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Installing needed programs.
    Needs,
    /// Compiling.
    Compiling,
    /// Unit tests, and integration tests of one crate.
    Crates,
    /// Tests that run the program.
    EndToEnd,
}

impl Part {
    const ALL: [(Part, &str); 4] = [
        (Part::Needs, "installing"),
        (Part::Compiling, "compiling"),
        (Part::Crates, "tests of the crates"),
        (Part::EndToEnd, "end-to-end tests"),
    ];

    /// The part that a binary's tests belong to.
    pub(crate) fn of(binary: &TestBinary) -> Self {
        if binary.package == "repackbench-cli" && binary.is_integration { Part::EndToEnd } else { Part::Crates }
    }
}

/// The elapsed times of parts and tests.
#[derive(Debug, Default)]
pub(crate) struct Times {
    parts: Vec<(Part, Duration)>,
    tests: Vec<(Duration, String)>,
    count: usize,
}

impl Times {
    /// Runs `work` and adds its time to `part`.
    pub(crate) fn of<T>(&mut self, part: Part, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = work();
        self.add(part, started.elapsed());
        result
    }

    pub(crate) fn add(&mut self, part: Part, time: Duration) {
        self.parts.push((part, time));
    }

    pub(crate) fn add_tests(&mut self, binary: &TestBinary, tests: &[TestRun]) {
        self.count += tests.iter().filter(|test| !test.is_ignored).count();
        let named = tests.iter().filter_map(|test| Some((test.time?, binary.full_name(&test.name))));
        self.tests.extend(named);
    }

    /// How many tests were run.
    pub(crate) fn tests(&self) -> usize {
        self.count
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut slowest: Vec<&(Duration, String)> = self.tests.iter().collect();
        slowest.sort_by(|a, b| b.cmp(a));
        writeln!(f, "\nslowest of {} tests:", self.count)?;
        for (time, name) in slowest.iter().take(SLOWEST) {
            writeln!(f, "{:8.1} s  {name}", time.as_secs_f64())?;
        }
        writeln!(f, "elapsed time:")?;
        for (part, name) in Part::ALL {
            let total: Duration = self.parts.iter().filter(|(of, _)| *of == part).map(|(_, time)| *time).sum();
            writeln!(f, "{:8.1} s  {name}", total.as_secs_f64())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowest_tests_come_first_and_parts_add_up() {
        let binary = |package: &str, is_integration| TestBinary {
            package: package.to_owned(),
            target: "t".to_owned(),
            is_integration,
            executable: "e".into(),
            folder: "f".into(),
        };
        let test = |name: &str, millis: u64| TestRun {
            name: name.to_owned(),
            has_passed: true,
            is_ignored: false,
            time: Some(Duration::from_millis(millis)),
        };
        let mut times = Times::default();
        let many: Vec<TestRun> = (0..11).map(|number| test(&format!("quick{number}"), 10)).collect();
        times.add_tests(&binary("a", false), &many);
        times.add_tests(&binary("repackbench-cli", true), &[test("slow", 2500)]);
        times.add(Part::Compiling, Duration::from_secs(60));
        times.add(Part::Compiling, Duration::from_secs(30));
        let shown = times.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1..3], ["slowest of 12 tests:", "     2.5 s  repackbench-cli t slow"]);
        assert_eq!(lines.iter().filter(|line| line.contains("quick")).count(), SLOWEST - 1);
        assert!(lines.contains(&"    90.0 s  compiling"), "{shown}");
        assert_eq!(Part::of(&binary("repackbench-cli", false)), Part::Crates);
    }
}
