//! `repackbench alternatives`: another codec compared with everything else that speeds up git.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::program::{self, Outcome, cached, each, exit, text};
use crate::support::records::{self, assert_same_results};
use crate::support::{Fixture, Scratch, preload, snapshot};

#[track_caller]
fn run(scratch: &Scratch, repo: &Path, options: &[&str]) -> Outcome {
    let mut command = cached(scratch);
    command.env("REPACKBENCH_PRELOAD", preload::stand_in());
    program::run(command.args(["alternatives", "--quiet", "--min-run-time", "1ms"]).args(options).arg(repo))
}

#[test]
fn compares_every_measure_in_one_table() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let file = scratch.join("records.jsonl");
    let workloads = ["traverse", "diff:raw", "clone:zlib"];
    let mut options =
        vec!["--codec", "zstd:3", "--blocks", "1", "--base-cache", "512M", "--force", "--json", text(&file)];
    options.extend(each("--workload", &workloads));
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
    let records = records::read(&file);
    let mut sizes: BTreeMap<String, BTreeSet<(bool, u64)>> = BTreeMap::new();
    for record in &records {
        let client = &record["variant"]["client"];
        let helps = client["helps"].as_array().map_or(0, Vec::len);
        let has = |help: &str| client["helps"].as_array().is_some_and(|helps| helps.iter().any(|found| found == help));
        assert_eq!(record["checks"]["bitmaps"] == true, has("bitmaps"), "{record}");
        if record["variant"]["deltas"].is_null() || record["variant"]["deltas"] == "kept" {
            let bytes = record["size"]["total_bytes"].as_u64().expect("a size");
            sizes.entry(record["variant"]["spec"]["typed"].to_string()).or_default().insert((has("bitmaps"), bytes));
        }
        assert!(helps == 0 || record["conversion"]["wall_ns"].is_u64(), "making the variant was timed: {record}");
    }
    let of_baseline = &sizes["\"zlib:6\""];
    let largest = |with: bool| of_baseline.iter().filter(|(has, _)| *has == with).map(|(_, bytes)| *bytes).max();
    assert!(largest(true) > largest(false), "bitmaps take space: {of_baseline:?}");
    assert_same_results(&records, workloads.len());
    // A larger cache is the receiver's, while the sender reads what is cloned.
    let left_out = 1;
    let expected = workloads.len() * (rows.len() + 1) - left_out;
    assert_eq!(records.len(), expected, "each row once, the baseline twice");
}

#[test]
fn without_repack_leaves_out_rechosen_and_hg_is_rejected() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let options = ["--without-repack", "--workload", "traverse", "--blocks", "1"];
    let table = run(&scratch, &repo, &options).exits(exit::OK).text();
    assert!(table.contains("balanced · git + library") && !table.contains(", rechosen"), "{table}");
    let refused = run(&scratch, &Fixture::hg("default").repo(), &[]).exits(exit::USAGE).error_line();
    assert!(refused.contains("alternatives measures git"), "{refused}");
}
