//! `repackbench bench`, with the deltas of the source and with those that hg chooses under the codec.

mod stock_client;

use serde_json::Value;

use crate::support::hg::Version;
use crate::support::program::{self, each, exit, text};
use crate::support::records::{self, assert_same_results};
use crate::support::{Fixture, Scratch, hg_extension};

/// Measures a fixture, and returns the table and the records.
#[track_caller]
fn bench(fixture: &str, options: &[&str], scratch: &Scratch) -> (String, Vec<Value>) {
    let (source, file) = (Fixture::hg(fixture).repo(), scratch.join("records.jsonl"));
    let mut bench = program::bench(scratch);
    bench.args(["--blocks", "1", "--force", "--json"]).arg(&file).args(options).arg(source);
    (program::run(&mut bench).exits(exit::OK).text(), records::read(&file))
}

#[test]
fn measures_every_workload_on_every_variant() {
    let scratch = Scratch::new();
    // Options have no effect in revlogs, so the second spec is the same as the first, and the third is the baseline.
    let specs = ["zstd:3", "zstd:3,checksum=no", "zlib:6,loose=9", "lz4"];
    let (table, records) = bench("branches", &each("--codec", &specs), &scratch);
    for word in
        ["checkout", "traverse", "diff:raw", "diff:pickaxe", "diff:patch", "as found", "zlib:6", "zstd:3", "lz4"]
    {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
    assert_same_results(&records, 5);
    assert_eq!(records.len(), 5 * 5, "zlib:6 runs twice");
}

#[test]
fn kept_and_rechosen_deltas_share_a_table() {
    let scratch = Scratch::new();
    let program = Version::V72.program();
    let extension = text(hg_extension::folder());
    let mut options = vec!["--rechosen", "--hg", text(&program), "--hg-extension", extension];
    options.extend(["--codec", "zstd:3", "--codec", "lz4", "--workload", "traverse"]);
    let (table, records) = bench("default", &options, &scratch);
    for row in ["as found", "zlib:6 ", "zlib:6, rechosen", "zstd:3 ", "zstd:3, rechosen", "lz4 ", "lz4, rechosen"] {
        assert!(table.contains(row), "{row:?} is not in\n{table}");
    }
    assert_same_results(&records, 1);
}
