//! hg's own locks, taken as hg takes them.
//!
//! A lock is a symbolic link whose text is `HOST/NAMESPACE:PID`. hg removes the lock of a process that has ended on the
//! same host and in the same namespace of process ids, and so does this program: whoever removes one holds a second
//! lock, named `.break`, meanwhile. Source: `lock.py` and `util.makelock` of Mercurial 7.2.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process,
};

use nix::sys::utsname::uname;

use super::{durable::remove_if_there, link_lock::LinkLock, locked};
use crate::{Result, WriterError};

/// How often a lock is tried that another process removes at the same time.
const ATTEMPTS: usize = 5;

/// Both locks of a repository, in the order in which hg takes them.
#[derive(Debug)]
pub(super) struct HgLocks {
    text: PathBuf,
    // Released in this order, as hg does.
    _store: LinkLock,
    _work_tree: LinkLock,
}

impl HgLocks {
    /// Takes both locks of the repository whose `.hg` is `hg_dir`.
    ///
    /// # Errors
    /// [`ReaderError::Locked`](repackbench_reader::ReaderError::Locked).
    pub(super) fn take(hg_dir: &Path) -> Result<Self> {
        let text = PathBuf::from(format!("{}:{}", host()?, process::id()));
        let work_tree = take(&hg_dir.join("wlock"), &text)?;
        let store = take(&hg_dir.join("store/lock"), &text)?;
        Ok(HgLocks { text, _store: store, _work_tree: work_tree })
    }

    /// The text of the locks, for a store that takes the place of the locked one.
    pub(super) fn text(&self) -> &Path {
        &self.text
    }
}

/// What comes before the process id: the host, and the namespace of process ids.
fn host() -> Result<String> {
    let mut host = host_name()?;
    if cfg!(target_os = "linux")
        && let Ok(namespace) = fs::metadata("/proc/self/ns/pid")
    {
        host.push_str(&format!("/{:x}", namespace.ino()));
    }
    Ok(host)
}

/// The name of this machine.
pub(super) fn host_name() -> Result<String> {
    let system = uname().map_err(|e| WriterError::io("name the host of", "/", e.into()))?;
    Ok(system.nodename().to_string_lossy().into_owned())
}

fn take(path: &Path, text: &Path) -> Result<LinkLock> {
    for _ in 0..ATTEMPTS {
        if let Some(lock) = LinkLock::take(path, text)? {
            return Ok(lock);
        }
        remove_if_dead(path, text)?;
    }
    Err(locked(path.to_owned()))
}

/// Removes the lock at `path` if its process has ended.
///
/// # Errors
/// It lives, or may live.
fn remove_if_dead(path: &Path, own: &Path) -> Result<()> {
    let Some(held) = read(path)? else { return Ok(()) };
    if !is_dead(&held, own) {
        return Err(locked(path.to_owned()));
    }
    let mut breaking = path.to_owned().into_os_string();
    breaking.push(".break");
    let breaking = Path::new(&breaking);
    let Some(_breaking) = LinkLock::take(breaking, own)? else {
        // As hg does, which takes it like any other lock.
        return match read(breaking)? {
            Some(held) if is_dead(&held, own) => remove_if_there(breaking),
            Some(_) => Err(locked(breaking.to_owned())),
            None => Ok(()),
        };
    };
    // Another process may have replaced it meanwhile.
    if read(path)?.as_ref() == Some(&held) {
        fs::remove_file(path).map_err(|e| WriterError::io("remove", path, e))?;
    }
    Ok(())
}

/// The text of the lock at `path`. On file systems without links, hg writes it into a file.
fn read(path: &Path) -> Result<Option<PathBuf>> {
    let text = match fs::read_link(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => fs::read_to_string(path).map(PathBuf::from),
        text => text,
    };
    match text {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(WriterError::io("read", path, error)),
    }
}

/// Whether the holder `held` was a process of the host in `own` that has ended.
fn is_dead(held: &Path, own: &Path) -> bool {
    let parts =
        |text: &Path| text.to_str().and_then(|text| text.split_once(':')).map(|(a, b)| (a.to_owned(), b.to_owned()));
    let (Some((host, pid)), Some((own_host, _))) = (parts(held), parts(own)) else { return false };
    host == own_host && pid.parse::<i32>().is_ok_and(|pid| pid > 0 && !is_running(pid))
}

/// Whether a process of this host runs, as git and hg ask for it.
pub(super) fn is_running(pid: i32) -> bool {
    !matches!(nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None), Err(nix::errno::Errno::ESRCH))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn locks_of_ended_processes_are_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("store")).unwrap();
        let mut ended = process::Command::new("true").spawn().unwrap();
        let (pid, lock) = (ended.id(), folder.path().join("wlock"));
        ended.wait().unwrap();
        let own = host().unwrap();
        for (text, is_taken) in [
            (format!("{own}:{pid}"), true),
            (format!("{own}:{}", process::id()), false),
            (format!("elsewhere:{pid}"), false),
            ("garbage".to_owned(), false),
        ] {
            symlink(&text, &lock).unwrap();
            let taken = HgLocks::take(folder.path());
            assert_eq!(taken.is_ok(), is_taken, "{text}: {taken:?}");
            drop(taken);
            assert_eq!(lock.symlink_metadata().is_err(), is_taken, "{text}");
            let _ = fs::remove_file(&lock);
        }
        // A run that was killed while it removed the lock of another one.
        for name in ["wlock", "wlock.break"] {
            symlink(format!("{own}:{pid}"), folder.path().join(name)).unwrap();
        }
        drop(HgLocks::take(folder.path()).unwrap());
        assert_eq!(fs::read_dir(folder.path().join("store")).unwrap().count(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no lock is left");
    }
}
