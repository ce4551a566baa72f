//! `fleet summarize`: the tables, Markdown, CSV and JSON of a fleet with a fork, a bad repository and a measured sample.

use super::command;
use super::golden_file::{assert_text, rounded};
use super::program::{exit, run};

/// The folder of the snapshots.
pub(crate) const NAME: &str = "fleet_summary";

/// The shard.
pub(crate) const INPUT: &str = "git_fleet.jsonl";

/// The snapshots.
pub(crate) const OUTPUTS: [&str; 4] = ["csv.snap", "json.snap", "markdown.snap", "plain.snap"];

#[track_caller]
fn assert_summary(name: &str, words: &[&str]) {
    let outcome = run(command().args(["fleet", "summarize", INPUT]).args(words)).exits(exit::OK);
    assert_eq!(outcome.stderr, "");
    assert_text(NAME, name, &rounded(&outcome.text()));
}

#[test]
fn plain() {
    assert_summary("plain", &[]);
}

#[test]
fn forms() {
    for form in ["csv", "json", "markdown"] {
        assert_summary(form, &[&format!("--{form}"), "-"]);
    }
}
