//! Indexes that are cut short or contradict themselves, inline and split: one error that names file, place, expectation and finding, exit
//! code 65, and nothing left behind.

use std::fs;
use std::path::Path;

use super::super::support::program::{self, command, exit};
use super::super::support::revlog::{ENTRY, OpenRevlog, field};
use super::super::support::{Fixture, Scratch};

/// An inline and a split revlog, each with the fixture that has it.
const REVLOGS: [(&str, &str); 2] = [("default", "data/story.txt"), ("chains", "data/chain.txt")];

/// Runs convert and the commands that read, and fails the test unless each of them refuses with one line that holds `words`.
#[track_caller]
fn is_refused(repo: &Path, what: &str, words: &[&str]) {
    are_refused(&[DECODING[0], DECODING[1], &["size"]], repo, what, words);
}

/// The commands that decode chunks.
pub(super) const DECODING: [&[&str]; 2] =
    [&["convert", "--quiet", "--codec", "zstd:5", "-o", "variant"], &["replay", "--workload", "traverse"]];

/// As `is_refused`, by these commands.
#[track_caller]
pub(super) fn are_refused(commands: &[&[&str]], repo: &Path, what: &str, words: &[&str]) {
    let scratch = Scratch::new();
    for arguments in commands {
        let outcome = program::run(command().current_dir(scratch.path()).args(*arguments).arg(repo));
        assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{what}: {arguments:?}: {}", outcome.stderr);
        let line = outcome.error_line();
        for word in words {
            assert!(line.contains(word), "{what}: {word} is not in: {line}");
        }
        assert_eq!(scratch.names(), [""; 0], "{what}: nothing is left behind");
    }
}

/// Damages each revlog, made anew for each damage. `damage` gives the words that name the place.
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
fn an_index_that_ends_inside_an_entry() {
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
fn chunks_that_end_early() {
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
fn versions_and_flags_of_a_header() {
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

#[test]
fn offsets_that_lie() {
    for (revision, by) in [(1, -1_i64), (4, -3), (4, -50_000)] {
        damaged(&format!("offset of {revision} changed by {by}"), |revlog| {
            let entry = revlog.entry(revision);
            let offset =
                (u64::from(revlog.index[entry + 4]) << 8 | u64::from(revlog.index[entry + 5])).wrapping_add_signed(by);
            revlog.index[entry..entry + 6].copy_from_slice(&offset.to_be_bytes()[2..]);
            // A chunk that would begin beyond the file is one of the next, else of this.
            if by == -50_000 && revlog.data.is_some() { String::new() } else { at(entry) }
        });
    }
    damaged("an offset of 256 TiB", |revlog| {
        let entry = revlog.entry(2);
        revlog.index[entry + field::OFFSET..entry + 6].fill(0xff);
        // In a split revlog, the next one overlaps.
        if revlog.data.is_some() { at(entry + ENTRY) } else { at(entry) }
    });
}

#[test]
fn stored_lengths_that_lie() {
    for length in [-1, i64::from(i32::MAX), 1_000_000] {
        damaged(&format!("a chunk of {length} bytes"), |revlog| {
            revlog.set(2, field::STORED_LEN, length);
            let entry = revlog.entry(2);
            // In a split revlog, the next one overlaps.
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
fn bases_and_parents_that_are_not_there() {
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
fn text_lengths_that_lie() {
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
        // Sizes are taken from indexes, where nothing contradicts it.
        let words = [name, "revision 0", "expected", "found"];
        are_refused(&DECODING, &repo, &format!("a text {by} longer, {fixture}"), &words);
    }
}

/// Every byte of two entries, one after another: whatever it comes to, it is not a panic, and an error is one line.
#[test]
fn no_byte_of_an_entry_makes_anything_panic() {
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
                    // hg would name the same file: a linked changeset or a flag that is another is no contradiction.
                    _ => panic!("{name}, byte {place}: {outcome:?}"),
                }
            }
        }
    }
}

#[test]
fn requirements_that_are_none() {
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
