//! `repackbench fleet`: every repository has one end, whatever happens to its process or to the fleet.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::program::{self, Outcome, cached, exit, text, wait_for, words};
use crate::support::{Fixture, Scratch, git, records};

/// Repositories that estimate in well under a second.
const GOOD: [&str; 8] = ["bare", "content", "detached-head", "history", "refs", "replace", "sha256", "keep"];

/// Little work for each repository.
const QUICK: &str = "--as-found --codec zstd:3 --workload traverse --time 2s";

/// A manifest of ten repositories: those of [`GOOD`], a broken one, and a copy of another.
fn manifest(scratch: &Scratch) -> PathBuf {
    let broken = scratch.join("broken.git");
    fs::create_dir(&broken).expect("a folder");
    let mut members: Vec<(String, PathBuf)> =
        GOOD.iter().map(|name| ((*name).to_owned(), Fixture::get(name).repo())).collect();
    members.push(("broken".to_owned(), broken));
    members.push(("twin".to_owned(), Fixture::copy("bare", scratch).repo()));
    let line = |(name, path): &(String, PathBuf)| serde_json::json!({"name": name, "path": path}).to_string() + "\n";
    let file = scratch.join("manifest.jsonl");
    fs::write(&file, members.iter().map(line).collect::<String>()).expect("a manifest");
    file
}

fn fleet(scratch: &Scratch, manifest: &Path, options: &str) -> Command {
    let mut command = cached(scratch);
    command.args(["fleet", text(manifest), "--json", text(&scratch.join("shard.jsonl"))]);
    command.args(words(QUICK)).args(words(options));
    command
}

/// The ends in a shard by name. Fails the test if a repository has a final end twice, or another number of estimates than ends
/// that say `done`.
#[track_caller]
fn ends(shard: &Path) -> BTreeMap<String, Vec<String>> {
    let mut ends: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut estimates: Vec<String> = Vec::new();
    let name = |value: &Value| value.as_str().expect("a name").to_owned();
    for line in records::read(shard) {
        match line["record"].as_str() {
            Some("fleet") => ends.entry(name(&line["name"])).or_default().push(name(&line["end"]["outcome"])),
            Some("estimate") => estimates.push(name(&line["repository"]["name"])),
            _ => {}
        }
    }
    estimates.sort();
    let done: Vec<String> =
        ends.iter().filter(|(_, ends)| ends.iter().any(|end| end == "done")).map(|(name, _)| name.clone()).collect();
    assert_eq!(estimates, done, "one estimate for each repository that is done");
    for (name, ends) in &ends {
        assert_eq!(ends.iter().filter(|end| *end != "try-again").count(), 1, "{name}: {ends:?}");
    }
    ends
}

#[track_caller]
fn summary(scratch: &Scratch) -> (Outcome, Value) {
    let shard = scratch.join("shard.jsonl");
    let outcome = program::run(cached(scratch).args(["fleet", "summarize", "--json", "-"]).arg(&shard)).exits(exit::OK);
    let json: Value = serde_json::from_slice(&outcome.stdout).expect("a JSON document");
    (outcome, json["fleet"].clone())
}

#[test]
fn bad_repository_is_a_record_and_copies_count_once() {
    let scratch = Scratch::new();
    let manifest = manifest(&scratch);
    let outcome = program::run(&mut fleet(&scratch, &manifest, "--jobs 2")).exits(exit::OK);
    assert!(outcome.stderr.contains("9 estimated, 1 failed, 0 failed for now; 10 in this run"), "{}", outcome.stderr);
    let ends = ends(&scratch.join("shard.jsonl"));
    assert_eq!(ends.len(), 10);
    assert_eq!(ends["broken"], ["failed"]);
    let (_, summary) = summary(&scratch);
    assert_eq!((&summary["repositories"], &summary["duplicates"]), (&8.into(), &1.into()));
    assert_eq!(summary["failures"][0]["name"], "broken");
    assert_eq!(summary["failures"][0]["is_permanent"], true);
    let state = &summary["states"][0];
    assert_eq!((&state["deltas"], &state["repositories"]), (&"kept".into(), &8.into()));
    assert_eq!(state["codecs"][1]["codec"], "zstd:3");
    let classes = state["classes"].as_array().expect("classes");
    let in_kinds: u64 = classes.iter().skip(1).map(|class| class["repositories"].as_u64().expect("a number")).sum();
    assert_eq!((classes[0]["class"].as_str(), in_kinds), (Some("below-1-mb"), 8));
}

#[test]
fn every_form_of_a_summary_is_written() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    program::run(&mut fleet(&scratch, &repo, "")).exits(exit::OK);
    let file = |name: &str| scratch.join(name);
    let mut command = cached(&scratch);
    command.args(["fleet", "summarize"]).arg(file("shard.jsonl"));
    for form in ["html", "markdown", "csv", "json"] {
        command.arg(format!("--{form}")).arg(file(form));
    }
    let tables = program::run(&mut command).exits(exit::OK).text();
    assert!(tables.contains("1 repository estimated."), "{tables}");
    let read = |name: &str| fs::read_to_string(file(name)).expect("a file");
    assert!(read("html").contains("<h2 id=\"fleet\""), "{}", read("html"));
    assert!(read("markdown").starts_with("### Answer\n"), "{}", read("markdown"));
    // Size and time under the baseline and another codec.
    assert_eq!(read("csv").lines().count(), 1 + 4, "{}", read("csv"));
    assert!(serde_json::from_str::<Value>(&read("json")).expect("JSON")["fleet"].is_object());
}

#[test]
fn killed_fleet_goes_on_where_it_was() {
    let scratch = Scratch::new();
    let (manifest, shard) = (manifest(&scratch), scratch.join("shard.jsonl"));
    for ends_before_kill in [1, 3, 6] {
        let mut killed =
            fleet(&scratch, &manifest, "--resume --quiet").stdin(Stdio::null()).spawn().expect("the program");
        let lines = || fs::read_to_string(&shard).unwrap_or_default().matches("\"record\":\"fleet\"").count();
        wait_for(&mut killed, || lines() >= ends_before_kill);
        killed.kill().expect("a running fleet");
        killed.wait().expect("its end");
    }
    // As if the last line had been cut by the kill.
    let mut text_of_shard = fs::read_to_string(&shard).expect("the shard");
    text_of_shard.push_str("{\"record\":\"estimate\",\"schema\":3,\"rep");
    fs::write(&shard, text_of_shard).expect("the shard");
    let outcome = program::run(&mut fleet(&scratch, &manifest, "--resume")).exits(exit::OK);
    assert!(outcome.stderr.contains("bytes of an unfinished repository removed"), "{}", outcome.stderr);
    let ends = ends(&shard);
    assert_eq!(ends.len(), 10);
    assert!(ends.values().all(|ends| ends.len() == 1), "{ends:?}");
    let done = program::run(&mut fleet(&scratch, &manifest, "--resume")).exits(exit::OK);
    assert!(done.stderr.contains("9 estimated, 1 failed, 0 failed for now; 0 in this run"), "{}", done.stderr);
}

#[test]
fn process_that_takes_too_long_is_tried_again() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let outcome = program::run(&mut fleet(&scratch, &repo, "--kill-after 1ms")).exits(exit::OK);
    assert!(outcome.stderr.contains("estimate: killed after 0.001 s"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("1 failed for now (--resume tries those again)"), "{}", outcome.stderr);
    program::run(&mut fleet(&scratch, &repo, "--resume")).exits(exit::OK);
    let ends = ends(&scratch.join("shard.jsonl"));
    assert_eq!(ends.values().next().expect("a repository"), &["try-again", "done"]);
}

#[test]
fn process_without_memory_is_tried_again() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    program::run(&mut fleet(&scratch, &repo, "--memory 1M")).exits(exit::OK);
    let shard = records::read(&scratch.join("shard.jsonl"));
    assert_eq!(shard.last().expect("an end")["end"]["outcome"], "try-again");
    let (_, summary) = summary(&scratch);
    assert_eq!((&summary["repositories"], &summary["failures"][0]["is_permanent"]), (&0.into(), &false.into()));
}

#[test]
fn samples_are_measured_and_compared_with_their_estimates() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    program::run(&mut fleet(&scratch, &repo, "--bench 100%")).exits(exit::OK);
    let (_, summary) = summary(&scratch);
    let checks = summary["checks"].as_array().expect("checks");
    let of: Vec<&Value> = checks.iter().map(|check| &check["workload"]).collect();
    assert!(of.contains(&&Value::Null), "sizes are compared: {checks:?}");
    let size = checks.iter().find(|check| check["workload"].is_null()).expect("sizes");
    assert_eq!((&size["codec"], &size["repositories"]), (&"zstd:3".into(), &1.into()));
    assert!(size["largest_error"].as_f64().expect("a share") < 0.05, "{size}");
}

#[test]
fn existing_files_and_other_options_are_refused() {
    let scratch = Scratch::new();
    let repo = Fixture::get("bare").repo();
    program::run(&mut fleet(&scratch, &repo, "")).exits(exit::OK);
    let shard = scratch.join("shard.jsonl");
    let before = fs::read(&shard).expect("the shard");
    let refused = |options: &str| program::run(&mut fleet(&scratch, &repo, options)).exits(exit::USAGE).stderr;
    assert!(refused("").contains("hint: --resume continues the shard, --force replaces it"));
    assert!(refused("--resume --codec zstd:5").contains("the shard was written with other options"));
    assert!(refused("--resume --shard 1/2").contains("the shard was written with other options"));
    assert!(refused("--workload checkout --force").contains("cannot be predicted"));
    assert_eq!(fs::read(&shard).expect("the shard"), before);
    program::run(&mut fleet(&scratch, &repo, "--force --codec zstd:5")).exits(exit::OK);
    assert_eq!(ends(&shard).len(), 1);
}

#[test]
fn shards_have_every_repository_once() {
    let scratch = Scratch::new();
    let folder = scratch.join("forge");
    for name in ["a.git", "group/b.git", "group/c.git", "d"] {
        let path = folder.join(name);
        fs::create_dir_all(&path).expect("a folder");
        git::git(&path, ["init", "-q", "--bare"]).exits(exit::OK);
    }
    let mut all = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        program::run(&mut fleet(&scratch, &folder, &format!("--force --shard {shard}"))).exits(exit::OK);
        let lines = records::read(&scratch.join("shard.jsonl"));
        // They are empty, so there is nothing to estimate, and nothing to try again.
        assert!(lines.iter().skip(1).all(|line| line["end"]["outcome"] == "failed"), "{lines:?}");
        let host = &lines[0]["host"];
        assert!(host["git"].is_string() && host["libraries"]["zstd"].is_string(), "{host}");
        all.extend(lines.iter().skip(1).map(|line| line["name"].as_str().expect("a name").to_owned()));
    }
    all.sort();
    let expected = ["a.git", "d", "group/b.git", "group/c.git"].map(|name| text(&folder.join(name)).to_owned());
    assert_eq!(all, expected);
}
