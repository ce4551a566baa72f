//! `repackbench fleet`: every repository has one end, whatever happens to its process or to the fleet.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::program::{self, Outcome, cached, exit, text, wait_for, words};
use crate::support::{Fixture, Scratch, git, records};

/// Repositories that estimate in well under a second.
const GOOD: [&str; 8] = ["bare", "content", "detached-head", "history", "reftable", "replace", "sha256", "keep"];

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

/// The ends in a shard by name. Fails the test if a repository has a final end twice, or another number of estimates
/// than ends that say `done`.
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
    assert!(outcome.stderr.contains("9 estimated, 1 failed; 10 worked on in this run"), "{}", outcome.stderr);
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
    let (_, of_shard) = summary(&scratch);
    let disturbed = match of_shard["disturbed"].as_u64() {
        Some(0) => "",
        Some(1) => ", 1 beside other programs, which makes predicted times doubtful",
        other => panic!("one repository of which {other:?} are disturbed"),
    };
    let words = tables.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("1 repository estimated{disturbed}.")), "{tables}");
    let read = |name: &str| fs::read_to_string(file(name)).expect("a file");
    assert!(read("html").contains("<h2 id=\"fleet\""), "{}", read("html"));
    assert!(read("markdown").starts_with("### Answer\n"), "{}", read("markdown"));
    // Size and time under the baseline and another codec.
    assert_eq!(read("csv").lines().count(), 1 + 4, "{}", read("csv"));
    assert!(serde_json::from_str::<Value>(&read("json")).expect("JSON")["fleet"].is_object());
}

/// Builds without the feature say so before they read anything; others write a file that begins and ends as Parquet
/// does.
#[test]
fn parquet_is_written_or_refused() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    program::run(&mut fleet(&scratch, &repo, "")).exits(exit::OK);
    let parquet = scratch.join("fleet.parquet");
    let mut command = cached(&scratch);
    command.args(["fleet", "summarize", "--parquet"]).arg(&parquet).arg(scratch.join("shard.jsonl"));
    let outcome = program::run(&mut command);
    if cfg!(feature = "parquet") {
        let bytes = fs::read(&parquet).expect("the file");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{bytes:?}");
        assert!(program::run(&mut command).exits(exit::USAGE).stderr.contains("--force replaces it"));
    } else {
        assert!(outcome.exits(exit::USAGE).error_line().contains("without the feature parquet"));
        assert!(!parquet.exists());
    }
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
    assert!(done.stderr.contains("9 estimated, 1 failed; 0 worked on in this run"), "{}", done.stderr);
}

#[test]
fn process_that_takes_too_long_is_tried_again() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let outcome = program::run(&mut fleet(&scratch, &repo, "--kill-after 1ms")).exits(exit::TRY_AGAIN);
    assert!(outcome.stderr.contains("estimate: killed after 0.001 s"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("1 failed for now (--resume tries those again)"), "{}", outcome.stderr);
    program::run(&mut fleet(&scratch, &repo, "--resume")).exits(exit::OK);
    let ends = ends(&scratch.join("shard.jsonl"));
    assert_eq!(ends.values().next().expect("a repository"), &["try-again", "done"]);
}

#[test]
fn third_failure_is_for_good() {
    let scratch = Scratch::new();
    let missing = scratch.join("list.txt");
    fs::write(&missing, "/no/such/repository.git\n").expect("a list");
    for _ in 0..3 {
        let outcome = program::run(&mut fleet(&scratch, &missing, "--resume")).exits(exit::TRY_AGAIN);
        assert!(outcome.stderr.contains("No such file"), "{}", outcome.stderr);
    }
    let last = program::run(&mut fleet(&scratch, &missing, "--resume")).exits(exit::OK);
    assert!(last.stderr.contains("0 estimated, 1 failed; 0 worked on in this run"), "{}", last.stderr);
}

#[test]
fn codec_that_is_not_estimated_cannot_be_measured() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let options = "--codec zstd:5 --bench 100% --bench-codec lz4";
    let refused = program::run(&mut fleet(&scratch, &repo, options)).exits(exit::USAGE);
    assert!(refused.stderr.contains("--bench-codec lz4: the codec is not estimated"), "{}", refused.stderr);
}

#[test]
fn process_without_memory_is_tried_again() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    program::run(&mut fleet(&scratch, &repo, "--memory 1M")).exits(exit::TRY_AGAIN);
    let shard = records::read(&scratch.join("shard.jsonl"));
    let end = &shard.last().expect("an end")["end"];
    assert_eq!(end["outcome"], "try-again");
    let message = end["message"].as_str().expect("a message");
    assert!(!message.contains("backtrace") && message.len() < 200, "one sentence: {message}");
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
        let ends: Vec<&Value> = lines.iter().filter(|line| line["record"] == "fleet").collect();
        assert!(ends.iter().all(|line| line["end"]["outcome"] == "empty"), "{lines:?}");
        let host = &lines[0]["host"];
        assert!(host["git"].is_string() && host["libraries"]["libzstd"].is_string(), "{host}");
        all.extend(ends.iter().map(|line| line["name"].as_str().expect("a name").to_owned()));
    }
    all.sort();
    let expected = ["a.git", "d", "group/b.git", "group/c.git"].map(|name| text(&folder.join(name)).to_owned());
    assert_eq!(all, expected);
}

/// A folder with two good repositories, and `0.git`, whose git hangs in a fleet that gets these options: `--git` and
/// its program.
fn forge_with_a_hanging_one(scratch: &Scratch) -> (PathBuf, String) {
    let forge = scratch.join("forge");
    for name in ["0.git", "1.git", "2.git"] {
        let place = forge.join(name);
        fs::create_dir_all(&place).expect("a folder");
        git::git(&place, ["init", "-q", "--bare", "-b", "main"]).exits(exit::OK);
        git::fast_import(&place, &history(1, 3));
    }
    let program = scratch.join("hanging-git");
    let script = "#!/bin/sh\ncase \"$*\" in */0.git*) exec sleep 600 ;; esac\nexec git \"$@\"\n";
    fs::write(&program, script).expect("a script");
    program::run(Command::new("chmod").arg("+x").arg(&program)).exits(exit::OK);
    (forge, format!("--resume --git {}", text(&program)))
}

/// Starts a fleet, waits for the line that `0.git` was begun for the `count`-th time, and sends the signal.
#[track_caller]
fn stop_in_hanging_one(scratch: &Scratch, forge: &Path, options: &str, count: usize, signal: Signal) -> Option<i32> {
    let shard = scratch.join("shard.jsonl");
    let mut running = fleet(scratch, forge, options).arg("--quiet").stdin(Stdio::null()).spawn().expect("the program");
    let begun = || {
        let lines = fs::read_to_string(&shard).unwrap_or_default();
        lines.lines().filter(|line| line.contains("/0.git\",\"event\":\"begun\"")).count()
    };
    wait_for(&mut running, || begun() == count);
    kill(Pid::from_raw(running.id() as i32), signal).expect("a running fleet");
    running.wait().expect("its end").code()
}

/// As in a container that is killed as a whole because a repository needs more memory than there is.
#[test]
fn repository_that_kills_the_fleet_is_given_up() {
    let scratch = Scratch::new();
    let (forge, options) = forge_with_a_hanging_one(&scratch);
    let shard = scratch.join("shard.jsonl");
    for count in 1..=3 {
        stop_in_hanging_one(&scratch, &forge, &options, count, Signal::SIGKILL);
        // It was the first at first, and the others were done before it was tried again.
        assert_eq!(ends_of_lines(&shard).len(), if count == 1 { 0 } else { 2 });
    }
    let outcome = program::run(&mut fleet(&scratch, &forge, &options)).exits(exit::OK);
    assert!(outcome.stderr.contains("given up: repackbench itself was killed in 3 of 3 tries"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("2 estimated, 1 failed; 0 worked on in this run"), "{}", outcome.stderr);
    let again = program::run(&mut fleet(&scratch, &forge, &options)).exits(exit::OK);
    assert!(again.stderr.contains("2 estimated, 1 failed; 0 worked on in this run"), "{}", again.stderr);
    let ends: Vec<Vec<String>> = ends(&shard).into_values().collect();
    assert_eq!(ends, [["failed"], ["done"], ["done"]]);
    let (_, summary) = summary(&scratch);
    assert_eq!(summary["failures"][0]["is_permanent"], true);
}

#[test]
fn tries_that_the_user_stops_do_not_count() {
    let scratch = Scratch::new();
    let (forge, options) = forge_with_a_hanging_one(&scratch);
    for count in 1..=4 {
        let code = stop_in_hanging_one(&scratch, &forge, &options, count, Signal::SIGTERM);
        assert_eq!(code, Some(130));
    }
    program::run(&mut fleet(&scratch, &forge, "--resume")).exits(exit::OK);
    let ends: Vec<Vec<String>> = ends(&scratch.join("shard.jsonl")).into_values().collect();
    assert_eq!(ends, [["done"], ["done"], ["done"]]);
}

/// The limit on the length of files stands for a full disk: a beginning still fits, and an estimate does not.
#[test]
fn tries_whose_result_cannot_be_written_do_not_count() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let shard = scratch.join("shard.jsonl");
    for _ in 0..4 {
        let whole = fleet(&scratch, &repo, "--resume");
        let used = fs::metadata(&shard).map_or(0, |shard| shard.len());
        let mut shell = Command::new("bash");
        program::isolate(&mut shell);
        shell.env("XDG_CACHE_HOME", scratch.join("cache"));
        // In blocks of 1,024 bytes.
        shell.args(["-c", "trap '' XFSZ; ulimit -f $0; exec \"$@\"", &(used / 1024 + 3).to_string()]);
        shell.arg(whole.get_program()).args(whole.get_args());
        let outcome = program::run(&mut shell).exits(exit::FAILURE);
        assert!(outcome.stderr.contains("File too large"), "{}", outcome.stderr);
        let text = fs::read_to_string(&shard).expect("the shard");
        assert!(text.ends_with("\"event\":\"stopped\"}\n"), "what did not fit is removed: {text}");
    }
    program::run(&mut fleet(&scratch, &repo, "--resume")).exits(exit::OK);
    assert_eq!(ends(&shard).into_values().next().expect("a repository"), ["done"]);
}

#[test]
fn folder_that_cannot_be_read_is_a_record() {
    let scratch = Scratch::new();
    let forge = scratch.join("forge");
    for name in ["closed", "open/1.git"] {
        fs::create_dir_all(forge.join(name)).expect("a folder");
    }
    git::git(&forge.join("open/1.git"), ["init", "-q", "--bare", "-b", "main"]).exits(exit::OK);
    git::fast_import(&forge.join("open/1.git"), &history(1, 3));
    fs::set_permissions(forge.join("closed"), fs::Permissions::from_mode(0o000)).expect("a mode");
    assert!(fs::read_dir(forge.join("closed")).is_err(), "run as root without setpriv: permissions do not apply");
    for manifest in [forge.clone(), forge.join("*/*.git")] {
        let outcome = program::run(&mut fleet(&scratch, &manifest, "--force")).exits(exit::TRY_AGAIN);
        assert!(outcome.stderr.contains("1 estimated, 0 failed, 1 failed for now"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("Permission denied"), "{}", outcome.stderr);
    }
    fs::set_permissions(forge.join("closed"), fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// The number of repositories in [`forge_of_fifty`].
const FIFTY: usize = 50;

/// Fifty tiny repositories of ten kinds, below one folder: every fifth kind is bad or has nothing to estimate.
fn forge_of_fifty(scratch: &Scratch) -> PathBuf {
    let forge = scratch.join("forge");
    for number in 0..FIFTY {
        let place = forge.join(format!("group-{}/{number:02}.git", number % 3));
        fs::create_dir_all(&place).expect("a folder");
        let format = if number % 10 == 5 { "sha256" } else { "sha1" };
        let is_repository = number % 10 != 9;
        if is_repository {
            let init = ["init", "-q", "--bare", "-b", "main", "--object-format", format];
            git::git(&place, init).exits(exit::OK);
        }
        match number % 10 {
            0 | 9 => continue,
            6 => git::git(&place, ["config", "fastimport.unpackLimit", "1000"]).exits(exit::OK),
            _ => git::git(&place, ["config", "fastimport.unpackLimit", "1"]).exits(exit::OK),
        };
        let commits = if number % 10 == 1 { 1 } else { 2 + number as u32 % 7 };
        git::fast_import(&place, &history(number, commits));
        match number % 10 {
            3 => damage_pack(&place),
            4 => make_shallow(&place),
            7 => drop(git::git(&place, ["tag", "v1"]).exits(exit::OK)),
            8 => drop(git::git(&place, ["pack-refs", "--all"]).exits(exit::OK)),
            _ => {}
        }
    }
    forge
}

/// A file that grows by a few lines with each commit.
fn history(number: usize, commits: u32) -> String {
    let commit = |at: u32| {
        let lines: String = (0..at * 20 + 20).map(|line| format!("line {line} of repository {number}\n")).collect();
        git::stream_commit(1_600_000_000 + at, "change") + "\n" + &git::stream_file("file", &lines)
    };
    (0..commits).map(commit).collect()
}

/// Changes every byte after the header of the only pack.
fn damage_pack(repo: &Path) {
    let packs = git::pack_files(repo, "pack");
    let pack = packs.first().expect("a pack");
    let mut bytes = fs::read(pack).expect("the pack");
    bytes.iter_mut().skip(12).for_each(|byte| *byte ^= 0x55);
    fs::remove_file(pack).and_then(|()| fs::write(pack, bytes)).expect("the pack");
}

/// Says that the newest commit has no parents here.
fn make_shallow(repo: &Path) {
    let tip = git::output(repo, ["rev-parse", "main"]);
    fs::write(git::path(repo, "shallow"), format!("{}\n", tip.trim_end())).expect("the file");
}

#[test]
fn fifty_repositories_in_killed_shards_have_one_end_each() {
    let scratch = Scratch::new();
    let forge = forge_of_fifty(&scratch);
    let shards = ["1/2", "2/2"];
    let file = |shard: &str| scratch.join(&format!("shard-{}.jsonl", &shard[..1]));
    let run = |shard: &str| {
        let mut command = cached(&scratch);
        command.args([
            "fleet",
            text(&forge),
            "--shard",
            shard,
            "--jobs",
            "2",
            "--resume",
            "--json",
            text(&file(shard)),
        ]);
        command.args(words(QUICK));
        command
    };
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for shard in shards {
        let path = file(shard);
        let lines = || fs::read_to_string(&path).unwrap_or_default().matches("\"record\":\"fleet\"").count();
        let mut killed = run(shard).arg("--quiet").stdin(Stdio::null()).spawn().expect("the program");
        wait_for(&mut killed, || lines() >= 7);
        killed.kill().expect("a running fleet");
        killed.wait().expect("its end");
        let before = ends_of_lines(&path);
        program::run(&mut run(shard)).exits(exit::OK);
        let after = ends(&path);
        assert!(before.iter().all(|name| after[name].len() == 1), "done twice: {before:?} {after:?}");
        all.extend(after);
        let again = program::run(&mut run(shard)).exits(exit::OK);
        assert!(again.stderr.contains("; 0 worked on in this run"), "{}", again.stderr);
    }
    assert_eq!(all.len(), FIFTY);
    let with_end = |end: &str| -> Vec<&String> {
        all.iter().filter(|(_, ends)| ends[..] == [end]).map(|(name, _)| name).collect()
    };
    let (empty, failed) = (with_end("empty"), with_end("failed"));
    assert_eq!((empty.len(), failed.len()), (FIFTY / 10, FIFTY * 2 / 10), "{empty:?} {failed:?}");
    let ends_with = |all: &[&String], ends: &[&str]| all.iter().all(|name| ends.iter().any(|end| name.ends_with(end)));
    assert!(ends_with(&empty, &["0.git"]) && ends_with(&failed, &["3.git", "9.git"]), "{empty:?} {failed:?}");
    let mut summarize = cached(&scratch);
    summarize.args(["fleet", "summarize", "--json", "-"]).args(shards.map(file));
    let summary: Value = serde_json::from_slice(&program::run(&mut summarize).exits(exit::OK).stdout).expect("JSON");
    let count = |name: &str| summary["fleet"][name].as_u64().expect("a number") as usize;
    let failures = summary["fleet"]["failures"].as_array().expect("failures");
    assert!(failures.iter().all(|failure| failure["is_permanent"] == true), "{failures:?}");
    assert_eq!(
        count("repositories") + count("duplicates") + count("without_commits") + failures.len(),
        FIFTY,
        "{summary}"
    );
}

/// The names of the repositories that have an end in a shard that was cut anywhere.
fn ends_of_lines(shard: &Path) -> Vec<String> {
    let text = fs::read_to_string(shard).expect("the shard");
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ends = lines.filter(|line| line["record"] == "fleet");
    ends.map(|line| line["name"].as_str().expect("a name").to_owned()).collect()
}
