//! The Mercurial fixtures are what they claim to be, by the judgement of stock hg.

use crate::support::fixture::{HG_CONVERTIBLE, HG_NOT_FOR_6_3, HG_REFUSED};
use crate::support::hg::{
    HgServer, Revlog, VERSIONS, Version, archive, assert_refuses_plainly, changesets, requirements, revlogs, verify,
};
use crate::support::program::exit;
use crate::support::{Fixture, Scratch, snapshot};

/// The versions of hg that read the fixture.
fn readers(name: &str) -> &'static [Version] {
    if HG_NOT_FOR_6_3.contains(&name) { &VERSIONS[..1] } else { &VERSIONS }
}

#[test]
fn hg_verifies_the_convertible_fixtures() {
    for name in HG_CONVERTIBLE {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        let judged: Vec<_> = readers(name).iter().map(|version| verify(*version, &repo)).collect();
        for (code, lines) in &judged {
            // hg reports a censored revision as an error.
            assert_eq!(*code, Some(i32::from(*name == "censored")), "{name}: {lines:#?}");
        }
        assert_eq!(changesets(&repo).is_empty(), *name == "empty", "{name}");
    }
}

#[test]
fn hg_6_3_refuses_later_layouts() {
    for (name, requirement) in HG_NOT_FOR_6_3.iter().zip(["delta-info-revlog", "fileindex-v1"]) {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        assert!(requirements(&repo).iter().any(|found| found == requirement), "{name}");
        assert_refuses_plainly(Version::V63, &repo, requirement);
    }
}

#[test]
fn fixtures_to_reject_exist() {
    for name in HG_REFUSED {
        let repo = Fixture::hg(name).repo();
        assert!(repo.join(".hg").is_dir(), "{name}");
    }
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("unknown-requirement", &scratch).repo();
    for version in VERSIONS {
        assert_refuses_plainly(version, &repo, "time-travel");
    }
}

#[test]
fn both_versions_read_the_same() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("treemanifest", &scratch).repo();
    let revlogs = revlogs(&repo);
    assert!(revlogs.contains(&Revlog::FolderManifest("part1/".into())), "{revlogs:?}");
    let mut servers = VERSIONS.map(|version| HgServer::start(version, &repo));
    for revlog in revlogs {
        let [newest, older] = servers.each_mut().map(|hg| hg.index(&revlog));
        assert!(!newest.is_empty(), "{revlog:?}");
        assert_eq!(newest, older, "{revlog:?}");
        let [newest, older] = servers.each_mut().map(|hg| hg.data(&revlog, 0));
        assert_eq!((newest.code, older.code), (Some(exit::OK), Some(exit::OK)), "{}", newest.stderr);
        assert!(newest.stdout == older.stdout, "{revlog:?}");
    }
    let folders = VERSIONS.map(|version| {
        let folder = scratch.join(&format!("{version:?}"));
        archive(version, &repo, "tip", &folder);
        snapshot::content(&folder)
    });
    assert!(folders[0].len() > 5);
    snapshot::assert_same(&folders[0], &folders[1]);
}
