//! Narrow clones, which have the revlogs of some folders only.

use std::path::{Path, PathBuf};

use crate::support::fixture::HG_NARROW;
use crate::support::hg::{self, Version};
use crate::support::program::{self, exit, text};
use crate::support::{Fixture, Scratch, records, repackbench, snapshot};

const NARROW: [&str; 2] = ["--config", "extensions.narrow="];

#[track_caller]
fn stock_hg(repo: &Path, words: &[&str]) -> Vec<u8> {
    hg::output(repo, [&NARROW[..], words].concat())
}

fn source(scratch: &Scratch) -> PathBuf {
    Fixture::hg_copy(HG_NARROW, scratch).repo()
}

#[test]
fn variants_hold_the_same_and_are_read_by_hg() {
    let scratch = Scratch::new();
    let (source, variant) = (source(&scratch), scratch.join("variant"));
    let mut convert = program::command();
    let outcome = program::run(convert.args(["convert", "--codec", "zlib:9", "-o"]).args([&variant, &source]));
    let said = outcome.exits(exit::OK).stderr;
    assert!(said.contains("read by  hg, by: hg --config extensions.narrow=\n"), "{said}");
    repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
    assert!(stock_hg(&variant, &["debugrequirements"]).starts_with(b"dotencode\n"));
    stock_hg(&variant, &["verify", "--quiet"]);
    let log = ["log", "--hidden", "-r", "all()", "-T", "{node} {manifest} {files}\n"];
    assert_eq!(stock_hg(&variant, &log), stock_hg(&source, &log));

    // hg checks out what is in the clone. So does a replay, which counts the rest as missing.
    stock_hg(&variant, &["update", "--quiet", "tip"]);
    let replayed = scratch.join("replayed");
    let outcome = program::replay(&source, "checkout", &["--output", text(&replayed)]).exits(exit::OK);
    assert!(outcome.stderr.contains("objects are missing"), "{}", outcome.stderr);
    let mut checked_out = snapshot::content(&variant);
    checked_out.retain(|path, _| !path.starts_with(".hg"));
    assert!(!checked_out.is_empty());
    snapshot::assert_same(&snapshot::content(&replayed), &checked_out);
}

#[test]
fn stock_hg_runs_with_its_extension() {
    let scratch = Scratch::new();
    let source = source(&scratch);
    let file = scratch.join("records.jsonl");
    let mut bench = program::bench(&scratch);
    bench.args(["--client", "stock", "--codec", "zstd:3", "--blocks", "1", "--hg"]).arg(Version::V72.program());
    bench.args(["--workload", "diff:raw", "--workload", "fsck", "--json"]).args([&file, &source]);
    program::run(&mut bench).exits(exit::OK);
    records::assert_same_results(&records::read(&file), 2);
}

#[test]
fn deltas_are_not_searched_for_again() {
    let scratch = Scratch::new();
    let source = source(&scratch);
    let mut convert = program::command();
    convert.args(["convert", "--rechosen", "--codec", "zstd:3", "--hg"]).arg(Version::V72.program());
    let line = program::run(convert.arg("-o").args([&scratch.join("again"), &source])).exits(exit::BAD_INPUT);
    assert!(line.error_line().contains("'narrowhg-experimental', where hg lacks some of the files"), "{}", line.stderr);
}
