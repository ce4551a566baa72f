//! `repackbench peak-memory`: a small parent for one command, so that the kernel's figures for its children are those
//! of the command.

use std::{
    ffi::OsString,
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
};

use clap::Parser;
use repackbench_client::{METER_COMMAND, end_like, peak_of_children, run_in_foreground};

use crate::{
    failure::{FAILED, Failure, USAGE},
    repository::name_of,
};

/// Run a command, and write the peak memory of its processes, in bytes, to a file.
#[derive(Debug, Parser)]
#[command(name = METER_COMMAND, hide = true)]
pub(crate) struct PeakMemoryArguments {
    /// File to write, new or existing; it is left unchanged if the peak is unknown.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Program and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Runs the command, writes its peak, and ends with the status of the command.
pub(crate) fn run(arguments: &PeakMemoryArguments) -> Result<ExitCode, Failure> {
    let Some((program, words)) = arguments.command.split_first() else {
        return Err(Failure::new(USAGE, "expected a command"));
    };
    let mut command = Command::new(program);
    command.args(words);
    let ended = run_in_foreground(command)?;
    if let Some(bytes) = peak_of_children() {
        let written = fs::write(&arguments.file, format!("{bytes}\n"));
        written.map_err(|error| Failure::new(FAILED, format!("{}: {error}", name_of(&arguments.file))))?;
    }
    Ok(ExitCode::from(end_like(ended)))
}
