//! Linked work trees of variants: added, used, listed, moved and removed under `exec` by successive commands.

use std::fs;
use std::path::Path;

use crate::support::fixture::Fixture;
use crate::support::program::{self, Outcome, Scratch, convert, exit};
use crate::support::{git, preload};

/// `git` under `exec`. It leaves no temporary files.
#[track_caller]
fn exec(scratch: &Scratch, repo: &Path, words: &[&str]) -> Outcome {
    exec_program(scratch, repo, scratch.path(), &[], &[&["git"], words].concat())
}

/// Any command under `exec`, run in `place`.
#[track_caller]
fn exec_program(scratch: &Scratch, repo: &Path, place: &Path, options: &[&str], words: &[&str]) -> Outcome {
    let temporary = scratch.join("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let outcome = program::run(preload::exec(repo, options, words).current_dir(place).env("TMPDIR", &temporary));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "{outcome:?}");
    outcome
}

#[track_caller]
fn output(scratch: &Scratch, repo: &Path, words: &[&str]) -> String {
    exec(scratch, repo, words).exits(exit::OK).text()
}

/// The git folder that a work tree's `.git` file names.
fn named(tree: &Path) -> String {
    fs::read_to_string(tree.join(".git")).unwrap().strip_prefix("gitdir: ").unwrap().trim_end().to_owned()
}

#[test]
fn work_trees_outlive_the_command_that_added_them() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "zstd:5", &variant);
    let [first, second, moved] = ["first", "second", "moved"].map(|name| scratch.join(name));
    let [first_name, second_name, moved_name] = [&first, &second, &moved].map(|tree| tree.to_str().unwrap());

    output(&scratch, &variant, &["worktree", "add", "-q", "-b", "linked", first_name]);
    let folder = fs::canonicalize(variant.join("worktrees/first")).unwrap();
    assert_eq!(named(&first), folder.to_str().unwrap());
    let main_head = fs::read_to_string(variant.join("HEAD")).unwrap();

    // Later commands find it in its place and with its branch.
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

    // With a second work tree.
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

    // Removed by hand.
    fs::remove_dir_all(&moved).unwrap();
    output(&scratch, &variant, &["worktree", "prune"]);
    assert!(!variant.join("worktrees").exists());
    git::assert_refuses_plainly(&variant);
    assert_eq!(fs::read_to_string(variant.join("HEAD")).unwrap(), main_head);
}

#[test]
fn repository_in_place_of_a_work_tree_is_left_alone() {
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

#[test]
fn failing_command_leaves_work_trees_as_they_were() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "zstd:5", &variant);
    let tree = scratch.join("tree");
    output(&scratch, &variant, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
    let before = named(&tree);
    for repo in [&variant, &tree] {
        exec_program(&scratch, repo, scratch.path(), &[], &["/no/such/program"]).exits(exit::FAILURE);
        assert_eq!(named(&tree), before);
        exec_program(&scratch, repo, scratch.path(), &["--codec", "zstd:5,prefix"], &["git", "log"]).exits(exit::USAGE);
        assert_eq!(named(&tree), before);
        // A command that runs, and fails.
        assert_ne!(exec(&scratch, repo, &["cat-file", "-e", "no-such-object"]).code, Some(exit::OK));
        assert_eq!(named(&tree), before);
    }
}

/// The git folder and work tree of a submodule, as git finds them without `exec`.
#[track_caller]
fn places(submodule: &Path) -> [String; 2] {
    ["--absolute-git-dir", "--show-toplevel"]
        .map(|question| git::output(submodule, ["rev-parse", question]).trim_end().to_owned())
}

#[test]
fn submodules_outlive_the_command_that_added_them() {
    let scratch = Scratch::new();
    let (source, variant) = (Fixture::get("history").repo(), scratch.join("variant"));
    convert(&source, "zstd:5", &variant);
    // A repository that has a submodule, to be nested as a submodule itself.
    let outer = scratch.join("outer");
    let allow = ["-c", "protocol.file.allow=always"];
    git::output(scratch.path(), ["clone", "-q", source.to_str().unwrap(), outer.to_str().unwrap()]);
    git::output(&outer, [&allow[..], &["submodule", "--quiet", "add", source.to_str().unwrap(), "inner"]].concat());
    git::output(&outer, ["commit", "-q", "-m", "a submodule"]);

    let tree = scratch.join("tree");
    output(&scratch, &variant, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
    let submodule = |words: &[&str]| {
        let words = [&["git"], &allow[..], &["submodule", "--quiet"], words].concat();
        exec_program(&scratch, &tree, &tree, &[], &words).exits(exit::OK);
    };
    submodule(&["add", outer.to_str().unwrap(), "deep/first"]);
    submodule(&["update", "--init", "--recursive"]);
    // The folder of submodules exists by now.
    submodule(&["add", source.to_str().unwrap(), "second"]);

    let modules = fs::canonicalize(variant.join("worktrees/tree/modules")).unwrap();
    for (place, folder) in
        [("deep/first", "deep/first"), ("deep/first/inner", "deep/first/modules/inner"), ("second", "second")]
    {
        let place = fs::canonicalize(tree.join(place)).unwrap();
        let expected = [modules.join(folder), place.clone()].map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(places(&place), expected);
        assert_eq!(git::output(&place, ["status", "--porcelain"]), "");
    }
    let status = exec_program(&scratch, &tree, &tree, &[], &["git", "submodule", "status", "--recursive"]);
    let status = status.exits(exit::OK).text();
    assert_eq!(status.lines().filter(|line| line.starts_with(' ')).count(), 3, "{status}");
}
