//! `convert --keep-alternates`: each store of a network of forks is converted once, and variants borrow from variants.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch, git, repackbench, snapshot};

#[track_caller]
fn keep(source: &Path, codec: &str, out: &Path) -> program::Outcome {
    let mut convert = command();
    convert.args(["convert", "--keep-alternates", "--codec", codec]).arg(source).arg("-o").arg(out);
    program::run(&mut convert)
}

/// The object directories that the variant names.
fn alternates(variant: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string(variant.join("objects/info/alternates")).expect("a list of alternates");
    list.lines().map(PathBuf::from).collect()
}

/// The numbers of loose and packed objects and of packs in a repository's own object directory.
fn own_objects(repo: &Path) -> Vec<String> {
    let counts = git::output(repo, ["count-objects", "-v"]);
    let own =
        counts.lines().filter(|line| ["count:", "in-pack:", "packs:"].iter().any(|start| line.starts_with(start)));
    own.map(str::to_owned).collect()
}

#[test]
fn every_store_of_a_network_is_converted_once() {
    let (fixture, scratch) = (Fixture::get("alternates"), Scratch::new());
    let before = snapshot::state(&fixture.folder);
    let (member, out) = (fixture.repo(), scratch.join("variants"));
    fs::create_dir(&out).expect("a folder");
    let variant = out.join("member");
    let outcome = keep(&member, "zlib:9", &variant).exits(exit::OK);
    assert_eq!(outcome.text().matches("\ntotal ").count(), 3, "sizes of each\n{}", outcome.text());
    let [middle, base] = ["middle.git.zlib-9", "base.git.zlib-9"].map(|name| out.join(name));
    assert_eq!(alternates(&variant), [middle.join("objects"), base.join("objects")]);
    assert_eq!(alternates(&middle), [base.join("objects")]);
    assert!(!base.join("objects/info/alternates").exists());
    for (source, variant) in [("repo", &variant), ("middle.git", &middle), ("base.git", &base)] {
        let source = fixture.folder.join(source);
        repackbench([Path::new("verify"), &source, variant]).exits(exit::OK);
        assert_eq!(git::objects(&source), git::objects(variant));
        assert_eq!(git::refs(&source), git::refs(variant));
        assert_eq!(own_objects(&source), own_objects(variant), "{}", variant.display());
        git::output(variant, ["fsck", "--full", "--strict", "--no-dangling"]);
    }

    // Another member of the network uses what is there.
    let shared = snapshot::state(&middle);
    let fork = scratch.join("fork.git");
    git::output(&fixture.folder, ["clone", "--quiet", "--bare", "--shared", "middle.git", program::text(&fork)]);
    let outcome = keep(&fork, "zlib:9", &out.join("fork")).exits(exit::OK);
    assert_eq!(outcome.stderr.matches("uses     ").count(), 2, "{}", outcome.stderr);
    assert_eq!(git::objects(&fork), git::objects(&out.join("fork")));
    assert_eq!(snapshot::state(&middle), shared);
    assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
}

#[test]
fn variants_that_only_this_program_reads_borrow_too() {
    let (fixture, scratch) = (Fixture::get("alternates"), Scratch::new());
    let (source, variant) = (fixture.repo(), scratch.join("member"));
    keep(&source, "zstd:5", &variant).exits(exit::OK);
    git::assert_refuses_plainly(&variant);
    repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
    let [of_source, of_variant] =
        [&source, &variant].map(|repo| program::replay(repo, "traverse", &[]).exits(exit::OK));
    assert_eq!(of_source.text(), of_variant.text());
    // Back, alone and without alternates.
    let back = scratch.join("back");
    program::convert(&variant, "zlib:6", &back);
    assert!(!back.join("objects/info/alternates").exists());
    assert_eq!(git::objects(&source), git::objects(&back));
}

#[test]
fn other_folders_in_the_place_of_a_variant_are_refused() {
    let (fixture, scratch) = (Fixture::get("alternates"), Scratch::new());
    let (other, variant) = (scratch.join("middle.git.zlib-9"), scratch.join("member"));
    program::convert(&Fixture::get("history").repo(), "zlib:9", &other);
    let state = snapshot::state(&other);
    let outcome = keep(&fixture.repo(), "zlib:9", &variant).exits(exit::FAILURE);
    assert!(outcome.stderr.contains("middle.git.zlib-9 is not the variant of"), "{}", outcome.stderr);
    assert_eq!(snapshot::state(&other), state);
    assert!(!variant.exists());
}

/// The variant would replace what it borrows from.
#[test]
fn variant_in_the_place_of_a_shared_one_is_refused() {
    let (fixture, scratch) = (Fixture::get("alternates"), Scratch::new());
    let out = scratch.join("variants");
    fs::create_dir(&out).expect("a folder");
    let base = out.join("base.git.zlib-9");
    for options in [&[][..], &["--force"]] {
        let mut convert = command();
        convert.args(["convert", "--keep-alternates", "--codec", "zlib:9"]).args(options);
        let refused = program::run(convert.arg(fixture.repo()).arg("-o").arg(&base)).exits(exit::USAGE);
        assert!(refused.stderr.contains("belongs here, too"), "{}", refused.stderr);
        assert!(!base.exists());
    }
}

#[test]
fn rejects_what_cannot_borrow() {
    let (git, hg, scratch) = (Fixture::get("alternates").repo(), Fixture::hg("default").repo(), Scratch::new());
    for (source, codec, why) in
        [(&git, "zstd:5,dict=4k", "a codec without dictionaries"), (&hg, "zstd:5", "Mercurial has no alternates")]
    {
        let outcome = keep(source, codec, &scratch.join("variant")).exits(exit::USAGE);
        assert!(outcome.error_line().contains(why), "{}", outcome.stderr);
        assert_eq!(scratch.names(), Vec::<String>::new());
    }
}
