//! The file of records that a command writes.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use repackbench_writer::leftovers::Leftover;

use super::{Destination, destination};
use crate::{
    failure::{FAILED, Failure, TRY_AGAIN, USAGE},
    output::{PipedStdout, cannot_create},
};

/// The file of records, and what to do if it exists.
#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// Write records to FILE as lines of JSON; - is stdout.
    ///
    /// `report` and `diff` read the file. With -, the tables are left out. A FILE that exists is refused, unless
    /// --append or --force says what to do with it.
    #[arg(long, value_name = "FILE", value_parser = destination(), group = "record_file", help_heading = super::OUTPUT)]
    pub(crate) json: Option<Destination>,

    /// Add to the FILE of --json if it exists.
    #[arg(long, requires = "record_file", conflicts_with = "force", help_heading = super::OUTPUT)]
    pub(crate) append: bool,

    /// Replace the FILE of --json if it exists.
    #[arg(long, requires = "record_file", help_heading = super::OUTPUT)]
    pub(crate) force: bool,
}

/// A file or stdout that records are written to.
pub(crate) type RecordWriter = Box<dyn Write + Send>;

impl RecordArguments {
    /// Rejects a file with content that neither --append nor --force mentions. Commands call this before any work.
    /// `can_resume` says whether the command has --resume.
    pub(crate) fn check(&self, can_resume: bool) -> Result<(), Failure> {
        match self.json.as_ref().and_then(Destination::file) {
            Some(path) => self.check_file(path, can_resume),
            None => Ok(()),
        }
    }

    /// As [`RecordArguments::check`], for the file of records at `path`.
    pub(crate) fn check_file(&self, path: &Path, can_resume: bool) -> Result<(), Failure> {
        if self.append || self.force {
            return Ok(());
        }
        let resume = match can_resume {
            true => format!("--resume {} continues its session, ", path.display()),
            false => String::new(),
        };
        refuse_existing(path, &format!("{resume}--append adds records to it, --force replaces it"))
    }

    /// Whether records go to stdout, so that nothing else may.
    pub(crate) fn take_stdout(&self) -> bool {
        self.json == Some(Destination::Stdout)
    }

    /// Opens the file of --json, if there is one.
    pub(crate) fn open(&self) -> Result<Option<RecordWriter>, Failure> {
        match &self.json {
            None => Ok(None),
            Some(Destination::Stdout) => Ok(Some(Box::new(io::stdout()))),
            Some(Destination::File(path)) => self.open_file(path).map(Some),
        }
    }

    /// Opens the file at `path` as --append and --force say.
    pub(crate) fn open_file(&self, path: &Path) -> Result<RecordWriter, Failure> {
        self.check_file(path, false)?;
        open_new(path, |path| match self.append {
            true => Ok(Box::new(open_at_end(path)?)),
            false => replacing(path, self.force),
        })
    }
}

/// Creates the file of --json, or takes stdout. A file that exists is replaced if `force` says so.
pub(crate) fn create_json(destination: &Destination, force: bool) -> Result<RecordWriter, Failure> {
    match destination {
        Destination::Stdout => Ok(Box::new(PipedStdout)),
        Destination::File(path) => {
            if !force {
                refuse_existing(path, "--force replaces it")?;
            }
            open_new(path, |path| replacing(path, force))
        }
    }
}

/// Opens the file at `path` by `open`. If that creates it, it is removed at the end unless it was written and flushed:
/// a command that fails or is interrupted before its first record leaves no file.
fn open_new(path: &Path, open: impl FnOnce(&Path) -> Result<RecordWriter, Failure>) -> Result<RecordWriter, Failure> {
    let is_new = path.symlink_metadata().is_err();
    let file = open(path)?;
    Ok(match is_new {
        true => Box::new(CreatedFile { file, empty: RemovedIfEmpty::new(path) }),
        false => file,
    })
}

/// Opens the file at `path`, whose earlier content stays until there is something to replace it, or is refused without
/// `force`.
fn replacing(path: &Path, force: bool) -> Result<RecordWriter, Failure> {
    let file = locked(path, OpenOptions::new().append(true).create(true))?;
    // Another command may have written it since it was looked at.
    if !force {
        refuse_existing(path, "--force replaces it")?;
    }
    Ok(Box::new(BufWriter::new(ReplacedFile { file, is_begun: false })))
}

/// Opens the file at `path`, and locks it for as long as it is open: two commands would write over each other.
pub(crate) fn locked(path: &Path, options: &OpenOptions) -> Result<File, Failure> {
    let file = options.open(path).map_err(|error| cannot_create(path, &error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(Failure::new(TRY_AGAIN, format!("{}: another command writes this file", path.display())))
        }
        // Some file systems, and devices, have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// A file whose earlier content goes with the first write, or flush: an empty list is a result.
struct ReplacedFile {
    file: File,
    is_begun: bool,
}

impl ReplacedFile {
    fn begin(&mut self) -> io::Result<()> {
        if !self.is_begun && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.is_begun = true;
        Ok(())
    }
}

impl Write for ReplacedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.file.flush()
    }
}

/// A file that this command created.
struct CreatedFile {
    // Dropped first, which writes what is buffered.
    file: RecordWriter,
    empty: RemovedIfEmpty,
}

impl Write for CreatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.empty.is_kept = true;
        self.file.flush()
    }
}

/// Removes a file if it is empty when this value is dropped, or when the process has to end before.
struct RemovedIfEmpty {
    path: PathBuf,
    /// Whether it stays: an empty list is a result.
    is_kept: bool,
    _leftover: Leftover,
}

impl RemovedIfEmpty {
    fn new(path: &Path) -> Self {
        RemovedIfEmpty { path: path.to_owned(), is_kept: false, _leftover: Leftover::removed_by(path, remove_if_empty) }
    }
}

impl Drop for RemovedIfEmpty {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = remove_if_empty(&self.path);
        }
    }
}

fn remove_if_empty(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_file() && found.len() == 0 => fs::remove_file(path),
        _ => Ok(()),
    }
}

/// Rejects a file with content at `path`; `hint` says how to go on.
pub(crate) fn refuse_existing(path: &Path, hint: &str) -> Result<(), Failure> {
    match has_content(path) {
        true => Err(Failure::new(USAGE, format!("{}: the file exists", path.display())).with_hint(hint)),
        false => Ok(()),
    }
}

/// Whether there is a regular file with content at `path`. Devices and pipes keep nothing that could be lost.
pub(super) fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
}

/// Opens the file at `path` for appending. Its last line has to be complete, or the next record would be joined to it.
fn open_at_end(path: &Path) -> Result<File, Failure> {
    let cannot = |error| cannot_create(path, &error);
    let mut file = locked(path, OpenOptions::new().read(true).append(true).create(true))?;
    if has_content(path) {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(cannot)?;
        if last != *b"\n" {
            let why = format!("{}: the last line is incomplete, so --append cannot add to the file", path.display());
            return Err(Failure::new(FAILED, why));
        }
    }
    Ok(file)
}
