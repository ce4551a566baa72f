//! `bench --cache cold`: each run reads copies of a variant's files that are not in the page cache.

use std::path::Path;

use crate::support::program::{self, Outcome, command, exit, words};
use crate::support::records::{self, number};
use crate::support::{Fixture, Scratch};

/// Measures `repo` cold, with variants and copies in `folder`.
fn bench_cold(repo: &Path, folder: &Path, options: &[&str]) -> Outcome {
    let mut bench = command();
    bench.env("XDG_CACHE_HOME", folder).args(words("bench --min-run-time 1ms --quiet --cache cold --codec lz4"));
    program::run(bench.args(options).arg(repo))
}

/// Fails the test if copies are left in the cache of variants in `folder`.
#[track_caller]
pub(crate) fn assert_no_copies(folder: &Path) {
    let left = std::fs::read_dir(folder.join("repackbench")).expect("the cache");
    let mut names = left.map(|entry| entry.expect("an entry").file_name());
    assert!(!names.any(|name| name.to_string_lossy().starts_with("cold-copies")), "copies are left");
}

#[test]
fn reads_copies_in_turn_and_removes_them() {
    for repo in [Fixture::get("history").repo(), Fixture::hg("history").repo()] {
        let disk = Scratch::on_disk();
        let file = disk.join("records.jsonl");
        let options =
            ["--workload", "traverse", "--blocks", "5", "--details", "--force", "--json", program::text(&file)];
        let table = bench_cold(&repo, disk.path(), &options).exits(exit::OK).text();
        assert!(table.contains("cache=cold") && table.contains("mincore"), "{table}");
        for record in records::read(&file) {
            assert_eq!(number(&record["place"]["copy"]), number(&record["place"]["block"]) % 4, "{record}");
            assert_eq!(record["compared_time"], "wall");
            assert_eq!(record["workload"]["parameters"]["cache"], "cold");
        }
        assert_no_copies(disk.path());
    }
}

#[test]
fn rejects_places_and_workloads_that_are_never_cold() {
    let repo = Fixture::get("history").repo();
    let memory = Scratch::in_memory();
    let refused = bench_cold(&repo, memory.path(), &["--workload", "traverse", "--blocks", "1"]).exits(exit::FAILURE);
    assert!(refused.error_line().contains("would not be cold"), "{}", refused.error_line());
    let disk = Scratch::on_disk();
    let refused = bench_cold(&repo, disk.path(), &["--workload", "floor:traverse", "--blocks", "1"]).exits(exit::USAGE);
    assert!(refused.error_line().contains("has no cold runs"), "{}", refused.error_line());
}
