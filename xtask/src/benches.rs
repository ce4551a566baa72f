//! `cargo xtask benches`: runs the criterion benches for a moment each, with what `cargo xtask test` compiled.

use std::ffi::OsString;
use std::process::Command;

use crate::cmake;
use crate::process::{self, Outcome, cargo};
use crate::tests::build::FEATURES;

/// The benches that run. The others compare with stock programs or print tables, and give no verdict on a noisy machine.
const BENCHES: [&str; 3] = ["codec", "pack_read", "traverse"];

/// The options of criterion for a run that is only to show that the benches work.
const SHORT: [&str; 5] = ["--quick", "--noplot", "--discard-baseline", "--measurement-time", "0.05"];

/// Runs the chore. `arguments` go to criterion, in place of the options for a short run.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    let mut bench = with_tests_build()?;
    bench.args(BENCHES.iter().flat_map(|name| ["--bench", name])).arg("--");
    match arguments {
        [] => bench.args(SHORT),
        arguments => bench.args(arguments),
    };
    process::run(&mut bench)
}

/// `cargo bench` with the profile and the features that tests have, so that it only links what they compiled.
pub(crate) fn with_tests_build() -> Outcome<Command> {
    let mut bench = cargo();
    bench.args(["bench", "--locked", "--profile", "dev", "--workspace"]).args(FEATURES);
    // Some benches build what they load.
    bench.env("REPACKBENCH_TEST_FEATURES", FEATURES.join(" "));
    cmake::provide(&mut bench)?;
    Ok(bench)
}
