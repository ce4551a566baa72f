//! Finds the repository that a git command is about to work on, the way git does, before git starts.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{
    complain,
    git_command::GitCommand,
    guard,
    objects::{ObjectFile, any_has_namesake},
};

/// How a work tree's `.git` file begins, and the file in a linked work tree's git directory that names the common
/// directory.
const LINK_PREFIX: &[u8] = b"gitdir:";
const COMMON_DIR: &str = "commondir";

/// The file that lists the object stores that a store borrows from.
const ALTERNATES: &str = "info/alternates";

/// How deep alternates of alternates are followed, as in git.
const DEEPEST: u32 = 5;

/// A repository as git finds it.
struct Found {
    common: PathBuf,
    objects: PathBuf,
    /// Alternate stores from the environment.
    others: Vec<PathBuf>,
}

/// The repository that a git command is about to work on; `None` if it is not certain.
fn find(command: &GitCommand) -> Option<Found> {
    let start = start_folder(command);
    let named = command.git_dir.as_deref().map(OsStr::from_bytes).map(OsStr::to_owned);
    let git_dir = match named.or_else(|| env::var_os("GIT_DIR")) {
        Some(named) => git_dir_at(&start.join(named)),
        None => discover(&start)?,
    };
    let common = common_dir(git_dir);
    let objects = env::var_os("GIT_OBJECT_DIRECTORY").map_or_else(|| common.join("objects"), |named| start.join(named));
    let others = env::var_os("GIT_ALTERNATE_OBJECT_DIRECTORIES").unwrap_or_default();
    // Quoted paths are not parsed.
    if others.as_bytes().contains(&b'"') {
        return None;
    }
    let others = others.as_bytes().split(|byte| *byte == b':').filter(|other| !other.is_empty());
    let others = others.map(|other| start.join(OsStr::from_bytes(other))).collect();
    Some(Found { common, objects, others })
}

/// Whether this git may read stored bytes that are not zlib streams. In doubt, true.
pub(crate) fn may_read_variant(command: &GitCommand) -> bool {
    find(command).is_none_or(|found| is_guarded(&found.common) || found.reads_variants())
}

/// Whether `pack-objects` may copy chunks into the pack at `pack_path` that cannot be read there, because the pack is
/// in another store than the repository's own, or because the chunks come from a store with other dictionaries. In
/// doubt, true.
pub(crate) fn may_copy_unusable_chunks(command: &GitCommand, pack_path: Option<&Path>) -> bool {
    let Some(found) = find(command) else { return true };
    let store = pack_path.and_then(|path| start_folder(command).join(path).parent()?.parent()?.canonicalize().ok());
    let is_own = store.is_some() && store == found.objects.canonicalize().ok();
    found.borrows_from_variants() || !is_own && (is_guarded(&found.common) || is_guarded_store(&found.objects))
}

impl Found {
    fn reads_variants(&self) -> bool {
        is_guarded_store(&self.objects) || self.borrows_from_variants()
    }

    fn borrows_from_variants(&self) -> bool {
        let named = |other: &PathBuf| is_guarded_store(other) || has_guarded_alternate(other, DEEPEST);
        has_guarded_alternate(&self.objects, DEEPEST) || self.others.iter().any(named)
    }
}

/// The folder in which the command starts to look for its repository.
fn start_folder(command: &GitCommand) -> PathBuf {
    let start = env::current_dir().unwrap_or_default();
    command.folders.iter().fold(start, |folder, next| folder.join(OsStr::from_bytes(next)))
}

/// Whether the request that a web server passes to `http-backend` names a path inside a variant.
pub(crate) fn http_request_is_for_variant() -> bool {
    let below_root = |root: OsString| {
        let mut path = root;
        path.push(env::var_os("PATH_INFO").unwrap_or_default());
        path
    };
    let root = env::var_os("GIT_PROJECT_ROOT").filter(|root| !root.is_empty());
    let asked = root.map(below_root).or_else(|| env::var_os("PATH_TRANSLATED"));
    let is_served = |place: &Path| leads_to_a_variant(place) || leads_to_a_variant(&with_git(place));
    asked.is_some_and(|path| Path::new(&path).ancestors().any(is_served))
}

/// Whether `place`, an argument of the command, is a variant or its work tree.
pub(crate) fn is_variant(command: &GitCommand, place: &[u8]) -> bool {
    let place = &start_folder(command).join(OsStr::from_bytes(place));
    [place, &with_git(place)].into_iter().any(|place| leads_to_a_variant(place))
}

/// Whether `place` is the git directory of a variant, or its work tree.
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

/// Whether the object store at `objects` belongs to a variant. A symbolic link counts in both directions.
fn is_guarded_store(objects: &Path) -> bool {
    is_guarded(&objects.join("..")) || objects.parent().is_some_and(is_guarded)
}

/// Whether the store at `objects` borrows from a variant's, directly or through at most `deepest` others.
fn has_guarded_alternate(objects: &Path, deepest: u32) -> bool {
    let Some(text) = guard::read_text(&objects.join(ALTERNATES)) else { return false };
    let mut others = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    others.any(|line| {
        let other = objects.join(OsStr::from_bytes(line));
        // Quoted paths are not parsed: in doubt, true.
        line.starts_with(b"\"") || is_guarded_store(&other) || deepest > 0 && has_guarded_alternate(&other, deepest - 1)
    })
}

/// Whether a link at `to` would bring the object file `from` out of a variant into a repository without a guard.
pub(crate) fn links_out_of_variant(from: &[u8], to: &[u8]) -> bool {
    let store = |path| ObjectFile::at(path).map(|file| PathBuf::from(OsStr::from_bytes(file.store)));
    match (store(from), store(to)) {
        (Some(from), Some(to)) => from != to && is_guarded_store(&from) && !is_guarded_store(&to),
        _ => false,
    }
}

/// Whether a file made at `path` is a copy of a variant's object file in a repository without a guard.
///
/// A copy gets its final name at once; git and libgit2 write their own object files under a temporary name first. A
/// file of a work tree may have such a name, too, but no variant has an object file of the same name.
pub(crate) fn is_unguarded_copy(path: &[u8]) -> bool {
    let is_one = ObjectFile::at(path)
        .is_some_and(|file| !file.is_new && !is_guarded_store(Path::new(OsStr::from_bytes(file.store))))
        && any_has_namesake(path, is_guarded_store);
    if is_one {
        let path = String::from_utf8_lossy(path);
        complain(&format!(
            "{path}: not copied, since the copy would leave the variant without its guard; clone a file:// URL instead"
        ));
    }
    is_one
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

/// The common directory of `git_dir`, which linked work trees share; usually `git_dir` itself.
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
        // On an unborn branch, a HEAD that is a symbolic link dangles.
        let is_git_dir = |place: &Path| place.join("HEAD").symlink_metadata().is_ok() && place.join("objects").is_dir();
        let candidates = [git_dir_at(&inside), folder.to_owned()];
        candidates.into_iter().find(|place| is_git_dir(place) || place.join(COMMON_DIR).exists())
    })
}
