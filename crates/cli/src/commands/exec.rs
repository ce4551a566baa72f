//! `repackbench exec`: the user's own git or hg on a repository under any codec.

use std::process::{Command, ExitCode};

use repackbench_client::{GitClient, hg_command};
use repackbench_reader::Repository;

use super::open;
use crate::{
    child,
    exec_arguments::ExecArguments,
    failure::{Failure, USAGE},
};

pub(crate) fn run(arguments: &ExecArguments) -> Result<ExitCode, Failure> {
    let Some((program, words)) = arguments.command.split_first() else {
        return Err(Failure::new(USAGE, "expected a command behind --"));
    };
    match open(&arguments.repository)? {
        Repository::Git(git) => {
            let client = GitClient::new(&git, &arguments.repository, program, arguments.zlib.into())?;
            let mut command = Command::new(program);
            command.args(words);
            client.set_up(&mut command)?;
            let ended = child::wait(command)?;
            // Also of a command that failed: what it did, it did.
            client.finish()?;
            child::end_alike(ended)
        }
        Repository::Hg(hg) => child::run(hg_command(&hg, arguments.hg_extension.as_deref(), program, words)?),
    }
}
