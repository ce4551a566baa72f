//! `cargo xtask test`: see that what the tests call is there, fetch the crates, run every test.
//!
//! The tests make their repositories themselves, with the scripts of `fixtures/`. What `cargo test --workspace` alone lacks is the
//! versions of hg, whose paths the tests read from the environment, and the codec whose build needs cmake.

use std::ffi::OsString;

use crate::needs::Machine;
use crate::process::{self, Outcome, cargo};
use crate::{cmake, mercurial};

/// The feature of the codec that the default build leaves out.
const FEATURE: &str = "zlib-ng";

/// What of a package's tests concerns that codec: the test binaries, and the tests in them where not all do.
const WITH_FEATURE: [(&str, &[&str]); 4] = [
    (
        "repackbench-codec",
        &["--lib", "--test", "round_trip", "--test", "spec", "--test", "zlib_oracle", "--", "--skip", "slow_levels"],
    ),
    (
        "repackbench-codec",
        &["--test", "mutations", "--test", "streams", "--", "--skip", "long_", "zlib_streams", "several_pieces"],
    ),
    ("repackbench-preload-codecs", &["--lib"]),
    ("repackbench-cli", &["--test", "e2e", "--", "codecs::every_codec"]),
];

/// Runs the chore; `arguments` go to `cargo test`.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    Machine::this().install_what_is_missing()?;
    let versions_of_hg = mercurial::install()?;
    process::run(cargo().args(["fetch", "--locked"]))?;
    process::run(cargo().args(["test", "--workspace", "--locked"]).args(arguments).envs(versions_of_hg))?;
    if !arguments.is_empty() {
        eprintln!("note: the codec {FEATURE}, for which cmake is needed, is tested only where no arguments are given");
        return Ok(());
    }
    let cmake = cmake::install()?;
    for (package, tests) in WITH_FEATURE {
        let mut test = cargo();
        test.args(["test", "--locked", "--package", package, "--features", FEATURE]).args(tests);
        process::run(test.envs(cmake.iter().cloned()))?;
    }
    Ok(())
}
