//! `repackbench exec`: unpatched git on variants of every codec. It answers as on the source, and what it changes, it
//! changes in the variant.

mod battery;
mod daily;
mod embedded;
mod leaving;
mod serving;
mod signals;
mod work_trees;
mod writing;
mod writing_elsewhere;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::dictionary::convert_with_dictionary;
use crate::support::fixture::Fixture;
use crate::support::git;
use crate::support::preload::exec;
use crate::support::program::{self, Outcome, Scratch, convert, exit};

/// Every codec whose chunks can be decoded on their own, and the options that change them.
const SPECS: [&str; 17] = [
    "store",
    "zlib:6",
    "zlib:9,dict=file",
    "deflate:6",
    "deflate:6,dict=file",
    "zstd:5",
    "zstd:3,checksum=no",
    "zstd:3,frame=standard",
    "zstd:9,dict=file",
    "lz4",
    "lz4hc:9,dict=file",
    "snappy",
    "lzo:3",
    "brotli:5",
    "lzma:6",
    "xz:6",
    "bzip2:9",
];

/// What git is asked on the source and on each variant.
const QUESTIONS: [&[&str]; 6] = [
    &["fsck", "--full", "--strict"],
    &["rev-list", "--objects", "--all"],
    &["log", "--all", "-Sa", "--format=%H %s"],
    &["log", "--all", "--raw", "--format=%H"],
    &["cat-file", "--batch-all-objects", "--batch-check"],
    &["cat-file", "--batch-all-objects", "--batch"],
];

#[track_caller]
fn run(repo: &Path, words: &[&str]) -> Outcome {
    program::run(&mut exec(repo, &[], words))
}

/// Runs `git` with these arguments on `repo`, and returns its output.
#[track_caller]
fn output(repo: &Path, arguments: &[&str]) -> String {
    run(repo, &[&["git"], arguments].concat()).exits(exit::OK).text()
}

fn sorted(outcome: Outcome) -> (Option<i32>, Vec<u8>, Vec<String>) {
    let mut lines: Vec<String> = outcome.stderr.lines().map(str::to_owned).collect();
    lines.sort();
    (outcome.code, outcome.stdout, lines)
}

#[test]
fn git_answers_the_same_on_every_codec() {
    for fixture in ["history", "content", "ref-delta", "reftable-sha256"] {
        let source = Fixture::get(fixture).repo();
        let expected = QUESTIONS.map(|words| sorted(git::git(&source, words)));
        for typed in SPECS {
            let scratch = Scratch::new();
            let variant = scratch.join("variant");
            convert_with_dictionary(&source, typed, &[], &variant);
            for (words, expected) in QUESTIONS.iter().zip(&expected) {
                let found = sorted(run(&variant, &[&["git"], *words].concat()));
                assert!(found == *expected, "{fixture} under {typed}, git {words:?}: {found:?}");
            }
            assert_eq!(scratch.names(), ["variant"]);
        }
    }
}

#[test]
fn every_zlib_reads_streams() {
    let source = Fixture::get("history").repo();
    let expected = QUESTIONS.map(|words| sorted(git::git(&source, words)));
    for zlib in ["host", "stock", "zlib-rs", "libdeflate"] {
        for (words, expected) in QUESTIONS.iter().zip(&expected) {
            let words = [&["git"], *words].concat();
            let found = sorted(program::run(&mut exec(&source, &["--zlib", zlib], &words)));
            assert!(found == *expected, "{zlib}, {words:?}: {found:?}");
        }
    }
}

#[test]
fn git_writes_to_the_variant_and_plain_git_still_stops() {
    for typed in ["zstd:5", "zstd:9,dict=file", "lz4"] {
        let scratch = Scratch::new();
        let variant = scratch.join("variant");
        convert_with_dictionary(&Fixture::get("history").repo(), typed, &[], &variant);
        let before = output(&variant, &["rev-parse", "HEAD"]).trim().to_owned();
        let tree = format!("{before}^{{tree}}");
        let commit = output(&variant, &["commit-tree", "-p", &before, "-m", "new", &tree]).trim().to_owned();
        output(&variant, &["update-ref", "refs/heads/new", &commit]);
        output(&variant, &["symbolic-ref", "HEAD", "refs/heads/new"]);
        output(&variant, &["config", "remote.there.url", "/nowhere"]);
        output(&variant, &["pack-refs", "--all"]);
        assert_eq!(fs::read_to_string(variant.join("HEAD")).unwrap(), "ref: refs/heads/new\n");
        assert!(fs::read_to_string(variant.join("packed-refs")).unwrap().contains("refs/heads/new"));
        assert_eq!(output(&variant, &["log", "-1", "--format=%H %s"]), format!("{commit} new\n"));
        assert_eq!(output(&variant, &["config", "remote.there.url"]), "/nowhere\n");
        git::assert_refuses_plainly(&variant);

        // A merge in a separate work tree.
        let tree = scratch.join("tree");
        fs::create_dir(&tree).unwrap();
        let work_tree = format!("--work-tree={}", tree.display());
        output(&variant, &[&work_tree, "checkout", "-q", "-f", "new"]);
        fs::write(tree.join("added"), "added\n").unwrap();
        output(&variant, &[&work_tree, "add", "."]);
        output(&variant, &[&work_tree, "commit", "-q", "-m", "added"]);
        output(&variant, &[&work_tree, "checkout", "-q", "-f", "-b", "other", &before]);
        fs::write(tree.join("another"), "another\n").unwrap();
        output(&variant, &[&work_tree, "add", "."]);
        output(&variant, &[&work_tree, "commit", "-q", "-m", "another"]);
        output(&variant, &[&work_tree, "merge", "-q", "-m", "merged", "new"]);
        let objects = output(&variant, &["rev-list", "--objects", "--all"]);
        output(&variant, &["gc", "-q"]);
        assert_eq!(output(&variant, &["rev-list", "--objects", "--all"]), objects);
        run(&variant, &["git", "fsck", "--full"]).exits(exit::OK);
        // Our own reader reads the mixture of chunks, too.
        let back = scratch.join("back");
        convert(&variant, "zlib:6", &back);
        assert_eq!(git::output(&back, ["rev-list", "--objects", "--all"]), objects);
    }
}

#[test]
fn pushes_bundles_and_clones_are_zlib() {
    let source = Fixture::get("history").repo();
    let objects = git::objects(&source);
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&source, "zstd:5", &variant);
    output(&variant, &["repack", "-adbq"]);
    let there = scratch.join("there");
    git::output(scratch.path(), ["init", "-q", "--bare", there.to_str().unwrap()]);
    output(&variant, &["push", "-q", "--mirror", there.to_str().unwrap()]);
    let bundle = scratch.join("all.bundle");
    output(&variant, &["bundle", "create", "-q", bundle.to_str().unwrap(), "--all"]);
    let cloned = scratch.join("cloned");
    let script = "exec git clone -q --mirror --no-local \"$GIT_DIR\" \"$1\"";
    run(&variant, &["sh", "-c", script, "sh", cloned.to_str().unwrap()]).exits(exit::OK);
    // Without the library.
    git::output(
        scratch.path(),
        ["clone", "-q", "--mirror", bundle.to_str().unwrap(), scratch.join("from").to_str().unwrap()],
    );
    for copy in [there, cloned, scratch.join("from")] {
        git::git(&copy, ["fsck", "--full"]).exits(exit::OK);
        let reachable = |repo: &Path| git::output(repo, ["rev-list", "--objects", "--all"]);
        assert_eq!(reachable(&copy), reachable(&source));
        assert!(objects.len() >= git::objects(&copy).len());
    }
}

#[test]
fn passes_on_exit_status_and_signals() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "lz4", &variant);
    for repo in [variant.clone(), Fixture::get("history").repo()] {
        assert_eq!(run(&repo, &["git", "cat-file", "-e", "no-such"]).code, Some(128));
        assert_eq!(run(&repo, &["sh", "-c", "exit 7"]).code, Some(7));
        // It ends by the same signal, so without a code.
        assert_eq!(run(&repo, &["sh", "-c", "kill -TERM $$"]).code, None);
        // A signal reaches the command.
        let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done";
        let mut running = exec(&repo, &[], &["sh", "-c", script]);
        let mut running = running.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(running.stdout.take().unwrap()).read_line(&mut said).unwrap();
        program::run(Command::new("kill").args(["-TERM", &running.id().to_string()])).exits(exit::OK);
        assert_eq!((said.as_str(), running.wait().unwrap().code()), ("ready\n", Some(9)));
    }
    // No temporary files remain, not even after a command that a signal ended.
    let folder = scratch.join("temporary");
    fs::create_dir(&folder).unwrap();
    for repo in [variant.clone(), Fixture::get("history").repo()] {
        let mut command = exec(&repo, &[], &["sh", "-c", "kill -TERM $$"]);
        assert_eq!(program::run(command.env("TMPDIR", &folder)).code, None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
    // What a command did before it was killed remains.
    let script = "git symbolic-ref HEAD refs/heads/killed; kill -KILL $$";
    assert_eq!(run(&variant, &["sh", "-c", script]).code, None);
    assert_eq!(fs::read_to_string(variant.join("HEAD")).unwrap(), "ref: refs/heads/killed\n");
}

#[test]
fn rejects_unusable_variants_programs_and_libraries() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "zstd:5,prefix", &variant);
    let refused = run(&variant, &["git", "log"]).exits(exit::FAILURE);
    let line = refused.error_line();
    assert!(line.contains("zstd:5,prefix") && line.contains("base"), "{line}");
    // The variant itself cannot be converted.
    let hint =
        "hint: convert the repository that this variant was made from, under the same codec without prefix and patch";
    assert!(refused.stderr.lines().any(|line| line == hint), "{}", refused.stderr);

    // A git that does not call the preloaded zlib: this one calls none.
    let programs = scratch.join("programs");
    fs::create_dir(&programs).unwrap();
    // `cp` writes it, as a program that this process has open for writing cannot be started.
    program::run(Command::new("cp").arg("/bin/sh").arg(programs.join("git"))).exits(exit::OK);
    let variant = scratch.join("readable");
    convert(&Fixture::get("history").repo(), "zstd:5", &variant);
    let other_git = programs.join("git");
    let line = run(&variant, &[other_git.to_str().unwrap(), "log"]).exits(exit::FAILURE).error_line();
    assert!(line.contains("does not call the zlib"), "{line}");

    let mut command = exec(&variant, &[], &["git", "log"]);
    let line = program::run(command.env("REPACKBENCH_PRELOAD", "/nonexistent.so")).exits(exit::FAILURE).error_line();
    assert!(line.contains("/nonexistent.so"), "{line}");

    // A library that was built without that zlib says so before git starts.
    let outcome = program::run(&mut exec(&variant, &["--zlib", "zlib-ng"], &["git", "log"]));
    if cfg!(feature = "zlib-ng") {
        outcome.exits(exit::OK);
    } else {
        let line = outcome.exits(exit::FAILURE).error_line();
        assert!(line.contains("zlib-ng is not built in"), "{line}");
    }

    let outcome = program::repackbench([variant.as_os_str(), "--".as_ref()].map(|word| word.to_owned()));
    assert_eq!(outcome.code, Some(exit::USAGE));
}
