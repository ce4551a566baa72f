//! `cargo xtask test`: see that what the tests call is there, fetch the crates, run every test.
//!
//! The tests make their repositories themselves, with the scripts of `fixtures/`, so `cargo test --workspace` alone works
//! as well where the programs below are installed.

use std::ffi::OsString;
use std::process::Command;

use crate::process::{self, Failure, Outcome, cargo, succeeds};

/// A program that the tests or the fixture scripts call.
struct Program {
    /// The name to start it by.
    name: &'static str,
    /// The Debian package that brings it.
    package: &'static str,
    /// What it is needed for, for the message when it cannot be installed.
    purpose: &'static str,
}

const PROGRAMS: [Program; 5] = [
    Program { name: "git", package: "git", purpose: "the reference that every test compares with" },
    Program { name: "bash", package: "bash", purpose: "the fixture scripts" },
    Program { name: "python3", package: "python3", purpose: "packs that git reads but does not write" },
    Program { name: "awk", package: "gawk", purpose: "the fixture scripts' text" },
    Program { name: "cc", package: "build-essential", purpose: "the C sources of zlib, zstd and libdeflate" },
];

/// Runs the chore; `arguments` go to `cargo test`.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    install_missing_programs()?;
    process::run(cargo().args(["fetch", "--locked"]))?;
    process::run(cargo().args(["test", "--workspace", "--locked"]).args(arguments))
}

/// Installs what is missing when this is root on a machine with apt-get; else stops and names it.
fn install_missing_programs() -> Outcome<()> {
    let missing = missing_programs();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|program| program.package).collect();
    if !is_root() || !succeeds(Command::new("apt-get").arg("--version")) {
        let needs: Vec<String> =
            missing.iter().map(|program| format!("{} ({})", program.name, program.purpose)).collect();
        return Err(Failure(format!(
            "the tests need {}; as root: apt-get install {}",
            needs.join(", "),
            packages.join(" ")
        )));
    }
    process::run(Command::new("apt-get").arg("update"))?;
    process::run(
        Command::new("apt-get")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["install", "--yes", "--no-install-recommends"])
            .args(&packages),
    )?;
    match missing_programs().first() {
        None => Ok(()),
        Some(program) => Err(Failure(format!("{} is still missing after installing its package", program.name))),
    }
}

fn missing_programs() -> Vec<&'static Program> {
    PROGRAMS.iter().filter(|program| !is_installed(program.name)).collect()
}

/// Whether the program is on the PATH. Not asked of the program itself: some awks know no `--version`.
fn is_installed(name: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else { return false };
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn a_missing_program_is_noticed() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-program-has-this-name"));
    }
}
