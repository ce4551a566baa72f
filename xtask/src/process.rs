//! Starts other programs, shows their command lines, and names the command that failed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::files;

/// The reason why a chore stopped, as one line for the user.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// The result of a chore or of one of its steps.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// A cargo command in the workspace, with the cargo that started this program.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::workspace_root());
    command
}

/// The program to try: the one that was named, or that of this checkout, which is built with checks for overflow. They
/// find more than a release.
pub(crate) fn repackbench(named: Option<&Path>) -> Outcome<PathBuf> {
    if let Some(program) = named {
        return std::path::absolute(program).map_err(|error| files::failed(program, &error));
    }
    run(cargo().args(["build", "--quiet", "--locked", "--package", "repackbench-cli"]))?;
    Ok(crate::target_dir().join("debug").join("repackbench"))
}

/// Prints the command, runs it with this process's own streams, and fails unless it exits with 0.
pub(crate) fn run(command: &mut Command) -> Outcome<()> {
    let shown = shown(command);
    eprintln!("$ {shown}");
    let status = command.status().map_err(|error| Failure(format!("{shown}: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure(format!("{shown}: {status}"))) }
}

/// Runs the command and returns its standard output, which has to be text. Fails unless it exits with 0.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let shown = shown(command);
    let failed = |error: &dyn std::fmt::Display| Failure(format!("{shown}: {error}"));
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(&error))
}

/// Whether the command starts and exits with 0. Its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as one would type it, without quoting. The program is shown by name, not by path.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words: Vec<_> = std::iter::once(name).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    words.join(" ")
}
