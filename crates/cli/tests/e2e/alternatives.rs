//! `repackbench alternatives`: another codec beside what else helps git.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::support::program::{self, Outcome, command, exit};
use super::support::{Fixture, Scratch, preload, snapshot};

#[track_caller]
fn run(scratch: &Scratch, repo: &Path, options: &[&str]) -> Outcome {
    let mut command = command();
    command.env("XDG_CACHE_HOME", scratch.join("cache")).env("REPACKBENCH_PRELOAD", preload::stand_in());
    program::run(command.args(["alternatives", "--quiet", "--min-run-time", "1ms"]).args(options).arg(repo))
}

#[test]
fn everything_that_helps_stands_in_one_table_and_lists_the_same() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let file = scratch.join("records.jsonl");
    let path = file.to_str().expect("a path in UTF-8");
    let workloads = ["traverse", "diff:raw", "clone:zlib"];
    let mut options = vec!["--codec", "zstd:3", "--blocks", "1", "--base-cache", "512M", "--json", path];
    workloads.iter().for_each(|workload| options.extend(["--workload", workload]));
    let table = run(&scratch, &repo, &options).exits(exit::OK).text();
    assert_eq!(snapshot::state(&repo), before, "the source was written to");
    let all = "commit-graph, bitmaps, delta cache 512 MiB";
    let rows = [
        "as found · plain git",
        "zlib:6 · plain git",
        "zlib:6 · git + library",
        "zlib:6 · git + zlib-rs",
        "zlib:6 · git + libdeflate",
        "zlib:6 · plain git, commit-graph",
        "zlib:6 · plain git, bitmaps",
        "zlib:6 · plain git, delta cache 512 MiB",
        "zstd:3 · git + library",
        "zlib:6, rechosen · plain git",
        &format!("zlib:6, rechosen · plain git, {all}"),
        "zstd:3, rechosen · git + library",
        &format!("zstd:3, rechosen · git + library, {all}"),
    ];
    for row in rows {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    let records = fs::read_to_string(&file).expect("the records");
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut sizes: BTreeMap<String, BTreeSet<(bool, u64)>> = BTreeMap::new();
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).expect("a record");
        let workload = record["workload"]["name"].as_str().expect("a name").to_owned();
        seen.entry(workload).or_default().insert(format!("{}{}", record["digest"], record["counts"]));
        let client = &record["variant"]["client"];
        let helps = client["helps"].as_array().map_or(0, Vec::len);
        let has = |help: &str| client["helps"].as_array().is_some_and(|helps| helps.iter().any(|found| found == help));
        assert_eq!(record["checks"]["bitmaps"] == true, has("bitmaps"), "{record}");
        if record["variant"]["deltas"].is_null() || record["variant"]["deltas"] == "kept" {
            let bytes = record["size"]["total_bytes"].as_u64().expect("a size");
            sizes.entry(record["variant"]["spec"]["typed"].to_string()).or_default().insert((has("bitmaps"), bytes));
        }
        assert!(helps == 0 || record["conversion"]["wall_ns"].is_u64(), "what helps was made: {record}");
    }
    let of_baseline = &sizes["\"zlib:6\""];
    let largest = |with: bool| of_baseline.iter().filter(|(has, _)| *has == with).map(|(_, bytes)| *bytes).max();
    assert!(largest(true) > largest(false), "bitmaps take room, too: {of_baseline:?}");
    assert_eq!(seen.len(), workloads.len());
    assert!(seen.values().all(|digests| digests.len() == 1), "every row did the same: {seen:?}");
    // A larger cache is the receiver's, and what is cloned is read by the sender.
    let left_out = 1;
    let expected = workloads.len() * (rows.len() + 1) - left_out;
    assert_eq!(records.lines().count(), expected, "each row once, the baseline twice");
}

#[test]
fn a_search_for_deltas_can_be_left_out_and_hg_is_refused() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let options = ["--without-repack", "--workload", "traverse", "--blocks", "1"];
    let table = run(&scratch, &repo, &options).exits(exit::OK).text();
    assert!(table.contains("balanced · git + library") && !table.contains("rechosen"), "{table}");
    let refused = run(&scratch, &Fixture::hg("default").repo(), &[]).exits(exit::USAGE).error_line();
    assert!(refused.contains("alternatives is about git"), "{refused}");
}
