//! `repackbench verify A B` of Mercurial repositories: what differs is named, and what is damaged.

use std::fs;
use std::path::Path;

use super::super::support::hg;
use super::super::support::program::{self, Outcome, command, convert, exit};
use super::super::support::revlog::{OpenRevlog, field};
use super::super::support::{Fixture, Scratch};

fn verify(a: &Path, b: &Path) -> Outcome {
    program::run(command().arg("verify").arg(a).arg(b))
}

/// A variant of a fixture that is changed before it is verified with its source, both ways round.
#[track_caller]
fn differs(fixture: &str, codec: &str, change: impl FnOnce(&Path), words: &[&str]) {
    let (source, scratch) = (Fixture::hg(fixture).repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, codec, &variant);
    assert!(verify(&source, &variant).exits(exit::OK).text().contains("are the same"));
    change(&variant);
    for (a, b) in [(&source, &variant), (&variant, &source)] {
        let outcome = verify(a, b).exits(exit::FAILURE);
        for word in words {
            assert!(outcome.text().contains(word), "{word} is not named:\n{}{}", outcome.text(), outcome.stderr);
        }
    }
}

#[test]
fn different_repositories_differ() {
    let [one, other, empty] = ["default", "content", "empty"].map(|name| Fixture::hg(name).repo());
    verify(&one, &other).exits(exit::FAILURE);
    verify(&one, &empty).exits(exit::FAILURE);
    verify(&empty, &empty).exits(exit::OK);
    let line = verify(&one, &Fixture::get("bare").repo()).exits(exit::FAILURE).error_line();
    assert!(line.contains("Git") && line.contains("Mercurial"), "{line}");
}

#[test]
fn a_damaged_chunk_is_found() {
    for codec in ["zlib:9", "zstd:5", "lz4", "store"] {
        let damage = |variant: &Path| {
            let mut revlog = OpenRevlog::open(variant, "data/story.txt");
            let chunk = revlog.chunk(0);
            chunk[chunk.len() / 2] ^= 1;
            revlog.write();
        };
        differs(
            "default",
            codec,
            damage,
            &["damaged in ", "story.txt.i at offset 64, revision 0", "expected", "found"],
        );
        // The 29 deltas on it cannot be read either, and do not hide other damage.
        let (scratch, source) = (Scratch::new(), Fixture::hg("default").repo());
        let variant = scratch.join("variant");
        convert(&source, codec, &variant);
        damage(&variant);
        let said = verify(&source, &variant).exits(exit::FAILURE).text();
        assert_eq!(said.matches("damaged in").count(), 1, "{said}");
    }
}

#[test]
fn what_differs_in_an_entry_is_named() {
    for (field, by, words) in [
        (field::NODE, 1, "story.txt, revision 29: different node"),
        (field::LINK, -1, "story.txt, revision 29: different linked changeset"),
        (field::SECOND_PARENT, 5, "story.txt, revision 29: different parents"),
        (field::TEXT_LEN, 1, "story.txt, revision 29: different length"),
    ] {
        let change = |variant: &Path| {
            let mut revlog = OpenRevlog::open(variant, "data/story.txt");
            assert_eq!(revlog.len(), 30);
            let value = revlog.field(29, field) as i64;
            revlog.set(29, field, value + by);
            revlog.write();
        };
        differs("default", "zlib:9", change, &[words]);
    }
    let flag = |variant: &Path| {
        let mut revlog = OpenRevlog::open(variant, "data/story.txt");
        let at = revlog.entry(29) + field::FLAGS;
        revlog.index[at] |= 0x40;
        revlog.write();
    };
    differs("default", "zlib:9", flag, &["story.txt, revision 29: different flags"]);
}

#[test]
fn a_missing_or_added_revlog_is_named() {
    let store = |variant: &Path| variant.join(".hg/store/data");
    differs(
        "default",
        "zlib:9",
        |variant| fs::remove_file(store(variant).join("run.sh.i")).expect("a revlog"),
        &["only in ", ": run.sh"],
    );
    let add = |variant: &Path| {
        let _ = fs::copy(store(variant).join("link.i"), store(variant).join("_new.i")).expect("a revlog");
    };
    differs("default", "zlib:9", add, &["only in ", ": New"]);
}

#[test]
fn other_files_that_differ_are_named() {
    let append = |file: &'static str| {
        move |variant: &Path| {
            let path = variant.join(".hg").join(file);
            let mut content = fs::read(&path).unwrap_or_default();
            content.extend_from_slice(format!("{} more\n", "0".repeat(40)).as_bytes());
            fs::write(path, content).expect("the file");
        }
    };
    for (fixture, file) in [
        ("default", "store/phaseroots"),
        ("evolution", "store/obsstore"),
        ("evolution", "bookmarks"),
        ("default", "bookmarks"),
        ("bookmarks-in-store", "store/bookmarks"),
    ] {
        differs(fixture, "zlib:9", append(file), &["different file: ", file]);
    }
}

#[test]
fn one_more_commit_is_named() {
    let commit = |variant: &Path| {
        hg::output(variant, ["update", "--quiet", "tip"]);
        fs::write(variant.join("more"), "more\n").expect("a file");
        hg::output(variant, ["commit", "--quiet", "--addremove", "--message", "one more"]);
    };
    let words = ["changelog, revision 36: different number of revisions", "manifest, ", "only in ", ": more"];
    differs("default", "zstd:3", commit, &words);
}

/// What hg cannot hash, by design, is compared and counted.
#[test]
fn revisions_that_do_not_hash_are_counted_and_compared() {
    for (fixture, name, unhashed) in [("censored", "data/file.txt", "1"), ("lfs", "data/big.txt", "3")] {
        let (source, scratch) = (Fixture::hg(fixture).repo(), Scratch::new());
        let variant = scratch.join("variant");
        convert(&source, "store", &variant);
        let said = verify(&source, &variant).exits(exit::OK).text();
        assert!(said.split(|letter: char| !letter.is_ascii_digit()).any(|word| word == unhashed), "{said}");
        let mut revlog = OpenRevlog::open(&variant, name);
        let revision = usize::from(fixture == "censored");
        let chunk = revlog.chunk(revision);
        let last = chunk.len() - 1;
        chunk[last] ^= 1;
        revlog.write();
        let said = verify(&source, &variant).exits(exit::FAILURE).text();
        assert!(said.contains(&format!("revision {revision}: different text")), "{said}");
    }
}
