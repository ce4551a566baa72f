//! `cargo xtask instructions`: counts the instructions of the code that measurements depend on, and compares them with
//! the committed baseline.

use std::ffi::OsString;

use crate::process::{self, Outcome};
use crate::{benches, fixtures, mercurial};

/// The fixtures that the bench reads.
const FIXTURES: [&str; 2] = ["git-history", "hg-chains"];

/// Runs the chore. `arguments` go to the bench; `--update` writes a new baseline.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    fixtures::run(&FIXTURES.map(OsString::from))?;
    let versions_of_hg = mercurial::install()?;
    let mut bench = benches::with_tests_build()?;
    bench.args(["--bench", "instructions", "--"]);
    bench.args(FIXTURES.map(|name| fixtures::folder(name).join("repo")));
    // Incremental compilation splits crates into other units, between which less is inlined.
    bench.env("CARGO_INCREMENTAL", "0");
    process::run(bench.args(arguments).envs(versions_of_hg))
}
