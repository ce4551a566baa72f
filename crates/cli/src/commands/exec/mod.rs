//! `repackbench exec`: the user's own git or hg on a variant.

mod child;
mod exec_path;
mod hg;
mod library;
mod probe;
mod view;

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use repackbench_reader::{Repository, git::GitRepository};

use self::{library::Preload, view::View};
use super::{name_of, open};
use crate::{
    exec_arguments::ExecArguments,
    failure::{FAILED, Failure, USAGE},
};

/// Where the preloaded library finds the dictionaries.
const DICTIONARIES_VARIABLE: &str = "REPACKBENCH_DICTIONARIES";
/// Names the zlib that it uses.
const ZLIB_VARIABLE: &str = "REPACKBENCH_ZLIB";

/// What an outer git may have set and would lead the command elsewhere.
const OUTER: [&str; 5] =
    ["GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"];

pub(crate) fn run(arguments: &ExecArguments) -> Result<ExitCode, Failure> {
    let Some((program, words)) = arguments.command.split_first() else {
        return Err(Failure::new(USAGE, "expected a command behind --"));
    };
    match open(&arguments.repository)? {
        Repository::Git(git) => run_on_git(arguments, &git, program, words),
        Repository::Hg(hg) => child::run(hg::command(&hg, arguments.hg_extension.as_deref(), program, words)?),
    }
}

fn run_on_git(
    arguments: &ExecArguments,
    repository: &GitRepository,
    program: &OsStr,
    words: &[OsString],
) -> Result<ExitCode, Failure> {
    refuse_bases(repository)?;
    let preload = Preload::find()?;
    let git = git_to_probe(program);
    let scratch = tempfile::Builder::new().prefix("repackbench-exec-").tempdir()?;
    let mut command = Command::new(program);
    command.args(words);
    for name in OUTER {
        command.env_remove(name);
    }
    preload.set(&mut command)?;
    command.env(ZLIB_VARIABLE, arguments.zlib.name());
    let dictionaries = scratch.path().join("dictionaries");
    write_dictionaries(repository, &dictionaries)?;
    command.env(DICTIONARIES_VARIABLE, &dictionaries);
    if let Some(git) = &git {
        probe::check(git, &preload, scratch.path())?;
        command.env("GIT_EXEC_PATH", exec_path::make(git, &scratch.path().join("exec"))?);
    }
    let place = repository.git_dir();
    if repository.extension_spec().is_none() {
        command.env("GIT_DIR", absolute(place)?);
        if arguments.repository.join(".git").exists() {
            command.env("GIT_WORK_TREE", absolute(&arguments.repository)?);
        }
        let ended = child::wait(command)?;
        scratch.close()?;
        return child::end_alike(ended);
    }
    let git = git.ok_or_else(|| Failure::new(FAILED, "git: not found on PATH, and the view of a variant takes one"))?;
    let view = View::make(&git, &absolute(place)?, &scratch.path().join("git"))?;
    command.env("GIT_DIR", view.folder());
    let ended = child::wait(command)?;
    // Also of a command that failed: what it did, it did.
    if let Err(failure) = view.bring_back(&git) {
        let kept = scratch.keep();
        return Err(failure.with_hint(format!("what the command changed is kept in {}", name_of(&kept))));
    }
    scratch.close()?;
    child::end_alike(ended)
}

/// Refuses variants whose chunks cannot be decoded by themselves.
fn refuse_bases(repository: &GitRepository) -> Result<(), Failure> {
    let Some(typed) = repository.extension_spec() else { return Ok(()) };
    let spec: repackbench_codec::CodecSpec =
        typed.parse().map_err(|error| Failure::new(FAILED, format!("{typed}: {error}")))?;
    if !spec.uses_bases() {
        return Ok(());
    }
    let place = name_of(repository.git_dir());
    let message = format!(
        "{place}: expected a codec whose chunks are decoded by themselves, found {spec}, whose deltas need their base's content: \
         git does not tell zlib the base"
    );
    Err(Failure::new(FAILED, message).with_hint("convert it under the same codec without prefix and patch"))
}

/// The git that will run: the command itself, or the one that the command would find.
fn git_to_probe(program: &OsStr) -> Option<PathBuf> {
    match Path::new(program).file_name() {
        Some(name) if name == "git" && Path::new(program).components().count() > 1 => std::path::absolute(program).ok(),
        _ => env::split_paths(&env::var_os("PATH")?)
            .filter_map(|folder| std::path::absolute(folder.join("git")).ok())
            .find(|candidate| is_program(candidate)),
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Writes the repository's dictionaries, checked, as the library reads them.
fn write_dictionaries(repository: &GitRepository, folder: &Path) -> Result<(), Failure> {
    fs::create_dir(folder)?;
    for (number, dictionary) in repository.dictionaries()?.iter().enumerate() {
        fs::write(folder.join(number.to_string()), dictionary.bytes())?;
    }
    Ok(())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(path).map_err(|error| Failure::new(FAILED, format!("{}: {error}", name_of(path))))
}
