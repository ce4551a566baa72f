//! `repackbench bench --client stock` on Mercurial repositories: the user's own hg does the jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::fixture::Fixture;
use crate::support::hg::Version;
use crate::support::program::{self, Outcome, Scratch, command, exit};
use crate::support::{hg_extension, snapshot};

#[track_caller]
fn bench(scratch: &Scratch, repo: &Path, options: &[&str]) -> Outcome {
    let mut bench = command();
    bench.env("XDG_CACHE_HOME", scratch.join("cache")).args([
        "bench",
        "--min-run-time",
        "1ms",
        "--quiet",
        "--client",
        "stock",
    ]);
    program::run(bench.arg("--hg").arg(Version::V72.program()).args(options).arg(repo))
}

/// What the rows of a session saw, by workload: one thing each, if all did the same.
#[track_caller]
fn seen(scratch: &Scratch, repo: &Path, options: &[&str], rows: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let file = scratch.join("records.jsonl");
    let extension = hg_extension::folder().to_str().expect("a path in UTF-8");
    let path = file.to_str().expect("a path in UTF-8");
    let options = [&["--hg-extension", extension, "--blocks", "1", "--json", path], options].concat();
    let table = bench(scratch, repo, &options).exits(exit::OK).text();
    for row in rows {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in fs::read_to_string(&file).expect("the records").lines() {
        let record: Value = serde_json::from_str(line).expect("a record");
        assert_eq!(record["workload"]["parameters"]["client"], "hg");
        let version = record["variant"]["client"]["version"].as_str().expect("a version");
        assert!(version.starts_with("Mercurial Distributed SCM"), "{version}");
        // Python alone takes more than that.
        assert!(record["usage"]["peak_resident_bytes"].as_u64() > Some(8_000_000), "{}", record["usage"]);
        let workload = record["workload"]["name"].as_str().expect("a name").to_owned();
        seen.entry(workload).or_default().insert(format!("{}{}", record["digest"], record["counts"]));
    }
    seen
}

// Every start of hg takes a while: each kind of row is tried once, and each workload but those of the experiment on revlogs, whose
// test has clones and pulls.

#[test]
fn what_writes_has_a_row_for_each_variant_with_and_without_the_extension() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let workloads = ["checkout", "repack"];
    let mut options = vec!["--codec", "lz4hc:9"];
    workloads.iter().for_each(|workload| options.extend(["--workload", workload]));
    let rows = [
        "as found · plain hg",
        "zlib:6 · plain hg",
        "zlib:6 · hg + extension",
        "zstd:3 · plain hg",
        "zstd:3 · hg + extension",
        "lz4hc:9 · hg + extension",
    ];
    let seen = seen(&scratch, &repo, &options, &rows);
    assert_eq!(snapshot::state(&repo), before, "the source was written to");
    assert_eq!(seen.len(), workloads.len());
    assert!(seen.values().all(|digests| digests.len() == 1), "every row did the same: {seen:?}");
}

#[test]
fn what_reads_finds_a_forge_s_caches() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let workloads = ["diff:raw", "diff:patch", "fsck"];
    let mut options = vec!["--codec", "zstd:3", "--commits", "2", "--caches", "forge"];
    workloads.iter().for_each(|workload| options.extend(["--workload", workload]));
    let seen = seen(&scratch, &repo, &options, &["(caches=forge", "zstd:3 · plain hg", "zstd:3 · hg + extension"]);
    assert_eq!(seen.len(), workloads.len());
    assert!(seen.values().all(|digests| digests.len() == 1), "every row did the same: {seen:?}");
}

#[test]
fn what_stock_hg_cannot_do_is_refused_before_anything_is_made() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let refused = |options: &[&str], code: i32, why: &str| {
        let line = bench(&scratch, &repo, options).exits(code).error_line();
        assert!(line.contains(why), "{options:?}: {line}");
    };
    refused(&["--codec", "lz4"], exit::FAILURE, "lz4: hg has this codec only with repackbench's extension");
    refused(&["--codec", "zstd:9,dict=4k"], exit::FAILURE, "stock hg reads no dictionaries");
    refused(&["--codec", "zstd:3", "--zlib", "zlib-rs"], exit::FAILURE, "--zlib: hg has its own");
    refused(&["--codec", "zstd:3", "--workload", "traverse"], exit::USAGE, "traverse: no command of hg does that");
}
