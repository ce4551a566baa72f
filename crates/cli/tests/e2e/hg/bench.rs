//! `repackbench bench` on a Mercurial repository, with both arms: the source's deltas, and those that hg chooses under the codec.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use super::super::support::hg::{self, VERSIONS, Version};
use super::super::support::program::{self, Outcome, command, exit};
use super::super::support::{Fixture, Scratch, hg_extension, repackbench, snapshot};

/// Benches a fixture and gives the outcome and the records.
#[track_caller]
fn bench(fixture: &str, options: &[&str], scratch: &Scratch) -> (Outcome, Vec<Value>) {
    let (source, file) = (Fixture::hg(fixture).repo(), scratch.join("records.jsonl"));
    let mut bench = command();
    bench
        .env("XDG_CACHE_HOME", scratch.join("cache"))
        .args(["bench", "--min-run-time", "1ms", "--quiet", "--blocks", "1", "--json"])
        .arg(&file);
    let outcome = program::run(bench.args(options).arg(source)).exits(exit::OK);
    let records = std::fs::read_to_string(file).expect("the records");
    (outcome, records.lines().map(|line| serde_json::from_str(line).expect("a record on each line")).collect())
}

/// The digests and counts that each workload came to.
fn seen(records: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in records {
        let key = record["workload"].to_string();
        seen.entry(key).or_default().insert(format!("{}{}", record["digest"], record["counts"]));
    }
    seen
}

#[test]
fn every_workload_and_variant_is_in_the_table_and_in_the_records() {
    let scratch = Scratch::new();
    // Options mean nothing in revlogs, so that the second and the third are the first again.
    let specs = ["zstd:3", "zstd:3,checksum=no", "zlib:6,loose=9", "lz4"];
    let options: Vec<&str> = specs.into_iter().flat_map(|spec| ["--codec", spec]).collect();
    let (outcome, records) = bench("branches", &options, &scratch);
    let table = outcome.text();
    for word in
        ["checkout", "traverse", "diff:raw", "diff:pickaxe", "diff:patch", "as found", "zlib:6", "zstd:3", "lz4"]
    {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
    let seen = seen(&records);
    assert_eq!(seen.len(), 6, "{seen:?}");
    for (workload, digests) in &seen {
        assert_eq!(digests.len(), 1, "every variant of {workload} saw the same");
    }
    assert_eq!(records.len(), 6 * 5, "zlib:6 runs twice");
}

#[test]
fn both_arms_stand_in_one_table() {
    let scratch = Scratch::new();
    let program = Version::V72.program();
    let extension = hg_extension::folder().to_str().expect("a path in UTF-8");
    let mut options =
        vec!["--rechosen", "--hg", program.to_str().expect("a path in UTF-8"), "--hg-extension", extension];
    options.extend(["--codec", "zstd:3", "--codec", "lz4", "--workload", "traverse"]);
    let (outcome, records) = bench("default", &options, &scratch);
    let table = outcome.text();
    for row in ["as found", "zlib:6 ", "zlib:6, rechosen", "zstd:3 ", "zstd:3, rechosen", "lz4 ", "lz4, rechosen"] {
        assert!(table.contains(row), "{row:?} is not in\n{table}");
    }
    assert!(seen(&records).values().all(|digests| digests.len() == 1), "every variant saw the same");
}

#[test]
fn rechosen_deltas_hold_the_same_history() {
    let scratch = Scratch::new();
    for (version, spec) in VERSIONS.into_iter().zip(["zlib:9", "zstd:3"]) {
        let fixture = Fixture::hg_copy("63-default", &scratch);
        let (source, out, before) = (fixture.repo(), scratch.join(spec), snapshot::state(&fixture.folder));
        let options = ["convert", "--quiet", "--rechosen", "--codec", spec].map(OsString::from).into_iter();
        let paths =
            [OsString::from("--hg"), version.program().into(), "-o".into(), out.clone().into(), source.clone().into()];
        repackbench(options.chain(paths)).exits(exit::OK);
        assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
        assert_eq!(hg::verify(version, &out), hg::verify(version, &source), "{version:?}");
        assert_eq!(hg::changesets(&out), hg::changesets(&source));
        repackbench([Path::new("verify"), &source, &out]).exits(exit::OK);
        std::fs::remove_dir_all(&fixture.folder).expect("the copy");
    }
    assert_eq!(scratch.names(), ["zlib:9", "zstd:3"], "nothing is left behind");
}

#[test]
fn an_hg_that_cannot_choose_is_named_and_nothing_is_left() {
    let (source, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let convert = |codec: &str, hg: &str| {
        let options = ["convert", "--quiet", "--rechosen", "--codec", codec, "--hg", hg];
        let refused = program::run(command().args(options).arg(&source).arg("-o").arg(scratch.join("out")));
        let line = refused.exits(exit::FAILURE).error_line();
        assert_eq!(scratch.names(), [""; 0]);
        line
    };
    assert!(convert("zlib:6", "/nonexistent/hg").contains("/nonexistent/hg"));
    let program = Version::V72.program();
    let line = convert("lz4", program.to_str().expect("a path in UTF-8"));
    assert!(line.contains("lz4") && line.contains("extension"), "{line}");
}
