//! Files beside packs and refs: kept if they hold facts of their own, written again if they follow from the pack, never
//! stale.

use std::fs;
use std::path::Path;

use crate::support::program::{self, command, convert, exit};
use crate::support::{Fixture, Scratch, git};

fn converted(name: &str, codec: &str, check: impl FnOnce(&Path, &Path)) {
    let source = Fixture::get(name).repo();
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&source, codec, &variant);
    check(&source, &variant);
}

fn contents(repo: &Path, extension: &str) -> Vec<Vec<u8>> {
    let files = git::pack_files(repo, extension);
    let mut contents: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).expect("a side file")).collect();
    contents.sort();
    contents
}

#[test]
fn keep_files_are_kept() {
    converted("keep", "zlib:9", |source, variant| {
        assert_eq!(contents(source, "keep"), [b"kept for the fixture\n"]);
        assert_eq!(contents(variant, "keep"), contents(source, "keep"));
    });
}

#[test]
fn promisor_files_are_kept() {
    converted("partial-clone", "zlib:9", |source, variant| {
        assert!(!contents(source, "promisor").is_empty());
        assert_eq!(contents(variant, "promisor"), contents(source, "promisor"));
    });
}

/// The `.mtimes` file lists ages by id, so only its trailers may change: the checksum of the pack and its own.
#[test]
fn cruft_ages_are_kept() {
    converted("cruft", "zlib:9", |source, variant| {
        let (before, after) = (contents(source, "mtimes"), contents(variant, "mtimes"));
        let ages = |file: &Vec<u8>| file[..file.len() - 40].to_vec();
        assert_eq!(before.iter().map(ages).collect::<Vec<_>>(), after.iter().map(ages).collect::<Vec<_>>());
        let mtimes = git::pack_files(variant, "mtimes").remove(0);
        let pack = fs::read(mtimes.with_extension("pack")).expect("the pack of the .mtimes file");
        assert_eq!(after[0][after[0].len() - 40..][..20], pack[pack.len() - 20..]);
        // A stale trailer would make git drop or refuse the ages.
        git::output(variant, ["repack", "--cruft", "--cruft-expiration=never", "-d", "-q"]);
        assert_eq!(git::objects(source), git::objects(variant));
    });
}

#[test]
fn reverse_index_is_written_again() {
    converted("reverse-index", "libdeflate:9", |source, variant| {
        assert_eq!(contents(source, "rev").len(), 1);
        let reversed = git::pack_files(variant, "rev");
        assert_eq!(reversed.len(), 1);
        let checksums = fs::read(reversed[0].with_extension("pack")).expect("the pack");
        let reverse_index = contents(variant, "rev").remove(0);
        assert_eq!(reverse_index[reverse_index.len() - 40..][..20], checksums[checksums.len() - 20..]);
        git::output(variant, ["fsck", "--full"]);
    });
}

/// Derived files in the output must match it; `fsck` checks the commit-graph and the multi-pack-index.
#[test]
fn derived_files_are_never_stale() {
    converted("derived-files", "zlib:9", |source, variant| {
        assert_eq!(contents(source, "bitmap").len(), 1);
        git::output(variant, ["fsck", "--full", "--strict"]);
        let count =
            |flags: &[&str]| git::output(variant, [&["rev-list", "--count", "--objects", "--all"], flags].concat());
        assert_eq!(count(&["--use-bitmap-index"]), count(&[]));
        let info = git::path(variant, "objects/info/packs");
        if let Ok(listed) = fs::read_to_string(info) {
            for name in listed.lines().filter_map(|line| line.strip_prefix("P ")) {
                assert!(git::path(variant, "objects/pack").join(name).exists(), "objects/info/packs names {name}");
            }
        }
    });
}

#[test]
fn reflogs_are_kept() {
    for name in ["refs", "work-tree", "linked-work-tree", "detached-head"] {
        converted(name, "zlib:9", |source, variant| {
            let mut entries = 0;
            let refs = git::output(source, ["for-each-ref", "--format=%(refname)"]);
            for name in refs.lines().chain(["HEAD"]) {
                let log =
                    |repo: &Path| git::git(repo, ["reflog", "show", "--format=%H %gD %gs %gn %ge", name, "--"]).text();
                assert_eq!(log(source), log(variant), "{name}");
                entries += log(source).lines().count();
            }
            assert!(entries > 4, "{name} has reflogs to compare");
        });
    }
}

#[test]
fn remotes_are_kept_and_the_work_tree_setting_is_not() {
    converted("submodule", "zlib:9", |source, variant| {
        assert!(git::output(source, ["config", "core.worktree"]).ends_with("sub\n"));
        assert_eq!(git::git(variant, ["config", "core.worktree"]).code, Some(1));
        let remotes = |repo: &Path| git::output(repo, ["config", "--local", "--get-regexp", "^remote[.]"]);
        assert_eq!(remotes(source), remotes(variant));
    });
}

#[test]
fn hooks_and_index_are_dropped() {
    converted("work-tree", "zlib:9", |source, variant| {
        assert!(git::path(source, "hooks/pre-commit").exists() && git::path(source, "index").exists());
        assert!(!git::path(variant, "hooks/pre-commit").exists());
        assert!(!git::path(variant, "index").exists());
    });
}

#[test]
fn known_extensions_are_kept() {
    converted("worktree-config", "zlib:9", |_, variant| {
        assert_eq!(git::output(variant, ["config", "extensions.preciousObjects"]), "true\n");
        assert_eq!(git::output(variant, ["config", "core.repositoryformatversion"]), "1\n");
    });
    converted("sha256", "zstd:5", |_, variant| {
        let config = fs::read_to_string(variant.join("config")).expect("the configuration").to_lowercase();
        assert!(config.contains("objectformat = sha256"), "{config}");
    });
}

/// A branch with everything missing is still a partial clone: missing objects are counted, and are no error.
#[test]
fn missing_objects_are_counted_and_named() {
    let source = Fixture::get("partial-clone").repo();
    let missing = git::output(&source, ["rev-list", "--objects", "--all", "--missing=print"]);
    let missing: Vec<&str> = missing.lines().filter_map(|line| line.strip_prefix('?')).collect();
    assert!(!missing.is_empty());
    let scratch = Scratch::new();
    let mut convert = command();
    convert.args(["convert", "--codec", "zstd:5"]).arg(&source).arg("-o").arg(scratch.join("variant"));
    let outcome = program::run(&mut convert).exits(exit::OK);
    let said = format!("{}{}", outcome.text(), outcome.stderr);
    assert!(said.contains(&format!("{} objects are missing", missing.len())), "{said}");
    assert!(missing.iter().any(|id| said.contains(id)), "{said}");
}
