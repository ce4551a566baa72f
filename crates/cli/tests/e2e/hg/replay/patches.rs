//! `diff:patch`: the patches turn the first parent of each changeset into it, as `hg archive` writes both.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::hg::{self, HgServer};
use crate::support::log::split_patches;
use crate::support::program::{self, exit};
use crate::support::{Fixture, Scratch, git, snapshot};

/// The revision of the fixture `branches` that most of its history leads to.
const MERGE: &str = "38";

/// The most patches to apply of a history: each takes two trees of files.
const MOST: usize = 40;

/// The patch of each of the newest `most` changesets up to `revision`, newest first.
fn patches(repo: &Path, revision: &str, most: usize) -> Vec<(String, Vec<u8>)> {
    let options = ["--rev", revision, "--commits", &most.to_string()];
    split_patches(&program::replay(repo, "diff:patch", &options).exits(exit::OK).stdout)
}

/// Removes the binary files from a patch, for which it only says that they differ. Returns the rest and their number.
fn take_binary(patch: &[u8]) -> (Vec<u8>, usize) {
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        // Lines of content begin with a space, a sign or a backslash.
        if line.starts_with(b"diff --git ") {
            pieces.push(Vec::new());
        }
        pieces.last_mut().expect("a header first").extend_from_slice(line);
    }
    let is_binary = |piece: &Vec<u8>| piece.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"Binary files "));
    let (binary, text): (Vec<_>, Vec<_>) = pieces.into_iter().partition(is_binary);
    (text.concat(), binary.len())
}

/// The files of each changeset, as hg writes them.
struct Archives {
    hg: HgServer,
    scratch: Scratch,
}

impl Archives {
    fn folder(&mut self, node: &str) -> PathBuf {
        let folder = self.scratch.join(node);
        if !folder.exists() && !node.starts_with("0000000000") {
            self.hg.archive(node, &folder);
        }
        // hg makes none for a changeset without files.
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }
}

#[track_caller]
fn patches_apply(name: &str, revision: &str) -> usize {
    let scratch = Scratch::new();
    let mut hg = HgServer::newest(&Fixture::hg_copy(name, &scratch).repo());
    let newest = format!("limit(reverse(::{revision}), {MOST})");
    let log = hg.lines(&["log", "--hidden", "-r", &newest, "-T", "{node} {p1node}\n"]);
    let mut archives = Archives { hg, scratch: Scratch::new() };
    let patches = patches(&Fixture::hg(name).repo(), revision, MOST);
    assert_eq!(patches.len(), log.len());
    let mut applied = 0;
    for ((node, patch), line) in patches.iter().zip(log) {
        let parent = line.strip_prefix(node.as_str()).expect("the same changeset").trim_start().to_owned();
        let (before, after) = (archives.folder(&parent), archives.folder(node));
        let work = scratch.join("work");
        program::run(Command::new("cp").arg("-a").arg(&before).arg(&work)).exits(exit::OK);
        let (text, binary) = take_binary(patch);
        if !text.is_empty() {
            let file = scratch.join("patch");
            fs::write(&file, text).expect("a patch");
            let mut apply = git::command(&work);
            // Inside a repository, git would ignore files that the patch names.
            apply.env("GIT_CEILING_DIRECTORIES", scratch.path());
            program::run(apply.args(["apply", "--whitespace=nowarn"]).arg(&file)).exits(exit::OK);
            applied += 1;
        }
        assert_same_but(binary, &snapshot::content(&after), &snapshot::content(&work), node);
        fs::remove_dir_all(&work).expect("the folder that was patched");
    }
    applied
}

/// Fails the test unless exactly `binary` files differ, each of which holds a NUL byte in one of the folders.
#[track_caller]
fn assert_same_but(
    binary: usize,
    expected: &BTreeMap<PathBuf, snapshot::Entry>,
    found: &BTreeMap<PathBuf, snapshot::Entry>,
    node: &str,
) {
    let is_file = |entry: &snapshot::Entry| !matches!(entry, snapshot::Entry::Folder);
    let all = expected.iter().chain(found).filter(|(_, entry)| is_file(entry)).map(|(path, _)| path);
    let paths: std::collections::BTreeSet<_> = all.filter(|path| expected.get(*path) != found.get(*path)).collect();
    assert_eq!(paths.len(), binary, "{node}: {paths:?} differ");
    for path in paths {
        let holds_nul = |entry: Option<&snapshot::Entry>| matches!(entry, Some(snapshot::Entry::File { content, .. }) if content.contains(&0));
        assert!(holds_nul(expected.get(path)) || holds_nul(found.get(path)), "{node}: {} differs", path.display());
    }
}

#[test]
fn patches_turn_each_parent_into_its_child() {
    let subjects = [
        ("branches", MERGE, 35),
        ("content", "tip", 4),
        ("names", "tip", 2),
        ("treemanifest", "tip", 30),
        ("history", "tip", 5),
    ];
    for (name, revision, least) in subjects {
        let applied = patches_apply(name, revision);
        assert!(applied >= least, "{applied} patches of {name} are too few to tell anything");
    }
}

#[test]
fn commits_limits_a_log() {
    let repo = Fixture::hg("branches").repo();
    let all: Vec<String> = patches(&repo, MERGE, MOST).into_iter().map(|(node, _)| node).collect();
    for workload in ["diff:raw", "diff:patch"] {
        let text = program::replay(&repo, workload, &["--rev", MERGE, "--commits", "7"]).exits(exit::OK).text();
        let seen: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("commit ")).collect();
        assert_eq!(seen, all[..7], "{workload}");
    }
}

/// git searches for a NUL byte only in the first 8000 bytes, hg in all of them.
#[test]
fn late_nul_byte_makes_content_binary() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("empty", &scratch).repo();
    let long = [vec![b'a'; 9000], b"\0\n".to_vec()].concat();
    fs::write(repo.join("late"), long).expect("a file");
    hg::output(&repo, ["commit", "--quiet", "--addremove", "--message", "late"]);
    let of_hg = hg::output(&repo, ["log", "-p", "--git"]);
    assert!(String::from_utf8_lossy(&of_hg).contains("GIT binary patch"), "hg takes it for binary");
    let patch = program::replay(&repo, "diff:patch", &[]).exits(exit::OK).text();
    assert!(patch.contains("\nBinary files /dev/null and b/late differ\n") && !patch.contains("@@"), "{patch:.200}");
}
