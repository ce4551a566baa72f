//! `cargo xtask publish` and `cargo xtask semver`: whether the library crates can be published, and under which version.

use std::ffi::OsString;

use crate::process::{self, Failure, Outcome, cargo, succeeds};

/// The library crates that others use, and those that they need.
const LIBRARIES: [&str; 9] =
    ["codec", "reader", "writer", "records", "analysis", "timing", "client", "pagecache", "preload-abi"];

/// Those with a promise to users: the others are their details.
const PROMISED: [&str; 6] = ["codec", "reader", "writer", "records", "analysis", "timing"];

/// Packages all library crates, builds each from its package alone, and uploads nothing.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !arguments.is_empty() {
        return Err(Failure("publish takes no arguments: it only tries, and uploads nothing".into()));
    }
    let mut command = cargo();
    command.args(["publish", "--dry-run", "--locked"]).args(packages(&LIBRARIES));
    process::run(&mut command)
}

/// Compares the public items of the library crates with those of a commit. It does not install cargo-semver-checks,
/// because compiling that takes minutes.
pub(crate) fn semver(arguments: &[OsString]) -> Outcome<()> {
    let [commit] = arguments else {
        return Err(Failure("semver takes the commit or tag of the version to compare with".into()));
    };
    if !succeeds(cargo().args(["semver-checks", "--version"])) {
        let how = "cargo-semver-checks is not installed: run `cargo install --locked cargo-semver-checks`";
        return Err(Failure(how.into()));
    }
    let mut command = cargo();
    // The other features need cmake.
    command.args(["semver-checks", "--default-features", "--baseline-rev"]).arg(commit).args(packages(&PROMISED));
    process::run(&mut command)
}

fn packages(names: &[&str]) -> Vec<String> {
    names.iter().flat_map(|name| ["--package".to_owned(), format!("repackbench-{name}")]).collect()
}
