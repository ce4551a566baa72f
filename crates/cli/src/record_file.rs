//! The file that records go to, and come from when a session goes on.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use repackbench_records::{Record, RecordError, ResultLine, read_records, write_record, write_result};
use repackbench_timing::bench::Recorder;

use crate::failure::{FAILED, Failure, print_note};

/// Where records go.
pub(crate) enum RecordFile {
    /// Nowhere.
    None,
    /// To a new file.
    New(BufWriter<File>),
    /// To the file of a session that goes on. Nothing is done to it before it is known that the session can.
    Resumed {
        path: PathBuf,
        /// Open once the earlier records that are kept are in it.
        file: Option<BufWriter<File>>,
    },
}

impl RecordFile {
    /// To a new file at `json`, or to the one of the session that `resume` names.
    pub(crate) fn of(json: Option<&Path>, resume: Option<&Path>) -> Result<Self, Failure> {
        match (json, resume) {
            (Some(path), _) => RecordFile::create(path),
            (None, Some(path)) => Ok(RecordFile::Resumed { path: path.to_owned(), file: None }),
            (None, None) => Ok(RecordFile::None),
        }
    }

    /// A new file at `path`. It is made first: an hour of measuring should not end in a misspelt folder.
    fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path)
            .map_err(|error| Failure::new(FAILED, format!("{}: cannot create: {error}", path.display())))?;
        Ok(RecordFile::New(BufWriter::new(file)))
    }
}

impl RecordFile {
    /// Writes a line that is no run, after those that are.
    pub(crate) fn append(&mut self, line: &ResultLine) -> io::Result<()> {
        match self {
            RecordFile::New(file) | RecordFile::Resumed { file: Some(file), .. } => {
                write_result(&mut *file, line).map_err(io_error).and_then(|()| file.flush())
            }
            RecordFile::None | RecordFile::Resumed { file: None, .. } => Ok(()),
        }
    }
}

impl Recorder for RecordFile {
    fn keep(&mut self, earlier: &[Record]) -> io::Result<()> {
        let RecordFile::Resumed { path, file } = self else { return Ok(()) };
        // Beside it, then in its place: what was measured must not get lost on a full disk.
        let mut beside = path.clone().into_os_string();
        beside.push(".resumed");
        let beside = PathBuf::from(beside);
        let made = OpenOptions::new().write(true).create_new(true).open(&beside);
        let named = |error| io::Error::other(format!("{}: {error}", beside.display()));
        let mut kept = BufWriter::new(made.map_err(named)?);
        let written = earlier.iter().try_for_each(|record| write(&mut kept, record)).and_then(|()| kept.flush());
        if let Err(error) = written.and_then(|()| fs::rename(&beside, &*path)) {
            let _ = fs::remove_file(&beside);
            return Err(error);
        }
        *file = Some(kept);
        Ok(())
    }

    /// Each record is on its way to disk before the next run starts: what was measured outlives a crash.
    fn record(&mut self, record: &Record) -> io::Result<()> {
        match self {
            RecordFile::New(file) | RecordFile::Resumed { file: Some(file), .. } => {
                write(&mut *file, record).and_then(|()| file.flush())
            }
            RecordFile::None | RecordFile::Resumed { file: None, .. } => Ok(()),
        }
    }
}

fn write(out: &mut impl Write, record: &Record) -> io::Result<()> {
    write_record(out, record).map_err(io_error)
}

fn io_error(error: RecordError) -> io::Error {
    match error {
        RecordError::Write(error) => error,
        other => io::Error::other(other),
    }
}

/// The records of a session that is to go on. A last line that was not written to its end is left out.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(FAILED, format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| failed(&format!("cannot open: {error}")))?;
    let mut records = Vec::new();
    for record in read_records(BufReader::new(file)) {
        match record {
            Ok(record) => records.push(record),
            Err(RecordError::Parse { line, source }) if source.is_eof() && !ends_with_newline(path) => {
                print_note(format!("{}: line {line} was not written to its end, and is left out", path.display()));
            }
            Err(error) => return Err(failed(&error)),
        }
    }
    if records.is_empty() { Err(failed(&"expected records of a session, found none")) } else { Ok(records) }
}

fn ends_with_newline(path: &Path) -> bool {
    use std::io::{Read, Seek, SeekFrom};
    let mut last = [0];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)
    });
    read.is_ok() && last == *b"\n"
}
