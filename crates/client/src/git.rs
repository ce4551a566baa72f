//! Sets up git commands: they load the library, and may be told a repository and a codec.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use repackbench_codec::CodecSpec;
use repackbench_preload_abi::{CODEC_VARIABLE, SENDS_STORED, SENDS_VARIABLE, ZLIB_VARIABLE};
use repackbench_reader::git::GitRepository;

use crate::{
    ClientError, absolute,
    git_program::check_owner,
    isolation,
    library::{Preload, Zlib},
    name_of, probe, writing,
};

/// Variables that an outer git may have set for its hook or alias, and that would lead a command for another repository
/// to the wrong place. Settings from `git -c` stay, as for every program that git starts.
const OUTER: [&str; 11] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The user's own git, with the library that stands in for zlib.
#[derive(Debug)]
pub struct GitClient {
    preload: Preload,
    zlib: Zlib,
    git: Option<PathBuf>,
    repository: Option<NamedRepository>,
    codec: Option<String>,
}

/// The repository for commands, as in `git --git-dir` and `git --work-tree`.
#[derive(Debug)]
struct NamedRepository {
    git_dir: PathBuf,
    work_tree: Option<PathBuf>,
}

impl GitClient {
    /// Sets up commands of `program`, which is git or starts the git on the PATH, for whatever repositories they find.
    ///
    /// # Errors
    /// Fails if the library is missing or git does not call it.
    pub fn new(program: &OsStr, zlib: Zlib) -> Result<Self, ClientError> {
        GitClient::with_git(git_to_probe(program), zlib)
    }

    /// Like [`new`](Self::new), with a git of any file name.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_git(git: Option<PathBuf>, zlib: Zlib) -> Result<Self, ClientError> {
        let preload = Preload::find()?;
        if let Some(git) = &git {
            probe::check(git, &preload, zlib)?;
        }
        Ok(GitClient { preload, zlib, git, repository: None, codec: None })
    }

    /// Makes commands work on `repository`, which the user named as `place`.
    ///
    /// # Errors
    /// Fails if its chunks cannot be decoded by themselves, or if git refuses it because of its owner. This checks the
    /// owner, because git does not check that of a repository that it is given by name.
    pub fn on(mut self, repository: &GitRepository, place: &Path) -> Result<Self, ClientError> {
        refuse_bases(repository)?;
        if let Some(git) = &self.git {
            check_owner(git, place)?;
            check_owner(git, repository.common_dir())?;
        }
        self.repository = Some(NamedRepository::new(repository, place)?);
        Ok(self)
    }

    /// Makes commands write with `codec` to the object stores of variants, which overrides their configuration, and to
    /// those of ordinary repositories if plain git reads the codec. Everything else that git compresses stays zlib.
    ///
    /// # Errors
    /// Fails if the codec needs more than a payload, if plain git could no longer read the named repository, or if this
    /// git does not write with the codec.
    pub fn write_with(mut self, repository: Option<&GitRepository>, codec: &CodecSpec) -> Result<Self, ClientError> {
        writing::check_needs_only_payload(codec)?;
        if let Some(repository) = repository {
            writing::refuse_ordinary_repository(repository, codec)?;
        }
        let git = self.git.as_deref();
        let git = git.ok_or_else(|| ClientError::refused("git: not found on PATH, but --codec needs it"))?;
        self.codec = Some(codec.canonical());
        let mut command = isolation::git(git, []);
        self.set_up(&mut command);
        writing::try_out(command, git, codec)?;
        Ok(self)
    }

    /// Whether commands have a codec for writing.
    pub fn writes(&self) -> bool {
        self.codec.is_some()
    }

    /// The environment variables that commands get, and those that are removed.
    pub fn environment(&self) -> Vec<(OsString, Option<OsString>)> {
        let mut command = Command::new("");
        self.set_up(&mut command);
        command.get_envs().map(|(name, value)| (name.to_owned(), value.map(OsStr::to_owned))).collect()
    }

    /// Lets `command`, which is set up, send stored bytes unchanged, to a receiver that reads the codec.
    pub fn send_stored(command: &mut Command) {
        command.env(SENDS_VARIABLE, SENDS_STORED);
    }

    /// Sets up `command` with the library and the named repository.
    pub fn set_up(&self, command: &mut Command) {
        self.preload.set(command);
        command.env(ZLIB_VARIABLE, self.zlib.name());
        match &self.codec {
            Some(codec) => command.env(CODEC_VARIABLE, codec),
            // It may be set by an outer `exec`.
            None => command.env_remove(CODEC_VARIABLE),
        };
        // The library recognizes git by its name.
        if self.git.as_deref().is_some_and(|git| git == Path::new(command.get_program())) {
            command.arg0("git");
        }
        let Some(NamedRepository { git_dir, work_tree }) = &self.repository else { return };
        for name in OUTER {
            command.env_remove(name);
        }
        command.env("GIT_DIR", git_dir);
        if let Some(work_tree) = work_tree {
            command.env("GIT_WORK_TREE", work_tree);
        }
    }
}

impl NamedRepository {
    fn new(repository: &GitRepository, place: &Path) -> Result<Self, ClientError> {
        let git_dir = absolute(repository.git_dir())?;
        let has_place = repository.is_linked_work_tree() || repository.has_work_tree_around();
        // If the repository names another work tree, or has none, git finds that out by itself.
        let work_tree = if has_place && place.join(".git").exists() {
            Some(absolute(place)?)
        } else if has_place && git_dir.ends_with(".git") {
            git_dir.parent().map(Path::to_owned)
        } else {
            None
        };
        Ok(NamedRepository { git_dir, work_tree })
    }
}

/// Refuses variants whose chunks cannot be decoded by themselves, whose payloads are not those of git, and whose
/// objects git cannot find.
fn refuse_bases(repository: &GitRepository) -> Result<(), ClientError> {
    if let Some(btree) = repository.btree() {
        let message =
            format!("{}: expected packs or loose objects, found a B-tree, which git cannot read", name_of(btree));
        return Err(
            ClientError::refused(message).with_hint("convert the repository that it was made from into another store")
        );
    }
    let Some(typed) = repository.extension_spec() else { return Ok(()) };
    let spec: CodecSpec = typed.parse().map_err(|error| ClientError::refused(format!("{typed}: {error}")))?;
    let place = name_of(repository.git_dir());
    if spec.uses_numbers() || repository.has_numbers() {
        let message = format!(
            "{place}: expected a codec spec whose objects are those of git, found {spec}, whose trees, commits and tags name \
             objects by number, which git cannot read"
        );
        return Err(ClientError::refused(message).with_hint("convert it under the same codec without ids=number"));
    }
    if !spec.uses_bases() {
        return Ok(());
    }
    let message = format!(
        "{place}: expected a codec whose chunks are decoded by themselves, found {spec}, whose deltas need the content of \
         their base, which git does not pass to zlib"
    );
    // A conversion has no content of bases, so the variant itself cannot be converted.
    Err(ClientError::refused(message).with_hint(
        "convert the repository that this variant was made from, under the same codec without prefix and patch",
    ))
}

/// Finds the program that `name` starts: a path, or the first program of that name on the PATH.
///
/// # Errors
/// Fails if there is none.
pub fn find_program(name: &OsStr) -> Result<PathBuf, ClientError> {
    let path = Path::new(name);
    let found = match path.components().count() {
        0 | 1 => on_path(name),
        _ => std::path::absolute(path).ok().filter(|path| is_program(path)),
    };
    found.ok_or_else(|| ClientError::Program { command: name_of(path), why: "not found, or not a program".to_owned() })
}

/// The git that will run: the program itself, or the git that it would find.
fn git_to_probe(program: &OsStr) -> Option<PathBuf> {
    match Path::new(program).file_name() {
        Some(name) if name == "git" && Path::new(program).components().count() > 1 => std::path::absolute(program).ok(),
        _ => on_path(OsStr::new("git")),
    }
}

fn on_path(name: &OsStr) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .filter_map(|folder| std::path::absolute(folder.join(name)).ok())
        .find(|candidate| is_program(candidate))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
