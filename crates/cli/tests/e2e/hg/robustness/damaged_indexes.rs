//! Truncated and inconsistent indexes, inline and split: one error that names file and place and says what was expected
//! and found, exit code 65, and no output.

use std::fs;
use std::path::Path;

use super::{DECODING, REVLOGS, are_refused};
use crate::support::hg::open_revlog::{ENTRY, OpenRevlog, field};
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch};

/// Fails the test unless every command that reads refuses with one line that has all of `words`.
#[track_caller]
fn is_refused(repo: &Path, what: &str, words: &[&str]) {
    are_refused(&[DECODING[0], DECODING[1], &["size"]], repo, what, words);
}

/// Damages a fresh copy of each revlog. `damage` returns the words that name the place.
#[track_caller]
fn damaged(what: &str, damage: impl Fn(&mut OpenRevlog) -> String) {
    for (fixture, name) in REVLOGS {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(fixture, &scratch).repo();
        let mut revlog = OpenRevlog::open(&repo, name);
        let place = damage(&mut revlog);
        revlog.write();
        is_refused(&repo, &format!("{what}, {fixture}"), &[name, &place, "expected", "found"]);
    }
}

fn at(offset: usize) -> String {
    format!("at offset {offset}")
}

#[test]
fn index_that_ends_inside_an_entry() {
    for (revision, kept) in [(0, 4), (0, 63), (1, 1), (9, 32)] {
        damaged(&format!("{kept} bytes of entry {revision}"), |revlog| {
            let start = revlog.entry(revision);
            revlog.index.truncate(start + kept);
            at(start)
        });
    }
    damaged("3 bytes of the header", |revlog| {
        revlog.index.truncate(3);
        at(0)
    });
}

#[test]
fn truncated_chunks() {
    damaged("the last chunk is short", |revlog| {
        let last = revlog.len() - 1;
        let start = revlog.entry(last);
        let whole = revlog.data.as_ref().map(Vec::len);
        let file = revlog.data.as_mut().unwrap_or(&mut revlog.index);
        file.truncate(file.len() - 1);
        whole.map_or_else(|| at(start), |whole| format!("{whole} bytes"))
    });
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("chains", &scratch).repo();
    let data = repo.join(".hg/store/data/chain.txt.d");
    fs::write(&data, b"").expect("the data file");
    is_refused(&repo, "an empty data file", &["chain.txt.d", "expected", "found"]);
}

#[test]
fn unsupported_versions_and_flags() {
    // The version is the low half of the first four bytes, flags the high half.
    damaged("version 3", |revlog| {
        revlog.index[3] = 3;
        at(0)
    });
    for (place, bits, words) in
        [(3, 2, "version 0x2"), (3, 0, "version 0x0"), (0, 0x80, "0x80000000"), (1, 0xf3, "0xf00000")]
    {
        for (fixture, name) in REVLOGS {
            let scratch = Scratch::new();
            let repo = Fixture::hg_copy(fixture, &scratch).repo();
            let mut revlog = OpenRevlog::open(&repo, name);
            revlog.index[place] = if place == 1 { revlog.index[1] | 0xf0 } else { bits };
            revlog.write();
            is_refused(&repo, &format!("{place}: {bits:#x}, {fixture}"), &[name, words, "not supported"]);
        }
    }
}

/// hg does not read such a revision. The last flag exists in narrow clones.
#[test]
fn unknown_flags_of_a_revision() {
    for (byte, bit) in [(1, 1), (1, 0x20), (0, 0x40)] {
        damaged(&format!("flag {bit:#x} of byte {byte}"), |revlog| {
            let start = revlog.entry(2);
            revlog.index[start + field::FLAGS + byte] |= bit;
            at(start)
        });
    }
}

/// hg hashes a censored revision that is no tombstone, and reads none that is stored elsewhere without lfs.
#[test]
fn flags_do_not_hide_a_wrong_text() {
    let check: &[&str] = &["convert", "--quiet", "--check", "--codec", "zlib:6", "-o", "variant"];
    for (flag, expected) in [(0x80, "a text that hashes to its node"), (0x20, "without the requirement lfs")] {
        let scratch = Scratch::new();
        let repo = scratch.join("stored");
        let mut convert = command();
        convert.args(["convert", "--quiet", "--codec", "store"]).arg(Fixture::hg("default").repo());
        program::run(convert.arg("-o").arg(&repo)).exits(exit::OK);
        let (_, name) = REVLOGS[0];
        let mut revlog = OpenRevlog::open(&repo, name);
        let flags = revlog.entry(1) + field::FLAGS;
        revlog.index[flags] |= flag;
        let chunk = revlog.chunk(1);
        *chunk.last_mut().expect("a chunk") ^= 1;
        revlog.write();
        are_refused(&[check], &repo, &format!("flag {flag:#x}"), &[name, "revision 1", expected, "found"]);
    }
}

/// The text is a pointer, and the content that it names is in the store.
#[test]
fn content_of_lfs_is_hashed() {
    let check: &[&str] = &["convert", "--quiet", "--check", "--codec", "zlib:6", "-o", "variant"];
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("lfs", &scratch).repo();
    let checked = program::run(
        command()
            .current_dir(scratch.path())
            .args(["convert", "--check", "--codec", "zlib:6"])
            .args(["-o", "sound"])
            .arg(&repo),
    );
    assert!(!checked.exits(exit::OK).stderr.contains("have none"));
    let objects = repo.join(".hg/store/lfs/objects");
    let folder = fs::read_dir(&objects).expect("the objects").next().expect("a folder").expect("a folder").path();
    let file = fs::read_dir(&folder).expect("a folder").next().expect("an object").expect("an object").path();
    let mut content = fs::read(&file).expect("an object");
    content[0] ^= 1;
    fs::write(&file, content).expect("an object");
    are_refused(&[check], &repo, "content of lfs", &["store/lfs/objects", "content that hashes to its name", "found"]);
}

/// An empty revlog has no damaged revision, but others name those that it lost.
#[test]
fn lost_manifests_are_missed() {
    let check: &[&str] = &["convert", "--quiet", "--check", "--codec", "zlib:6", "-o", "variant"];
    for (emptied, naming) in [("00manifest.i", "00changelog"), ("meta/part1/00manifest.i", "00manifest")] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy("treemanifest", &scratch).repo();
        let index = repo.join(".hg/store").join(emptied);
        assert!(fs::metadata(&index).expect("the index").len() > 0);
        fs::write(&index, "").expect("an empty index");
        let words = [naming, "revision", "expected the node of a stored manifest", "lacks"];
        are_refused(&[check], &repo, emptied, &words);
        fs::remove_file(&index).expect("the index");
        let words = [naming, "revision", "expected the node of a stored manifest", "no manifest"];
        are_refused(&[check], &repo, emptied, &words);
    }
}

/// A revlog that is gone, or lost its last revision, has no damage of its own.
#[test]
fn lost_files_are_missed() {
    let check: &[&str] = &["convert", "--quiet", "--check", "--codec", "zlib:6", "-o", "variant"];
    for name in ["default", "treemanifest"] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        let mut indexes = Vec::new();
        for entry in walkdir::WalkDir::new(repo.join(".hg/store/data")) {
            let path = entry.expect("an entry").into_path();
            indexes.extend(path.extension().is_some_and(|extension| extension == "i").then_some(path));
        }
        indexes.sort();
        let lost = indexes.first().expect("a filelog");
        let content = fs::read(lost).expect("an index");
        let words = ["revision", "expected the node of a stored file", " of '"];
        fs::remove_file(lost).expect("the index");
        are_refused(&[check], &repo, "a filelog that is gone", &words);
        fs::write(lost, "").expect("an empty index");
        are_refused(&[check], &repo, "an empty filelog", &words);
        fs::write(lost, content).expect("the index");
        let mut convert = command();
        convert.current_dir(scratch.path()).args(check).arg(&repo);
        program::run(&mut convert).exits(exit::OK);
    }
}

#[test]
fn wrong_offsets() {
    for (revision, by) in [(1, -1_i64), (4, -3), (4, -50_000)] {
        damaged(&format!("offset of {revision} changed by {by}"), |revlog| {
            let entry = revlog.entry(revision);
            let offset =
                (u64::from(revlog.index[entry + 4]) << 8 | u64::from(revlog.index[entry + 5])).wrapping_add_signed(by);
            revlog.index[entry..entry + 6].copy_from_slice(&offset.to_be_bytes()[2..]);
            // An offset beyond the file is found at the next entry, others at this one.
            if by == -50_000 && revlog.data.is_some() { String::new() } else { at(entry) }
        });
    }
    damaged("an offset of 256 TiB", |revlog| {
        let entry = revlog.entry(2);
        revlog.index[entry + field::OFFSET..entry + 6].fill(0xff);
        // In a split revlog, the next chunk overlaps.
        if revlog.data.is_some() { at(entry + ENTRY) } else { at(entry) }
    });
}

#[test]
fn wrong_stored_lengths() {
    for length in [-1, i64::from(i32::MAX), 1_000_000] {
        damaged(&format!("a chunk of {length} bytes"), |revlog| {
            revlog.set(2, field::STORED_LEN, length);
            let entry = revlog.entry(2);
            // In a split revlog, the next chunk overlaps.
            if revlog.data.is_some() { at(entry + ENTRY) } else { at(entry) }
        });
    }
    damaged("a chunk one byte longer", |revlog| {
        let length = i64::try_from(revlog.field(2, field::STORED_LEN)).expect("a short chunk");
        let next = revlog.entry(3);
        revlog.set(2, field::STORED_LEN, length + 1);
        at(if revlog.data.is_some() { next } else { next + 1 })
    });
}

#[test]
fn missing_bases_and_parents() {
    for (revision, name, base) in
        [(3, "later", 4), (3, "negative", -2), (0, "far", 1_000_000), (3, "far", i64::from(i32::MAX))]
    {
        damaged(&format!("a {name} base"), |revlog| {
            revlog.set(revision, field::BASE, base);
            format!("revision {revision}")
        });
    }
    for parent in [field::FIRST_PARENT, field::SECOND_PARENT] {
        for value in [-2, i64::from(i32::MAX), 500] {
            damaged(&format!("parent {value}"), |revlog| {
                revlog.set(5, parent, value);
                "revision 5".to_owned()
            });
        }
    }
}

#[test]
fn wrong_text_lengths() {
    damaged("a text of a negative length", |revlog| {
        revlog.set(3, field::TEXT_LEN, -7);
        "revision 3".to_owned()
    });
    for ((fixture, name), by) in REVLOGS.into_iter().flat_map(|revlog| [(revlog, -1), (revlog, 1)]) {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(fixture, &scratch).repo();
        let mut revlog = OpenRevlog::open(&repo, name);
        let length = i64::try_from(revlog.field(0, field::TEXT_LEN)).expect("a short text");
        revlog.set(0, field::TEXT_LEN, length + by);
        revlog.write();
        // `size` reads only the index, where nothing contradicts the length.
        let words = [name, "revision 0", "expected", "found"];
        are_refused(&DECODING, &repo, &format!("a text {by} longer, {fixture}"), &words);
    }
}

/// Changes every byte of two entries in turn. An error is one line.
#[test]
fn no_changed_byte_of_an_entry_causes_a_panic() {
    for (fixture, name) in REVLOGS {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(fixture, &scratch).repo();
        let original = OpenRevlog::open(&repo, name);
        let entries = [original.entry(0), original.entry(7)];
        for place in entries.into_iter().flat_map(|entry| entry..entry + ENTRY - 12) {
            let mut revlog = original.clone();
            revlog.index[place] ^= 0x41;
            revlog.write();
            for workload in ["traverse", "diff:patch"] {
                let outcome = program::run(command().args(["replay", "--workload", workload]).arg(&repo));
                match outcome.code {
                    Some(exit::OK) => {}
                    Some(exit::BAD_INPUT) => assert!(outcome.error_line().contains(".hg/"), "{}", outcome.stderr),
                    // Success is possible: another linked changeset or flag is consistent.
                    _ => panic!("{name}, byte {place}: {outcome:?}"),
                }
            }
        }
    }
}

#[test]
fn invalid_requirements() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    let file = repo.join(".hg/store/requires");
    let lines = fs::read(&file).expect("requirements");
    fs::write(&file, [&lines[..], b"two words\n"].concat()).expect("requirements");
    let line = format!("line {}", lines.split(|byte| *byte == b'\n').count());
    is_refused(&repo, "a requirement of two words", &["store/requires", &line, "two words"]);
    fs::remove_file(&file).expect("requirements");
    is_refused(&repo, "no requirements", &["store/requires", "'store'"]);
}
