//! `cargo xtask test`: see that what the tests call is there, fetch the crates, run every test.
//!
//! The tests make their repositories themselves, with the scripts of `fixtures/`. What `cargo test --workspace` alone lacks is the
//! versions of hg, whose paths the tests read from the environment.

use std::ffi::OsString;

use crate::mercurial;
use crate::needs::Machine;
use crate::process::{self, Outcome, cargo};

/// Runs the chore; `arguments` go to `cargo test`.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    Machine::this().install_what_is_missing()?;
    let versions_of_hg = mercurial::install()?;
    process::run(cargo().args(["fetch", "--locked"]))?;
    process::run(cargo().args(["test", "--workspace", "--locked"]).args(arguments).envs(versions_of_hg))
}
