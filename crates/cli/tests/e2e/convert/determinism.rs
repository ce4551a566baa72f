//! A repository becomes the same bytes in every run and on any number of threads, for every kind of output.
//!
//! Threads share batches of 256 KiB of stored bytes. The fixtures are smaller than one; the repository made here has
//! several.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::program::{self, command, exit};
use crate::support::{Scratch, git, snapshot};

/// Stored bytes of a batch.
const BATCH: u64 = 256 << 10;

/// A repository with one pack of several batches, and deltas among files that hardly compress.
fn repository(scratch: &Scratch) -> PathBuf {
    let repo = scratch.join("repo");
    program::run(git::command(scratch.path()).args(["init", "--quiet", "--bare"]).arg(&repo)).exits(exit::OK);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        // Xorshift: the same words in every run. zlib halves them at best.
        for shift in [13, -7, 17_i32] {
            state ^= if shift < 0 { state >> -shift } else { state << shift };
        }
        format!("{state:016x}\n")
    };
    let mut files: Vec<Vec<String>> = (0..100).map(|_| (0..1500).map(|_| word()).collect()).collect();
    let mut stream = String::new();
    for number in 0..160_usize {
        let message = format!("commit {number}: {}", word());
        stream.push_str(&git::stream_commit(1_500_000_000 + number as u32, &message));
        let file = number % files.len();
        files[file][number * 11 % 1500] = word();
        stream.push_str(&git::stream_file(&format!("folder/{file}"), &files[file].concat()));
    }
    git::fast_import(&repo, &stream);
    git::output(&repo, ["symbolic-ref", "HEAD", "refs/heads/main"]);
    git::output(&repo, ["-c", "pack.threads=1", "repack", "-adfq"]);
    let [pack] = git::pack_files(&repo, "pack").try_into().expect("one pack");
    let bytes = fs::metadata(pack).expect("the pack").len();
    assert!(bytes > 3 * BATCH, "{bytes} bytes are few batches");
    repo
}

/// Converts on `threads` threads into `out`, reads the result and removes it.
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
fn output_identical_across_threads_and_runs() {
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
