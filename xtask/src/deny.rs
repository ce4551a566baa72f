//! `cargo xtask deny`: checks the licences, sources and bans of dependencies against `deny.toml`.

use std::ffi::OsString;

use crate::process::{self, Failure, Outcome, cargo, succeeds};

/// Runs the chore. It does not install cargo-deny, because compiling that takes minutes.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !arguments.is_empty() {
        return Err(Failure("deny takes no arguments".into()));
    }
    if !succeeds(cargo().args(["deny", "--version"])) {
        return Err(Failure("cargo-deny is not installed: run `cargo install --locked cargo-deny`".into()));
    }
    process::run(cargo().args(["deny", "--locked", "check", "bans", "licenses", "sources"]))
}
