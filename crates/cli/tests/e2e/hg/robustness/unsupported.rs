//! Every command rejects unsupported repositories by name before it writes anything.

use std::fs;

use crate::support::fixture::HG_REFUSED;
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch, git, snapshot};

/// The words that the error for a fixture must have, and the exit code.
fn refusal(name: &str) -> (&[&str], i32) {
    let words: &[&str] = match name {
        "changelog-v2" => &["requires", "'exp-changelog-v2'"],
        "copies-sidedata" => &["requires", "'exp-copies-sidedata-changeset'"],
        "journal" => &["store/journal", "interrupted transaction"],
        "locked" => return (&["store/lock"], exit::TRY_AGAIN),
        "no-store" => &["requires", "without the requirement 'store'"],
        "plain-encoding" => &["requires", "'exp-very-fragile-and-unsafe-plain-store-encoding'"],
        "revlog-v0" => &["requires", "without the requirement 'store'"],
        "revlog-v2" => &["requires", "'exp-revlogv2.2'"],
        "unknown-requirement" => &["store/requires", "'time-travel'"],
        _ => panic!("no refusal is known of {name}"),
    };
    (words, exit::BAD_INPUT)
}

#[test]
fn every_command_rejects_by_name_and_writes_nothing() {
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
            assert_eq!(results.names(), [""; 0], "{name}, {arguments:?}: no files remain");
        }
        assert_eq!(snapshot::state(&fixture.folder), before, "{name} was written to");
    }
}

/// The user has to say which of the two repositories is meant.
#[test]
fn rejects_a_work_tree_of_both_systems() {
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

/// Links may lead to other places in the repository, but not in a circle.
#[test]
fn rejects_a_store_that_links_to_itself() {
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

/// Some tools leave an empty folder of that name.
#[test]
fn empty_hg_folder_is_not_a_repository() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    fs::create_dir(repo.join(".hg")).expect("a folder");
    program::replay(&repo, "traverse", &[]).exits(exit::OK);
    fs::write(repo.join(".hg/requires"), "store\n").expect("a file");
    let line = program::replay(&repo, "traverse", &[]).exits(exit::BAD_INPUT).error_line();
    assert!(line.contains("both a Git and a Mercurial repository"), "{line}");
}
