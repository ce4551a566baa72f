//! The nightly toolchain: libFuzzer, sanitizers and Miri need it, and nothing else of the project does.

use std::process::Command;

use crate::process::{self, Failure, Outcome, succeeds};

/// Options of AddressSanitizer for programs with the codecs: libdeflate has several copies of some constants.
pub(crate) const ADDRESS_OPTIONS: &str = "detect_odr_violation=0";

/// A command of the nightly toolchain, in the workspace.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]).current_dir(crate::workspace_root());
    // The stable cargo that started this program sets them.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"] {
        command.env_remove(variable);
    }
    command
}

/// Fails unless the toolchain is installed. It is not installed here, because that takes 300 MB.
///
/// # Errors
/// The message says what to run.
pub(crate) fn check() -> Outcome<()> {
    if succeeds(command("rustc").arg("--version")) {
        return Ok(());
    }
    Err(Failure("a nightly toolchain is needed: run `rustup toolchain install nightly --profile minimal`".into()))
}

/// The target that this machine runs. Naming it keeps sanitizers out of build scripts.
pub(crate) fn host() -> Outcome<String> {
    let version = process::output(command("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure("rustc -vV: expected a line with the host".into()))
}
