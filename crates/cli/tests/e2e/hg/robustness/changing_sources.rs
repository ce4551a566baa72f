//! A source that changes while it is read: the result is complete and sound, or the program names the changed file and
//! exits with 75.

use crate::support::disturbed::while_disturbed;
use crate::support::hg::HgServer;
use crate::support::hg::Version;
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch};

#[test]
fn source_that_gains_commits() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    let mut writer = HgServer::start(Version::V72, &repo);
    writer.output(["update", "--quiet", "tip"]);
    let disturb = |round: u32| {
        std::fs::write(repo.join("run.sh"), format!("echo {round}\n").repeat(40)).expect("a tracked file");
        writer.output(["commit", "--quiet", "--message", "one more"]);
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
