//! The repository that a git is about to work on, found as git finds it, before git has begun.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{git_command::GitCommand, guard};

/// A file that leads to another git directory: from a work tree, and from the directory of a linked work tree.
const LINK_PREFIX: &[u8] = b"gitdir:";
const COMMON_DIR: &str = "commondir";

/// Other object stores that a store reads.
const ALTERNATES: &str = "info/alternates";

/// Whether what this git copies out of its object stores may be something other than zlib. In doubt it may.
pub(crate) fn may_be_a_variant(command: &GitCommand) -> bool {
    let start = start_folder(command);
    let named = command.git_dir.as_deref().map(OsStr::from_bytes).map(OsStr::to_owned);
    let git_dir = match named.or_else(|| env::var_os("GIT_DIR")) {
        Some(named) => Some(git_dir_at(&start.join(named))),
        None => discover(&start),
    };
    let Some(git_dir) = git_dir else { return true };
    let common = common_dir(git_dir);
    let objects = env::var_os("GIT_OBJECT_DIRECTORY").map_or_else(|| common.join("objects"), PathBuf::from);
    let others = env::var_os("GIT_ALTERNATE_OBJECT_DIRECTORIES");
    is_guarded(&common) || has_guarded_alternate(&objects) || others.is_some_and(|others| !others.is_empty())
}

/// The folder in which it looks for its repository.
fn start_folder(command: &GitCommand) -> PathBuf {
    let start = env::current_dir().unwrap_or_default();
    command.folders.iter().fold(start, |folder, next| folder.join(OsStr::from_bytes(next)))
}

/// Whether the request that a web server hands to `http-backend` is about a variant: the path that it names leads into one.
pub(crate) fn is_asked_for_a_variant() -> bool {
    let below_root = |root: OsString| {
        let mut path = root;
        path.push(env::var_os("PATH_INFO").unwrap_or_default());
        path
    };
    let asked = env::var_os("GIT_PROJECT_ROOT").map(below_root).or_else(|| env::var_os("PATH_TRANSLATED"));
    asked.is_some_and(|path| Path::new(&path).ancestors().any(leads_to_a_variant))
}

/// Whether what a command calls `place` is a variant, or a work tree of one.
pub(crate) fn is_variant(command: &GitCommand, place: &[u8]) -> bool {
    let place = &start_folder(command).join(OsStr::from_bytes(place));
    [place, &with_git(place)].into_iter().any(|place| leads_to_a_variant(place))
}

/// Whether `place` is the git directory of a variant, or a work tree of one.
fn leads_to_a_variant(place: &Path) -> bool {
    [place, &place.join(".git")].into_iter().any(|place| is_guarded(&common_dir(git_dir_at(place))))
}

fn with_git(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(".git");
    PathBuf::from(name)
}

fn is_guarded(common: &Path) -> bool {
    guard::read(&common.join("config")).is_some_and(|config| config.is_guarded)
}

fn has_guarded_alternate(objects: &Path) -> bool {
    let Some(text) = guard::read_text(&objects.join(ALTERNATES)) else { return false };
    let mut others = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    // Quoted ones are not understood: in doubt.
    others.any(|line| line.starts_with(b"\"") || is_guarded(&objects.join(OsStr::from_bytes(line)).join("..")))
}

/// The git directory that `place` is or leads to.
fn git_dir_at(place: &Path) -> PathBuf {
    let Some(text) = guard::read_text(place) else { return place.to_owned() };
    match text.strip_prefix(LINK_PREFIX) {
        Some(named) => {
            let named = Path::new(OsStr::from_bytes(named.trim_ascii()));
            place.parent().map_or_else(|| named.to_owned(), |folder| folder.join(named))
        }
        None => place.to_owned(),
    }
}

/// The directory that a linked work tree's shares with others; any other is its own.
fn common_dir(git_dir: PathBuf) -> PathBuf {
    match guard::read_text(&git_dir.join(COMMON_DIR)) {
        Some(common) => git_dir.join(OsStr::from_bytes(common.trim_ascii_end())),
        None => git_dir,
    }
}

/// Goes up from `start` to a work tree or a git directory.
fn discover(start: &Path) -> Option<PathBuf> {
    start.ancestors().find_map(|folder| {
        let inside = folder.join(".git");
        let is_git_dir = |place: &Path| place.join("HEAD").exists() && place.join("objects").is_dir();
        let candidates = [git_dir_at(&inside), folder.to_owned()];
        candidates.into_iter().find(|place| is_git_dir(place) || place.join(COMMON_DIR).exists())
    })
}
