//! `cargo xtask deny`: check the dependencies' licences, sources and bans against `deny.toml`.

use std::ffi::OsString;

use crate::process::{self, Failure, Outcome, cargo, succeeds};

/// Runs the chore. Compiling cargo-deny takes minutes, so it is installed by whoever wants it and not by this chore.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !arguments.is_empty() {
        return Err(Failure("deny takes no arguments".into()));
    }
    if !succeeds(cargo().args(["deny", "--version"])) {
        return Err(Failure("cargo-deny is not installed; `cargo install --locked cargo-deny` installs it".into()));
    }
    process::run(cargo().args(["deny", "--locked", "check", "bans", "licenses", "sources"]))
}
