//! `diff:patch` is right if its patches turn each changeset's first parent into it, as `hg archive` writes both.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::support::hg_server::HgServer;
use super::super::support::program::{self, command, exit};
use super::super::support::{Fixture, Scratch, git, snapshot};

/// The revision of the fixture `branches` that most of its history leads to.
const MERGE: &str = "38";

/// How many patches are tried of a long history: each takes two trees of files.
const MOST: usize = 40;

/// The patch of each of the newest `most` changesets up to `revision`, newest first.
fn patches(repo: &Path, revision: &str, most: usize) -> Vec<(String, Vec<u8>)> {
    let most = most.to_string();
    let replay = ["replay", "--workload", "diff:patch", "--rev", revision, "--commits", &most];
    let seen = program::run(command().args(replay).arg(repo)).exits(exit::OK).stdout;
    let mut patches: Vec<(String, Vec<u8>)> = Vec::new();
    for line in seen.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"commit ") {
            Some(node) => patches.push((String::from_utf8_lossy(node).trim_end().to_owned(), Vec::new())),
            None => patches.last_mut().expect("a commit before its patch").1.extend_from_slice(line),
        }
    }
    patches
}

/// Takes the patches of files that are told to differ, and not how, out of a patch; gives their number.
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

/// The state of each changeset's files, as hg writes them.
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
        // hg makes none where there is no file.
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
            // In a folder of some repository's, git would pass over files that the patch names.
            apply.env("GIT_CEILING_DIRECTORIES", scratch.path());
            program::run(apply.args(["apply", "--whitespace=nowarn"]).arg(&file)).exits(exit::OK);
            applied += 1;
        }
        assert_same_but(binary, &snapshot::content(&after), &snapshot::content(&work), node);
        fs::remove_dir_all(&work).expect("the folder that was patched");
    }
    applied
}

/// Fails the test unless the folders are the same but for exactly `binary` files that are not text in one of them.
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
fn a_log_ends_after_the_commits_asked_for() {
    let repo = Fixture::hg("branches").repo();
    let all: Vec<String> = patches(&repo, MERGE, MOST).into_iter().map(|(node, _)| node).collect();
    for workload in ["diff:raw", "diff:patch"] {
        let arguments = ["replay", "--workload", workload, "--rev", MERGE, "--commits", "7"];
        let text = program::run(command().args(arguments).arg(&repo)).exits(exit::OK).text();
        let seen: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("commit ")).collect();
        assert_eq!(seen, all[..7], "{workload}");
    }
}
