//! Changes the machine for a stress run and undoes it afterwards: load, a slow disk, users.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::files::{failed, make_folder};
use crate::git;
use crate::process::{self, Failure, Outcome};

/// Processes that keep all processors busy until this is dropped.
pub(super) struct BusyLoops(Vec<Child>);

/// The shell code of a busy loop, which ends when the process that started it is gone.
const LOOP: &str = "while kill -0 \"$0\" 2> /dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; done";

impl BusyLoops {
    /// Starts two loops for each core.
    pub(super) fn start() -> Outcome<Self> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut loops = BusyLoops(Vec::new());
        for _ in 0..2 * cores {
            let mut command = Command::new("sh");
            command.args(["-c", LOOP]).arg(std::process::id().to_string()).stdin(Stdio::null());
            loops.0.push(command.spawn().map_err(|error| Failure(format!("sh: {error}")))?);
        }
        Ok(loops)
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for busy in &mut self.0 {
            // It does not matter if the loop has already ended.
            let _ = busy.kill().and_then(|()| busy.wait());
        }
    }
}

/// A file system that syncs every write, mounted until this is dropped.
pub(super) struct SlowDisk {
    image: PathBuf,
    folder: PathBuf,
}

impl SlowDisk {
    /// Makes the file system in the file `image` and mounts it at `folder`.
    ///
    /// With the image in memory, making a file takes ten to twenty times as long as on a disk that does not sync every
    /// write. With the image on a disk it would take five hundred times as long, and a run a whole day.
    pub(super) fn mount(image: &Path, folder: &Path) -> Outcome<Self> {
        make_folder(folder)?;
        let disk = SlowDisk { image: image.to_owned(), folder: folder.to_owned() };
        process::run(Command::new("truncate").arg("--size=8G").arg(&disk.image))?;
        process::run(Command::new("mkfs.ext4").arg("-q").arg(&disk.image))?;
        process::run(Command::new("mount").args(["-o", "loop,sync,dirsync"]).arg(&disk.image).arg(folder))?;
        Ok(disk)
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        // Lazily, because a process left by a failed test may still use it.
        let unmounted = process::run(Command::new("umount").arg("--lazy").arg(&self.folder));
        if let Err(Failure(message)) =
            unmounted.and_then(|()| fs::remove_file(&self.image).map_err(|error| failed(&self.image, &error)))
        {
            eprintln!("note: {message}");
        }
    }
}

/// The id of the user and the group that own nothing: `nobody` on every system.
const NOBODY: &str = "65534";

/// The words to put before a command so that an ordinary user runs it.
pub(super) fn as_ordinary_user() -> Vec<OsString> {
    let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    let words = ["setpriv", &ids[0], &ids[1], "--clear-groups", "--inh-caps=-all"];
    words.map(OsString::from).into()
}

/// Makes the ordinary user the owner of `folder` and its contents.
pub(super) fn give_away(folder: &Path) -> Outcome<()> {
    process::run(Command::new("chown").args(["--recursive", &format!("{NOBODY}:{NOBODY}")]).arg(folder))
}

/// The PATH without the folders below HOME, which only root may enter.
pub(super) fn public_path() -> OsString {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_public = |folder: &PathBuf| home.as_ref().is_none_or(|home| !folder.starts_with(home));
    std::env::join_paths(std::env::split_paths(&path).filter(is_public)).unwrap_or(path)
}

/// `path` with the folder of its oldest git first, of those that the tests can use.
pub(super) fn with_oldest_git_first(path: &OsString) -> OsString {
    let versions = std::env::split_paths(path).filter_map(|folder| Some((git::version(folder.join("git"))?, folder)));
    let oldest = versions.filter(|(version, _)| *version >= git::OLDEST).min().map(|(_, folder)| folder);
    std::env::join_paths(oldest.into_iter().chain(std::env::split_paths(path))).unwrap_or_else(|_| path.clone())
}
