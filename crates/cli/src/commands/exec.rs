//! `repackbench exec`: the user's own git or hg on a repository under any codec.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use repackbench_client::{GitClient, hg_codec, hg_command, refuse_what_needs_more_than_the_payload};
use repackbench_reader::{Repository, git::GitRepository, hg::HgRepository};

use crate::{
    exec_arguments::{EnvArguments, ExecArguments, GitArguments},
    failure::{FAILED, Failure, USAGE},
    hg_extension::find_hg_extension,
};

/// The shell where SHELL names none.
const SHELL: &str = "/bin/sh";

pub(crate) fn run(arguments: &ExecArguments) -> Result<ExitCode, Failure> {
    let shell = || vec![env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| SHELL.into())];
    let command = if arguments.shell { shell() } else { arguments.command.clone() };
    let Some((program, words)) = command.split_first() else {
        return Err(Failure::new(USAGE, "expected a command behind --"));
    };
    let place = match &arguments.repository {
        // hg has to be told what git finds for itself.
        None if Path::new(program).file_name() == Some(OsStr::new("hg")) => Some(PathBuf::from(".")),
        place => place.clone(),
    };
    let opened = place.as_deref().map(|place| Ok::<_, Failure>((place, Repository::open(place)?))).transpose()?;
    become_it(match opened {
        Some((_, Repository::Hg(hg))) => on_hg(&hg, arguments, program, words)?,
        Some((place, Repository::Git(git))) => on_git(Some((&git, place)), &arguments.client, program, words)?,
        None => on_git(None, &arguments.client, program, words)?,
    })
}

/// `repackbench env`: the same surroundings in words of a shell.
pub(crate) fn print_environment(arguments: &EnvArguments) -> Result<ExitCode, Failure> {
    let client = client(None, &arguments.client, OsStr::new("git"))?;
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
    super::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The program's git, on a repository if one was named.
fn client(
    repository: Option<(&GitRepository, &Path)>,
    arguments: &GitArguments,
    program: &OsStr,
) -> Result<GitClient, Failure> {
    if let Some(codec) = &arguments.codec {
        refuse_what_needs_more_than_the_payload(codec)?;
    }
    let mut client = GitClient::new(program, arguments.zlib.into())?;
    if let Some((git, place)) = repository {
        client = client.on(git, place)?;
    }
    if let Some(codec) = &arguments.codec {
        client = client.write_with(repository.map(|(git, _)| git), codec)?;
    }
    Ok(client)
}

fn on_git(
    repository: Option<(&GitRepository, &Path)>,
    arguments: &GitArguments,
    program: &OsStr,
    words: &[OsString],
) -> Result<Command, Failure> {
    let client = client(repository, arguments, program)?;
    let mut command = Command::new(program);
    command.args(words);
    client.set_up(&mut command);
    Ok(command)
}

fn on_hg(
    hg: &HgRepository,
    arguments: &ExecArguments,
    program: &OsStr,
    words: &[OsString],
) -> Result<Command, Failure> {
    let extension = find_hg_extension(arguments.hg_extension.as_deref());
    let extension = extension.as_deref();
    let mut all = match &arguments.client.codec {
        Some(codec) => hg_codec(hg, extension, codec)?,
        None => Vec::new(),
    };
    all.extend_from_slice(words);
    Ok(hg_command(hg, extension, program, &all)?)
}

/// Lets this process become the command: what it is sent, and how it ends, is the command's.
fn become_it(mut command: Command) -> Result<ExitCode, Failure> {
    let error = command.exec();
    Err(Failure::new(FAILED, format!("{}: {error}", command.get_program().display())))
}
