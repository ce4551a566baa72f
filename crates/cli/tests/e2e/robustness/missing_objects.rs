//! Repositories that lack objects they name: no command treats them as complete.

use std::fs;
use std::path::Path;

use crate::support::fixture::Fixture;
use crate::support::git;
use crate::support::program::{self, Outcome, Scratch, command, convert, exit};

/// A repository that borrows all its objects from a removed one.
fn borrower(scratch: &Scratch) -> std::path::PathBuf {
    let (lender, borrower) = (Fixture::copy("history", scratch).repo(), scratch.join("borrower"));
    let words = ["clone", "-q", "--bare", "--shared", lender.to_str().unwrap(), borrower.to_str().unwrap()];
    git::output(scratch.path(), words);
    fs::rename(&lender, scratch.join("gone")).unwrap();
    borrower
}

#[track_caller]
fn run(words: &[&str], places: &[&Path]) -> Outcome {
    program::run(command().args(words).args(places))
}

#[test]
fn missing_alternate_is_an_error() {
    let scratch = Scratch::new();
    let borrower = borrower(&scratch);
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "zstd:5", &variant);
    for (words, places) in [
        (&["size"][..], &[borrower.as_path()][..]),
        (&["verify"], &[&borrower, &borrower]),
        (&["convert", "--codec", "zstd:1", "--force", "-o", variant.to_str().unwrap()], &[&borrower]),
        (&["bench", "--codec", "lz4", "--workload", "traverse"], &[&borrower]),
        (&["chains"], &[&borrower]),
        (&["replay", "--workload", "traverse"], &[&borrower]),
    ] {
        let refused = run(words, places).exits(exit::BAD_INPUT);
        let line = refused.error_line();
        assert!(line.contains("info/alternates: expected an object directory at "), "{words:?}: {line}");
        assert!(line.contains("No such file"), "{line}");
        assert!(refused.stderr.contains("--allow-missing"), "{}", refused.stderr);
    }
    // The earlier variant is still there.
    run(&["verify", "--quiet"], &[&Fixture::get("history").repo(), &variant]).exits(exit::OK);
    // A file is not an object directory.
    fs::write(scratch.join("history"), "").unwrap();
    fs::write(borrower.join("objects/info/alternates"), format!("{}\n", scratch.join("history").display())).unwrap();
    assert!(run(&["size"], &[&borrower]).exits(exit::BAD_INPUT).error_line().contains("Not a directory"));
}

#[test]
fn ref_to_a_missing_object_is_an_error() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let absent = "1234567890123456789012345678901234567890";
    fs::write(git::path(&repo, "refs/heads/absent"), format!("{absent}\n")).unwrap();
    let variant = scratch.join("variant");
    let to_variant = ["convert", "--codec", "zstd:1", "-o", variant.to_str().unwrap()];
    for (words, places) in
        [(&["size"][..], &[repo.as_path()][..]), (&["verify"], &[&repo, &repo]), (&to_variant, &[&repo])]
    {
        let line = run(words, places).exits(exit::BAD_INPUT).error_line();
        assert!(line.contains(absent) && line.contains("refs/heads/absent"), "{words:?}: {line}");
        let noted = run(&[words, &["--allow-missing"]].concat(), places).exits(exit::OK);
        assert!(noted.stderr.contains("refs/heads/absent names, found none: ignored"), "{}", noted.stderr);
    }
    assert!(run(&["verify"], &[&repo, &variant]).code == Some(exit::BAD_INPUT));
    run(&["verify", "--allow-missing"], &[&repo, &variant]).exits(exit::OK);
    // A shallow repository may lack objects that it names.
    fs::write(git::path(&repo, "shallow"), git::output(&repo, ["rev-parse", "HEAD"])).unwrap();
    run(&["size"], &[&repo]).exits(exit::OK);
}
