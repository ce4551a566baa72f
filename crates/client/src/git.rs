//! git on a repository: the library in place, what it needs beside it, and the view of a variant.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use repackbench_codec::CodecSpec;
use repackbench_preload_abi::{CODEC_VARIABLE, DICTIONARIES_VARIABLE, ZLIB_VARIABLE};
use repackbench_reader::git::GitRepository;
use tempfile::TempDir;

use crate::{
    ClientError, exec_path, library::Preload, library::Zlib, name_of, probe, view::View, work_trees::LinkedTrees,
    writing::Writing,
};

/// What the folder of a client is called; the rest of its name is random.
pub(crate) const FOLDER_PREFIX: &str = "repackbench-exec-";

/// What an outer git, a hook of its own or an alias, may have set and would lead the command elsewhere: it is about that git's
/// repository. What `git -c` sets stays, as it does for every program that git starts.
const OUTER: [&str; 10] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// A repository that stock git can be run on, as often as wanted.
#[derive(Debug)]
pub struct GitClient {
    preload: Preload,
    zlib: Zlib,
    git: Option<PathBuf>,
    git_dir: PathBuf,
    work_tree: Option<PathBuf>,
    exec_path: Option<PathBuf>,
    view: Option<View>,
    writing: Option<Writing>,
    /// After the view, which still needs it when it is dropped.
    scratch: TempDir,
}

impl GitClient {
    /// Makes everything ready for commands by `program`, which is git, or starts the git of the PATH. `place` is what the user
    /// named, and `repository` what was found there.
    ///
    /// # Errors
    /// The library is missing, git does not call it, or the repository's chunks cannot be decoded by themselves.
    pub fn new(repository: &GitRepository, place: &Path, program: &OsStr, zlib: Zlib) -> Result<Self, ClientError> {
        GitClient::make(repository, place, git_to_probe(program), zlib, LinkedTrees::NameTheView)
    }

    /// Makes everything ready for commands by `git`, whatever its file is called, or by none, that change nothing in the repository:
    /// its linked work trees stay as they are, and there is no need to [finish](Self::finish). The rest is as in [`Self::new`].
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn with_git(
        repository: &GitRepository,
        place: &Path,
        git: Option<PathBuf>,
        zlib: Zlib,
    ) -> Result<Self, ClientError> {
        GitClient::make(repository, place, git, zlib, LinkedTrees::StayAsTheyAre)
    }

    fn make(
        repository: &GitRepository,
        place: &Path,
        git: Option<PathBuf>,
        zlib: Zlib,
        linked_trees: LinkedTrees,
    ) -> Result<Self, ClientError> {
        refuse_bases(repository)?;
        let preload = Preload::find()?;
        let scratch = tempfile::Builder::new().prefix(FOLDER_PREFIX).tempdir()?;
        write_dictionaries(repository, &dictionaries(&scratch))?;
        let mut exec_path = None;
        if let Some(git) = &git {
            probe::check(git, &preload, zlib, scratch.path())?;
            // Without the guard all that is stored is zlib already, and may leave as it is.
            if repository.extension_spec().is_some() {
                exec_path = Some(exec_path::make(git, &scratch.path().join("exec"))?);
            }
        }
        let mut git_dir = absolute(repository.git_dir())?;
        let mut work_tree = None;
        let mut view = None;
        if repository.extension_spec().is_some() {
            let git = git
                .as_deref()
                .ok_or_else(|| ClientError::refused("git: not found on PATH, and the view of a variant takes one"))?;
            let common_dir = absolute(repository.common_dir())?;
            let shown = View::make(git, &common_dir, &scratch.path().join("git"), linked_trees)?;
            if let Ok(linked) = git_dir.strip_prefix(&common_dir)
                && linked.components().next().is_some()
            {
                git_dir = shown.folder().join(linked);
                if place.join(".git").exists() {
                    work_tree = Some(absolute(place)?);
                }
            } else {
                git_dir = shown.folder().to_owned();
            }
            view = Some(shown);
        } else if place.join(".git").exists() {
            work_tree = Some(absolute(place)?);
        }
        Ok(GitClient { preload, zlib, git, git_dir, work_tree, exec_path, view, writing: None, scratch })
    }

    /// Lets commands write with `codec` what goes to the object store of `repository`, the one that this client was made for. All
    /// else that git compresses stays zlib.
    ///
    /// # Errors
    /// The codec takes more than a payload, plain git could no longer read the repository, or this git does not write with it.
    pub fn write_with(&mut self, repository: &GitRepository, codec: &CodecSpec) -> Result<(), ClientError> {
        let git = self.git.as_deref();
        let git = git.ok_or_else(|| ClientError::refused("git: not found on PATH, and --codec takes one"))?;
        let common_dir = match &self.view {
            Some(view) => view.folder().to_owned(),
            None => absolute(repository.common_dir())?,
        };
        let scratch = self.scratch.path();
        self.writing = Some(Writing::new(repository, &common_dir, codec, git, &self.preload, scratch)?);
        Ok(())
    }

    /// Lets `command`, which was set up, write to a copy of the repository at `common_dir` as it would to the repository itself.
    pub fn write_to(&self, command: &mut Command, common_dir: &Path) {
        if let Some(writing) = &self.writing {
            writing.set_for(command, common_dir);
        }
    }

    /// The git directory that commands see.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Lets `command` find the repository and the library.
    pub fn set_up(&self, command: &mut Command) {
        for name in OUTER {
            command.env_remove(name);
        }
        self.preload.set(command);
        command.env(ZLIB_VARIABLE, self.zlib.name());
        command.env(DICTIONARIES_VARIABLE, dictionaries(&self.scratch));
        command.env("GIT_DIR", &self.git_dir);
        match &self.writing {
            Some(writing) => writing.set(command),
            // An outer one's.
            None => {
                command.env_remove(CODEC_VARIABLE);
            }
        }
        if let Some(work_tree) = &self.work_tree {
            command.env("GIT_WORK_TREE", work_tree);
        }
        if let Some(exec_path) = &self.exec_path {
            command.env("GIT_EXEC_PATH", exec_path);
        }
    }

    /// Gives the repository what commands changed in its view.
    ///
    /// # Errors
    /// It cannot be written, or another program changed the same; what the commands changed is kept then, and the error says where.
    pub fn finish(mut self) -> Result<(), ClientError> {
        if let (Some(view), Some(git)) = (&mut self.view, &self.git)
            && let Err(error) = view.bring_back(git)
        {
            let kept = self.scratch.keep();
            return Err(error.with_hint(format!("what the command changed is kept in {}", name_of(&kept))));
        }
        Ok(self.scratch.close()?)
    }
}

/// The folder of dictionaries.
fn dictionaries(scratch: &TempDir) -> PathBuf {
    scratch.path().join("dictionaries")
}

/// Refuses variants whose chunks cannot be decoded by themselves, and those whose objects lie where git does not look.
fn refuse_bases(repository: &GitRepository) -> Result<(), ClientError> {
    if let Some(btree) = repository.btree() {
        let message =
            format!("{}: expected packs or loose objects, found a B-tree, in which git looks for none", name_of(btree));
        return Err(ClientError::refused(message).with_hint("convert it under the same codec into another store"));
    }
    let Some(typed) = repository.extension_spec() else { return Ok(()) };
    let spec: CodecSpec = typed.parse().map_err(|error| ClientError::refused(format!("{typed}: {error}")))?;
    if !spec.uses_bases() {
        return Ok(());
    }
    let place = name_of(repository.git_dir());
    let message = format!(
        "{place}: expected a codec whose chunks are decoded by themselves, found {spec}, whose deltas need their base's content: \
         git does not tell zlib the base"
    );
    Err(ClientError::refused(message).with_hint("convert it under the same codec without prefix and patch"))
}

/// The program that `name` starts: a path, or the first of its name on the PATH.
///
/// # Errors
/// There is none.
pub fn find_program(name: &OsStr) -> Result<PathBuf, ClientError> {
    let path = Path::new(name);
    let found = match path.components().count() {
        0 | 1 => on_path(name),
        _ => std::path::absolute(path).ok().filter(|path| is_program(path)),
    };
    found.ok_or_else(|| ClientError::refused(format!("{}: not found, or not a program", name_of(path))))
}

/// The git that will run: the command itself, or the one that the command would find.
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

/// Writes the repository's dictionaries, checked, as the library reads them.
fn write_dictionaries(repository: &GitRepository, folder: &Path) -> Result<(), ClientError> {
    fs::create_dir(folder)?;
    for (number, dictionary) in repository.dictionaries()?.iter().enumerate() {
        fs::write(folder.join(number.to_string()), dictionary.bytes())?;
    }
    Ok(())
}

pub(crate) fn absolute(path: &Path) -> Result<PathBuf, ClientError> {
    fs::canonicalize(path).map_err(|error| ClientError::refused(format!("{}: {error}", name_of(path))))
}
