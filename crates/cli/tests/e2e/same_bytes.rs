//! The same repository becomes the same bytes, on any number of threads and in every run, whatever is written and wherever.
//!
//! Threads share out batches of a quarter of a megabyte of stored bytes, which the fixtures do not reach: this repository has several.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::support::program::{self, command, exit};
use super::support::{Scratch, git, snapshot};

/// The stored bytes of one batch.
const BATCH: u64 = 256 << 10;

/// A repository whose only pack is several batches long, with deltas among files that hardly compress.
fn repository(scratch: &Scratch) -> PathBuf {
    let repo = scratch.join("repo");
    program::run(git::command(scratch.path()).args(["init", "--quiet", "--bare"]).arg(&repo)).exits(exit::OK);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        // Xorshift: the same words in every run, which zlib can halve at best.
        for shift in [13, -7, 17_i32] {
            state ^= if shift < 0 { state >> -shift } else { state << shift };
        }
        format!("{state:016x}\n")
    };
    let mut files: Vec<Vec<String>> = (0..100).map(|_| (0..1500).map(|_| word()).collect()).collect();
    let mut stream = String::new();
    for number in 0..160_usize {
        let message = format!("commit {number}: {}", word());
        let (length, date) = (message.len(), 1_500_000_000 + number);
        let committer = "A U Thor <author@example.org>";
        stream
            .push_str(&format!("commit refs/heads/main\ncommitter {committer} {date} +0000\ndata {length}\n{message}"));
        let file = number % files.len();
        files[file][number * 11 % 1500] = word();
        let content = files[file].concat();
        stream.push_str(&format!("M 100644 inline folder/{file}\ndata {}\n{content}\n", content.len()));
    }
    let file = scratch.join("stream");
    fs::write(&file, stream).expect("the stream");
    let stream = fs::File::open(&file).expect("the stream");
    let import = git::command(&repo).args(["fast-import", "--quiet"]).stdin(stream).status().expect("git");
    assert!(import.success());
    git::output(&repo, ["symbolic-ref", "HEAD", "refs/heads/main"]);
    git::output(&repo, ["-c", "pack.threads=1", "repack", "-adfq"]);
    let [pack] = git::pack_files(&repo, "pack").try_into().expect("one pack");
    let bytes = fs::metadata(pack).expect("the pack").len();
    assert!(bytes > 3 * BATCH, "{bytes} bytes are few batches");
    repo
}

/// Converts on so many threads into `out`, and reads what came of it.
#[track_caller]
fn converted(source: &Path, options: &[&str], threads: &str, out: &Path) -> BTreeMap<PathBuf, snapshot::Entry> {
    let mut convert = command();
    convert.args(["convert", "--quiet", "--threads", threads]).args(options).arg(source).arg("-o").arg(out);
    program::run(&mut convert).exits(exit::OK);
    let content = snapshot::content(out);
    fs::remove_dir_all(out).expect("the variant");
    content
}

#[test]
fn neither_threads_nor_runs_show() {
    let scratch = Scratch::new();
    let source = repository(&scratch);
    for options in [
        &["--codec", "zlib:6"][..],
        &["--codec", "lz4"],
        &["--codec", "zstd:5,dict=16k"],
        &["--codec", "zstd:9,dict=16k,patch,prefix"],
        &["--codec", "zstd:5", "--order", "path"],
        &["--codec", "zlib:1", "--order", "recency", "--order-refs"],
        &["--codec", "zstd:5", "--store", "loose"],
        &["--codec", "zstd:5", "--store", "btree"],
        &["--codec", "zlib:6", "--store", "files", "--rev", "main"],
    ] {
        let first = converted(&source, options, "1", &scratch.join("first"));
        for threads in ["1", "2", "3", "7"] {
            let other = converted(&source, options, threads, &scratch.join(&format!("on-{threads}")));
            assert!(first == other, "{options:?} on {threads} threads");
        }
    }
}
