//! Objects that decode to more memory than `--memory` allows are rejected by their declared size, before it is
//! allocated. What can be streamed is streamed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::support::program::{self, Outcome, cached, exit};
use crate::support::{Scratch, crafted, git, snapshot};

/// The ceiling, which leaves 64 MiB for one object.
const CEILING: &str = "512M";
const CEILING_BYTES: &str = "536870912";
const LARGEST: u64 = 64 << 20;

/// The most memory of a command that decodes nothing large, in KiB.
const SMALL: u64 = 48 << 10;

/// Deltas that each copy their base twice: a few kilobytes that decode to 8 GiB. Objects too large to be built here
/// have a made-up id.
const DOUBLING: &str = "\
length = 1 << 20
offset = pack.whole('blob', bytes(length))
while length < 1 << 33:
    delta = delta_varint(length) + delta_varint(2 * length)
    for start in [*range(0, length, 0xffffff)] * 2:
        delta += b'\\xff' + struct.pack('<I', start) + struct.pack('<I', min(0xffffff, length - start))[:3]
    length *= 2
    result = bytes(length) if length <= 1 << 26 else b'%d' % length
    offset = pack.offset_delta('blob', offset, delta, result)
    if length == 1 << 27:
        refused = offset
oid = pack.entries[-1][0]
with open('refused', 'w') as at:
    at.write(str(refused))
";

/// 100 MiB of zeros.
const ZEROS: usize = 100 << 20;

fn arguments<'a>(words: &'a [&'a str], paths: &'a [&'a Path]) -> Vec<&'a OsStr> {
    let words = words.iter().map(|word| OsStr::new(*word));
    words.chain(["--memory", CEILING].map(OsStr::new)).chain(paths.iter().map(|path| path.as_os_str())).collect()
}

/// Runs a command, which has to reject the object of `size` bytes at `place` without allocating it.
#[track_caller]
fn refused(words: &[&str], paths: &[&Path], place: &str, size: u64) {
    let (outcome, peak) = program::measured(arguments(words, paths));
    let outcome = outcome.exits(exit::BAD_INPUT);
    let line = outcome.error_line();
    for part in [place, &format!("{size} bytes"), &LARGEST.to_string(), CEILING_BYTES] {
        assert!(line.contains(part), "{words:?}: '{part}' is not named: {line}");
    }
    assert!(outcome.stderr.contains("--memory"), "{words:?}: {}", outcome.stderr);
    assert!(peak < 512 << 10, "{words:?}: {peak} KiB resident");
}

/// Runs a command, which has to succeed within `most` KiB.
#[track_caller]
fn does(words: &[&str], paths: &[&Path], most: u64) -> Outcome {
    let (outcome, peak) = program::measured(arguments(words, paths));
    assert!(peak < most, "{words:?}: {peak} KiB resident");
    outcome.exits(exit::OK)
}

#[test]
fn doubling_deltas_are_rejected_before_decoding() {
    let scratch = Scratch::new();
    let repo = crafted::repository(&scratch, &format!("{DOUBLING}{}", crafted::AS_A_FILE));
    let pack = crafted::pack(&repo);
    assert!(pack.metadata().expect("the pack").len() < 16 << 10, "the pack is small");
    let offset = std::fs::read_to_string(scratch.join("refused")).expect("an offset");
    let place = format!("{} at offset {offset}: an object", pack.display());
    let (before, names) = (snapshot::content(&repo), scratch.names());
    let out = scratch.join("out");
    let into = out.to_str().expect("a path");
    let size = 2 * LARGEST;
    for words in [
        &["replay", "--workload", "checkout", "--output", into][..],
        &["replay", "--workload", "checkout:sink"],
        &["replay", "--workload", "cat-all"],
        &["replay", "--workload", "diff:patch"],
        &["replay", "--workload", "diff:pickaxe=x"],
        &["chains", "--quiet"],
        &["convert", "--quiet", "--codec", "zstd:3,prefix", "-o", into],
        &["convert", "--quiet", "--codec", "zstd:3,patch", "-o", into],
        &["convert", "--quiet", "--codec", "zstd:3", "--store", "loose", "-o", into],
        &["convert", "--quiet", "--codec", "zstd:3", "--store", "btree", "-o", into],
        &["convert", "--quiet", "--codec", "zstd:3", "--store", "files", "-o", into],
    ] {
        refused(words, &[&repo], &place, size);
        // Only checkout writes to a folder that the user names, which it may have made.
        std::fs::remove_dir(&out).map_or_else(|error| assert_eq!(error.kind(), std::io::ErrorKind::NotFound), drop);
        assert_eq!(scratch.names(), names, "{words:?}");
    }
    for threads in ["1", "4"] {
        refused(&["verify", "--threads", threads], &[&repo, &repo], &place, size);
    }
    // Commands that do not decode the objects succeed.
    let sizes = does(&["replay", "--workload", "sizes"], &[&repo], SMALL).text();
    assert!(sizes.contains(" blob 8589934592\n"), "{sizes}");
    does(&["replay", "--workload", "traverse"], &[&repo], SMALL);
    does(&["size"], &[&repo], SMALL);
    does(&["convert", "--quiet", "--codec", "zstd:3", "-o", into], &[&repo], SMALL);
    snapshot::assert_same(&before, &snapshot::content(&repo));
}

/// A repository with a file of 100 MiB of zeros, packed or loose.
fn zeros(scratch: &Scratch, is_loose: bool) -> PathBuf {
    if !is_loose {
        let whole = format!("pack.whole('blob', bytes({ZEROS}))\noid = pack.entries[-1][0]\n{}", crafted::AS_A_FILE);
        return crafted::repository(scratch, &whole);
    }
    let repo = scratch.join("loose");
    git::output(scratch.path(), ["init", "--quiet", "--initial-branch=main", "loose"]);
    std::fs::write(repo.join("file"), vec![0; ZEROS]).expect("the file");
    // git streams larger files into a pack.
    git::output(&repo, ["-c", "core.bigFileThreshold=1g", "add", "file"]);
    git::output(&repo, ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "zeros"]);
    repo
}

#[test]
fn large_whole_object_is_streamed_or_rejected() {
    for is_loose in [false, true] {
        let scratch = Scratch::new();
        let repo = zeros(&scratch, is_loose);
        assert_eq!(is_loose, git::pack_files(&repo, "pack").is_empty());
        let stored: Vec<_> =
            ["pack", "loose", "btree"].map(|store| (store, scratch.join(&format!("variant.{store}")))).into();
        for (store, variant) in &stored {
            let variant = variant.to_str().expect("a path");
            let words = ["convert", "--quiet", "--codec", "zstd:3", "--store", store, "-o", variant];
            does(&words, &[&repo], SMALL);
        }
        let id = git::output(&repo, ["rev-parse", "HEAD:file"]);
        let id = id.trim_end();
        let header = format!("{id} blob {ZEROS}\n");
        let variants = stored.iter().map(|(_, variant)| variant);
        for repo in variants.chain([&repo]) {
            let all = does(&["replay", "--workload", "cat-all"], &[repo], SMALL).stdout;
            let start = all.windows(header.len()).position(|bytes| bytes == header.as_bytes()).expect("its header");
            let (content, after) = all[start + header.len()..].split_at(ZEROS);
            assert!(content.iter().all(|byte| *byte == 0) && after.starts_with(b"\n"), "{}", repo.display());
            does(&["verify"], &[repo, repo], SMALL);
            does(&["size"], &[repo], SMALL);
            let out = scratch.join("out");
            let into = out.to_str().expect("a path");
            refused(&["replay", "--workload", "checkout", "--output", into], &[repo], "", ZEROS as u64);
            let _ = std::fs::remove_dir(&out);
        }
    }
}

/// A benchmark digests what it reads, also in pieces, and decodes it again for the floor.
#[test]
fn large_whole_object_is_measured_in_pieces() {
    let scratch = Scratch::new();
    let repo = zeros(&scratch, false);
    let mut bench = cached(&scratch);
    bench.args(["bench", "--quiet", "--memory", CEILING]).arg(&repo);
    bench.args(["--codec", "zstd:3", "--workload", "cat-all", "--workload", "floor:cat-all", "--blocks", "1"]);
    let table = program::run(&mut bench).exits(exit::OK).text();
    assert!(table.contains("zstd:3"), "{table}");
}

/// A declared size below the limit is accepted, and still not allocated.
#[test]
fn false_size_allocates_no_memory() {
    let scratch = Scratch::new();
    let claim = "pack._add(object_id('blob', b'x'), 'blob', pack._header(3, 60 << 20, 0), b'x')\n";
    let repo = crafted::repository(&scratch, &format!("{claim}oid = pack.entries[-1][0]\n{}", crafted::AS_A_FILE));
    for words in [&["replay", "--workload", "cat-all"][..], &["replay", "--workload", "checkout:sink"]] {
        let (outcome, peak) = program::measured(arguments(words, &[&repo]));
        let line = outcome.exits(exit::BAD_INPUT).error_line();
        assert!(line.contains("62914560 payload bytes"), "{line}");
        assert!(peak < SMALL, "{words:?}: {peak} KiB resident");
    }
}

#[test]
fn rejects_invalid_ceilings() {
    for typed in ["much", "-1", ""] {
        let outcome = program::repackbench(["chains", &format!("--memory={typed}"), "."]);
        assert!(outcome.exits(exit::USAGE).stderr.contains("--memory"), "{typed}");
    }
}

/// A commit whose trees hold 200^3 paths: each has the tree below it 200 times, so all of them take a few kilobytes.
#[test]
fn trees_of_too_many_paths_are_refused() {
    let scratch = Scratch::new();
    let repo = scratch.join("repo");
    git::output(&scratch.join("."), ["init", "-q", "--bare", &repo.to_string_lossy()]);
    let mut stream = git::stream_commit(0, "paths") + &git::stream_file("a/file", "text\n");
    for _ in 0..3 {
        (0..200).for_each(|copy| stream += &format!("C a b/folder-{copy:03}\n"));
        stream += "D a\nR b a\n";
    }
    git::fast_import(&repo, &stream);
    git::output(&repo, ["symbolic-ref", "HEAD", "refs/heads/main"]);
    for workload in ["diff:raw", "checkout:sink"] {
        let (outcome, peak) = program::measured(arguments(&["replay", "--workload", workload], &[&repo]));
        let outcome = outcome.exits(exit::BAD_INPUT);
        assert!(outcome.error_line().contains("a list of changed files of 268435"), "{}", outcome.stderr);
        assert!(peak < 700 << 10, "{workload}: {peak} KiB resident");
    }
    let listed = program::replay(&repo, "traverse", &[]).exits(exit::OK).text();
    assert_eq!(listed.lines().count(), 1 + 5 + 1, "a commit, a tree for each level with the root, and a file");
}
