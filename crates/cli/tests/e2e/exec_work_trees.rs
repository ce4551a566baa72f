//! Linked work trees of variants: made, used, listed, moved and removed under `exec`, one command after the other.

use std::fs;
use std::path::Path;

use crate::support::fixture::Fixture;
use crate::support::program::{self, Outcome, Scratch, convert, exit};
use crate::support::{git, preload};

/// `git` under `exec`, with an empty folder for temporary files that is empty afterwards, too.
#[track_caller]
fn exec(scratch: &Scratch, repo: &Path, words: &[&str]) -> Outcome {
    let temporary = scratch.join("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = program::command();
    git::pin(&mut command);
    command.env("REPACKBENCH_PRELOAD", preload::stand_in()).env("TMPDIR", &temporary);
    command.arg("exec").arg(repo).args(["--", "git"]).args(words);
    let outcome = program::run(&mut command);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "{outcome:?}");
    outcome
}

#[track_caller]
fn output(scratch: &Scratch, repo: &Path, words: &[&str]) -> String {
    exec(scratch, repo, words).exits(exit::OK).text()
}

/// What a work tree's file `.git` names.
fn named(tree: &Path) -> String {
    fs::read_to_string(tree.join(".git")).unwrap().strip_prefix("gitdir: ").unwrap().trim_end().to_owned()
}

#[test]
fn work_trees_outlive_the_command_that_made_them() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "zstd:5", &variant);
    let [first, second, moved] = ["first", "second", "moved"].map(|name| scratch.join(name));
    let [first_name, second_name, moved_name] = [&first, &second, &moved].map(|tree| tree.to_str().unwrap());

    output(&scratch, &variant, &["worktree", "add", "-q", "-b", "linked", first_name]);
    let folder = fs::canonicalize(variant.join("worktrees/first")).unwrap();
    assert_eq!(named(&first), folder.to_str().unwrap());
    let main_head = fs::read_to_string(variant.join("HEAD")).unwrap();

    // It is a repository of its own to later commands, in its place and with its branch.
    assert_eq!(output(&scratch, &first, &["status", "--porcelain"]), "");
    assert_eq!(output(&scratch, &first, &["symbolic-ref", "HEAD"]), "refs/heads/linked\n");
    fs::write(first.join("added"), "added\n").unwrap();
    output(&scratch, &first, &["add", "."]);
    output(&scratch, &first, &["commit", "-q", "-m", "in a linked work tree"]);
    output(&scratch, &first, &["switch", "-q", "-c", "further"]);
    let head = output(&scratch, &first, &["rev-parse", "HEAD"]);
    assert_eq!(output(&scratch, &variant, &["rev-parse", "linked", "further"]), [head.as_str(), &head].concat());
    assert_eq!(fs::read_to_string(folder.join("HEAD")).unwrap(), "ref: refs/heads/further\n");
    assert_eq!(fs::read_to_string(variant.join("HEAD")).unwrap(), main_head);

    // Beside others.
    output(&scratch, &variant, &["worktree", "add", "-q", "--detach", second_name]);
    assert_eq!(output(&scratch, &second, &["status", "--porcelain"]), "");
    let listed = output(&scratch, &variant, &["worktree", "list", "--porcelain"]);
    for tree in [first_name, second_name] {
        assert!(listed.contains(&format!("worktree {tree}\n")), "{listed}");
    }
    assert!(!listed.contains("prunable"), "{listed}");
    output(&scratch, &variant, &["gc", "-q", "--prune=now"]);
    output(&scratch, &variant, &["fsck", "--full"]);

    // Moved, and removed by git.
    output(&scratch, &variant, &["worktree", "move", second_name, moved_name]);
    assert_eq!(output(&scratch, &moved, &["status", "--porcelain"]), "");
    assert!(exec(&scratch, &variant, &["worktree", "remove", first_name]).code == Some(exit::OK));
    assert!(!first.exists() && !folder.exists());
    assert_eq!(output(&scratch, &variant, &["rev-parse", "further"]), head);

    // Of a command that was killed the work tree still names the view, which is gone.
    fs::write(moved.join(".git"), "gitdir: /nonexistent/git/worktrees/second\n").unwrap();
    output(&scratch, &variant, &["worktree", "list"]);
    assert_eq!(named(&moved), fs::canonicalize(variant.join("worktrees/second")).unwrap().to_str().unwrap());

    // Removed by hand.
    fs::remove_dir_all(&moved).unwrap();
    output(&scratch, &variant, &["worktree", "prune"]);
    assert!(!variant.join("worktrees").exists());
    git::assert_refuses_plainly(&variant);
    assert_eq!(fs::read_to_string(variant.join("HEAD")).unwrap(), main_head);
}

#[test]
fn what_took_a_work_trees_place_is_left_alone() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "lz4", &variant);
    let tree = scratch.join("tree");
    output(&scratch, &variant, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
    let other = scratch.join("other");
    git::output(scratch.path(), ["init", "-q", "--bare", other.to_str().unwrap()]);
    let others = format!("gitdir: {}\n", other.display());
    fs::write(tree.join(".git"), &others).unwrap();
    output(&scratch, &variant, &["worktree", "list"]);
    assert_eq!(fs::read_to_string(tree.join(".git")).unwrap(), others);
}
