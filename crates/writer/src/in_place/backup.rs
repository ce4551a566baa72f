//! The folder with what a conversion in place replaced.
//!
//! ```text
//! repackbench-backup-1/
//!   incomplete      until the conversion is finished; the next run continues in this folder
//!   go-back         a shell script that restores the old files
//!   new-packs       Git: the names of the packs that were put in, without extension
//!   pack/  loose/   Git: the old files
//!   store/          Mercurial: the old store
//!   requires        Mercurial: the old file; requires.new is the new one
//!   00changelog.i   Mercurial: a copy of the new changelog
//!   done            once `go-back` has restored everything
//! ```

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use nix::unistd::geteuid;

use super::durable::{create_folder, names_in, rename, sync};
use crate::{Result, WriterError};

/// The start of the name of a backup folder. A number follows.
const PREFIX: &str = "repackbench-backup-";

/// The mark of a conversion that is not finished.
const INCOMPLETE: &str = "incomplete";

/// The end of the name of a file that is being written.
const PART: &str = ".part";

/// The script that goes back.
const WAY_BACK: &str = "go-back";

/// The backup folder of a conversion that is not finished.
#[derive(Debug)]
pub(super) struct Backup {
    folder: PathBuf,
}

impl Backup {
    /// The folder that a killed run left in `parent`.
    pub(super) fn left(parent: &Path) -> Result<Option<Self>> {
        let folders = numbered(parent)?.into_iter().map(|(_, folder)| folder);
        // What is not a folder of this user was not made by a run of theirs.
        let is_own = |folder: &PathBuf| {
            folder.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw())
        };
        let left = folders.rev().find(|folder| is_own(folder) && folder.join(INCOMPLETE).exists());
        Ok(left.map(|folder| Backup { folder }))
    }

    /// Creates a folder in `parent`, with a mark and this script. It is prepared in the folder `scratch`,
    /// so that it never exists without them. The script finds everything from its own place, so that the repository can
    /// be moved.
    pub(super) fn create(parent: &Path, scratch: &Path, script: &str) -> Result<Self> {
        let last = numbered(parent)?.last().map_or(0, |(number, _)| *number);
        let folder = parent.join(format!("{PREFIX}{}", last.saturating_add(1)));
        let prepared = Backup { folder: scratch.join("backup") };
        create_folder(&prepared.folder)?;
        prepared.write(INCOMPLETE, b"", 0o644)?;
        prepared.write(WAY_BACK, script.as_bytes(), 0o755)?;
        sync(&prepared.folder)?;
        rename(&prepared.folder, &folder)?;
        sync(parent)?;
        Ok(Backup { folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the file `name` and syncs it. It appears with all of its content: the next run restores what it finds here.
    pub(super) fn write(&self, name: &str, content: &[u8], mode: u32) -> Result<()> {
        let path = self.folder.join(format!("{name}{PART}"));
        let write = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&path)?;
            file.write_all(content)?;
            file.sync_all()
        };
        write().map_err(|e: io::Error| WriterError::io("write", &path, e))?;
        rename(&path, &self.folder.join(name))
    }

    /// Appends a line to the file `name` and syncs it.
    pub(super) fn append_line(&self, name: &str, line: &str) -> Result<()> {
        let path = self.folder.join(name);
        let write = || {
            let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
            writeln!(file, "{line}")?;
            file.sync_all()
        };
        write().map_err(|e: io::Error| WriterError::io("write", &path, e))?;
        sync(&self.folder)
    }

    /// The lines of the file `name`; none if there is no such file.
    pub(super) fn lines(&self, name: &str) -> Result<Vec<String>> {
        let path = self.folder.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(WriterError::io("read", path, error)),
        }
    }

    /// Moves the folder into the work folder `scratch`, which is removed at the end.
    pub(super) fn discard(self, scratch: &Path) -> Result<()> {
        rename(&self.folder, &scratch.join("discarded"))
    }

    /// The conversion is finished: removes the mark. Returns the folder and the script that goes back.
    pub(super) fn finish(self) -> Result<(PathBuf, PathBuf)> {
        let mark = self.folder.join(INCOMPLETE);
        fs::remove_file(&mark).map_err(|e| WriterError::io("remove", &mark, e))?;
        sync(&self.folder)?;
        let script = self.folder.join(WAY_BACK);
        Ok((self.folder, script))
    }
}

/// The backup folders in `parent`, by number.
fn numbered(parent: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let number = |name: &Path| name.to_str()?.strip_prefix(PREFIX)?.parse().ok();
    let names = names_in(parent)?;
    let mut folders: Vec<(u32, PathBuf)> =
        names.iter().filter_map(|name| Some((number(name)?, parent.join(name)))).collect();
    folders.sort();
    Ok(folders)
}
