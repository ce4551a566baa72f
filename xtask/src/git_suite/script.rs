//! Runs a script of git's tests and parses its output, which is in the Test Anything Protocol.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use super::loose::LooseObjects;
use crate::process::{self, Failure, Outcome};

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    /// The machine lacks something that the test needs.
    Skipped,
    /// A failure that git's authors expect.
    KnownBreakage,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Skipped => "skipped",
            Verdict::KnownBreakage => "a known breakage",
        }
    }
}

/// The title that stands for a script that did not finish.
const SCRIPT_ITSELF: &str = "(the script itself)";

/// The results of a script's tests, by title.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScriptRun {
    tests: BTreeMap<String, Verdict>,
    /// The loose objects in the repositories that it left.
    pub(super) loose: LooseObjects,
}

/// Runs a script.
pub(super) fn run(command: &mut Command) -> Outcome<ScriptRun> {
    let shown = process::shown(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.map_err(|error| Failure(format!("{shown}: {error}")))?;
    Ok(ScriptRun::of(&String::from_utf8_lossy(&output.stdout)))
}

impl ScriptRun {
    /// Parses the output of a script.
    fn of(text: &str) -> Self {
        let mut run = ScriptRun::default();
        let mut has_ended = false;
        for line in text.lines() {
            if let Some((title, verdict)) = parse(line) {
                run.insert(title, verdict);
            }
            // The number of tests comes last.
            has_ended |=
                line.strip_prefix("1..").is_some_and(|count| count.starts_with(|byte: char| byte.is_ascii_digit()));
        }
        if !has_ended {
            run.tests.insert(SCRIPT_ITSELF.to_owned(), Verdict::Failed);
        }
        run
    }

    /// Adds a result. A title that already exists gets a number.
    fn insert(&mut self, title: &str, verdict: Verdict) {
        let mut name = title.to_owned();
        let mut number = 1;
        while self.tests.contains_key(&name) {
            number += 1;
            name = format!("{title} ({number})");
        }
        self.tests.insert(name, verdict);
    }

    pub(super) fn count(&self) -> usize {
        self.tests.len()
    }

    pub(super) fn failed(&self) -> usize {
        self.tests.values().filter(|verdict| **verdict == Verdict::Failed).count()
    }

    pub(super) fn verdict(&self, test: &str) -> Option<Verdict> {
        self.tests.get(test).copied()
    }

    /// The tests whose result differs from that in `plain`, with the result here; `None` if the test did not run.
    pub(super) fn differing<'a>(
        &'a self,
        plain: Option<&'a ScriptRun>,
    ) -> impl Iterator<Item = (&'a str, Option<Verdict>)> {
        let of_plain = plain.into_iter().flat_map(|plain| &plain.tests);
        let missing = of_plain.filter(|(title, _)| !self.tests.contains_key(*title)).map(|(title, _)| (title, None));
        let there = self.tests.iter().map(|(title, verdict)| (title, Some(*verdict)));
        let all = there.chain(missing).map(|(title, verdict)| (title.as_str(), verdict));
        all.filter(move |(title, verdict)| plain.and_then(|plain| plain.verdict(title)) != *verdict)
    }
}

/// Parses a line such as `not ok 3 - the title # TODO known breakage` into title and verdict.
fn parse(line: &str) -> Option<(&str, Verdict)> {
    let (is_ok, rest) = match line.strip_prefix("ok ") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("not ok ")?),
    };
    let (number, rest) = rest.split_once(' ')?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if let Some(skipped) = rest.strip_prefix("# skip ") {
        let title = skipped.rsplit_once(" (").map_or(skipped, |(title, _)| title);
        return Some((title, Verdict::Skipped));
    }
    let rest = rest.strip_prefix("- ")?;
    match rest.split_once(" # TODO known breakage") {
        Some((title, _)) if !is_ok => Some((title, Verdict::KnownBreakage)),
        Some((title, _)) => Some((title, Verdict::Passed)),
        None => Some((rest, if is_ok { Verdict::Passed } else { Verdict::Failed })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_lines_are_parsed() {
        assert_eq!(parse("ok 1 - setup"), Some(("setup", Verdict::Passed)));
        assert_eq!(parse("not ok 12 - a - b"), Some(("a - b", Verdict::Failed)));
        assert_eq!(parse("ok 3 # skip push over http (missing CURL)"), Some(("push over http", Verdict::Skipped)));
        assert_eq!(parse("not ok 4 - old # TODO known breakage"), Some(("old", Verdict::KnownBreakage)));
        assert_eq!(parse("ok 5 - old # TODO known breakage vanished"), Some(("old", Verdict::Passed)));
        for line in ["# passed all 5 test(s)", "1..5", "ok then", "#\techo ok 1 - no", ""] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn script_without_final_count_has_failed() {
        assert_eq!(ScriptRun::of("ok 1 - setup\n").verdict(SCRIPT_ITSELF), Some(Verdict::Failed));
        let whole = ScriptRun::of("ok 1 - setup\nok 2 - setup\n# passed all 2 test(s)\n1..2\n");
        assert_eq!((whole.count(), whole.failed()), (2, 0));
        assert_eq!(ScriptRun::of("1..0 # SKIP no gpg\n").count(), 0);
    }

    #[test]
    fn differences_are_found_in_both_directions() {
        let plain = ScriptRun::of("ok 1 - a\nnot ok 2 - b\nok 3 - c\nnot ok 4 - d\n1..4\n");
        let other = ScriptRun::of("not ok 1 - a\nok 2 - b\nnot ok 3 - d\n1..3\n");
        let differing: Vec<_> = other.differing(Some(&plain)).collect();
        assert_eq!(differing, [("a", Some(Verdict::Failed)), ("b", Some(Verdict::Passed)), ("c", None)]);
        assert_eq!(plain.differing(Some(&plain)).count(), 0);
    }
}
