//! git's own locks that keep packs as they are.
//!
//! | lock | held by | form |
//! |---|---|---|
//! | `gc.pid` | `git gc` while it runs | a file with `PID HOST`; dead if the process has ended, or after 12 hours |
//! | `gc.pid.lock` | whoever writes `gc.pid` | a lock file |
//! | `objects/maintenance.lock` | `git maintenance run` | a lock file |
//! | `objects/pack/multi-pack-index.lock` | whoever writes the multi-pack-index | a lock file |
//!
//! `git repack` alone takes no lock. It deletes only packs that it has listed and whose objects it has written, and
//! this program does the same, so both together lose nothing. Source: `builtin/gc.c` of git 2.47.
//!
//! git never removes a lock file that a killed process left. The text of this program's locks is the name of its work
//! folder, so that its next run knows which of them are dead: those whose work folder is gone.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime},
};

use super::{
    durable::{remove_if_there, rename},
    hg_locks::{host_name, is_running},
    link_lock::LinkLock,
    locked,
};
use crate::{Result, WriterError, leftovers::Leftover, work_folder::is_work_folder_name};

/// The age from which git takes `gc.pid` for dead.
const DEAD_AFTER: Duration = Duration::from_secs(12 * 3600);

/// How often a lock is tried that another process removes at the same time.
const ATTEMPTS: usize = 5;

/// The locks of a repository.
#[derive(Debug)]
pub(super) struct GitLocks {
    _gc: GcPid,
    _maintenance: LinkLock,
    _multi_pack_index: LinkLock,
}

impl GitLocks {
    /// Takes all locks of the repository `common_dir` with the object directory `objects`, for a run whose work folder
    /// is `work`. Those of killed runs must be removed before.
    ///
    /// # Errors
    /// [`ReaderError::Locked`](repackbench_reader::ReaderError::Locked).
    pub(super) fn take(common_dir: &Path, objects: &Path, work: &Path) -> Result<Self> {
        let gc = GcPid::take(common_dir, work)?;
        Ok(GitLocks {
            _gc: gc,
            _maintenance: take(&objects.join("maintenance.lock"), work)?,
            _multi_pack_index: take(&objects.join("pack/multi-pack-index.lock"), work)?,
        })
    }
}

/// Takes a lock file, also from a killed run of this program.
fn take(path: &Path, work: &Path) -> Result<LinkLock> {
    let name = Path::new(work.file_name().unwrap_or_default());
    for _ in 0..ATTEMPTS {
        if let Some(lock) = LinkLock::take(path, name)? {
            return Ok(lock);
        }
        match fs::read_link(path) {
            Ok(text) if is_of_a_dead_run(&text, work) => remove_if_there(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => break,
        }
    }
    Err(locked(path.to_owned()))
}

/// Whether `text` names a work folder beside `work` that is gone.
fn is_of_a_dead_run(text: &Path, work: &Path) -> bool {
    is_work_folder_name(text.as_os_str()) && work.with_file_name(text).symlink_metadata().is_err()
}

/// The file `gc.pid`, which is removed with this value.
#[derive(Debug)]
struct GcPid {
    path: PathBuf,
    content: String,
    _leftover: Leftover,
}

impl GcPid {
    fn take(common_dir: &Path, work: &Path) -> Result<Self> {
        let path = common_dir.join("gc.pid");
        let _lock = take(&common_dir.join("gc.pid.lock"), work)?;
        let host = host_name()?;
        if is_held(&path, &host)? {
            return Err(locked(path));
        }
        let content = format!("{} {host}", process::id());
        let new = work.join("gc.pid");
        fs::write(&new, &content).map_err(|e| WriterError::io("write", &new, e))?;
        let leftover = Leftover::new(&path);
        rename(&new, &path)?;
        Ok(GcPid { path, content, _leftover: leftover })
    }
}

impl Drop for GcPid {
    fn drop(&mut self) {
        if fs::read_to_string(&self.path).is_ok_and(|content| content == self.content) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether git would take the process in `gc.pid` for alive.
fn is_held(path: &Path, host: &str) -> Result<bool> {
    let (content, written) = match fs::read_to_string(path).and_then(|text| Ok((text, fs::metadata(path)?.modified()?)))
    {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found.map_err(|e| WriterError::io("read", path, e))?,
    };
    let is_recent = SystemTime::now().duration_since(written).is_ok_and(|age| age <= DEAD_AFTER);
    let Some((pid, of)) = content.trim_end().split_once(' ') else { return Ok(false) };
    let Ok(pid) = pid.parse::<i32>() else { return Ok(false) };
    Ok(is_recent && (of != host || is_running(pid)))
}
