//! `repackbench exec`: the user's own git or hg on a repository under any codec.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Args;
use repackbench_client::{GitClient, hg_codec, hg_command, refuse_what_needs_more_than_the_payload};
use repackbench_codec::CodecSpec;
use repackbench_reader::{Repository, git::GitRepository, hg::HgRepository};

use crate::{
    failure::{FAILED, Failure, USAGE},
    options::{Implementation, find_hg_extension, located},
};

/// Run the user's own git or hg on a repository under any codec.
///
/// git is not patched: a library that is preloaded into it answers zlib's functions, and reads
/// every codec whose chunks can be decoded by themselves, with dictionaries too. The command works
/// on the variant's own directory, in which plain git stops at the guard and this git does not.
/// Nothing is left behind, and any number of commands may run at once. What git writes is zlib,
/// unless --codec, or repackbench.codec in the variant's configuration, names another codec for its
/// packs and loose objects. What leaves a variant by push, fetch, clone or bundle is always zlib.
///
/// Without REPOSITORY git finds its repository from the current folder, as it always does. With it,
/// what an outer git exports about its own repository is cleared; what `git -c` sets is passed on.
///
/// hg gets the repository by -R, and the extension that --hg-extension names. Its repositories say
/// themselves which codec they are under: --codec sets level and implementation.
///
/// This program becomes the command, so that exit status and signals are the command's. Variants
/// with prefix or patch are refused: git does not tell zlib the base of a delta.
///
/// Examples:
///   repackbench exec linux.zstd-5 -- git log -Smalloc
///   repackbench exec linux.lz4-1 -- git rev-list --objects --all
///   repackbench exec --zlib zlib-rs linux -- git fsck --full
///   repackbench exec linux.zstd-5 -- git --work-tree /tmp/tree checkout -f
///   repackbench exec --codec zstd:5 linux.zstd-5 -- git repack -adF
///   repackbench exec -- git status
///   repackbench exec --shell
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExecArguments {
    /// The repository, a variant or not [default: what git finds from the current folder].
    #[arg(value_parser = located())]
    pub(crate) repository: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) client: GitArguments,

    /// Start a shell, the one that SHELL names, in which every git reads variants.
    #[arg(long, conflicts_with = "command")]
    pub(crate) shell: bool,

    /// The extension that hg needs for codecs it does not have: the folder that `cargo xtask hg-extension` prints [default: the one that
    /// was installed with this program, if any].
    #[arg(long = "hg-extension", value_name = "DIR")]
    pub(crate) hg_extension: Option<PathBuf>,

    /// The command and its arguments, behind `--`.
    #[arg(last = true, required_unless_present = "shell", value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Print what a shell has to export so that every git it starts reads variants.
///
/// It is what `exec` sets for its command, for a terminal, a cron job or a daemon:
///
///   eval "$(repackbench env)"
///
/// The library is named by its path: leave the program where it is while such a shell is in use.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct EnvArguments {
    #[command(flatten)]
    pub(crate) client: GitArguments,
}

/// What git is told besides its repository.
#[derive(Debug, Args)]
pub(crate) struct GitArguments {
    /// The codec of what git writes to object stores of variants. The store of an ordinary repository gets it if plain git reads
    /// that codec; dict=, prefix, patch and codecs for kinds take what git does not tell zlib, and are refused.
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Option<CodecSpec>,

    /// Who reads and writes zlib streams for git.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Implementation::Host)]
    pub(crate) zlib: Implementation,
}

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
