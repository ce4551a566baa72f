//! `repackbench bench --client stock`: the user's own hg runs the workloads.

use std::path::Path;

use crate::support::hg::Version;
use crate::support::program::{self, Outcome, each, exit, text};
use crate::support::records::{self, assert_same_results};
use crate::support::{Fixture, Scratch, hg_extension, snapshot};

#[track_caller]
fn bench(scratch: &Scratch, repo: &Path, options: &[&str]) -> Outcome {
    let mut bench = program::bench(scratch);
    bench.args(["--client", "stock", "--hg"]).arg(Version::V72.program()).args(options).arg(repo);
    program::run(&mut bench)
}

/// Measures, and fails the test unless the table has these rows, and all rows of each workload do the
/// same.
#[track_caller]
fn compares(scratch: &Scratch, repo: &Path, workloads: &[&str], options: &[&str], rows: &[&str]) {
    let file = scratch.join("records.jsonl");
    let own = ["--blocks", "1", "--force", "--json", text(&file)];
    let options = [&own[..], &each("--workload", workloads), options].concat();
    let table = bench(scratch, repo, &options).exits(exit::OK).text();
    for row in rows {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    let records = records::read(&file);
    for record in &records {
        assert_eq!(record["workload"]["parameters"]["client"], "hg");
        let version = record["variant"]["client"]["version"].as_str().expect("a version");
        assert!(version.starts_with("Mercurial Distributed SCM"), "{version}");
        // Python alone takes more than that.
        assert!(record["usage"]["peak_resident_bytes"].as_u64() > Some(8_000_000), "{}", record["usage"]);
    }
    assert_same_results(&records, workloads.len());
}

// hg is slow to start. So each kind of row is tried once, and each workload except the clones and pulls that the test
// of the experiment on revlogs has. What the extension does in the other jobs is tested in integrations/hg.

#[test]
fn writing_workloads_have_rows_with_and_without_extension() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let rows = [
        "as found · plain hg",
        "zlib:6 · plain hg",
        "zlib:6 · hg + extension",
        "zstd:3 · plain hg",
        "zstd:3 · hg + extension",
        "lz4hc:9 · hg + extension",
    ];
    let options = ["--codec", "lz4hc:9", "--hg-extension", text(hg_extension::folder())];
    compares(&scratch, &repo, &["checkout", "repack"], &options, &rows);
    assert_eq!(snapshot::state(&repo), before, "the source was written to");
}

#[test]
fn reading_workloads_use_the_caches_of_a_forge() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let options = ["--codec", "zstd:3", "--commits", "2", "--caches", "forge"];
    let rows = ["(caches=forge", "zlib:6 · plain hg", "zstd:3 · plain hg"];
    compares(&scratch, &repo, &["diff:raw", "diff:patch", "fsck"], &options, &rows);
}

#[test]
fn jobs_of_hg_alone_do_the_same_in_every_row() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let options = ["--codec", "zstd:3", "--commits", "2", "--seed", "7", "--details"];
    let rows = ["zlib:6 · plain hg", "zstd:3 · plain hg", "written MB", "annotate (commits=2"];
    compares(&scratch, &repo, &["unbundle", "commit", "annotate", "clone:stream"], &options, &rows);
    assert_eq!(snapshot::state(&repo), before, "the source was written to");
    let records = records::read(&scratch.join("records.jsonl"));
    let changesets = |workload: &str| {
        let of = records.iter().find(|record| record["workload"]["name"] == workload).expect("a record");
        of["counts"]["objects"].as_u64().expect("a count")
    };
    assert_eq!(changesets("commit"), changesets("clone:stream") + 1);
    for record in &records {
        let (extra, workload) = (&record["extra"], record["workload"]["name"].as_str().expect("a name"));
        let parameters = &record["workload"]["parameters"];
        assert_eq!(extra["bytes written"].as_u64() > Some(0), workload != "annotate", "{record}");
        assert_eq!(extra["bytes sent"].as_u64() > Some(0), workload == "clone:stream", "{record}");
        match workload {
            "unbundle" => assert_eq!(parameters["commits"], "2"),
            "annotate" => {
                let requests: u64 = parameters["requests"].as_str().expect("a number").parse().expect("a number");
                let times = record["requests"]["elapsed_ns"].as_array().expect("times");
                assert_eq!(times.len() as u64, requests * record["iterations"].as_u64().expect("a number"));
            }
            "commit" => assert!(parameters["files"].is_string() && parameters["seed"] == "7", "{parameters}"),
            _ => {}
        }
    }
}

#[test]
fn rejects_unsupported_jobs_before_converting() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let refused = |options: &[&str], code: i32, why: &str| {
        let line = bench(&scratch, &repo, options).exits(code).error_line();
        assert!(line.contains(why), "{options:?}: {line}");
    };
    refused(&["--codec", "lz4"], exit::USAGE, "lz4: hg has this codec only with repackbench's extension");
    refused(&["--codec", "zstd:9,dict=4k"], exit::USAGE, "stock hg reads no dictionaries");
    refused(&["--codec", "zstd:3", "--zlib", "zlib-rs"], exit::USAGE, "--zlib: hg only has its own");
    refused(&["--codec", "zstd:3", "--workload", "traverse"], exit::USAGE, "traverse: hg has no command for that");
}
