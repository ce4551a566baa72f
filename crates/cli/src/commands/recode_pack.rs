//! `repackbench recode-pack`: the server of a client that only reads zlib, as a filter after git.

use std::{
    ffi::OsString,
    io::{self, BufWriter},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use clap::Parser;
use gix_hash::Kind;
use repackbench_reader::dictionaries::read_dictionaries;
use repackbench_timing::{arms::load::RECODE_COMMAND, workloads::recode_pack};

use crate::failure::{FAILED, Failure, USAGE};

/// Run a command that prints a pack, and print the pack with every entry compressed by zlib, deltas kept.
#[derive(Debug, Parser)]
#[command(name = RECODE_COMMAND, hide = true)]
pub(crate) struct RecodePackArguments {
    /// Hash function of the repository.
    #[arg(value_name = "HASH")]
    pub(crate) hash: Kind,

    /// Folder of the repository's dictionaries; it may not exist.
    #[arg(value_name = "FOLDER")]
    pub(crate) dictionaries: PathBuf,

    /// Program and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Runs the command, and fails if it fails.
pub(crate) fn run(arguments: &RecodePackArguments) -> Result<ExitCode, Failure> {
    let Some((program, words)) = arguments.command.split_first() else {
        return Err(Failure::new(USAGE, "expected a command"));
    };
    let failed = |error: io::Error| Failure::new(FAILED, format!("{}: {error}", program.display()));
    let dictionaries = read_dictionaries(&arguments.dictionaries)?;
    let mut child = Command::new(program).args(words).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let recoded = match child.stdout.take() {
        Some(pack) => {
            recode_pack(pack, Box::new(BufWriter::new(io::stdout())), arguments.hash, &dictionaries).map(drop)
        }
        None => Ok(()),
    };
    // The pipe is closed, so it ends even if its pack was not read to the end.
    let status = child.wait().map_err(failed)?;
    if !status.success() {
        return Err(Failure::new(FAILED, format!("{}: {status}", program.display())));
    }
    recoded?;
    Ok(ExitCode::SUCCESS)
}
