//! `repackbench exec`: the user's own git or hg on a repository under any codec.

use std::process::{Command, ExitCode};

use repackbench_client::{GitClient, hg_codec, hg_command};
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
            let mut client = GitClient::new(&git, &arguments.repository, program, arguments.zlib.into())?;
            if let Some(codec) = &arguments.codec {
                client.write_with(&git, codec)?;
            }
            let mut command = Command::new(program);
            command.args(words);
            client.set_up(&mut command)?;
            let ended = child::wait(command)?;
            // Also of a command that failed: what it did, it did.
            client.finish()?;
            child::end_alike(ended)
        }
        Repository::Hg(hg) => {
            let extension = arguments.hg_extension.as_deref();
            let mut all = match &arguments.codec {
                Some(codec) => hg_codec(&hg, extension, codec)?,
                None => Vec::new(),
            };
            all.extend_from_slice(words);
            child::run(hg_command(&hg, extension, program, &all)?)
        }
    }
}
