//! `git repackbench`: git finds the program as `git-repackbench`.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::program::{self, Outcome, convert, exit};
use crate::support::{Fixture, Scratch, git, preload, repackbench};

/// Runs git with these arguments. The program is on its PATH as `git-repackbench`.
fn git_with_us(scratch: &Scratch, words: &[&str]) -> Outcome {
    let programs = scratch.join("programs");
    if !programs.exists() {
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_repackbench"), programs.join("git-repackbench")).unwrap();
    }
    let mut command = Command::new("git");
    program::isolate(&mut command);
    git::pin(&mut command);
    let path = std::env::var_os("PATH").expect("a PATH");
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path))).unwrap();
    command.env("PATH", path).env("REPACKBENCH_PRELOAD", preload::stand_in()).args(words);
    program::run(&mut command)
}

#[test]
fn runs_like_a_command_of_git() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let name = repo.to_str().unwrap();
    // Without lines that name the repository, and the width of columns, which depends on it.
    let sizes = |outcome: Outcome| -> Vec<String> {
        let text = outcome.exits(exit::OK).text();
        let rows = text.lines().filter(|line| !line.ends_with(" MB") && !line.starts_with("---"));
        rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let plain = sizes(repackbench(["size", name]));
    assert!(plain.iter().any(|line| line.starts_with("commit, whole")), "{plain:?}");
    assert_eq!(sizes(git_with_us(&scratch, &["repackbench", "size", name])), plain);
    assert_eq!(sizes(git_with_us(&scratch, &["-C", name, "repackbench", "size", "."])), plain);
    // Also from a folder inside it.
    let inside = repo.join("in/side");
    fs::create_dir_all(&inside).unwrap();
    assert_eq!(sizes(git_with_us(&scratch, &["-C", inside.to_str().unwrap(), "repackbench", "size", "."])), plain);
    // A repository named to git does not replace the one named to the program.
    let other = scratch.join("other");
    git::output(scratch.path(), ["init", "-q", "--bare", other.to_str().unwrap()]);
    let git_dir = format!("--git-dir={}", other.display());
    assert_eq!(sizes(git_with_us(&scratch, &[&git_dir, "repackbench", "size", name])), plain);

    let usage = git_with_us(&scratch, &["repackbench", "size"]);
    assert!(usage.stderr.contains("Usage: git repackbench size"), "{}", usage.stderr);
    assert_eq!(usage.code, Some(exit::USAGE));
    let help = git_with_us(&scratch, &["repackbench", "bench", "-h"]).exits(exit::OK).text();
    assert!(help.contains("Usage: git repackbench bench"), "{help}");
    assert_eq!(git_with_us(&scratch, &["repackbench", "size", "/nonexistent"]).code, Some(exit::BAD_INPUT));
}

#[test]
fn exec_ignores_the_repository_of_an_outer_git() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let variant = scratch.join("variant");
    convert(&repo, "zstd:5", &variant);
    let other = scratch.join("other");
    git::output(scratch.path(), ["init", "-q", other.to_str().unwrap()]);
    let (name, head) = (variant.to_str().unwrap(), git::output(&repo, ["rev-parse", "HEAD"]));
    let outer = format!("--git-dir={}/.git", other.display());
    let work_tree = format!("--work-tree={}", other.display());
    let exec = ["repackbench", "exec", name, "--", "git"];
    let ask = |outer: &[&str], question: &[&str]| git_with_us(&scratch, &[outer, &exec, question].concat());
    let outer_git: [&[&str]; 3] = [&[], &[&outer], &[&outer, &work_tree, "--namespace=elsewhere"]];
    for outer in outer_git {
        assert_eq!(ask(outer, &["rev-parse", "HEAD"]).exits(exit::OK).text(), head, "{outer:?}");
        ask(outer, &["fsck", "--full"]).exits(exit::OK);
    }
    // A setting by -c holds for every git that is started.
    let set = ask(&["-c", "repackbench.test=heard"], &["config", "repackbench.test"]);
    assert_eq!(set.exits(exit::OK).text(), "heard\n");
    assert_eq!(ask(&["-c", "alias.there=rev-parse HEAD"], &["there"]).exits(exit::OK).text(), head);

    // In a hook, git exports the index of the hook's repository.
    let index = scratch.join("index");
    let mut hooked = preload::exec(&variant, &[], &["git", "read-tree", "HEAD"]);
    hooked.env("GIT_DIR", other.join(".git"));
    hooked.env("GIT_INDEX_FILE", &index).env("GIT_PREFIX", "some/").env("GIT_SHALLOW_FILE", "/nonexistent");
    program::run(&mut hooked).exits(exit::OK);
    assert!(!index.exists() && variant.join("index").exists());
}
