//! `repackbench generate`: man pages and shell completions, from the definition of the command line.

mod completions;
mod man;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;

pub(crate) use self::{completions::CompletionsArguments, man::ManArguments};

use crate::{
    failure::{FAILED, Failure},
    repository::name_of,
};

/// Write the man pages and shell completions.
///
/// They are written to their usual places below the folder `share` of a prefix. The same program writes the same bytes.
#[derive(Debug, Parser)]
#[command(name = "generate", hide = true)]
pub(crate) struct GenerateArguments {
    /// The folder `share`, new or existing.
    #[arg(value_name = "SHARE")]
    pub(crate) share: PathBuf,
}

/// A file to write: its path below `share`, and its bytes.
type Generated = (PathBuf, Vec<u8>);

/// Writes the pages and completions of `program`, which has all commands that users see.
pub(crate) fn run(arguments: &GenerateArguments, program: &clap::Command) -> Result<ExitCode, Failure> {
    for (path, bytes) in man::pages(program)?.into_iter().chain(completions::scripts(program)) {
        write(&arguments.share.join(path), &bytes)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::new(FAILED, format!("{}: {error}", name_of(path)));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, bytes).map_err(failed)
}
