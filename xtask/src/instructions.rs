//! `cargo xtask instructions`: counts the instructions of the code that measurements depend on, and compares them with
//! the committed baseline.

use std::ffi::OsString;

use crate::process::{self, Outcome, cargo};
use crate::{fixtures, mercurial};

/// The fixtures that the bench reads.
const FIXTURES: [&str; 2] = ["git-history", "hg-chains"];

/// Runs the chore. `arguments` go to the bench; `--update` writes a new baseline.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    fixtures::run(&FIXTURES.map(OsString::from))?;
    let versions_of_hg = mercurial::install()?;
    let mut bench = cargo();
    bench.args(["bench", "--locked", "--bench", "instructions"]);
    // The bench loads the last two. Built together, they share their dependencies.
    bench.args(
        ["repackbench-benches", "repackbench-preload", "repackbench-preload-codecs"]
            .map(|name| format!("--package={name}")),
    );
    bench.arg("--");
    bench.args(FIXTURES.map(|name| fixtures::folder(name).join("repo")));
    process::run(bench.args(arguments).envs(versions_of_hg))
}
