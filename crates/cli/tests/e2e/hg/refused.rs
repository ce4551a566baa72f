//! What cannot be handled is refused by name, by every command, before anything is written.

use std::fs;

use super::super::support::fixture::HG_REFUSED;
use super::super::support::program::{self, command, exit};
use super::super::support::{Fixture, Scratch, git, snapshot};

/// What the refusal of a fixture has to name, and its exit code.
fn refusal(name: &str) -> (&[&str], i32) {
    let words: &[&str] = match name {
        "changelog-v2" => &["requires", "'exp-changelog-v2'"],
        "copies-sidedata" => &["requires", "'exp-copies-sidedata-changeset'"],
        "journal" => &["store/journal", "interrupted transaction"],
        "locked" => return (&["store/lock"], exit::TRY_AGAIN),
        "narrow" => &["requires", "'narrowhg-experimental'"],
        "no-store" => &["requires", "without the requirement 'store'"],
        "plain-encoding" => &["requires", "'exp-very-fragile-and-unsafe-plain-store-encoding'"],
        "revlog-v0" => &["requires", "without the requirement 'store'"],
        "revlog-v2" => &["requires", "'exp-revlogv2.2'"],
        "share" | "share-relative" => &["requires", "a share"],
        "unknown-requirement" => &["store/requires", "'time-travel'"],
        _ => panic!("no refusal is known of {name}"),
    };
    (words, exit::BAD_INPUT)
}

#[test]
fn every_command_refuses_by_name_and_writes_nothing() {
    for name in HG_REFUSED {
        let (scratch, results) = (Scratch::new(), Scratch::new());
        let fixture = Fixture::hg_copy(name, &scratch);
        let (repo, before) = (fixture.repo(), snapshot::state(&fixture.folder));
        let (words, code) = refusal(name);
        for arguments in [
            &["convert", "--codec", "zstd:3", "-o", "variant"][..],
            &["convert", "--codec", "zlib:6", "-o", "variant", "--force"],
            &["size"],
            &["bench", "--codec", "zstd:3", "--blocks", "1"],
            &["replay", "--workload", "traverse"],
            &["verify", repo.to_str().expect("a path in UTF-8")],
        ] {
            let mut refused = command();
            refused.env("XDG_CACHE_HOME", results.join("cache")).current_dir(results.path());
            let line = program::run(refused.args(arguments).arg(&repo)).exits(code).error_line();
            for word in words {
                assert!(line.contains(word), "{name}: {word} is not in: {line}");
            }
            assert_eq!(results.names(), [""; 0], "{name}, {arguments:?}: nothing is left behind");
        }
        assert_eq!(snapshot::state(&fixture.folder), before, "{name} was written to");
    }
}

/// Where both systems look after a folder, the user has to say which is meant.
#[test]
fn a_work_tree_of_both_systems_is_refused() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    git::output(&repo, ["init", "--quiet"]);
    let refused =
        program::run(command().args(["convert", "--codec", "zstd:3", "-o"]).arg(scratch.join("out")).arg(&repo));
    let line = refused.exits(exit::BAD_INPUT).error_line();
    assert!(line.contains(".git") && line.contains(".hg"), "{line}");
    for named in [".hg", ".git"] {
        let out = scratch.join(&format!("of{named}"));
        let converted = program::run(
            command().args(["convert", "--quiet", "--codec", "zstd:3", "-o"]).arg(&out).arg(repo.join(named)),
        );
        converted.exits(exit::OK);
        assert_eq!(out.join(".hg").is_dir(), named == ".hg");
    }
}

#[test]
fn an_output_that_is_there_stays_there() {
    let (source, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let out = scratch.join("out");
    fs::create_dir(&out).expect("a folder");
    fs::write(out.join("precious"), "mine").expect("a file");
    let convert = |force: &[&str]| {
        program::run(
            command().args(["convert", "--quiet", "--codec", "zstd:3"]).args(force).arg(&source).arg("-o").arg(&out),
        )
    };
    convert(&[]).exits(exit::FAILURE);
    convert(&["--force"]).exits(exit::FAILURE);
    assert_eq!(fs::read(out.join("precious")).expect("the file"), b"mine");
    fs::remove_file(out.join("precious")).expect("the file");
    fs::remove_dir(&out).expect("the folder");
    convert(&[]).exits(exit::OK);
    convert(&[]).exits(exit::FAILURE);
    convert(&["--force"]).exits(exit::OK);
    assert_eq!(scratch.names(), ["out"]);
}

/// Whatever the user forces, the source is never written to, and nothing into it.
#[test]
fn the_source_is_never_the_output() {
    let scratch = Scratch::new();
    let fixture = Fixture::hg_copy("default", &scratch);
    let (repo, before) = (fixture.repo(), snapshot::state(&fixture.folder));
    for out in [repo.clone(), repo.join(".hg"), repo.join(".hg/store/new"), fixture.folder.clone()] {
        for force in [&["--force"][..], &[]] {
            let convert = ["convert", "--codec", "store"];
            let outcome = program::run(command().args(convert).args(force).arg(&repo).arg("-o").arg(&out));
            assert_ne!(outcome.code, Some(exit::OK), "{} {force:?}", out.display());
            outcome.error_line();
            assert_eq!(snapshot::state(&fixture.folder), before, "{} {force:?}", out.display());
        }
    }
}

/// Links may lead to other places of the repository, but not round in it for ever.
#[test]
fn a_store_that_links_to_itself_is_refused() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    let (data, elsewhere) = (repo.join(".hg/store/data"), repo.join(".hg/elsewhere"));
    fs::rename(&data, &elsewhere).expect("the filelogs");
    std::os::unix::fs::symlink("../elsewhere", &data).expect("a link");
    program::run(command().arg("size").arg(&repo)).exits(exit::OK);
    for name in ["a", "b"] {
        std::os::unix::fs::symlink(".", elsewhere.join(name)).expect("a link");
    }
    let line = program::run(command().arg("size").arg(&repo)).exits(exit::BAD_INPUT).error_line();
    assert!(line.contains("store/data/") && line.contains("link"), "{line}");
}
