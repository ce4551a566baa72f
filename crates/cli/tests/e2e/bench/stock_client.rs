//! `repackbench bench --client stock`: the user's own git runs the workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::program::{self, Outcome, cached, each, exit, text};
use crate::support::records::{self, assert_same_results};
use crate::support::{Fixture, Scratch, executable, git, preload, snapshot};

fn bench(scratch: &Scratch, repo: &Path, options: &[&str]) -> Command {
    let mut bench = program::bench(scratch);
    bench.env("REPACKBENCH_PRELOAD", preload::stand_in()).args(options).arg(repo);
    bench
}

#[track_caller]
fn run(scratch: &Scratch, repo: &Path, options: &[&str]) -> Outcome {
    program::run(&mut bench(scratch, repo, options))
}

/// A program in the scratch folder that runs `script` and then git.
fn fake_git(scratch: &Scratch, script: &str) -> PathBuf {
    let file = scratch.join("fake-git");
    // Not the git on the PATH: if that is a copy, the library does not recognise it as git when it writes.
    let git = git::output(scratch.path(), ["--exec-path"]);
    executable::write(&file, &format!("#!/bin/sh\n{script}\nexec '{}/git' \"$@\"\n", git.trim_end()));
    file
}

/// The spec and client of a record.
fn row(record: &Value) -> String {
    let variant = &record["variant"];
    let spec = variant["spec"]["typed"].as_str().unwrap_or("as found");
    let Some(client) = variant["client"].as_object() else { return spec.to_owned() };
    assert_eq!(client["kind"], "stock");
    assert!(client["version"].as_str().is_some_and(|version| version.starts_with("git version ")), "{client:?}");
    let library = if client["library"] == true { "library" } else { "plain" };
    format!("{spec} {library} {}", client["zlib"].as_str().expect("a zlib"))
}

#[test]
fn each_workload_has_rows_for_each_variant_and_client() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let file = scratch.join("records.jsonl");
    let codecs = ["--codec", "zlib:6", "--codec", "zstd:3", "--codec", "lz4", "--codec", "store"];
    let mut options = [&codecs[..], &["--client", "stock", "--zlib", "zlib-rs,libdeflate", "--blocks", "1"]].concat();
    options.extend(["--commits", "2", "--details", "--force", "--json", text(&file)]);
    let reading =
        ["checkout", "traverse", "diff:raw", "diff:pickaxe=a", "diff:patch", "sizes", "cat-all", "fsck"].as_slice();
    let writing = ["repack", "repack:incremental"];
    let sending = ["clone:zlib", "clone:same", "fetch:zlib", "fetch:same"];
    options.extend(each("--workload", &[reading, &writing, &sending].concat()));
    let table = run(&scratch, &repo, &options).exits(exit::OK).text();
    for name in ["zlib:6 · plain git", "zlib:6 · git + library", "zlib:6 · git + zlib-rs", "lz4 · git + library"] {
        assert!(table.contains(name), "{name} is not in\n{table}");
    }
    assert!(table.contains("git rev-list --objects --all took 6 % less time"), "{table}");
    assert_eq!(snapshot::state(&repo), before, "the source was written to");

    let zlib = [
        "zlib:6 library host",
        "zlib:6 library libdeflate",
        "zlib:6 library zlib-rs",
        "zlib:6 plain host",
        "zlib:6 plain host",
    ];
    let others = ["lz4 library host", "store library host", "zstd:3 library host"];
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let records = records::read(&file);
    for record in &records {
        let workload = record["workload"]["name"].as_str().expect("a name").to_owned();
        assert_eq!(record["workload"]["parameters"]["client"], "git");
        assert!(record["extra"]["process start ns"].is_u64(), "{record}");
        let is_user_time = record["compared_time"] == "user-of-command";
        assert_eq!(is_user_time, workload == "checkout", "{record}");
        assert!(record["sample"]["writing_ns"].is_null(), "the time a command spends writing is unknown");
        rows.entry(workload).or_default().push(row(record));
    }
    assert_same_results(&records, reading.len() + writing.len() + sending.len());
    for (workload, mut found) in rows {
        let mut expected: Vec<&str> = zlib.to_vec();
        expected.extend(others);
        if !writing.contains(&&*workload) && !workload.starts_with("fetch") {
            expected.push("as found plain host");
        }
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{workload}");
    }
    super::cold::assert_no_copies(&scratch.join("cache"));
}

#[test]
fn compares_both_clients_and_report_agrees() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let options = ["--client", "both", "--codec", "zstd:3", "--workload", "traverse", "--caches", "off,forge"];
    let options = [&options[..], &["--blocks", "2", "--force", "--json", text(&file)]].concat();
    let table = run(&scratch, &repo, &options).exits(exit::OK).text();
    let side_by_side = "in-process and by commands: CPU time ratios";
    assert!(table.contains(side_by_side) && table.contains(", by stock git"), "{table}");
    assert!(table.contains("traverse (caches=forge)"), "{table}");
    let again = program::repackbench(["report", text(&file)]).exits(exit::OK).text();
    assert_eq!(again, table);
    for form in ["--markdown", "--csv"] {
        let text = program::repackbench(["report", form, "-", text(&file)]).exits(exit::OK).text();
        assert!(text.contains("zstd:3 · git + library"), "{form}:\n{text}");
    }
    let page = scratch.join("report.html");
    program::repackbench(["report", "--html", text(&page), text(&file)]).exits(exit::OK);
    assert!(fs::read_to_string(&page).unwrap().contains("zstd:3 · git + library"));

    // A stopped session resumes in both of its parts.
    let whole = records::read(&file);
    let lines = fs::read_to_string(&file).unwrap();
    let kept: Vec<&str> = lines.lines().take(whole.len() - 3).collect();
    fs::write(&file, kept.join("\n") + "\n").unwrap();
    let seed = whole[0]["place"]["seed"].to_string();
    let options = [&options[..options.len() - 3], &["--seed", &seed, "--resume", text(&file)]].concat();
    run(&scratch, &repo, &options).exits(exit::OK);
    assert_eq!(records::read(&file).len(), whole.len());
}

#[test]
fn variant_can_be_the_source() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    program::convert(&Fixture::get("history").repo(), "zstd:5", &variant);
    let before = snapshot::state(&variant);
    let file = scratch.join("records.jsonl");
    let options = ["--client", "stock", "--codec", "lz4", "--workload", "traverse", "--workload", "repack"];
    run(&scratch, &variant, &[&options[..], &["--blocks", "1", "--force", "--json", text(&file)]].concat())
        .exits(exit::OK);
    let rows: BTreeSet<String> = records::read(&file).iter().map(row).collect();
    // Plain git cannot read the variant as found.
    let expected = ["as found library host", "lz4 library host", "zlib:6 library host", "zlib:6 plain host"];
    assert_eq!(rows, expected.map(str::to_owned).into());
    assert_eq!(snapshot::state(&variant), before, "the source was written to");
}

#[test]
fn hooks_of_the_source_do_not_run() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let (hooks, ran) = (repo.join("hooks"), scratch.join("a-hook-ran"));
    fs::create_dir_all(&hooks).unwrap();
    for name in ["post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change", "update"] {
        let hook = hooks.join(name);
        executable::write(&hook, &format!("#!/bin/sh\ntouch '{}'\n", text(&ran)));
    }
    let jobs = each("--workload", &["checkout", "repack", "fetch:zlib", "clone:zlib"]);
    let options = [&["--client", "stock", "--codec", "zlib:9", "--commits", "2", "--blocks", "1"], &jobs[..]].concat();
    run(&scratch, &repo, &options).exits(exit::OK);
    assert!(!ran.exists());
}

#[test]
fn rejects_unsupported_jobs_before_converting() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let refused = |options: &[&str], code: i32, why: &str| {
        let line = run(&scratch, &repo, &[&["--client", "stock"], options].concat()).exits(code).error_line();
        assert!(line.contains(why), "{options:?}: {line}");
        let listed = program::run(cached(&scratch).args(["cache", "list"]));
        assert!(!listed.text().contains("zlib:6"), "{options:?}: {}", listed.text());
    };
    refused(&["--codec", "zstd:5,prefix"], exit::USAGE, "zstd:5,prefix: stock git cannot read it");
    refused(
        &["--codec", "lz4", "--baseline", "zstd:5"],
        exit::USAGE,
        "zstd:5: expected a baseline that git reads without the library",
    );
    refused(&["--codec", "lz4", "--cache", "cold"], exit::USAGE, "cold runs: only in-process");
    refused(&["--codec", "lz4", "--workload", "encode"], exit::USAGE, "encode: git");
    refused(&["--codec", "lz4", "--git", "no-such-git"], exit::FAILURE, "no-such-git: not found");
}

#[test]
fn failing_or_differing_git_is_one_clear_error() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let error = |script: &str| {
        let git = fake_git(&scratch, script);
        let options = ["--client", "stock", "--codec", "lz4", "--workload", "traverse", "--blocks", "1", "--git"];
        run(&scratch, &repo, &[&options[..], &[text(&git)]].concat()).exits(exit::FAILURE).error_line()
    };
    let failed = error("test \"$1\" != rev-list || { echo 'fatal: not today' >&2; exit 3; }");
    assert!(
        failed.contains("zlib:6 · plain fake-git: ") && failed.contains("exit status: 3: fatal: not today"),
        "{failed}"
    );
    let other = error("test \"$1$LD_PRELOAD\" = rev-list || test \"$1\" != rev-list || { echo other; exit 0; }");
    assert!(other.contains("zlib:6 · fake-git + library saw 6 output bytes, 1 output lines"), "{other}");
    let version = error("test \"$1\" != --version || { echo 'hub 1'; exit 0; }");
    assert!(version.contains("expected \"git version ...\", found \"hub 1\""), "{version}");
}

#[test]
fn failing_workload_does_not_hide_other_tables() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let git = fake_git(&scratch, "test \"$1\" != fsck || { echo 'error: damaged' >&2; exit 4; }");
    let options = ["--client", "stock", "--codec", "lz4", "--workload", "fsck", "--workload", "traverse", "--blocks"];
    let outcome = run(&scratch, &repo, &[&options[..], &["1", "--git", text(&git)]].concat()).exits(exit::FAILURE);
    assert!(outcome.text().contains("lz4 · fake-git + library") && outcome.text().contains("traverse (client="));
    let line = outcome.error_line();
    assert!(line.contains("fsck (client=fake-git)") && line.contains("exit status: 4: error: damaged"), "{line}");
}

#[test]
fn interrupted_session_leaves_no_child() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let pid_file = scratch.join("pid");
    // Sleeps longer than any test may take.
    let script = format!("test \"$1\" != rev-list || {{ echo $$ > '{}'; exec sleep 10000; }}", text(&pid_file));
    let git = fake_git(&scratch, &script);
    let options = ["--client", "stock", "--codec", "lz4", "--workload", "traverse", "--git", text(&git)];
    let running =
        bench(&scratch, &repo, &options).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut running = running.expect("the program");
    let written = || fs::read_to_string(&pid_file).unwrap_or_default();
    program::wait_for(&mut running, || written().ends_with('\n'));
    let pid = written().trim().to_owned();
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().expect("kill").success());
    let output = running.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    // Gone, or a zombie that is not waited for yet.
    let state = fs::read_to_string(Path::new("/proc").join(&pid).join("stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "the child is still there: {state}");
}
