//! `repackbench train`: dictionaries are reproducible, useful, and accepted by zstd.

use std::fs;
use std::path::Path;

use zstd_safe::{CCtx, CParameter, DCtx};

use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch, fixture, git};

fn repository(scratch: &Scratch) -> std::path::PathBuf {
    let repo = scratch.join("repo");
    fixture::modules(&repo, 400);
    repo
}

#[track_caller]
fn train(repositories: &[&Path], out: &Path, options: &[&str]) -> String {
    program::run(command().arg("train").args(repositories).arg("-o").arg(out).args(options)).exits(exit::OK).text()
}

#[test]
fn same_repositories_give_the_same_dictionary() {
    let scratch = Scratch::new();
    let repo = repository(&scratch);
    let [first, second, third] = ["first", "second", "third"].map(|name| scratch.join(name));
    let summary = train(&[&repo], &first, &["--threads", "1", "--size", "8k"]);
    assert!(summary.contains("held out") && summary.contains("sampled"), "{summary}");
    train(&[&repo], &second, &["--threads", "4", "--size", "8KiB", "--quiet"]);
    let dictionary = fs::read(&first).expect("a dictionary");
    assert!(dictionary.len() <= 8192 && dictionary.len() > 4096, "{} bytes", dictionary.len());
    assert_eq!(fs::read(&second).expect("a dictionary"), dictionary);
    train(&[&repo, &Fixture::get("bare").repo()], &third, &["--size", "8k"]);
    assert_ne!(fs::read(&third).expect("a dictionary"), dictionary, "both repositories count");
}

/// As `zstd -D FILE` does.
#[test]
fn zstd_accepts_the_dictionary() {
    let scratch = Scratch::new();
    let repo = repository(&scratch);
    let out = scratch.join("dictionary");
    train(&[&repo], &out, &["--kind", "commit", "--size", "4k", "--level", "19"]);
    let dictionary = fs::read(&out).expect("a dictionary");
    assert!(zstd_safe::get_dict_id(&dictionary).is_some(), "a trained dictionary has an identifier");

    let commit = git::git(&repo, ["cat-file", "commit", "main"]).exits(exit::OK).stdout;
    let compress = |dictionary: &[u8]| {
        let mut encoder = CCtx::create();
        encoder.set_parameter(CParameter::CompressionLevel(19)).expect("a level");
        encoder.load_dictionary(dictionary).expect("the dictionary");
        let mut frame = Vec::with_capacity(zstd_safe::compress_bound(commit.len()));
        encoder.compress2(&mut frame, &commit).expect("a frame");
        frame
    };
    let (with, without) = (compress(&dictionary), compress(&[]));
    assert!(with.len() * 4 < without.len() * 3, "{} instead of {}", with.len(), without.len());
    let mut decoder = DCtx::create();
    decoder.load_dictionary(&dictionary).expect("the dictionary");
    let mut decoded = Vec::with_capacity(commit.len());
    decoder.decompress(&mut decoded, &with).expect("the commit");
    assert_eq!(decoded, commit);
}

#[test]
fn only_force_replaces_an_existing_file() {
    let scratch = Scratch::new();
    let repo = repository(&scratch);
    let out = scratch.join("taken");
    fs::write(&out, "precious").expect("a file");
    let outcome = program::run(command().arg("train").arg(&repo).arg("-o").arg(&out)).exits(exit::FAILURE);
    assert!(outcome.error_line().contains("taken") && outcome.stderr.contains("--force"), "{}", outcome.stderr);
    assert_eq!(fs::read(&out).expect("the file"), b"precious");
    train(&[&repo], &out, &["--force", "--size", "4k"]);
    assert_ne!(fs::read(&out).expect("the file"), b"precious");
    assert_eq!(scratch.names(), ["repo", "taken"]);
}

#[test]
fn reports_too_little_training_data() {
    let (repo, scratch) = (Fixture::get("empty").repo(), Scratch::new());
    let out = scratch.join("dictionary");
    let outcome = program::run(command().arg("train").arg(&repo).arg("-o").arg(&out)).exits(exit::FAILURE);
    assert!(outcome.error_line().contains("to train on"), "{}", outcome.stderr);
    assert!(scratch.names().is_empty());
}
