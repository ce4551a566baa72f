//! Golden files: the exact output of `report` and `diff` for kept results.
//!
//! `inputs/` has results as the program once wrote them, of every kind and of every version that is still read.
//! `snapshots/` has every output made of them. README.md says what wrote the inputs, and how to review and accept a
//! changed output.

#![forbid(unsafe_code)]

mod diff;
mod fleet;
mod golden_file;
#[path = "../e2e/support/program.rs"]
#[allow(dead_code, reason = "the end-to-end tests use all of it")]
mod program;
mod report;
mod terminal;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// This folder.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The names in a folder of golden files.
#[track_caller]
fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// The program under test in the folder of inputs, so that no output has a path of this machine. The terminal of the
/// caller has no effect.
fn command() -> std::process::Command {
    let mut command = program::command();
    command.current_dir(folder().join("inputs"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "LINES", "TERM"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn every_input_has_its_own_report() {
    let reported: BTreeSet<String> = report::REPORTS
        .iter()
        .filter(|(name, files)| matches!(files, [file] if file.strip_suffix(".jsonl") == Some(name)))
        .map(|(name, _)| format!("{name}.jsonl"))
        .chain([fleet::INPUT.to_owned()])
        .collect();
    assert_eq!(names_in(&folder().join("inputs")), reported);
}

#[test]
fn every_snapshot_belongs_to_a_test() {
    let tests = report::REPORTS.iter().map(|(name, _)| *name).chain(diff::COMPARISONS.iter().copied());
    let tests: BTreeSet<String> = tests.chain([fleet::NAME]).map(str::to_owned).collect();
    assert_eq!(names_in(&folder().join("snapshots")), tests, "a folder for each report and comparison");
    let outputs: BTreeSet<String> = report::OUTPUTS.map(str::to_owned).into();
    for (name, _) in report::REPORTS {
        let mut held = names_in(&folder().join("snapshots").join(name));
        held.remove(report::CHARTS);
        assert_eq!(held, outputs, "{name}");
    }
    let of_fleet: BTreeSet<String> = fleet::OUTPUTS.map(str::to_owned).into();
    assert_eq!(names_in(&folder().join("snapshots").join(fleet::NAME)), of_fleet);
    for name in diff::COMPARISONS {
        assert_eq!(names_in(&folder().join("snapshots").join(name)), ["plain.snap".to_owned()].into(), "{name}");
    }
}
