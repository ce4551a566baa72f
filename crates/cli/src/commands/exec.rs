//! `repackbench exec`.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::ErrorKind,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Args;
use repackbench_client::{hg_codec, hg_command};
use repackbench_reader::{Repository, git::GitRepository, hg::HgRepository};

use crate::{
    failure::{FAILED, Failure, USAGE},
    options::{GitClientArguments, HgExtensionArgument, WHAT, enclosing_repository, located},
};

/// Run your own git or hg on a repository under any codec
///
/// git is not patched: a preloaded library replaces the functions of zlib, and reads every codec whose
/// chunks can be decoded on their own, with dictionaries too. The command works on the directory of
/// the variant, where plain git stops at the guard and this git does not. No temporary files
/// remain, and any number of commands may run at once. git writes zlib, unless --codec, or
/// repackbench.codec in the configuration of the variant, names another codec for packs and loose
/// objects. What leaves a variant by push, fetch, clone or bundle is always zlib.
///
/// Without REPOSITORY, git finds its repository from the current folder, as usual. With it, variables
/// that an outer git exports about its own repository are cleared; settings of `git -c` are passed on.
///
/// hg gets the repository by -R, and the extension that --hg-extension names. Without REPOSITORY it is
/// the one of your own -R, or of the current folder. Its repositories record their codec themselves:
/// --codec sets level and implementation.
///
/// This program becomes the command, so that exit status and signals are those of the command.
/// Variants with prefix or patch are rejected: git does not pass the base of a delta to zlib. So are
/// those with ids=number, which zlib cannot translate, and those in a B-tree.
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
    /// Repository, a variant or not [default: the one that git finds from the current folder].
    #[arg(value_parser = located())]
    pub(crate) repository: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) client: GitClientArguments,

    /// Start a shell, named by SHELL, in which every git reads variants.
    #[arg(long, conflicts_with = "command", help_heading = WHAT)]
    pub(crate) shell: bool,

    #[command(flatten)]
    hg_extension: HgExtensionArgument,

    /// Command and its arguments, after `--`.
    #[arg(last = true, required_unless_present = "shell", value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The default for SHELL.
const SHELL: &str = "/bin/sh";

pub(crate) fn run(arguments: &ExecArguments) -> Result<ExitCode, Failure> {
    let shell = || vec![env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| SHELL.into())];
    let command = if arguments.shell { shell() } else { arguments.command.clone() };
    let Some((program, words)) = command.split_first() else {
        return Err(Failure::new(USAGE, "expected a command after --"));
    };
    let place = match &arguments.repository {
        // git finds its repository itself, while hg gets it as an argument.
        None if Path::new(program).file_name() == Some(OsStr::new("hg")) => Some(place_of_hg(words)),
        place => place.clone(),
    };
    let opened = place.as_deref().map(|place| Ok::<_, Failure>((place, Repository::open(place)?))).transpose()?;
    replace_process(match opened {
        Some((_, Repository::Hg(hg))) => on_hg(&hg, arguments, program, words)?,
        Some((place, Repository::Git(git))) => on_git(Some((&git, place)), &arguments.client, program, words)?,
        None => on_git(None, &arguments.client, program, words)?,
    })
}

/// The repository that hg works on: the one that `words` name, or that around the folder it starts in. Its path is
/// absolute, since hg looks for it after a change to the folder of `--cwd`.
fn place_of_hg(words: &[OsString]) -> PathBuf {
    let words = words.split(|word| word == "--").next().unwrap_or_default();
    let named = |names: &[&str]| {
        // hg takes the last one.
        let place = words.iter().rposition(|word| names.iter().any(|name| value_in(word, name).is_some()))?;
        let value = names.iter().find_map(|name| value_in(words.get(place)?, name))?;
        if value.is_empty() { words.get(place + 1).cloned() } else { Some(value) }
    };
    let folder = named(&["--cwd"]).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let absolute = |path: &Path| fs::canonicalize(path).ok();
    // hg also takes bundles and names of paths.
    let repository = named(&["-R", "--repo", "--repository"]).map(|repository| folder.join(repository));
    let repository = repository.and_then(|repository| absolute(&repository).filter(|repository| repository.is_dir()));
    repository.or_else(|| absolute(&folder).and_then(|folder| enclosing_repository(&folder))).unwrap_or(folder)
}

/// The value in `word` if it is the option `name`: empty if the next word has it.
fn value_in(word: &OsStr, name: &str) -> Option<OsString> {
    let rest = word.as_bytes().strip_prefix(name.as_bytes())?;
    match rest.strip_prefix(b"=") {
        Some(value) if name.starts_with("--") => Some(OsStr::from_bytes(value).to_owned()),
        _ if rest.is_empty() || !name.starts_with("--") => Some(OsStr::from_bytes(rest).to_owned()),
        _ => None,
    }
}

fn on_git(
    repository: Option<(&GitRepository, &Path)>,
    arguments: &GitClientArguments,
    program: &OsStr,
    words: &[OsString],
) -> Result<Command, Failure> {
    let client = arguments.client(repository, program)?;
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
    if arguments.client.names_zlib() {
        return Err(Failure::new(USAGE, "--zlib: hg only has its own zlib and that of the extension"));
    }
    let extension = arguments.hg_extension.folder();
    let extension = extension.as_deref();
    let mut all = match &arguments.client.codec {
        Some(codec) => hg_codec(hg, extension, codec)?,
        None => Vec::new(),
    };
    all.extend_from_slice(words);
    Ok(hg_command(hg, extension, program, &all)?)
}

/// Replaces this process by the command, which then receives its signals and sets its exit status.
fn replace_process(mut command: Command) -> Result<ExitCode, Failure> {
    let error = command.exec();
    let failure = Failure::new(FAILED, format!("{}: {error}", command.get_program().display()));
    Err(match error.kind() {
        ErrorKind::NotFound => failure.with_hint("no folder of PATH has it: install it, or name its path after --"),
        _ => failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_of_hg_is_found_in_its_options() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        for folder in ["a/.hg", "a/inside", "b/.hg", "b/a/.hg"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("a/x.bundle"), "").unwrap();
        // @ is the folder of both.
        let place = |words: &str| {
            let words = words.replace('@', root.join("").to_str().unwrap());
            let place = place_of_hg(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
            place.strip_prefix(&root).unwrap_or(&place).display().to_string()
        };
        assert_eq!(place("-R @a log"), "a");
        assert_eq!(place("log -R@b"), "b");
        assert_eq!(place("log --repository=a --cwd @b"), "b/a");
        assert_eq!(place("--cwd @b log --repository x -R @a"), "a");
        assert_eq!(place("--cwd=@a log --repository-like x -- -R y"), "a");
        assert_eq!(place("--cwd @a log -R x.bundle"), "a", "a bundle is of the folder's repository");
        assert_eq!(place("--cwd @a/inside log"), "a");
    }
}
