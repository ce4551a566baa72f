//! The jobs of a forge by stock git: what web pages read, and maintenance under a stream of pushes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::program::{self, each, exit};
use crate::support::records::{self, assert_same_results, spec};
use crate::support::{Fixture, Scratch, preload, snapshot};

const WEB: [&str; 5] = ["web:file", "web:file:batch", "web:blame", "web:log", "web:archive"];
const MAINTENANCE: [&str; 5] =
    ["index-pack", "repack:geometric", "repack:cruft", "multi-pack-index", "multi-pack-index:bitmap"];

fn bench(scratch: &Scratch, repo: &Path, options: &[&str]) -> Command {
    let mut bench = program::bench(scratch);
    bench.env("REPACKBENCH_PRELOAD", preload::stand_in());
    bench.args(["--client", "stock", "--codec", "zstd:3", "--details", "--force", "--json"]);
    bench.arg(scratch.join("records.jsonl")).args(options).arg(repo);
    bench
}

/// The table and the records.
#[track_caller]
fn measured(scratch: &Scratch, repo: &Path, options: &[&str]) -> (String, Vec<Value>) {
    let table = program::run(&mut bench(scratch, repo, options)).exits(exit::OK).text();
    (table, records::read(&scratch.join("records.jsonl")))
}

fn of<'r>(records: &'r [Value], workload: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["workload"]["name"] == workload).collect()
}

/// The requests that a session recorded for a workload.
fn drawn(records: &[Value], workload: &str) -> Vec<String> {
    let of_each = of(records, workload).into_iter().filter_map(|record| record["requests"]["drawn"].as_array());
    let all: Vec<&Vec<Value>> = of_each.collect();
    assert_eq!(all.len(), 1, "one record of {workload} has them");
    all[0].iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

#[test]
fn web_pages_read_the_same_drawn_files_in_every_row() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let options = [&["--blocks", "2", "--seed", "7"][..], &each("--workload", &WEB)].concat();
    let (table, records) = measured(&scratch, &repo, &options);
    assert_eq!(snapshot::state(&repo), before, "the source was written to");
    assert_same_results(&records, WEB.len());
    for (workload, requests) in [("web:file", 40), ("web:blame", 10), ("web:log", 20), ("web:archive", 4)] {
        assert_eq!(drawn(&records, workload).len(), requests, "{workload}");
    }
    let all = drawn(&records, "web:file:batch");
    assert!(all.len() > 250 && drawn(&records, "web:file") == all[..40], "one draw for all");
    for record in &records {
        let times = record["requests"]["elapsed_ns"].as_array().expect("times");
        let requests: usize = record["workload"]["parameters"]["requests"].as_str().unwrap().parse().unwrap();
        assert_eq!(times.len() as u64, requests as u64 * record["iterations"].as_u64().unwrap(), "{record}");
        assert!(times.iter().all(|time| time.as_u64() > Some(0)), "{times:?}");
        assert_eq!(record["workload"]["parameters"]["seed"], "7");
        assert_eq!(record["checks"]["commit_graph"], true, "in every arm alike");
        assert_eq!(record["checks"]["bitmaps"], false);
    }
    let rows: BTreeSet<&str> = records.iter().map(spec).collect();
    assert_eq!(rows, BTreeSet::from(["zlib:6", "zstd:3"]), "none on the source as found");
    for words in ["99 %", "web:file:batch (requests=", "Requests: elapsed time of each"] {
        assert!(table.contains(words), "{words} is not in\n{table}");
    }

    let again = [&["--blocks", "1", "--seed", "7"][..], &each("--workload", &["web:file"])].concat();
    assert_eq!(drawn(&measured(&scratch, &repo, &again).1, "web:file"), all[..40], "the seed decides");
    let other = [&["--blocks", "1", "--seed", "8"][..], &each("--workload", &["web:file"])].concat();
    assert_ne!(drawn(&measured(&scratch, &repo, &other).1, "web:file"), all[..40]);
}

#[test]
fn maintenance_follows_drawn_pushes() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let options = [&["--blocks", "1", "--seed", "7", "--commits", "3"][..], &each("--workload", &MAINTENANCE)].concat();
    let (table, records) = measured(&scratch, &repo, &options);
    assert_eq!(snapshot::state(&repo), before, "the source was written to");
    assert_same_results(&records, MAINTENANCE.len());
    let pushes = drawn(&records, "index-pack");
    assert!(!pushes.is_empty() && pushes.len() <= 3, "{pushes:?}");
    for pair in pushes.windows(2) {
        let [(_, new), (old, _)] = [0, 1].map(|at| pair[at].split_once("..").expect("a range"));
        assert_eq!(new, old, "each push continues the one before");
    }
    for record in &records {
        let (extra, workload) = (&record["extra"], record["workload"]["name"].as_str().unwrap());
        let written = extra["bytes written"].as_u64().expect("bytes");
        assert!(written > 0, "{record}");
        let is_stream = ["index-pack", "repack:geometric"].contains(&workload);
        assert_eq!(extra["bytes pushed"].is_u64(), is_stream, "{record}");
        assert_eq!(record["workload"]["parameters"]["pushes"], pushes.len().to_string());
        assert!(record["counts"]["objects"].as_u64() > Some(0), "{record}");
    }
    for words in ["written MB", "Every commit of the first-parent", "repack:geometric ("] {
        assert!(table.contains(words), "{words} is not in\n{table}");
    }
}

#[test]
fn repositories_without_a_push_are_refused() {
    let (repo, scratch) = (Fixture::get("empty").repo(), Scratch::new());
    for workload in ["web:file", "index-pack"] {
        let outcome = program::run(&mut bench(&scratch, &repo, &["--blocks", "1", "--workload", workload]));
        assert_ne!(outcome.code, Some(exit::OK), "{workload}: {}", outcome.stderr);
    }
    let unknown = program::run(&mut bench(&scratch, &repo, &["--workload", "web:files"])).exits(exit::USAGE);
    assert!(unknown.stderr.contains("web:file:batch"), "{}", unknown.stderr);
    let with_commits = Fixture::get("history").repo();
    let of_hg = program::run(&mut bench(&scratch, &with_commits, &["--workload", "unbundle"])).exits(exit::USAGE);
    assert!(of_hg.stderr.contains("unbundle: git has no command for that"), "{}", of_hg.stderr);
}
