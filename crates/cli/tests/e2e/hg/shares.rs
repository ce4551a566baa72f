//! Shares, whose store is in another repository, are read as that repository.

use std::fs;

use crate::support::fixture::HG_SHARES;
use crate::support::hg::{self, Version};
use crate::support::program::{self, command, exit, repackbench};
use crate::support::{Fixture, Scratch, snapshot};

#[test]
fn shares_are_converted_like_the_repository_with_the_store() {
    for name in HG_SHARES {
        let scratch = Scratch::new();
        let fixture = Fixture::hg_copy(name, &scratch);
        let (share, owner) = (fixture.repo(), fixture.folder.join("main/repo"));
        let before = snapshot::state(&fixture.folder);
        let [variant, of_owner] = ["variant", "of-owner"].map(|name| scratch.join(name));
        let mut convert = command();
        convert.args(["convert", "--codec", "zstd:3", "-o"]).args([&variant, &share]);
        let said = program::run(&mut convert).exits(exit::OK).text();
        assert!(said.contains(": a share: read as "), "{name}: {said}");
        program::convert(&owner, "zstd:3", &of_owner);
        snapshot::assert_same(&snapshot::content(&of_owner), &snapshot::content(&variant));
        assert!(!hg::requirements(&variant).iter().any(|name| name.contains("shared")), "{name}");
        repackbench([&"verify".into(), &share, &variant]).exits(exit::OK);
        let [of_share, of_owner] = [&share, &owner].map(|repo| program::replay(repo, "traverse", &[]).exits(exit::OK));
        assert_eq!(of_share.text(), of_owner.text(), "{name}");
        assert!(!of_share.text().is_empty());
        assert_eq!(snapshot::state(&fixture.folder), before, "{name} was written to");
        assert_eq!(hg::verify(Version::V72, &variant).0, Some(0), "{name}");
        assert_eq!(hg::changesets(&variant), hg::changesets(&share), "{name}");
    }
}

#[test]
fn shares_are_not_converted_in_place() {
    let scratch = Scratch::new();
    let fixture = Fixture::hg_copy("share-relative", &scratch);
    let before = snapshot::state(&fixture.folder);
    let line = repackbench([
        "convert".as_ref(),
        "--codec".as_ref(),
        "zlib:9".as_ref(),
        "--in-place".as_ref(),
        fixture.repo().as_os_str(),
    ])
    .exits(exit::BAD_INPUT)
    .error_line();
    assert!(line.contains("main/repo/.hg (name that one)"), "{line}");
    assert_eq!(snapshot::state(&fixture.folder), before);
}

#[test]
fn shares_of_nothing_are_refused() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("share-relative", &scratch).repo();
    let again = scratch.join("again/.hg");
    fs::create_dir_all(again.join("store")).expect("a folder");
    fs::write(again.join("requires"), "share-safe\nshared\n").expect("a file");
    let file = repo.join(".hg/sharedpath");
    let of_share = again.to_str().expect("a path in UTF-8").to_owned();
    for (content, words) in [
        ("", "found ''"),
        ("../gone\n", "'../gone': No such file"),
        ("../../main\n", "'../../main', which has no store"),
        (&of_share, "a share of a share"),
    ] {
        fs::write(&file, content).expect("a file");
        let line = repackbench(["size".as_ref(), repo.as_os_str()]).exits(exit::BAD_INPUT).error_line();
        assert!(line.contains("sharedpath") && line.contains(words), "{content:?}: {line}");
    }
    fs::remove_file(&file).expect("to remove it");
    repackbench(["size".as_ref(), repo.as_os_str()]).exits(exit::BAD_INPUT);
}
