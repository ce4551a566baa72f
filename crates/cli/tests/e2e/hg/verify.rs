//! `repackbench verify A B`: every difference and all damage is found and named.

mod store_files;

use std::fs;
use std::path::Path;

use crate::support::hg::open_revlog::{OpenRevlog, field};
use crate::support::hg::{self, Version};
use crate::support::program::{self, Outcome, command, convert, exit};
use crate::support::{Fixture, Scratch};

fn verify(a: &Path, b: &Path) -> Outcome {
    program::run(command().arg("verify").arg(a).arg(b))
}

/// Changes a variant of a fixture, and verifies it with its source in both directions. Every word must be in both
/// reports.
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
fn finds_a_damaged_chunk() {
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
        // The 29 deltas on it cannot be read either, but are not reported.
        let (scratch, source) = (Scratch::new(), Fixture::hg("default").repo());
        let variant = scratch.join("variant");
        convert(&source, codec, &variant);
        damage(&variant);
        let said = verify(&source, &variant).exits(exit::FAILURE).text();
        assert_eq!(said.matches("damaged in").count(), 1, "{said}");
    }
}

#[test]
fn names_the_field_of_an_entry_that_differs() {
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
        // The flag that a changeset stores which files were copied.
        revlog.index[at] |= 0x10;
        revlog.write();
    };
    differs("default", "zlib:9", flag, &["story.txt, revision 29: different flags"]);
}

#[test]
fn finds_a_missing_or_added_revlog() {
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
fn finds_other_files_that_differ() {
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

/// Rewrites a file of lines below the `.hg` of a variant.
fn rewrite(variant: &Path, file: &str, change: impl FnOnce(Vec<String>) -> Vec<String>) {
    let path = variant.join(".hg").join(file);
    let lines = fs::read_to_string(&path).expect("the file").lines().map(str::to_owned).collect();
    fs::write(path, change(lines).iter().map(|line| format!("{line}\n")).collect::<String>()).expect("the file");
}

/// A clone that copies files leaves out a data file that is not listed, and then lacks its chunks.
#[test]
fn finds_a_data_file_that_is_not_listed() {
    let (mut left_out, fncache) = (String::new(), "store/fncache");
    let change = |variant: &Path| {
        assert!(!hg::verify(Version::V72, variant).1.concat().contains("not in fncache"));
        rewrite(variant, fncache, |mut lines| {
            let at = lines.iter().position(|line| line.ends_with(".d")).expect("a split revlog");
            left_out = lines.remove(at);
            lines
        });
        let (_, said) = hg::verify(Version::V72, variant);
        assert!(said.iter().any(|line| line.contains(&left_out) && line.contains("not in fncache")), "{said:?}");
    };
    differs(
        "default",
        "zlib:9",
        change,
        &["different file: store/fncache: 'data/", ".d' exists but is not listed in "],
    );
}

#[test]
fn reads_the_list_of_names_as_hg_does() {
    let (source, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "zlib:9", &variant);
    let path = variant.join(".hg/store/fncache");
    let listed = fs::read_to_string(&path).expect("the list");
    // Not the command server, which ends when hg aborts.
    let hg_reads_it = || {
        let outcome = program::run(hg::command(Version::V72, &variant).arg("verify"));
        outcome.code == Some(exit::OK) && !format!("{}{}", outcome.text(), outcome.stderr).contains("fncache")
    };
    let mut lines: Vec<&str> = listed.lines().rev().collect();
    lines.push(lines[0]);
    for (content, is_read) in [
        (format!("{}\n", lines.join("\n")), true),
        (listed.trim_end().to_owned(), false),
        (format!("{listed}\n"), false),
        (format!("{listed}data/with a\rreturn.i\n"), false),
        (String::new(), false),
        (listed.clone(), true),
    ] {
        fs::write(&path, &content).expect("the list");
        assert_eq!(hg_reads_it(), is_read, "{content:?}");
        let outcome = verify(&source, &variant);
        assert_eq!(
            outcome.code,
            Some(if is_read { exit::OK } else { exit::FAILURE }),
            "{content:?}: {}",
            outcome.stderr
        );
        assert!(is_read || outcome.text().contains("store/fncache"), "{}", outcome.text());
    }
}

/// A share reads only the requirements of the store.
#[test]
fn finds_a_requirement_in_the_wrong_file() {
    let change = |variant: &Path| {
        rewrite(variant, "store/requires", |lines| lines.into_iter().filter(|line| line != "sparserevlog").collect());
        rewrite(variant, "requires", |lines| [lines, vec!["sparserevlog".to_owned()]].concat());
    };
    let words = ["the requirement sparserevlog in requires", "the requirement sparserevlog in store/requires"];
    differs("default", "zlib:9", change, &words);
}

#[test]
fn finds_an_added_commit() {
    let commit = |variant: &Path| {
        hg::output(variant, ["update", "--quiet", "tip"]);
        fs::write(variant.join("more"), "more\n").expect("a file");
        hg::output(variant, ["commit", "--quiet", "--addremove", "--message", "one more"]);
    };
    let words = ["changelog, revision 36: different number of revisions", "manifest, ", "only in ", ": more"];
    differs("default", "zstd:3", commit, &words);
}

/// hg cannot hash some revisions, by design.
#[test]
fn compares_and_counts_revisions_without_a_hash() {
    for (fixture, name, unhashed) in [("censored", "data/file.txt", "1"), ("lfs", "data/big.txt", "3")] {
        let (source, scratch) = (Fixture::hg(fixture).repo(), Scratch::new());
        let variant = scratch.join("variant");
        convert(&source, "store", &variant);
        let said = verify(&source, &variant).exits(exit::OK).text();
        assert!(said.split(|letter: char| !letter.is_ascii_digit()).any(|word| word == unhashed), "{said}");
        let mut revlog = OpenRevlog::open(&variant, name);
        let revision = usize::from(fixture == "censored");
        let chunk = revlog.chunk(revision);
        // In a tombstone, the last letter of its message: it stays a tombstone.
        let letter = chunk.len() - 4;
        chunk[letter] ^= 1;
        revlog.write();
        let said = verify(&source, &variant).exits(exit::FAILURE).text();
        assert!(said.contains(&format!("revision {revision}: different text")), "{said}");
    }
}
