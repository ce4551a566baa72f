//! Texts and deltas that decode to more memory than `--memory` allows, and a chain of 200,000 deltas.

use std::path::Path;

use repackbench_codec::ChunkEncoder;
use sha1::{Digest, Sha1};

use crate::support::hg::open_revlog::{ENTRY, OpenRevlog, field};
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch, snapshot};

/// The ceiling, which leaves 64 MiB for one text or delta.
const CEILING: &str = "512M";

/// Fails the test unless every command that reads texts rejects the revision that `damage` changes and returns, by its
/// number and `size`, without allocating it.
#[track_caller]
fn refused(size: u64, damage: impl FnOnce(&mut OpenRevlog) -> usize) {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    let mut revlog = OpenRevlog::open(&repo, "data/story.txt");
    let revision = damage(&mut revlog);
    revlog.write();
    let before = snapshot::content(&repo);
    let out = scratch.join("out");
    let out = out.to_str().expect("a path");
    for (words, paths) in [
        (&["replay", "--workload", "cat-all"][..], &[&repo][..]),
        (&["verify", "--threads", "1"], &[&repo, &repo]),
        (&["verify", "--threads", "4"], &[&repo, &repo]),
        (&["convert", "--quiet", "--threads", "4", "--codec", "zlib:1", "-o", out], &[&repo]),
        (&["chains", "--quiet"], &[&repo]),
    ] {
        let (outcome, peak) = program::measured(
            words
                .iter()
                .copied()
                .chain(["--memory", CEILING])
                .map(AsRef::as_ref)
                .chain(paths.iter().map(|p| p.as_os_str())),
        );
        let line = outcome.exits(exit::BAD_INPUT).error_line();
        let file = revlog.chunk_file();
        for part in [&*file.to_string_lossy(), &format!("revision {revision}: "), &format!("{size} bytes"), "536870912"]
        {
            assert!(line.contains(part), "{words:?}: '{part}' is not named: {line}");
        }
        assert!(peak < 300 << 10, "{words:?}: {peak} KiB resident");
        assert!(!Path::new(out).exists());
    }
    snapshot::assert_same(&before, &snapshot::content(&repo));
}

/// The first revision after `from` that is a delta, if `is_delta`, or a full text.
fn revision_of(revlog: &OpenRevlog, from: usize, is_delta: bool) -> usize {
    let is_wanted = |revision: &usize| (revlog.field(*revision, field::BASE) != *revision) == is_delta;
    (from..revlog.len()).find(is_wanted).expect("such a revision")
}

#[test]
fn text_of_two_gigabytes_is_rejected_by_its_length() {
    for is_delta in [false, true] {
        refused(i32::MAX as u64, |revlog| {
            let revision = revision_of(revlog, 0, is_delta);
            revlog.set(revision, field::TEXT_LEN, i32::MAX.into());
            revision
        });
    }
}

/// The length of a delta is not stored, and may exceed that of its text.
#[test]
fn delta_is_decoded_up_to_the_limit() {
    let zeros = vec![0; 100 << 20];
    let mut chunk = Vec::new();
    let spec = "zlib:9".parse().expect("a spec");
    ChunkEncoder::new(&spec).and_then(|mut encoder| encoder.encode(&zeros, &mut chunk)).expect("a stream");
    assert!(chunk.len() < 200 << 10);
    // The zlib streams of hg begin with the same byte.
    assert_eq!(chunk[0], b'x');
    refused((64 << 20) + 1, |revlog| {
        let revision = revision_of(revlog, 0, true);
        revlog.replace_chunk(revision, &chunk);
        // A long text on a whole text, so that such a long delta is possible.
        let base = revlog.field(revision, field::BASE);
        assert_eq!(revlog.field(base, field::BASE), base);
        revlog.set(revision, field::TEXT_LEN, 60 << 20);
        revision
    });
}

const DELTAS: u32 = 200_000;

/// Replaces the revlog of a file by a chain of [`DELTAS`] deltas. Each changes the number at the start of the previous
/// text.
fn make_chain(repo: &Path) {
    let mut revlog = OpenRevlog::open(repo, "data/story.txt");
    let rest = b" is the number of this text in its chain\n";
    let (mut index, mut data, mut parent) = (Vec::new(), Vec::new(), [0; 20]);
    for number in 0..=DELTAS {
        let start = format!("{number:08}");
        let text = [start.as_bytes(), rest].concat();
        let mut chunk = vec![b'u'];
        if number == 0 {
            chunk.extend_from_slice(&text);
        } else {
            let header: Vec<u8> = [0, 8, 8_u32].into_iter().flat_map(u32::to_be_bytes).collect();
            chunk.extend_from_slice(&header);
            chunk.extend_from_slice(start.as_bytes());
        }
        // The hash covers the sorted parents, and the null parent is the smallest.
        let node: [u8; 20] =
            Sha1::new().chain_update([0; 20]).chain_update(parent).chain_update(&text).finalize().into();
        let mut entry = (data.len() as u64).to_be_bytes()[2..].to_vec();
        entry.extend_from_slice(&[0, 0]);
        let base = number.saturating_sub(1);
        let first_parent = number.wrapping_sub(1);
        for number in [chunk.len() as u32, text.len() as u32, base, 0, first_parent, u32::MAX] {
            entry.extend_from_slice(&number.to_be_bytes());
        }
        entry.extend_from_slice(&node);
        entry.resize(ENTRY, 0);
        index.extend_from_slice(&entry);
        data.extend_from_slice(&chunk);
        parent = node;
    }
    // Version 1 with general deltas, and a data file.
    index[..4].copy_from_slice(&[0, 2, 0, 1]);
    (revlog.index, revlog.data) = (index, Some(data));
    revlog.write();
}

#[test]
fn commands_walk_a_long_chain_once() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    make_chain(&repo);
    let run = |words: &[&str]| program::run(command().args(words).arg(&repo)).exits(exit::OK).text();
    let all = run(&["replay", "--workload", "cat-all"]);
    let texts = all.lines().filter(|line| line.ends_with(" is the number of this text in its chain")).count();
    assert_eq!(texts, DELTAS as usize + 1);
    let chains = run(&["chains", "--quiet"]);
    assert!(chains.lines().any(|line| line.starts_with("50+") && line.contains("199,951")), "{chains}");
    assert!(run(&["replay", "--workload", "sizes"]).lines().count() > DELTAS as usize);
    run(&["size"]);
    for codec in ["zstd:1", "zstd:1,prefix"] {
        let variant = scratch.join(codec);
        // Manifests name other revisions of the file.
        let mut convert = command();
        convert.args(["convert", "--no-check", "--codec", codec, "-o"]).arg(&variant).arg(&repo);
        program::run(&mut convert).exits(exit::OK);
        program::run(command().arg("verify").arg(&repo).arg(&variant)).exits(exit::OK);
    }
}
