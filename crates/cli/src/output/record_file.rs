//! Files of records: writing them during a session, and reading them to resume or report.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;
use repackbench_records::{
    Record, RecordError, ResultLine, SCHEMA_VERSION, SizeLine, SizeRecord, read_numbered_results, write_record,
    write_result,
};
use repackbench_timing::bench::Recorder;

use crate::{
    failure::{FAILED, Failure, print_note},
    options::{RecordArguments, RecordWriter, locked},
    output::command_line,
};

/// The first bytes of a file that gzip compressed (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The file that records are written to.
pub(crate) enum RecordFile {
    /// Records are not written.
    None,
    /// A file that is new to this command, or stdout.
    New(RecordWriter),
    /// The file of a resumed session. It is not touched before the session is known to be resumable.
    Resumed {
        path: PathBuf,
        /// Open once it holds the earlier records that are kept.
        file: Option<BufWriter<File>>,
    },
}

impl RecordFile {
    /// Opens the file that `arguments` name.
    pub(crate) fn open(arguments: &RecordArguments) -> Result<Self, Failure> {
        Ok(arguments.open()?.map_or(RecordFile::None, RecordFile::New))
    }

    /// The open file, if there is one.
    fn writer(&mut self) -> Option<&mut dyn Write> {
        match self {
            RecordFile::New(file) => Some(file),
            RecordFile::Resumed { file: Some(file), .. } => Some(file),
            RecordFile::None | RecordFile::Resumed { file: None, .. } => None,
        }
    }

    /// Writes a line other than a run, after all runs.
    pub(crate) fn append(&mut self, line: &ResultLine) -> io::Result<()> {
        let Some(file) = self.writer() else { return Ok(()) };
        write_result(&mut *file, line).map_err(io_error)?;
        file.flush()
    }
}

impl Recorder for RecordFile {
    fn keep(&mut self, earlier: &[Record]) -> io::Result<()> {
        let RecordFile::Resumed { path, file } = self else { return Ok(()) };
        let failed = |failure: Failure| io::Error::other(failure.to_string());
        // A symbolic link stays, and what it leads to is replaced.
        let path = &fs::canonicalize(&*path)?;
        let _earlier = locked(path, OpenOptions::new().read(true)).map_err(failed)?;
        // A new file first, then renamed: the records must not get lost on a full disk.
        let mut beside = path.clone().into_os_string();
        beside.push(".resumed");
        let beside = PathBuf::from(beside);
        let made = OpenOptions::new().write(true).create_new(true).open(&beside);
        let named = |error| io::Error::other(format!("{}: {error}", beside.display()));
        let made = made.map_err(named)?;
        // For the rest of the session.
        let _ = made.try_lock();
        let mode = fs::metadata(path)?.permissions();
        let mut kept = BufWriter::new(made);
        let written = copy_other_lines(path, &mut kept)
            .and_then(|()| earlier.iter().try_for_each(|record| write_record(&mut kept, record).map_err(io_error)))
            .and_then(|()| kept.flush())
            .and_then(|()| kept.get_ref().set_permissions(mode))
            .and_then(|()| kept.get_ref().sync_data());
        if let Err(error) = written.and_then(|()| fs::rename(&beside, path)) {
            let _ = fs::remove_file(&beside);
            return Err(error);
        }
        *file = Some(kept);
        Ok(())
    }

    /// Flushes each record before the next run starts, so that it survives a crash.
    fn record(&mut self, record: &Record) -> io::Result<()> {
        let Some(file) = self.writer() else { return Ok(()) };
        write_record(&mut *file, record).map_err(io_error)?;
        file.flush()
    }
}

/// Copies the lines of the file at `path` that are not of its last session, as they are.
fn copy_other_lines(path: &Path, to: &mut impl Write) -> io::Result<()> {
    let own = last_session(path).map_err(|failure| io::Error::other(failure.to_string()))?.own_lines;
    let mut file = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if file.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if !own.contains(&number) {
            to.write_all(&line)?;
            if line.last() != Some(&b'\n') {
                to.write_all(b"\n")?;
            }
        }
    }
    Ok(())
}

fn io_error(error: RecordError) -> io::Error {
    match error {
        RecordError::Write(error) => error,
        other => io::Error::other(other),
    }
}

/// The line about the bytes of a repository.
pub(crate) fn size_line(size: SizeRecord) -> SizeLine {
    let program_version = env!("CARGO_PKG_VERSION").to_owned();
    SizeLine { schema: SCHEMA_VERSION, program_version, command: command_line(), size }
}

/// The runs in a file of records. There has to be one.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>, Failure> {
    let runs = read_lines(path)?.into_iter().filter_map(|line| match line {
        ResultLine::Run(record) => Some(*record),
        _ => None,
    });
    let records: Vec<Record> = runs.collect();
    if records.is_empty() { Err(no_session(path)) } else { Ok(records) }
}

/// The last session in a file of records, which is the one to resume.
pub(crate) struct LastSession {
    pub(crate) records: Vec<Record>,
    /// Whether the file holds other sessions or results, too.
    pub(crate) has_others: bool,
    /// Its lines in the file, counted from 1, with what was concluded from it, and an incomplete last line.
    own_lines: BTreeSet<u64>,
    incomplete: Option<u64>,
}

impl LastSession {
    /// Prints a note if the last line is incomplete.
    pub(crate) fn note_incomplete(&self, path: &Path) {
        if let Some(line) = self.incomplete {
            note_incomplete(path, line);
        }
    }
}

/// Reads the last session in a file of records. There has to be one.
pub(crate) fn last_session(path: &Path) -> Result<LastSession, Failure> {
    let NumberedLines { lines, incomplete } = numbered_lines(path, open(path)?)?;
    let of = |line: &ResultLine| match line {
        ResultLine::Run(record) => Some(record.place.session_id()),
        _ => None,
    };
    let last = lines.iter().rev().find_map(|(_, line)| of(line)).ok_or_else(|| no_session(path))?;
    let mut own_lines: BTreeSet<u64> = incomplete.into_iter().collect();
    let (mut records, mut has_others) = (Vec::new(), false);
    for (number, line) in lines {
        match line {
            ResultLine::Run(record) if record.place.session_id() == last => records.push(*record),
            // The resumed session writes its own.
            ResultLine::Explanation(_) if !records.is_empty() => {}
            _ => {
                has_others = true;
                continue;
            }
        }
        own_lines.insert(number);
    }
    Ok(LastSession { records, has_others, own_lines, incomplete })
}

fn no_session(path: &Path) -> Failure {
    failed(path, &"expected records of a session, found none")
        .with_hint("bench writes them; report shows predictions and other results")
}

/// Opens a file of records, which may be compressed by gzip.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let file = File::open(path).map_err(|error| failed(path, &format!("cannot open: {error}")))?;
    let mut file = BufReader::new(file);
    let start = file.fill_buf().map_err(|error| failed(path, &format!("cannot read: {error}")))?;
    Ok(match start.starts_with(&GZIP) {
        true => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        false => Box::new(file),
    })
}

/// The lines of a file of results, or of stdin for `-`. An incomplete last line is left out.
pub(crate) fn read_lines(path: &Path) -> Result<Vec<ResultLine>, Failure> {
    if path == Path::new("-") {
        return lines(path, io::stdin().lock());
    }
    lines(path, open(path)?)
}

fn lines(path: &Path, input: impl BufRead) -> Result<Vec<ResultLine>, Failure> {
    let NumberedLines { lines, incomplete } = numbered_lines(path, input)?;
    if let Some(line) = incomplete {
        note_incomplete(path, line);
    }
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

/// The complete lines of a file of results, counted from 1, and the number of an incomplete last one.
struct NumberedLines {
    lines: Vec<(u64, ResultLine)>,
    incomplete: Option<u64>,
}

fn numbered_lines(path: &Path, input: impl BufRead) -> Result<NumberedLines, Failure> {
    let mut input = LastByte { input, last: None };
    let mut lines = Vec::new();
    let mut unfinished = None;
    for line in read_numbered_results(&mut input) {
        match line {
            Ok(line) => lines.push(line),
            Err(RecordError::Parse { line, source }) if source.is_eof() => unfinished = Some((line, source)),
            Err(error) => return Err(failed(path, &error)),
        }
    }
    match unfinished {
        Some((line, source)) if input.last == Some(b'\n') => Err(failed(path, &RecordError::Parse { line, source })),
        unfinished => Ok(NumberedLines { lines, incomplete: unfinished.map(|(line, _)| line) }),
    }
}

fn note_incomplete(path: &Path, line: u64) {
    print_note(format!("{}: line {line} is incomplete, and is left out", path.display()));
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(FAILED, format!("{}: {error}", path.display()))
}

/// Remembers the last byte that was read, which shows whether the last line is complete.
struct LastByte<R> {
    input: R,
    last: Option<u8>,
}

impl<R: BufRead> io::Read for LastByte<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.last = read.checked_sub(1).and_then(|last| buffer.get(last)).copied().or(self.last);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for LastByte<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        let last = amount.checked_sub(1).and_then(|last| self.input.fill_buf().ok()?.get(last).copied());
        self.last = last.or(self.last);
        self.input.consume(amount);
    }
}
