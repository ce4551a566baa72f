//! Converts a repository in place, under a spec that stock git or hg reads.
//!
//! The new files are built in a work folder of the repository, and every object in them is hashed. Only then the old
//! files make room, by renames alone, in an order in which git or hg can read the repository after each of them:
//!
//! | | Git | Mercurial |
//! |---|---|---|
//! | locks | `gc.pid`, `objects/maintenance.lock`, `multi-pack-index.lock` | `wlock`, `store/lock` |
//! | unit of replacement | a pack: its new files get their names, the index last, then the old ones are moved away, the index first; a loose object: one rename | the whole store: one exchange of two folders |
//! | other processes meanwhile | write new objects and refs, and read everything | wait to write, and read everything |
//!
//! The old files are moved into a backup folder, which has a script that moves them back. If the run is killed, what is
//! replaced stays so; the next run finds the folder by its mark, and continues in it.

mod backup;
mod bitmap;
mod durable;
mod git;
mod git_locks;
mod hg;
mod hg_locks;
mod link_lock;
mod space;

use std::path::{Path, PathBuf};

use repackbench_codec::{CodecInfo, CodecSpec, catalogue};
use repackbench_reader::{ReaderError, Repository, git::GitRepository, hg::HgRepository};

use crate::{JobControl, Result, WriterError};

/// How to convert a repository in place.
#[derive(Clone, Copy)]
pub struct InPlaceJob<'a> {
    /// Whether the old files are kept in a backup folder.
    pub keeps_backup: bool,
    /// How the conversion runs.
    pub control: JobControl<'a>,
}

/// What a conversion in place replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replaced {
    /// The number of packs, or of revlogs.
    pub packs: u64,
    /// The number of loose objects.
    pub loose_objects: u64,
    /// The bytes of the old files.
    pub bytes_before: u64,
    /// The bytes of the new files.
    pub bytes_after: u64,
    /// The folder with the old files, if it is kept.
    pub backup: Option<PathBuf>,
    /// The script that goes back.
    pub way_back: Option<PathBuf>,
    /// What was left as it was or is worth knowing, one sentence each.
    pub notes: Vec<String>,
}

impl Replaced {
    /// Whether every object was already stored as requested.
    pub fn is_nothing(&self) -> bool {
        self.packs == 0 && self.loose_objects == 0
    }
}

/// Converts the repository at `path` in place.
///
/// # Errors
/// [`WriterError::Spec`] if stock git or hg does not read `spec`; [`ReaderError::Locked`] while another program works
/// on the repository. After an error, each object is stored in its old or in its new form, and another run continues.
pub fn convert_in_place(path: &Path, spec: &CodecSpec, job: InPlaceJob<'_>) -> Result<Replaced> {
    let Some(hg_dir) = HgRepository::locate(path) else {
        return git::convert(&GitRepository::open(path)?, spec, job);
    };
    if path.join(".git").exists() {
        // Says that it is both.
        Repository::open(path)?;
    }
    hg::convert(&hg_dir, &spec.for_revlogs(), job)
}

/// Refuses a spec under which stock `program` would not read the repository. `is_known` says which codecs it reads.
fn check_readable(spec: &CodecSpec, is_read: bool, program: &str, is_known: fn(&CodecInfo) -> bool) -> Result<()> {
    if is_read {
        return Ok(());
    }
    let names: Vec<_> = catalogue().into_iter().filter(is_known).map(|codec| codec.name).collect();
    let why = format!(
        "--in-place: stock {program} would not read the repository: expected {}, without dictionaries, bases and numbers",
        names.join(", ")
    );
    Err(WriterError::Spec { spec: spec.to_string(), why })
}

/// The error that something which the lock at `path` protects is in use.
fn locked(path: PathBuf) -> WriterError {
    ReaderError::Locked { path }.into()
}
