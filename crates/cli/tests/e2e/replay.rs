//! Workloads against stock git: what a workload saw must be what git itself prints, on the source as found and on a variant.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::support::program::{self, command, convert, exit};
use super::support::{Fixture, Scratch, git, snapshot};

/// Fixtures with a history worth walking.
const HISTORIES: &[&str] = &[
    "alternates",
    "bare",
    "content",
    "detached-head",
    "grafts",
    "history",
    "linked-work-tree",
    "no-config",
    "refs",
    "replace",
    "sha256",
    "shallow",
    "work-tree",
];

/// What the workload saw, one line each.
#[track_caller]
fn replay(repo: &Path, workload: &str) -> Vec<String> {
    let outcome = program::run(command().args(["replay", "--workload", workload]).arg(repo)).exits(exit::OK);
    outcome.text().lines().map(str::to_owned).collect()
}

#[track_caller]
fn git_lines(repo: &Path, arguments: &[&str]) -> Vec<String> {
    git::output(repo, arguments).lines().map(str::to_owned).collect()
}

/// Replays on the source and on a variant, and fails the test unless both saw what `expected` says.
#[track_caller]
fn sees(source: &Path, workload: &str, expected: &[String], order: impl Fn(Vec<String>) -> Vec<String>) {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(source, "zstd:5", &variant);
    let expected = order(expected.to_vec());
    for repo in [source, &variant] {
        let seen = order(replay(repo, workload));
        let first = seen.iter().zip(&expected).position(|(seen, expected)| seen != expected);
        let place = first.unwrap_or(seen.len().min(expected.len()));
        assert!(
            seen == expected,
            "{workload} of {}: {} lines seen, {} expected; the first that differs is {place}: {:?} instead of {:?}",
            repo.display(),
            seen.len(),
            expected.len(),
            seen.get(place),
            expected.get(place),
        );
    }
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// The ids that `git rev-list --objects` lists, without the paths behind them.
fn ids(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

#[track_caller]
fn traverse_agrees(repo: &Path) {
    let expected = ids(git_lines(repo, &["rev-list", "--objects", "--all"]));
    assert!(expected.len() > 10, "something to traverse in {}", repo.display());
    sees(repo, "traverse", &expected, sorted);
}

#[track_caller]
fn raw_agrees(repo: &Path) {
    let command = ["log", "--raw", "--no-abbrev", "--no-renames", "--format=commit %H"];
    let expected: Vec<String> = git_lines(repo, &command).into_iter().filter(|line| !line.is_empty()).collect();
    assert!(expected.iter().any(|line| line.starts_with(':')), "changes in {}", repo.display());
    sees(repo, "diff:raw", &expected, |lines| lines);
}

#[track_caller]
fn pickaxe_agrees(repo: &Path, needle: &str) -> usize {
    let expected = git_lines(repo, &["log", &format!("-S{needle}"), "--no-renames", "--format=%H"]);
    sees(repo, &format!("diff:pickaxe={needle}"), &expected, |lines| lines);
    expected.len()
}

#[test]
fn traverse_visits_what_rev_list_lists() {
    for name in HISTORIES {
        traverse_agrees(&Fixture::get(name).repo());
    }
}

#[test]
fn traverse_skips_the_missing_objects_of_a_partial_clone() {
    for name in ["partial-clone", "partial-clone-bare"] {
        let source = Fixture::get(name).repo();
        let listed = git_lines(&source, &["rev-list", "--objects", "--all", "--missing=print"]);
        let expected = ids(listed.into_iter().filter(|line| !line.starts_with('?')).collect());
        sees(&source, "traverse", &expected, sorted);
    }
}

#[test]
fn raw_diff_prints_what_log_raw_prints() {
    for name in HISTORIES {
        raw_agrees(&Fixture::get(name).repo());
    }
}

#[test]
fn pickaxe_finds_what_log_s_finds() {
    let mut found = 0;
    for name in HISTORIES {
        let source = Fixture::get(name).repo();
        for needle in ["foo", "amber", "rewrote this line", "nowhere to be found"] {
            found += pickaxe_agrees(&source, needle);
        }
    }
    assert!(found > 30, "{found} hits are too few to tell anything");
}

#[test]
fn checkout_writes_what_git_writes() {
    for (name, revision) in [
        ("content", "HEAD"),
        ("content", "HEAD~1"),
        ("content", "HEAD~5"),
        ("content", "HEAD~9"),
        ("history", "HEAD"),
        ("sha256", "HEAD"),
        ("refs", "refs/tags/of-tag"),
        ("work-tree", "HEAD~2"),
        ("large-blob", "HEAD"),
    ] {
        let source = Fixture::get(name).repo();
        let scratch = Scratch::new();
        let variant = scratch.join("variant");
        convert(&source, "zstd:1", &variant);
        let commit = git::output(&source, ["rev-parse", &format!("{revision}^{{commit}}")]);
        let commit = commit.trim_end();
        let expected = checked_out_by_git(&source, commit, &scratch);
        // Names are given as they are, expressions such as HEAD~4 as the commit that git finds.
        let revision = if revision.contains('~') { commit } else { revision };
        for (number, repo) in [&source, &variant].into_iter().enumerate() {
            let into = scratch.join(&format!("into-{number}"));
            let arguments = ["replay", "--workload", "checkout", "--rev", revision, "--into"];
            program::run(command().args(arguments).arg(&into).arg(repo)).exits(exit::OK);
            snapshot::assert_same(&expected, &snapshot::content(&into));
        }
    }
}

/// Trees that git never writes and anyone can forge: what they hold must not land outside the folder.
#[test]
fn checkout_of_a_forged_tree_writes_nothing_outside() {
    let scratch = Scratch::new();
    let repo = scratch.join("repo");
    let outside = scratch.join("outside");
    fs::create_dir(&outside).expect("a folder");
    program::run(git::command(scratch.path()).args(["init", "--quiet", "--bare"]).arg(&repo)).exits(exit::OK);
    let link = object(&repo, "blob", outside.to_str().expect("a path in UTF-8").as_bytes());
    let file = object(&repo, "blob", b"forged");
    let folder = object(&repo, "tree", &tree(&[("100644", "b", &file)]));
    let forged: [(&str, Vec<u8>); 5] = [
        ("a/b", tree(&[("120000", "a", &link), ("40000", "a", &folder)])),
        ("a", tree(&[("40000", "a", &folder), ("120000", "a", &link)])),
        ("a", tree(&[("120000", "a", &link), ("100644", "a", &file)])),
        ("../b", tree(&[("40000", "..", &folder)])),
        (".git/b", tree(&[("40000", ".git", &folder)])),
    ];
    for (number, (named, content)) in forged.into_iter().enumerate() {
        let tree = object(&repo, "tree", &content);
        let commit = git::output(&repo, ["commit-tree", "-m", "forged", &tree]);
        git::output(&repo, ["update-ref", "refs/heads/forged", commit.trim_end()]);
        let into = scratch.join(&format!("into-{number}"));
        let arguments = ["replay", "--workload", "checkout", "--rev", "refs/heads/forged", "--into"];
        let error = program::run(command().args(arguments).arg(&into).arg(&repo)).exits(exit::FAILURE).error_line();
        assert!(error.contains(&format!("into-{number}/{named}: ")), "{named}: {error}");
        assert!(snapshot::content(&outside).is_empty(), "{named}: written through the link");
        assert!(!scratch.join("b").exists(), "{named}: written beside the folder");
    }
}

/// The content of a tree object. git's own commands refuse some of the names.
fn tree(entries: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut content = Vec::new();
    for (mode, name, id) in entries {
        content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        let digits = id.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex digits"));
        content.extend(digits.map(|pair| u8::from_str_radix(pair, 16).expect("hex digits")));
    }
    content
}

/// Stores an object as it is, whatever git thinks of it, and gives its id.
fn object(repo: &Path, kind: &str, content: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("content");
    fs::write(&file, content).expect("a file");
    let file = file.to_str().expect("a path in UTF-8");
    git::output(repo, ["hash-object", "-w", "--literally", "-t", kind, "--no-filters", file]).trim_end().to_owned()
}

/// What `git clone` writes into its work tree, folders of submodules included, without what belongs to git.
fn checked_out_by_git(repo: &Path, commit: &str, scratch: &Scratch) -> BTreeMap<PathBuf, snapshot::Entry> {
    let folder = scratch.join("by-git");
    program::run(git::command(scratch.path()).args(["clone", "--quiet", "--no-checkout"]).arg(repo).arg(&folder))
        .exits(exit::OK);
    git::output(&folder, ["checkout", "--quiet", "--detach", commit]);
    fs::remove_dir_all(folder.join(".git")).expect("git's own folder");
    snapshot::content(&folder)
}

/// The project's own history, where the tests run in a clone that has one: a source archive has none.
#[test]
fn this_checkout_agrees_with_stock_git() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if git::git(&root, ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).code != Some(exit::OK) {
        eprintln!("not a clone: nothing to compare");
        return;
    }
    // A copy, since commits may be made while the tests run.
    let scratch = Scratch::new();
    let copy = scratch.join("copy");
    program::run(git::command(scratch.path()).args(["clone", "--quiet", "--mirror"]).arg(&root).arg(&copy))
        .exits(exit::OK);
    traverse_agrees(&copy);
    raw_agrees(&copy);
    pickaxe_agrees(&copy, "foo");
    pickaxe_agrees(&copy, "unwrap");
}
