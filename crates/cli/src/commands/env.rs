//! `repackbench env`.

use std::{ffi::OsStr, process::ExitCode};

use clap::Args;

use crate::{
    failure::{FAILED, Failure},
    options::GitClientArguments,
    output::print,
};

/// Print shell commands that let every git read variants
///
/// They set what `exec` sets for its command, for a terminal, a cron job or a daemon:
///
///   eval "$(repackbench env)"
///
/// They name the library by its path, beside the program or in the cache: leave it in its place while
/// such a shell is in use.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct EnvArguments {
    #[command(flatten)]
    client: GitClientArguments,
}

pub(crate) fn run(arguments: &EnvArguments) -> Result<ExitCode, Failure> {
    let client = arguments.client.client(None, OsStr::new("git"))?;
    let mut text = String::new();
    for (name, value) in client.environment() {
        let name = name.to_string_lossy();
        match value {
            Some(value) => {
                let value = value.to_string_lossy();
                let quoted = shlex::try_quote(&value).map_err(|error| Failure::new(FAILED, error))?;
                text.push_str(&format!("export {name}={quoted}\n"));
            }
            None => text.push_str(&format!("unset {name}\n")),
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
