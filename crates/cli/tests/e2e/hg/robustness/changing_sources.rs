//! A source that changes while it is read: the result is complete and sound, or the program names the changed file and
//! exits with 75.

use crate::support::disturbed::while_disturbed;
use crate::support::hg::{HgServer, Version};
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch};

/// Converts repeatedly while an hg commits to the source and then runs the commands that `more` gives for a round.
fn withstands(more: impl Fn(u32) -> Option<&'static [&'static str]> + Sync) {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    let mut writer = HgServer::start_with(Version::V72, &repo, &["--config", "extensions.strip="]);
    writer.output(["update", "--quiet", "tip"]);
    let disturb = |round: u32| {
        std::fs::write(repo.join("run.sh"), format!("echo {round}\n").repeat(40)).expect("a tracked file");
        writer.output(["commit", "--quiet", "--message", "one more"]);
        if let Some(words) = more(round) {
            writer.output(words);
        }
    };
    let outcomes = while_disturbed(disturb, || {
        let mut outcomes = Vec::new();
        for round in 0..12 {
            let results = Scratch::new();
            let convert = ["convert", "--quiet", "--codec", "zlib:1"];
            let outcome = program::run(command().args(convert).arg(&repo).arg("-o").arg(results.join("variant")));
            match outcome.code {
                Some(exit::OK) => outcomes.push(Some(results)),
                Some(exit::TRY_AGAIN) if results.names().is_empty() => {
                    assert!(outcome.error_line().contains("fixture/repo"), "the file is named: {}", outcome.stderr);
                    outcomes.push(None);
                }
                _ => panic!("round {round}: {outcome:?}, {:?}", results.names()),
            }
        }
        outcomes
    });
    for results in outcomes.into_iter().flatten() {
        let (code, said) = HgServer::newest(&results.join("variant")).verify();
        assert_eq!(code, Some(exit::OK), "{said:#?}");
    }
}

#[test]
fn source_that_gains_commits() {
    withstands(|_| None);
}

/// A strip cuts off the ends of revlogs, and the next commit writes other bytes there.
#[test]
fn source_that_is_stripped() {
    withstands(|round| (round % 2 == 1).then_some(&["strip", "--quiet", "--no-backup", "--rev", "tip"]));
}
