//! Names of revisions: `--rev`, and the default.

use std::ffi::OsStr;
use std::fs;

use super::{Subject, replay};
use crate::support::hg::{self, Version};
use crate::support::program::{self, exit};
use crate::support::{Fixture, Scratch};

#[test]
fn names_revisions_as_hg_does() {
    for (fixture, names) in [
        ("evolution", &["tip", "try", "a bookmark with spaces", "3", "-1", "-4", "default", "right"][..]),
        ("branches", &["tip", "early days", "a feature/née", "right", "default", "two heads", "0", "-2"]),
        ("bookmarks-in-store", &["ten", "default"]),
        ("archived-phase", &["tip", "default"]),
        ("internal-phase", &["tip", "default"]),
    ] {
        let mut subject = Subject::new(fixture);
        let mut cases: Vec<(String, String)> = Vec::new();
        for name in names {
            // In quotes, a revset takes any text for a name.
            let found = subject.hg.lines(&["log", "-r", &format!("\"{name}\""), "-T", "{node}\n"]);
            cases.push(((*name).to_owned(), found[0].clone()));
        }
        let node = cases[0].1.clone();
        cases.extend([(node.clone(), node.clone()), (node[..12].to_owned(), node)]);
        // Hidden changesets are numbered like all others.
        for hidden in subject.changesets("all()") {
            cases.push((hidden.number.to_string(), hidden.node));
        }
        for (name, node) in cases {
            let seen = replay(&subject.repos[1], "diff:raw", &["--commits", "1", "--rev", &name]);
            assert_eq!(seen.first(), Some(&format!("commit {node}")), "{name} in {fixture}");
        }
    }
}

/// A bookmark keeps an obsolete changeset visible; the parent of a work tree, which variants do not have, is another.
#[test]
fn hidden_changesets_have_no_names() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("evolution", &scratch).repo();
    let named = |name: &str| {
        let found = hg::output(&repo, ["log", "-r", &format!("\"{name}\""), "-T", "{node}"]);
        String::from_utf8(found).expect("a node")
    };
    let seen = |name: &str| {
        let found = replay(&repo, "diff:raw", &["--commits", "1", "--rev", name]);
        found.first().and_then(|line| line.strip_prefix("commit ")).expect("a commit").to_owned()
    };
    let newest = named("tip");
    hg::output(&repo, ["update", "--quiet", "0"]);
    hg::output(&repo, ["--config", "experimental.evolution=all", "debugobsolete", "--quiet", &newest]);
    assert_eq!(named("tip"), newest, "the bookmark keeps it visible");
    assert_eq!(seen("tip"), newest);
    hg::output(&repo, ["bookmark", "--quiet", "--delete", "a bookmark with spaces"]);
    for name in ["tip", "default"] {
        assert_ne!(named(name), newest);
        assert_eq!(seen(name), named(name), "{name}");
    }
    assert_eq!(seen(&newest), newest);
    let markers = repo.join(".hg/store/obsstore");
    let mut bytes = fs::read(&markers).expect("markers");
    bytes.truncate(bytes.len() - 1);
    fs::write(&markers, bytes).expect("a writable file");
    let line = program::replay(&repo, "diff:raw", &["--commits", "1"]).exits(exit::BAD_INPUT).error_line();
    assert!(line.contains("obsstore") && line.contains("an obsolescence marker"), "{line}");
}

#[test]
fn rejects_names_of_no_revision() {
    let repo = Fixture::hg("branches").repo();
    for (name, why) in
        [("no such name", "'no such name'"), ("9999", "'9999'"), ("-9999", "'-9999'"), ("ffffffffff", "'ffffffffff'")]
    {
        let line = program::replay(&repo, "diff:raw", &["--rev", name]).exits(exit::FAILURE).error_line();
        assert!(line.contains(why), "{line}");
    }
    // Some of forty nodes share their first digit.
    let digits = "abcdef".chars().map(|digit| program::replay(&repo, "diff:raw", &["--rev", &digit.to_string()]));
    assert!(digits.filter(|outcome| outcome.stderr.contains("the abbreviated node is ambiguous")).count() > 0);
    let line = program::replay(&Fixture::hg("empty").repo(), "diff:raw", &[]).exits(exit::FAILURE).error_line();
    assert!(line.contains("tip") && line.contains("no changesets"), "{line}");
}

#[test]
fn asks_hg_for_the_last_changeset_of_a_revset() {
    let (mut subject, scratch) = (Subject::new("branches"), Scratch::new());
    let repo = subject.repos[0].clone();
    let replayed = |set: &str, path: &OsStr| {
        let mut command = program::cached(&scratch);
        command.args(["replay", "--workload", "diff:raw", "--commits", "1", "--rev", set]).arg(&repo);
        program::run(command.env("PATH", path))
    };
    let with_hg = Version::V72.program().parent().expect("a folder").as_os_str().to_owned();
    for set in ["max(branch(right))", "roots(all())", "1 or 5 or 3", "first(merge())^2"] {
        let found = subject.hg.lines(&["log", "-r", &format!("last({set})"), "-T", "{node}\n"]);
        let seen = replayed(set, &with_hg).exits(exit::OK).text();
        assert_eq!(seen.lines().next(), Some(format!("commit {}", found[0]).as_str()), "{set}");
    }
    for (set, why) in [("1 or or 2", "parse error"), ("none()", "has no changeset")] {
        let outcome = replayed(set, &with_hg).exits(exit::FAILURE);
        assert!(outcome.stderr.contains(why) && outcome.error_line().contains(set), "{}", outcome.stderr);
    }
    let without_hg = replayed("max(all())", scratch.path().as_os_str()).exits(exit::FAILURE);
    assert!(without_hg.stderr.contains("with hg on the PATH, --rev takes a revset"), "{}", without_hg.stderr);
}
