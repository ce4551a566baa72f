//! `repackbench exec` with the library that stands in for zlib, built as these tests were.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::program;
use super::{built, git};

/// The file of the library.
pub(crate) fn stand_in() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| built::library("repackbench_preload"))
}

/// The binary, which finds the library and starts git as isolated as the tests do.
pub(crate) fn command() -> Command {
    let mut command = program::command();
    git::pin(&mut command);
    command.env("REPACKBENCH_PRELOAD", stand_in());
    command
}

/// `repackbench exec OPTIONS REPO -- WORDS`.
pub(crate) fn exec(repo: &Path, options: &[&str], words: &[&str]) -> Command {
    let mut command = command();
    command.arg("exec").args(options).arg(repo).arg("--").args(words);
    command
}
