//! `repackbench exec`: the user's own git or hg on a repository under any codec.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use repackbench_client::{GitClient, abandoned_view, hg_codec, hg_command, refuse_what_needs_more_than_the_payload};
use repackbench_reader::Repository;

use super::open;
use crate::{
    child,
    exec_arguments::ExecArguments,
    failure::{BAD_INPUT, Failure, USAGE},
    hg_extension::find_hg_extension,
};

pub(crate) fn run(arguments: &ExecArguments) -> Result<ExitCode, Failure> {
    let Some((program, words)) = arguments.command.split_first() else {
        return Err(Failure::new(USAGE, "expected a command behind --"));
    };
    let opened = open(&arguments.repository);
    match opened.map_err(|failure| name_abandoned_view(&arguments.repository).unwrap_or(failure))? {
        Repository::Git(git) => {
            if let Some(codec) = &arguments.codec {
                refuse_what_needs_more_than_the_payload(codec)?;
            }
            let mut client = GitClient::new(&git, &arguments.repository, program, arguments.zlib.into())?;
            if let Some(codec) = &arguments.codec {
                client.write_with(&git, codec)?;
            }
            let mut command = Command::new(program);
            command.args(words);
            client.set_up(&mut command);
            let ended = child::wait(command)?;
            // Also of a command that failed: what it did, it did.
            client.finish()?;
            child::end_alike(ended)
        }
        Repository::Hg(hg) => {
            let extension = find_hg_extension(arguments.hg_extension.as_deref());
            let extension = extension.as_deref();
            let mut all = match &arguments.codec {
                Some(codec) => hg_codec(&hg, extension, codec)?,
                None => Vec::new(),
            };
            all.extend_from_slice(words);
            child::run(hg_command(&hg, extension, program, &all)?)
        }
    }
}

/// Why a linked work tree cannot be opened that a killed `exec` left: nothing in it says whose it is.
fn name_abandoned_view(place: &Path) -> Option<Failure> {
    let view = abandoned_view(place)?;
    let message = format!(
        "{}: expected a work tree of a variant, found one that names the view of a command that was killed, {}, which is gone",
        place.display(),
        view.display()
    );
    let hint = "`repackbench exec VARIANT -- git worktree list`, with the variant that it belongs to, sets it right";
    Some(Failure::new(BAD_INPUT, message).with_hint(hint))
}
