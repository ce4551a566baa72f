//! Payloads above 64 MiB are streamed: memory stays bounded for any length.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::program::{self, exit};
use crate::support::{Fixture, Scratch, git, snapshot};

/// The most memory of a conversion on one thread beyond the mapped packs of the source, in KiB. Codecs that stream need
/// far less than the payload of 70 MiB. `store` maps the new pack to verify it, and `lz4` holds a block of 64 MiB
/// before and after encoding.
const PEAKS: &[(&str, u64)] = &[
    ("zlib:1", STREAMED),
    ("zlib-rs:1", STREAMED),
    ("libdeflate:1", STREAMED),
    ("zstd:1", STREAMED),
    ("store", 100 << 10),
    ("lz4", 170 << 10),
];

/// The most memory of a command that reads or writes a large chunk in pieces, in KiB.
const STREAMED: u64 = 40 << 10;

/// The most memory to write incompressible lz4, in KiB: a block of 64 MiB and its chunk.
const LZ4_WRITTEN: u64 = 160 << 10;

/// The most memory to read such lz4, in KiB: the stored bytes of a block and its payload.
const LZ4_READ: u64 = 160 << 10;

/// The length of the loose blob and of its file, in bytes.
const LOOSE_LEN: usize = 70 << 20;

/// The peak memory of a run of the program, in KiB.
#[track_caller]
fn peak<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> u64 {
    let (outcome, peak) = program::measured(arguments);
    outcome.exits(exit::OK);
    peak
}

#[track_caller]
fn convert_peak(source: &Path, codec: &str, out: &Path) -> u64 {
    let words = ["convert", "--quiet", "--threads", "1", "--codec", codec].map(OsStr::new);
    peak(words.into_iter().chain([source.as_os_str(), "-o".as_ref(), out.as_os_str()]))
}

#[test]
fn memory_stays_bounded() {
    let source = Fixture::get("large-blob").repo();
    let mapped: u64 = git::pack_files(&source, "pack").iter().map(|pack| pack.metadata().expect("a pack").len()).sum();
    for &(codec, limit) in PEAKS {
        let scratch = Scratch::new();
        let peak = convert_peak(&source, codec, &scratch.join("variant"));
        assert!(peak < limit + mapped / 1024, "{codec}: {peak} KiB resident");
    }
}

/// A repository with one loose blob that does not compress, so that its file is above 64 MiB too.
fn large_loose_blob(scratch: &Scratch) -> PathBuf {
    let repo = scratch.join("repo");
    git::output(scratch.path(), ["init", "--quiet", "--bare", "repo"]);
    // A Lehmer generator, 64 bits of 128: the same noise in every run.
    let mut state = 0x2545_f491_4f6c_dd1d_u128;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(0xda94_2042_e4dd_58b5);
        ((state >> 64) as u64).to_le_bytes()
    })
    .take(LOOSE_LEN / 8)
    .flatten()
    .collect();
    let file = scratch.join("noise");
    fs::write(&file, noise).expect("the blob's content");
    git::output(
        &repo,
        ["-c".as_ref(), "core.compression=1".as_ref(), "hash-object".as_ref(), "-w".as_ref(), file.as_os_str()],
    );
    let stored: u64 = snapshot::content(&git::path(&repo, "objects"))
        .into_values()
        .map(|entry| match entry {
            snapshot::Entry::File { content, .. } => content.len() as u64,
            _ => 0,
        })
        .sum();
    assert!(stored > LOOSE_LEN as u64, "{stored} stored bytes: the blob must be loose and must not shrink");
    repo
}

#[test]
fn large_loose_object_is_never_held_whole() {
    let scratch = Scratch::new();
    let source = large_loose_blob(&scratch);
    for (codec, _) in PEAKS {
        let (writing, reading) = if *codec == "lz4" { (LZ4_WRITTEN, LZ4_READ) } else { (STREAMED, STREAMED) };
        let scratch = Scratch::new();
        let (variant, back) = (scratch.join("variant"), scratch.join("back"));
        let there_peak = convert_peak(&source, codec, &variant);
        assert!(there_peak < writing, "to {codec}: {there_peak} KiB resident");
        let back_peak = convert_peak(&variant, "zlib:0", &back);
        assert!(back_peak < reading, "from {codec}: {back_peak} KiB resident");
        for command in ["verify", "size"] {
            let peak = peak([OsStr::new(command), source.as_os_str(), variant.as_os_str()]);
            assert!(peak < reading, "{command} {codec}: {peak} KiB resident");
        }
        git::output(&back, ["fsck", "--full", "--strict"]);
    }
}

/// The most memory to write a tree of files, in KiB, beyond its longest file and the base of that file: far less than
/// another copy, except for `lz4`, which holds a block of 64 MiB. The encoded block is tiny here.
const TREES: &[(&str, u64)] = &[
    ("store", STREAMED),
    ("zlib:1", STREAMED),
    ("libdeflate:1", STREAMED),
    ("zstd:1", STREAMED),
    ("lz4", (64 << 10) + STREAMED),
];

/// Decompresses a file with the named module, and prints it.
const DECOMPRESS: &str = "\
import importlib, shutil, sys
module = importlib.import_module(sys.argv[1])
shutil.copyfileobj(module.open(sys.argv[2]), sys.stdout.buffer)
";

#[test]
fn large_file_of_a_tree_is_held_once() {
    let source = Fixture::get("large-blob").repo();
    let content = |name: &str| git::git(&source, ["cat-file", "blob", &format!("HEAD:{name}")]).exits(exit::OK).stdout;
    let names = ["large.txt", "loose.txt"];
    let contents = names.map(content);
    // The first is a delta or the base of one.
    let held = 2 * contents[0].len() as u64 / 1024;
    for (codec, limit) in TREES {
        let scratch = Scratch::new();
        let tree = scratch.join("tree");
        let words = ["convert", "--quiet", "--threads", "1", "--store", "files", "--codec", codec].map(OsStr::new);
        let peak = peak(words.into_iter().chain([source.as_os_str(), "-o".as_ref(), tree.as_os_str()]));
        assert!(peak < held + limit, "{codec}: {peak} KiB resident, for contents of {held} KiB");
        for (name, content) in names.iter().zip(&contents) {
            let file = tree.join("files").join(name);
            let found = match *codec {
                "store" => fs::read(&file).expect("a flat file"),
                "zlib:1" | "libdeflate:1" => {
                    let mut python = Command::new("python3");
                    program::isolate(&mut python);
                    let file = file.with_extension("txt.gz");
                    program::run(python.args(["-c", DECOMPRESS, "gzip"]).arg(file)).exits(exit::OK).stdout
                }
                "zstd:1" => {
                    let stored = fs::read(file.with_extension("txt.zst")).expect("a zstd file");
                    let mut found = Vec::with_capacity(content.len());
                    zstd_safe::decompress(&mut found, &stored).expect("a zstd frame");
                    found
                }
                // No other program reads these. The conversion has verified them itself.
                _ => {
                    assert!(file.with_extension("txt.chunk").is_file());
                    continue;
                }
            };
            assert!(found == *content, "{codec}: {name} differs");
        }
    }
}
