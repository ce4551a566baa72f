//! The command line of `peak-memory`, which this program runs itself and is not in the help.

use std::{env, ffi::OsString, path::PathBuf};

use clap::Parser;
use repackbench_timing::stock::METER_COMMAND;

/// Run a command, and write the most bytes of memory that any of its processes held to a file.
#[derive(Debug, Parser)]
#[command(name = METER_COMMAND, hide = true)]
pub(crate) struct PeakMemoryArguments {
    /// The file, new or not; it is left as it is where nothing is known.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The program, and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// The program that has this command: the one that runs.
pub(crate) fn meter() -> Option<PathBuf> {
    env::current_exe().ok().filter(|program| program.is_file())
}
