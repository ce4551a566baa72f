//! The script of the GitHub action, as a workflow runs it: with variables of its own, and with a stand-in for GitHub's
//! client.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::program::{self, Outcome, exit, isolate};
use crate::support::{Fixture, Scratch, executable};

/// Writes down its arguments, the token, and the comment. It fails while there is a file `refuses`.
const GH: &str = r#"#!/usr/bin/env bash
set -euo pipefail
here=$(dirname "$0")
printf '%s\n' "$*" > "$here/called"
printf '%s' "${GH_TOKEN:-}" > "$here/token"
cp -- "${!#}" "$here/comment"
[ ! -e "$here/refuses" ]
"#;

/// A job of a workflow.
struct Job {
    scratch: Scratch,
}

impl Job {
    fn new() -> Self {
        let job = Job { scratch: Scratch::new() };
        for folder in ["programs", "temporary", "cache"] {
            fs::create_dir(job.scratch.join(folder)).expect("a folder");
        }
        executable::write(&job.scratch.join("programs/gh"), GH);
        job
    }

    /// Runs the script with these inputs.
    #[track_caller]
    fn run(&self, inputs: &[(&str, &str)]) -> Outcome {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/action/run.sh");
        let mut command = Command::new("bash");
        isolate(&mut command);
        let programs = self.scratch.join("programs");
        let path = std::env::var("PATH").expect("a PATH");
        command.arg(script).current_dir(self.scratch.path());
        command.env("PATH", format!("{}:{path}", programs.display())).env("XDG_CACHE_HOME", self.scratch.join("cache"));
        command.env("RUNNER_TEMP", self.scratch.join("temporary"));
        command.env("GITHUB_STEP_SUMMARY", self.summary_file()).env("GITHUB_OUTPUT", self.scratch.join("outputs"));
        command.env("GITHUB_REPOSITORY", "owner/name").env_remove("GH_TOKEN");
        command.env("INPUT_PROGRAM", env!("CARGO_BIN_EXE_repackbench"));
        program::run(command.envs(inputs.iter().copied()))
    }

    fn summary_file(&self) -> PathBuf {
        self.scratch.join("summary.md")
    }

    /// The Markdown in the summary of the job.
    fn summary(&self) -> String {
        fs::read_to_string(self.summary_file()).unwrap_or_default()
    }

    /// The output of this name.
    #[track_caller]
    fn output(&self, name: &str) -> PathBuf {
        let outputs = fs::read_to_string(self.scratch.join("outputs")).expect("outputs");
        let value = outputs.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_else(|| panic!("no output {name}: {outputs}")).into()
    }

    /// What the stand-in for GitHub's client wrote down; `None` if it was not called.
    fn of_gh(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.scratch.join("programs").join(name)).ok()
    }
}

/// The path of committed records.
fn records(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/inputs").join(name).to_str().expect("UTF-8").to_owned()
}

#[test]
fn gate_writes_the_markdown_and_has_the_exit_code_of_diff() {
    let (old, new) = (records("schema_1_git.jsonl"), records("git_later.jsonl"));
    for (old, new, gate, code, sentence) in [
        (&old, &new, "1%", exit::REGRESSION, "**Something got worse by more than 1 %, or is missing"),
        (&new, &new, "1%", exit::OK, "Nothing got worse by more than 1 %."),
    ] {
        let job = Job::new();
        let inputs = [("INPUT_MODE", "gate"), ("INPUT_OLD", old), ("INPUT_NEW", new), ("INPUT_GATE", gate)];
        let outcome = job.run(&inputs).exits(code);
        // No text from records goes to the log.
        assert_eq!(outcome.text(), "");
        let summary = job.summary();
        assert!(summary.starts_with("### repackbench: newer records compared with older ones\n\n"), "{summary}");
        assert!(summary.contains(sentence), "{summary}");
        let compared = program::repackbench(["diff", "--gate", gate, "--markdown", "-", old, new]).exits(code).text();
        let report = program::repackbench(["report", "--markdown", "-", new]).exits(exit::OK).text();
        assert!(summary.contains(&compared) && summary.ends_with(&report), "{summary}");
        assert_eq!(fs::read_to_string(job.output("markdown")).expect("the Markdown"), summary);
        assert_eq!(job.of_gh("called"), None, "a comment that nobody asked for");
    }
}

#[test]
fn comment_has_the_markdown_and_changes_no_result() {
    let job = Job::new();
    let records = records("git_verdicts.jsonl");
    let inputs = [
        ("INPUT_MODE", "gate"),
        ("INPUT_OLD", &*records),
        ("INPUT_NEW", &*records),
        ("INPUT_COMMENT", "true"),
        ("INPUT_PULL_REQUEST", "7"),
        ("INPUT_GITHUB_TOKEN", "secret"),
    ];
    let outcome = job.run(&inputs).exits(exit::OK);
    assert!(!outcome.stderr.contains("secret") && !outcome.text().contains("secret"), "{outcome:?}");
    let called = job.of_gh("called").expect("gh was called");
    assert!(called.starts_with("pr comment 7 --repo owner/name --body-file "), "{called}");
    assert_eq!(job.of_gh("token").as_deref(), Some("secret"));
    assert_eq!(job.of_gh("comment").as_deref(), Some(&*job.summary()));

    // A pull request from a fork.
    fs::write(job.scratch.join("programs/refuses"), "").expect("a file");
    let warned = job.run(&inputs).exits(exit::OK).text();
    assert!(warned.starts_with("::warning::repackbench: no comment could be made"), "{warned}");

    let without = inputs.iter().copied().filter(|(name, _)| *name != "INPUT_PULL_REQUEST").collect::<Vec<_>>();
    let outcome = job.run(&without).exits(exit::OK);
    assert!(outcome.stderr.contains("no pull request, so no comment"), "{}", outcome.stderr);
}

#[test]
fn comment_that_is_too_long_has_the_comparison_alone() {
    let job = Job::new();
    // A report of many workloads.
    let records = fs::read_to_string(records("git_verdicts.jsonl")).expect("records");
    let mut many = String::new();
    for number in 0..60 {
        for line in records.lines() {
            let mut record: Value = serde_json::from_str(line).expect("a record");
            record["workload"]["name"] =
                format!("{}-{number}", record["workload"]["name"].as_str().expect("a name")).into();
            many.push_str(&format!("{record}\n"));
        }
    }
    let path = job.scratch.join("many.jsonl");
    fs::write(&path, many).expect("the file");
    let path = path.to_str().expect("UTF-8");
    let inputs = [
        ("INPUT_MODE", "gate"),
        ("INPUT_OLD", path),
        ("INPUT_NEW", path),
        ("INPUT_COMMENT", "true"),
        ("INPUT_PULL_REQUEST", "7"),
    ];
    job.run(&inputs).exits(exit::OK);
    let (comment, summary) = (job.of_gh("comment").expect("a comment"), job.summary());
    assert!(summary.len() > 65_000, "{}", summary.len());
    assert!(comment.len() < summary.len() && summary.starts_with(&comment), "{comment}");
}

#[test]
fn estimate_names_its_records_and_its_markdown() {
    let job = Job::new();
    let repository = Fixture::get("history").repo();
    let records = job.scratch.join("estimate.jsonl");
    let inputs = [
        ("INPUT_MODE", "estimate"),
        ("INPUT_PATH", repository.to_str().expect("UTF-8")),
        ("INPUT_TIME", "2s"),
        ("INPUT_RECORDS", records.to_str().expect("UTF-8")),
    ];
    job.run(&inputs).exits(exit::OK);
    assert_eq!(job.output("records"), records);
    assert!(fs::read_to_string(&records).expect("records").contains("\"record\":\"estimate\""));
    assert!(job.summary().contains("Predicted"), "{}", job.summary());
    // The file exists, and is not replaced.
    assert_ne!(job.run(&inputs).code, Some(exit::OK));
}

#[test]
fn wrong_inputs_are_named() {
    let records = records("git_verdicts.jsonl");
    let gate = [("INPUT_MODE", "gate"), ("INPUT_OLD", &*records), ("INPUT_NEW", &*records)];
    for (inputs, message) in [
        (&[("INPUT_MODE", "$(touch here)")][..], "mode: expected gate or estimate"),
        (&[("INPUT_MODE", "gate"), ("INPUT_OLD", &records)], "old, new: expected the paths"),
        (&[gate[0], gate[1], gate[2], ("INPUT_ABSOLUTE", "yes")], "absolute: expected true or false"),
        (&[gate[0], gate[1], gate[2], ("INPUT_COMMENT", "1")], "comment: expected true or false"),
    ] {
        let job = Job::new();
        let outcome = job.run(inputs).exits(exit::USAGE);
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
        assert_eq!((outcome.text(), job.summary()), (String::new(), String::new()));
    }
}
