//! `cargo xtask benches`: runs the criterion benches for a moment each, with what `cargo xtask test` compiled.

use std::ffi::OsString;
use std::process::Command;

use crate::cmake;
use crate::process::{self, Outcome, cargo};
use crate::tests::build::FEATURES;

/// The benches that run. The others compare with stock programs or print tables, and give no verdict on a noisy machine.
const BENCHES: [&str; 3] = ["codec", "pack_read", "traverse"];

/// What runs at once: benches of about the same length, each with the filter for its part.
const PARTS: [(&str, &[&str]); 4] =
    [("codec", &["encode"]), ("codec", &["decode"]), ("pack_read", &[]), ("traverse", &[])];

/// The options of criterion for a run that is only to show that the benches work.
const SHORT: [&str; 5] = ["--quick", "--noplot", "--discard-baseline", "--measurement-time", "0.05"];

/// Runs the chore. `arguments` go to criterion, in place of the options for a short run.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !arguments.is_empty() {
        let mut bench = with_tests_build()?;
        bench.args(BENCHES.iter().flat_map(|name| ["--bench", name])).arg("--");
        return process::run(bench.args(arguments));
    }
    let mut build = with_tests_build()?;
    process::run(build.args(BENCHES.iter().flat_map(|name| ["--bench", name])).arg("--no-run"))?;
    // A short run shows only that the benches work, so they may disturb each other.
    let commands = PARTS.iter().map(|(name, filter)| {
        let mut bench = with_tests_build()?;
        bench.args(["--bench", name, "--"]).args(SHORT).args(*filter);
        Ok(bench)
    });
    let commands = commands.collect::<Outcome<Vec<Command>>>()?;
    std::thread::scope(|scope| {
        let running: Vec<_> =
            commands.into_iter().map(|mut bench| scope.spawn(move || process::run(&mut bench))).collect();
        running.into_iter().try_for_each(|bench| bench.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
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
