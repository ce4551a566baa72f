//! The guard that stops git from reading a variant, hidden from programs that can read it.
//!
//! It is an extension in the repository's `config`, in which git stops at extensions that it does not know. git gets that file without
//! the guard, and so do libgit2 and dulwich: they read objects through this library. All others meet the guard: those that have a zlib of
//! their own, those that copy the file, and git-lfs in what git answers to it. Whatever git puts in the file's place has the guard put back.

mod file;
mod readers;
mod text;

use std::{
    env,
    ffi::{CStr, CString},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use libc::c_int;

use self::file::{Content, File, Identity};
use crate::{complain, complain_once, git_command};

/// The name of the file.
const CONFIG: &[u8] = b"config";

/// What is beside it in every repository, and in few other folders.
const BESIDE: [&[u8]; 2] = [b"HEAD", b"objects"];

/// Where a variant without packs and loose objects has its objects.
const BTREE: &[u8] = b"objects/repackbench.btree";

/// The version of the format that this library reads, as guards begin.
const FORMAT: &[u8] = b"1;";

/// The codec spec of the repositories that git makes, and its commands that make some.
const NEW: &str = "REPACKBENCH_NEW";
const MAKERS: [&[u8]; 3] = [b"init", b"init-db", b"clone"];

/// Options of specs whose chunks need the content of a delta's base, which no zlib is told.
const NEED_BASES: [&[u8]; 2] = [b",prefix", b",patch"];

/// A file to be read in place of the one at `path`, if that is guarded and this process may not see it.
pub(crate) fn config_without_guard(folder: c_int, path: &CStr) -> Option<c_int> {
    let content = guarded_config(folder, path)?.0;
    if git_command::is_started_by_reader() {
        return None;
    }
    remember(content.identity);
    let shown = Content { bytes: text::without_guard(&content.bytes), ..content };
    file::in_memory(c"config", &shown).ok().map(File::into_descriptor)
}

/// What a repository's configuration says of codecs.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Plain git refuses the repository.
    pub(crate) is_guarded: bool,
    /// The codec for writing, if one is set.
    pub(crate) codec: Option<Vec<u8>>,
}

/// The content of a short file at `path`, as it is.
pub(crate) fn read_text(path: &Path) -> Option<Vec<u8>> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    Some(File::open(libc::AT_FDCWD, &path, libc::O_RDONLY).ok()?.content().ok()?.bytes)
}

/// Reads the configuration at `path` as it is.
pub(crate) fn read(path: &Path) -> Option<Config> {
    let text = read_text(path)?;
    Some(Config { is_guarded: text::guard(&text).is_some(), codec: text::codec(&text) })
}

/// Whether a file may not be written in place: it would lose a guard that the process has not seen.
pub(crate) fn is_protected(folder: c_int, path: &CStr) -> bool {
    let is_guarded = guarded_config(folder, path).is_some();
    if is_guarded {
        complain(&format!("{}: not written in place, since its guard would be lost", path.to_string_lossy()));
    }
    is_guarded
}

/// Files whose guard this process was not shown: where `config` is a link, git replaces them by another name.
static HIDDEN: RwLock<Vec<Identity>> = RwLock::new(Vec::new());

/// Whether there are any.
static HIDES: AtomicBool = AtomicBool::new(false);

fn remember(file: Identity) {
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    if !hidden.contains(&file) {
        hidden.push(file);
    }
    HIDES.store(true, Ordering::Release);
}

/// Whether this process was shown any variant without its guard.
pub(crate) fn has_hidden_a_guard() -> bool {
    HIDES.load(Ordering::Acquire)
}

/// Whether the file at `path` may have a guard that has to be put back when it is replaced.
pub(crate) fn may_be_guarded(folder: c_int, path: &CStr) -> bool {
    let is_hidden = || {
        let file = file::identity(folder, path)?;
        Some(HIDDEN.read().unwrap_or_else(PoisonError::into_inner).contains(&file))
    };
    is_config(path) || has_hidden_a_guard() && is_hidden().unwrap_or(false)
}

/// The guard of the repository whose configuration is written to `path`, if git is just making it and the environment says that it
/// becomes a variant.
fn of_a_new_repository(path: &CStr) -> Option<Vec<u8>> {
    let spec = env::var_os(NEW).filter(|spec| !spec.is_empty())?;
    let makes = git_command::this().is_some_and(|command| command.is_git && MAKERS.contains(&command.name.as_slice()));
    (makes && is_config(path) && readers::is_reader()).then(|| [FORMAT, spec.as_bytes()].concat())
}

/// Puts the guard of the file at `to`, if it has one or is to get one, into the one at `from`, which will replace it; false if that failed.
pub(crate) fn restore_guard(from_folder: c_int, from: &CStr, to_folder: c_int, to: &CStr) -> bool {
    let Some(guard) = guarded_content(to_folder, to).map(|(_, guard)| guard).or_else(|| of_a_new_repository(to)) else {
        return true;
    };
    let put = || {
        let content = File::open(from_folder, from, libc::O_RDONLY)?.content()?;
        remember(content.identity);
        let guarded = text::with_guard(&content.bytes, &guard);
        if guarded != content.bytes {
            file::replace(from_folder, from, content.mode, &guarded)?;
        }
        std::io::Result::Ok(())
    };
    put().inspect_err(|error| complain(&format!("{}: {error}", from.to_string_lossy()))).is_ok()
}

/// The content of a file that has a guard, and the guard's value; in processes that read objects through this library.
fn guarded_content(folder: c_int, path: &CStr) -> Option<(Content, Vec<u8>)> {
    if !readers::is_reader() {
        return None;
    }
    let content = File::open(folder, path, libc::O_RDONLY).ok()?.content().ok()?;
    let guard = text::guard(&content.bytes)?;
    Some((content, guard))
}

/// Git reads its configuration several times.
static HAS_COMPLAINED: AtomicBool = AtomicBool::new(false);

/// The same of a configuration, if the guard is that of a variant which this library reads.
fn guarded_config(folder: c_int, path: &CStr) -> Option<(Content, Vec<u8>)> {
    let (content, guard) = guarded_content(folder, path)?;
    let spec = guard.strip_prefix(FORMAT)?;
    let names = |option: &&[u8]| spec.windows(option.len()).any(|part| part == *option);
    if NEED_BASES.iter().any(names) {
        complain_once(
            &HAS_COMPLAINED,
            "the deltas of this variant need their base's content, which git does not tell zlib",
        );
        return None;
    }
    let has = |name: &[u8]| {
        path.to_bytes().strip_suffix(CONFIG).is_some_and(|place| file::exists(folder, &[place, name].concat()))
    };
    if !BESIDE.iter().all(|name| has(name)) {
        return None;
    }
    if has(BTREE) {
        complain_once(&HAS_COMPLAINED, "the objects of this variant are in a B-tree, where git looks for none");
        return None;
    }
    Some((content, guard))
}

/// Whether this process may be shown a variant as an ordinary repository.
pub(crate) fn is_hidden_from_this_process() -> bool {
    readers::is_reader()
}

/// Whether the path is that of a configuration.
pub(crate) fn is_config(path: &CStr) -> bool {
    let path = path.to_bytes();
    path.strip_suffix(CONFIG).is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
}
