//! A source that changes while it is read: the result is complete and sound, or the program names the changed file and
//! exits with 75.

use std::path::Path;
use std::time::Duration;

use crate::support::disturbed::while_disturbed;
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch, git};

/// Converts repeatedly while `disturb` changes the source.
fn withstands(disturb: impl Fn(&Path, u32) + Sync) {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    let disturb = |round| {
        disturb(&repo, round);
        std::thread::sleep(Duration::from_millis(5));
    };
    while_disturbed(disturb, || {
        for round in 0..25 {
            let results = Scratch::new();
            let out = results.join("variant");
            let outcome = program::run(
                command().args(["convert", "--quiet", "--codec", "zlib:1"]).arg(&repo).arg("-o").arg(&out),
            );
            match outcome.code {
                Some(exit::OK) => {
                    git::output(&out, ["fsck", "--full", "--strict"]);
                }
                Some(exit::TRY_AGAIN) => {
                    let line = outcome.error_line();
                    assert!(line.contains("fixture/repo"), "the file is named: {line}");
                    assert_eq!(results.names(), [""; 0], "round {round}");
                }
                _ => panic!("round {round}: {outcome:?}"),
            }
        }
    });
}

#[test]
fn source_that_is_repacked() {
    withstands(|repo, _| {
        git::git(repo, ["repack", "-a", "-d", "-f", "-q"]);
    });
}

#[test]
fn source_that_gains_commits() {
    withstands(|repo, round| {
        git::git(repo, ["commit", "--quiet", "--allow-empty", "-m", &format!("commit {round}")]);
        if round % 3 == 0 {
            git::git(repo, ["repack", "-d", "-q"]);
            git::git(repo, ["pack-refs", "--all"]);
        }
    });
}
