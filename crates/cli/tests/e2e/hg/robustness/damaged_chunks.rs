//! Damaged chunks of every engine: one error with file, offset and revision.

use std::path::{Path, PathBuf};

use super::{DECODING, REVLOGS, are_refused};
use crate::support::hg::open_revlog::{OpenRevlog, field};
use crate::support::program::{self, Outcome, command, convert, exit};
use crate::support::{Fixture, Scratch};

/// A variant of each of [`REVLOGS`] under `spec`.
fn variants(spec: &str, scratch: &Scratch) -> [(PathBuf, &'static str); 2] {
    REVLOGS.map(|(fixture, name)| {
        let variant = scratch.join(fixture);
        convert(&Fixture::hg(fixture).repo(), spec, &variant);
        (variant, name)
    })
}

fn place(revlog: &OpenRevlog, revision: usize) -> String {
    let file = revlog.chunk_file();
    let file = file.file_name().expect("a name").to_string_lossy();
    format!("{file} at offset {}, revision {revision}: ", revlog.chunk_start(revision))
}

/// Damages the chunk of revision 0, a snapshot, of both revlogs under `spec`. It must begin with `header`.
#[track_caller]
fn damaged(spec: &str, header: u8, what: &str, damage: impl Fn(&[u8]) -> Vec<u8>) {
    let scratch = Scratch::new();
    for (variant, name) in variants(spec, &scratch) {
        let mut revlog = OpenRevlog::open(&variant, name);
        let chunk = revlog.chunk(0).to_vec();
        assert_eq!(chunk[0], header, "{spec}");
        revlog.replace_chunk(0, &damage(&chunk));
        revlog.write();
        is_refused_where_decoded(&variant, &format!("{spec}: {what}"), &[&place(&revlog, 0), "expected", "found"]);
    }
}

/// Fails the test unless the commands that decode chunks refuse. `size` may succeed, as it needs only the sizes in some
/// chunks.
#[track_caller]
fn is_refused_where_decoded(repo: &Path, what: &str, words: &[&str]) {
    are_refused(&DECODING, repo, what, words);
    let measured = program::run(command().arg("size").arg(repo));
    assert!(matches!(measured.code, Some(exit::OK | exit::BAD_INPUT)), "{what}: {measured:?}");
}

fn with(chunk: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut chunk = chunk.to_vec();
    chunk[at..at + bytes.len()].copy_from_slice(bytes);
    chunk
}

#[test]
fn damaged_zlib_chunks() {
    for (what, at) in [("the second byte of the header", 1), ("a byte of the stream", 60)] {
        damaged("zlib:6", b'x', what, |chunk| with(chunk, at, &[chunk[at] ^ 0x21]));
    }
    damaged("zlib:6", b'x', "the checksum", |chunk| with(chunk, chunk.len() - 1, &[!chunk[chunk.len() - 1]]));
    damaged("zlib:6", b'x', "half a stream", |chunk| chunk[..chunk.len() / 2].to_vec());
    damaged("zlib:6", b'x', "bytes after the stream", |chunk| [chunk, b"more"].concat());
}

#[test]
fn damaged_zstd_chunks() {
    damaged("zstd:3", b'(', "the magic number", |chunk| with(chunk, 2, &[0]));
    damaged("zstd:3", b'(', "half a frame", |chunk| chunk[..chunk.len() / 2].to_vec());
    damaged("zstd:3", b'(', "bytes after the frame", |chunk| [chunk, b"more"].concat());
    // The descriptor's top bits say how many bytes the length takes: eight of them, and all set.
    damaged("zstd:3", b'(', "a length of 16 EiB", |chunk| [&chunk[..4], &[0xe0], &[0xff; 8], &chunk[6..]].concat());
}

#[test]
fn damaged_lz4_chunks() {
    for length in [0, 1, u32::MAX, 1 << 30] {
        let what = format!("a payload of {length} bytes");
        damaged("lz4", b'4', &what, |chunk| with(chunk, 1, &length.to_le_bytes()));
    }
    for by in [-1, 1] {
        damaged("lz4hc:9", b'4', &format!("a payload {by} longer"), |chunk| {
            let length = u32::from_le_bytes(chunk[1..5].try_into().expect("four bytes"));
            with(chunk, 1, &length.wrapping_add_signed(by).to_le_bytes())
        });
    }
    damaged("lz4", b'4', "no length", |chunk| chunk[..3].to_vec());
    damaged("lz4", b'4', "no block", |chunk| chunk[..5].to_vec());
    damaged("lz4", b'4', "half a block", |chunk| chunk[..chunk.len() / 2].to_vec());
}

#[test]
fn damaged_raw_chunks() {
    damaged("store", b'u', "a header of no engine", |chunk| with(chunk, 0, b"q"));
    damaged("store", b'u', "one byte less", |chunk| chunk[..chunk.len() - 1].to_vec());
    damaged("store", b'u', "one byte more", |chunk| [chunk, b"x"].concat());
    damaged("store", b'u', "the header alone", |chunk| chunk[..1].to_vec());
    damaged("store", b'u', "nothing", |_| Vec::new());
}

/// A hunk of a delta.
fn hunk(start: u32, end: u32, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("a short hunk");
    [&start.to_be_bytes()[..], &end.to_be_bytes(), &length.to_be_bytes(), content].concat()
}

/// Replaces the delta of revision 1 by `delta`, stored raw, and reads it. A conversion does not apply deltas.
#[track_caller]
fn invalid_delta(what: &str, delta: &[u8]) {
    let scratch = Scratch::new();
    for (variant, name) in variants("store", &scratch) {
        let mut revlog = OpenRevlog::open(&variant, name);
        assert_eq!(revlog.field(1, field::BASE), 0, "revision 1 is a delta");
        // A payload that begins with NUL needs no header.
        let header: &[u8] = if delta.first() == Some(&0) { b"" } else { b"u" };
        revlog.replace_chunk(1, &[header, delta].concat());
        revlog.write();
        for workload in ["traverse", "diff:patch"] {
            let outcome = program::run(command().args(["replay", "--workload", workload]).arg(&variant));
            assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{what}: {outcome:?}");
            let line = outcome.error_line();
            assert!(line.contains(name), "{what}: {line}");
            assert!(line.contains("expected") && line.contains("found"), "{what}: {line}");
            assert!(line.contains("revision "), "{what}: {line}");
        }
        let outcome: Outcome = program::run(command().arg("verify").args([&variant, &variant]));
        let said = outcome.exits(exit::FAILURE).text();
        assert!(said.contains(name) && said.contains("revision 1"), "{what}: {said}");
    }
}

#[test]
fn deltas_that_do_not_match_their_base() {
    invalid_delta("past the end", &hunk(0, 1 << 30, b""));
    invalid_delta("an insertion past the end", &hunk(0x7fff_ffff, 0x7fff_ffff, b"x"));
    invalid_delta("backwards", &hunk(9, 3, b"x"));
    invalid_delta("overlapping", &[hunk(0, 9, b"x"), hunk(8, 10, b"y")].concat());
    invalid_delta("cut short", &hunk(0, 9, b"some content")[..17]);
    invalid_delta("a hunk of four GiB", &[&hunk(0, 0, b"")[..8], &[0xff; 4]].concat());
    invalid_delta("half a hunk", &[0, 0, 0, 1]);
    invalid_delta("another content of the same length", &hunk(0, 1, b"?"));
    invalid_delta("a longer text", &hunk(0, 0, b"more"));
    invalid_delta("a shorter text", &hunk(0, 4, b""));
}
