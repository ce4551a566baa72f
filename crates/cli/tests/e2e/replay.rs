//! `repackbench replay`: a workload sees what git itself prints, on the source as found and on a variant.

mod objects;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::log::{assert_same_lines, sorted, split_patches};
use crate::support::program::{self, convert, each, exit, text};
use crate::support::{Fixture, Scratch, git, snapshot};

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
    "reftable",
    "reftable-linked-work-tree",
    "reftable-sha256",
    "replace",
    "sha256",
    "shallow",
    "work-tree",
];

/// The lines that a replayed workload prints.
#[track_caller]
fn replay(repo: &Path, workload: &str) -> Vec<String> {
    program::replay(repo, workload, &[]).exits(exit::OK).text().lines().map(str::to_owned).collect()
}

#[track_caller]
fn git_lines(repo: &Path, arguments: &[&str]) -> Vec<String> {
    git::output(repo, arguments).lines().map(str::to_owned).collect()
}

/// Replays on the source and on a variant, and fails the test unless both saw `expected`.
#[track_caller]
fn sees(source: &Path, workload: &str, expected: &[String], order: impl Fn(Vec<String>) -> Vec<String>) {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(source, "zstd:5", &variant);
    let expected = order(expected.to_vec());
    for repo in [source, &variant] {
        assert_same_lines(&order(replay(repo, workload)), &expected, &format!("{workload} of {}", repo.display()));
    }
}

/// The ids that `git rev-list --objects` lists, without the paths after them.
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

/// The most patches to apply of a history: each takes three starts of git.
const MOST: &str = "100";

/// Applies every patch to the tree of its commit's parent, and fails the test unless that gives the tree of the commit.
/// Returns the number of patches.
#[track_caller]
fn patches_apply(repo: &Path) -> usize {
    let scratch = Scratch::new();
    let outcome = program::replay(repo, "diff:patch", &["--commits", MOST]).exits(exit::OK);
    let patches: BTreeMap<String, Vec<u8>> = split_patches(&outcome.stdout).into_iter().collect();
    let commits = git_lines(repo, &["log", "--format=%H %T %P", "--max-count", MOST]);
    assert_eq!(patches.len(), commits.len(), "{}", repo.display());
    // git writes to a separate folder, since fixtures are shared.
    let objects = scratch.join("objects");
    fs::create_dir(&objects).expect("a folder");
    // It reads copies, because it sets the time of a pack that already has the object it is to write.
    let copies = git::object_folders(repo).into_iter().enumerate().map(|(number, folder)| {
        let copy = scratch.join(&format!("objects-{number}"));
        program::run(Command::new("cp").arg("-a").arg(folder).arg(&copy)).exits(exit::OK);
        program::run(Command::new("chmod").args(["-R", "u+w"]).arg(&copy)).exits(exit::OK);
        // The alternates are among the copies.
        let _ = fs::remove_file(copy.join("info/alternates"));
        copy
    });
    let sources = std::env::join_paths(copies).expect("paths without colons");
    let git_in_scratch = |arguments: &[&str]| {
        let mut command = git::command(repo);
        command.env("GIT_INDEX_FILE", scratch.join("index")).env("GIT_OBJECT_DIRECTORY", &objects);
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &sources).args(arguments);
        program::run(&mut command).exits(exit::OK).text()
    };
    let mut applied = 0;
    for commit in commits {
        let mut words = commit.split(' ');
        let (Some(id), Some(tree)) = (words.next(), words.next()) else { panic!("{commit}") };
        let parents: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let patch = &patches[id];
        if parents.len() > 1 {
            assert!(patch.is_empty(), "git's log does not compare the merge {id}");
            continue;
        }
        match parents.first() {
            Some(parent) => git_in_scratch(&["read-tree", parent]),
            None => git_in_scratch(&["read-tree", "--empty"]),
        };
        if !patch.is_empty() {
            let file = scratch.join("patch");
            fs::write(&file, patch).expect("a patch");
            git_in_scratch(&["apply", "--cached", "--whitespace=nowarn", file.to_str().expect("a path in UTF-8")]);
            applied += 1;
        }
        assert_eq!(git_in_scratch(&["write-tree"]).trim_end(), tree, "{id} of {}", repo.display());
    }
    applied
}

/// The patches have to equal those of git byte for byte.
#[track_caller]
fn patches_agree(repo: &Path) {
    let command = ["log", "-p", "--no-renames", "--full-index", "--format=commit %H"];
    let expected: Vec<String> = git_lines(repo, &command).into_iter().filter(|line| !line.is_empty()).collect();
    assert!(expected.iter().any(|line| line.starts_with("@@ -")), "patches in {}", repo.display());
    sees(repo, "diff:patch", &expected, |lines| lines);
}

#[test]
fn traverse_agrees_with_rev_list() {
    for name in HISTORIES {
        traverse_agrees(&Fixture::get(name).repo());
    }
}

#[test]
fn traverse_of_the_newest_commits_agrees_with_rev_list() {
    for name in HISTORIES {
        let repo = Fixture::get(name).repo();
        for commits in ["1", "3", "1000000"] {
            let expected = ids(git_lines(&repo, &["rev-list", "--objects", "--all", "-n", commits]));
            let outcome = program::replay(&repo, "traverse", &["--commits", commits]).exits(exit::OK);
            let seen: Vec<String> = outcome.text().lines().map(str::to_owned).collect();
            assert_same_lines(&sorted(seen), &sorted(expected), &format!("{commits} commits of {name}"));
        }
    }
}

#[test]
fn traverse_skips_missing_objects_of_a_partial_clone() {
    for name in ["partial-clone", "partial-clone-bare"] {
        let source = Fixture::get(name).repo();
        let listed = git_lines(&source, &["rev-list", "--objects", "--all", "--missing=print"]);
        let expected = ids(listed.into_iter().filter(|line| !line.starts_with('?')).collect());
        sees(&source, "traverse", &expected, sorted);
    }
}

#[test]
fn raw_diff_agrees_with_log_raw() {
    for name in HISTORIES {
        raw_agrees(&Fixture::get(name).repo());
    }
}

#[test]
fn patches_turn_each_parent_into_its_child() {
    // The patch of a replaced blob leads to content that its id in the tree does not name.
    let names = HISTORIES.iter().filter(|name| **name != "replace");
    let applied: usize = names.map(|name| patches_apply(&Fixture::get(name).repo())).sum();
    let submodule = patches_apply(&Fixture::get("submodule").repo());
    assert!(applied > 100 && submodule > 0, "{applied} and {submodule} patches are too few to tell anything");
}

#[test]
fn patches_equal_those_of_log_p() {
    for name in HISTORIES.iter().chain(&["submodule"]) {
        patches_agree(&Fixture::get(name).repo());
    }
}

#[test]
fn commits_limits_a_log() {
    let repo = Fixture::get("history").repo();
    let limited = |workload: &str, commits: &str| {
        program::replay(&repo, workload, &["--commits", commits]).exits(exit::OK).text()
    };
    let listed = git_lines(&repo, &["log", "-n", "7", "--format=commit %H"]);
    for workload in ["diff:raw", "diff:patch"] {
        let text = limited(workload, "7");
        let seen: Vec<&str> = text.lines().filter(|line| line.starts_with("commit ")).collect();
        assert_eq!(seen, listed, "{workload}");
    }
    let hits = git_lines(&repo, &["log", "-n", "1", "-Samber", "--no-renames", "--format=%H"]);
    let whole = replay(&repo, "diff:pickaxe=amber");
    assert_eq!(whole.first(), hits.first(), "something to find");
    // `git log -n` counts the commits that it shows; --commits limits the commits that are searched.
    let searched = git_lines(&repo, &["log", "-n", "7", "--format=%H"]);
    let found: Vec<String> = limited("diff:pickaxe=amber", "7").lines().map(str::to_owned).collect();
    let expected: Vec<String> = whole.into_iter().filter(|hit| searched.contains(hit)).collect();
    assert_eq!(found, expected);
    let refused = program::replay(&repo, "diff:raw", &["--commits", "0"]);
    assert!(refused.exits(exit::USAGE).stderr.contains("--commits"));
}

#[test]
fn pickaxe_agrees_with_log_s() {
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
fn checkout_agrees_with_git() {
    for (name, revision) in [
        ("content", "HEAD"),
        ("content", "HEAD~1"),
        ("content", "HEAD~5"),
        ("content", "HEAD~9"),
        ("history", "HEAD"),
        ("sha256", "HEAD"),
        ("refs", "refs/tags/of-tag"),
        ("reftable", "refs/tags/of-tag"),
        ("reftable-linked-work-tree", "HEAD"),
        ("reftable-sha256", "HEAD"),
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
        // Names are passed on. The program does not take expressions such as HEAD~4.
        let revision = if revision.contains('~') { commit } else { revision };
        for (number, repo) in [&source, &variant].into_iter().enumerate() {
            let into = scratch.join(&format!("into-{number}"));
            program::replay(repo, "checkout", &["--rev", revision, "--output", text(&into)]).exits(exit::OK);
            snapshot::assert_same(&expected, &snapshot::content(&into));
        }
    }
}

/// git never writes such trees, but anyone can forge them.
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
        let options = ["--rev", "refs/heads/forged", "--output", text(&into)];
        let error = program::replay(&repo, "checkout", &options).exits(exit::FAILURE).error_line();
        assert!(error.contains(&format!("into-{number}/{named}: ")), "{named}: {error}");
        assert!(snapshot::content(&outside).is_empty(), "{named}: written through the link");
        assert!(!scratch.join("b").exists(), "{named}: written beside the folder");
    }
}

/// The content of a tree object. The commands of git refuse some of the names.
fn tree(entries: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut content = Vec::new();
    for (mode, name, id) in entries {
        content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        let digits = id.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex digits"));
        content.extend(digits.map(|pair| u8::from_str_radix(pair, 16).expect("hex digits")));
    }
    content
}

/// Stores an object unchecked, and returns its id.
fn object(repo: &Path, kind: &str, content: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("content");
    fs::write(&file, content).expect("a file");
    let file = file.to_str().expect("a path in UTF-8");
    git::output(repo, ["hash-object", "-w", "--literally", "-t", kind, "--no-filters", file]).trim_end().to_owned()
}

/// The work tree that `git clone` writes, with folders of submodules and without the git folder.
fn checked_out_by_git(repo: &Path, commit: &str, scratch: &Scratch) -> BTreeMap<PathBuf, snapshot::Entry> {
    let folder = scratch.join("by-git");
    program::run(git::command(scratch.path()).args(["clone", "--quiet", "--no-checkout"]).arg(repo).arg(&folder))
        .exits(exit::OK);
    git::output(&folder, ["checkout", "--quiet", "--detach", commit]);
    fs::remove_dir_all(folder.join(".git")).expect("git's own folder");
    snapshot::content(&folder)
}

#[test]
fn every_decoder_sees_the_same() {
    let scratch = Scratch::new();
    for (source, workload) in
        [(Fixture::get("history").repo(), "diff:patch"), (Fixture::hg("branches").repo(), "traverse")]
    {
        for (codec, decoders) in [
            ("zlib:6", &["zlib=zlib", "zlib=zlib-rs", "zlib=miniz", "zlib=sirocco", "zlib=libdeflate"][..]),
            ("deflate:6", &["deflate=zlib", "deflate=zlib-rs", "deflate=libdeflate"]),
            ("lz4hc:9", &["lz4=lz4", "lz4=lz4_flex"]),
        ] {
            let variant = scratch.join(&format!("{}-{codec}", workload.replace(':', "-")));
            convert(&source, codec, &variant);
            let expected = replay(&variant, workload);
            for decoder in decoders {
                let seen = program::replay(&variant, workload, &["--decoder", decoder]).exits(exit::OK).text();
                assert!(seen.lines().eq(expected.iter().map(String::as_str)), "{decoder} of {codec}");
            }
        }
    }
}

#[test]
fn rejects_decoders_with_nothing_to_read() {
    let scratch = Scratch::new();
    for source in [Fixture::get("bare").repo(), Fixture::hg("branches").repo()] {
        let variant = scratch.join("variant");
        convert(&source, "zlib:6", &variant);
        for (decoders, expected) in [
            (&["lz4=lz4_flex"][..], "no LZ4 blocks"),
            (&["zlib=zlib-rs", "zlib=miniz"], "is given before"),
            (&["zlib=zlib-rs,miniz"], "zlib-rs,miniz"),
        ] {
            let refused = program::replay(&variant, "traverse", &each("--decoder", decoders)).exits(exit::USAGE);
            assert!(refused.stderr.contains(expected), "{decoders:?}: {}", refused.stderr);
        }
        fs::remove_dir_all(&variant).expect("the variant's removal");
    }
}
