//! Hides the guard, which stops git from reading a variant, from programs that can read the variant.
//!
//! The guard is an extension in the repository's `config`. git refuses a repository with an extension that it does not
//! know. git, libgit2 and dulwich see that file without the guard, because they read objects through this library. All
//! other programs see the guard: programs with a zlib of their own, programs that copy the file, and git-lfs in git's
//! answers to it. When git replaces the file, the guard is restored in the new one.

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

/// The name of the configuration file.
const CONFIG: &[u8] = b"config";

/// Names that are beside `config` in every repository, and in few other folders.
const BESIDE: [&[u8]; 2] = [b"HEAD", b"objects"];

/// The file that holds the objects of a variant without packs and loose objects.
const BTREE: &[u8] = b"objects/repackbench.btree";

/// The format version that this library reads: guards begin with it.
const FORMAT: &[u8] = b"1;";

/// The variable with the codec spec of new repositories, and the git commands that make repositories.
const NEW: &str = "REPACKBENCH_NEW";
const MAKERS: [&[u8]; 3] = [b"init", b"init-db", b"clone"];

/// Options of specs whose chunks need the content of the delta's base, which a zlib never receives.
const NEED_BASES: [&[u8]; 2] = [b",prefix", b",patch"];

/// A descriptor to read in place of the file at `path`, if that file has a guard and the guard is hidden from this
/// process.
pub(crate) fn config_without_guard(folder: c_int, path: &CStr) -> Option<c_int> {
    let content = guarded_config(folder, path)?.0;
    if git_command::is_started_by_reader() {
        return None;
    }
    remember_hidden(content.identity);
    let shown = Content { bytes: text::without_guard(&content.bytes), ..content };
    file::in_memory(c"config", &shown).ok().map(File::into_descriptor)
}

/// What a repository's configuration says about codecs.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Whether the repository has a guard, so that git without this library refuses it.
    pub(crate) is_guarded: bool,
    /// The codec for writing, if one is set.
    pub(crate) codec: Option<Vec<u8>>,
}

/// The content of the short file at `path`, with its guard.
pub(crate) fn read_text(path: &Path) -> Option<Vec<u8>> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    Some(File::open(libc::AT_FDCWD, &path, libc::O_RDONLY).ok()?.content().ok()?.bytes)
}

/// Reads the configuration at `path`, with its guard.
pub(crate) fn read(path: &Path) -> Option<Config> {
    let text = read_text(path)?;
    Some(Config { is_guarded: text::guard(&text).is_some(), codec: text::codec(&text) })
}

/// Whether a file must not be written in place, because it would lose a guard that the process has not seen.
pub(crate) fn is_protected(folder: c_int, path: &CStr) -> bool {
    let is_guarded = guarded_config(folder, path).is_some();
    if is_guarded {
        complain(&format!("{}: not written in place, since the guard would be lost", path.to_string_lossy()));
    }
    is_guarded
}

/// Files whose guard was hidden from this process. Where `config` is a symbolic link, git replaces its target under
/// another name.
static HIDDEN: RwLock<Vec<Identity>> = RwLock::new(Vec::new());

/// Whether [`HIDDEN`] has any entries.
static HIDES: AtomicBool = AtomicBool::new(false);

fn remember_hidden(file: Identity) {
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    if !hidden.contains(&file) {
        hidden.push(file);
    }
    HIDES.store(true, Ordering::Release);
}

/// Whether any guard was hidden from this process.
pub(crate) fn has_hidden_a_guard() -> bool {
    HIDES.load(Ordering::Acquire)
}

/// Whether the file at `path` may have a guard that must be restored when the file is replaced.
pub(crate) fn may_be_guarded(folder: c_int, path: &CStr) -> bool {
    let is_hidden = || {
        let file = file::identity(folder, path)?;
        Some(HIDDEN.read().unwrap_or_else(PoisonError::into_inner).contains(&file))
    };
    is_config(path) || has_hidden_a_guard() && is_hidden().unwrap_or(false)
}

/// The guard of a new repository whose configuration git is writing to `path`, if the environment asks for a variant.
fn of_a_new_repository(path: &CStr) -> Option<Vec<u8>> {
    let spec = env::var_os(NEW).filter(|spec| !spec.is_empty())?;
    let makes = git_command::this().is_some_and(|command| command.is_git && MAKERS.contains(&command.name.as_slice()));
    (makes && is_config(path) && readers::is_reader()).then(|| [FORMAT, spec.as_bytes()].concat())
}

/// Writes the guard of the file at `to` into the file at `from`, which will replace it. A new repository may get its
/// first guard here. Returns false on failure.
pub(crate) fn restore_guard(from_folder: c_int, from: &CStr, to_folder: c_int, to: &CStr) -> bool {
    let Some(guard) = guarded_content(to_folder, to).map(|(_, guard)| guard).or_else(|| of_a_new_repository(to)) else {
        return true;
    };
    let put = || {
        let content = File::open(from_folder, from, libc::O_RDONLY)?.content()?;
        remember_hidden(content.identity);
        let guarded = text::with_guard(&content.bytes, &guard);
        if guarded != content.bytes {
            file::replace(from_folder, from, content.mode, &guarded)?;
        }
        std::io::Result::Ok(())
    };
    put().inspect_err(|error| complain(&format!("{}: {error}", from.to_string_lossy()))).is_ok()
}

/// The content and the guard of a file that has one. `None` in processes that do not read objects through this library.
fn guarded_content(folder: c_int, path: &CStr) -> Option<(Content, Vec<u8>)> {
    if !readers::is_reader() {
        return None;
    }
    let content = File::open(folder, path, libc::O_RDONLY).ok()?.content().ok()?;
    let guard = text::guard(&content.bytes)?;
    Some((content, guard))
}

/// git reads its configuration several times, but one message is enough.
static HAS_COMPLAINED: AtomicBool = AtomicBool::new(false);

/// Like [`guarded_content`], only for a repository's configuration whose guard names a variant that this library reads.
fn guarded_config(folder: c_int, path: &CStr) -> Option<(Content, Vec<u8>)> {
    let (content, guard) = guarded_content(folder, path)?;
    let spec = guard.strip_prefix(FORMAT)?;
    let names = |option: &&[u8]| spec.windows(option.len()).any(|part| part == *option);
    if NEED_BASES.iter().any(names) {
        complain_once(
            &HAS_COMPLAINED,
            "the deltas of this variant need the content of their base, which git does not pass to zlib",
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
        complain_once(&HAS_COMPLAINED, "the objects of this variant are in a B-tree, which git cannot read");
        return None;
    }
    Some((content, guard))
}

/// Whether a variant looks like an ordinary repository to this process.
pub(crate) fn is_hidden_from_this_process() -> bool {
    readers::is_reader()
}

/// Whether `path` may be that of a repository's configuration.
pub(crate) fn is_config(path: &CStr) -> bool {
    let path = path.to_bytes();
    path.strip_suffix(CONFIG).is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
}
