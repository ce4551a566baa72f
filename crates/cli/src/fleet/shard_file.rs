//! The file of a shard: a line for each start of the command, and for each repository its records, then the line of how
//! the work on it ended.
//!
//! The lines of a repository are written at once. Whatever follows the last line of a start or an end belongs to a
//! repository that was not finished: the command was killed, or the disk is full. Resuming removes it.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, TryLockError},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    path::Path,
};

use repackbench_records::{FleetEnd, FleetRun, MAX_LINE_BYTES, ResultLine, read_results, write_result};

use crate::{
    failure::{FAILED, Failure, TRY_AGAIN, USAGE},
    options::refuse_existing,
    output::{cannot_create, cannot_write},
};

/// How often a repository is tried that may succeed in another try. A queue that repeats what ends with 75 has to end.
const MOST_TRIES: u32 = 3;

/// What to do with a file that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Refuse,
    Replace,
    Resume,
}

/// The file of a shard, open and locked.
#[derive(Debug)]
pub(crate) struct ShardFile {
    file: File,
}

/// What a shard holds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Finished {
    /// The last end of each repository.
    pub(crate) ends: HashMap<String, FleetEnd>,
    /// The number of ends of each.
    tries: HashMap<String, u32>,
    /// The bytes up to the end of the last line of a start or an end.
    kept: u64,
    /// The bytes after it.
    pub(crate) dropped: u64,
}

impl Finished {
    /// Adds the end of a try.
    fn add(&mut self, name: String, end: FleetEnd) {
        *self.tries.entry(name.clone()).or_default() += 1;
        self.ends.insert(name, end);
    }

    /// Whether the repository of this name is not tried again.
    pub(crate) fn is_final(&self, name: &str) -> bool {
        let is_final = self.ends.get(name).is_some_and(FleetEnd::is_final);
        is_final || self.tries.get(name).is_some_and(|tries| *tries >= MOST_TRIES)
    }
}

impl ShardFile {
    /// Opens the file at `path` for `run`, and writes its line.
    pub(crate) fn open(path: &Path, existing: Existing, run: &FleetRun) -> Result<(Self, Finished), Failure> {
        if existing == Existing::Refuse {
            refuse_existing(path, "--resume continues the shard, --force replaces it")?;
        }
        let cannot = |error: io::Error| cannot_create(path, &error);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(cannot)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(TRY_AGAIN, format!("{}: another fleet writes this file", path.display())));
            }
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let finished = match existing {
            Existing::Resume => read(&file, run).map_err(|failure| failure.in_file(path))?,
            Existing::Refuse | Existing::Replace => Finished::default(),
        };
        file.set_len(finished.kept).map_err(cannot)?;
        let mut shard = ShardFile { file };
        shard.file.seek(SeekFrom::Start(finished.kept)).map_err(cannot)?;
        shard.append(&[ResultLine::FleetRun(Box::new(run.clone()))]).map_err(|error| cannot_write(path, &error))?;
        Ok((shard, finished))
    }

    /// Writes `lines` at once, and waits until they are on the disk.
    pub(crate) fn append(&mut self, lines: &[ResultLine]) -> io::Result<()> {
        let mut bytes = Vec::new();
        lines.iter().try_for_each(|line| write_result(&mut bytes, line)).map_err(io::Error::other)?;
        self.file.write_all(&bytes)?;
        self.file.sync_data()
    }
}

/// Why a shard cannot be resumed.
#[derive(Debug, PartialEq)]
enum Unreadable {
    Io(String),
    /// A line before the last end is damaged.
    Damaged(String),
    /// It has results that no fleet wrote.
    Foreign,
    /// Its settings are these.
    Other(String),
}

impl Unreadable {
    fn in_file(self, path: &Path) -> Failure {
        let path = path.display();
        match self {
            Unreadable::Io(why) | Unreadable::Damaged(why) => Failure::new(FAILED, format!("{path}: {why}")),
            Unreadable::Foreign => Failure::new(USAGE, format!("{path}: the file is no shard of a fleet")),
            Unreadable::Other(settings) => {
                let why = format!("{path}: the shard was written with other options: {settings}");
                Failure::new(USAGE, why).with_hint("give these options again, or write another file")
            }
        }
    }
}

/// Reads the shard in `file`, which `run` is going to continue.
fn read(file: &File, run: &FleetRun) -> Result<Finished, Unreadable> {
    let cannot = |error: io::Error| Unreadable::Io(format!("cannot read: {error}"));
    let (mut input, mut line) = (BufReader::new(file), Vec::new());
    let (mut finished, mut place, mut number) = (Finished::default(), 0, 0_u64);
    // A damaged line is one that was being written, unless an end follows.
    let mut damaged = None;
    let mut has_start = false;
    loop {
        line.clear();
        let len = input.read_until(b'\n', &mut line).map_err(cannot)? as u64;
        if len == 0 {
            break;
        }
        place += len;
        number += 1;
        let parsed = match line.last() {
            Some(b'\n') if len <= MAX_LINE_BYTES => read_results(&line[..]).next(),
            _ => None,
        };
        match parsed {
            Some(Ok(ResultLine::FleetRun(earlier))) => {
                has_start = true;
                if !is_same_work(&earlier, run) {
                    let shard = format!("{} --shard {}/{}", earlier.settings, earlier.shard, earlier.shards);
                    return Err(Unreadable::Other(shard));
                }
            }
            Some(Ok(ResultLine::Fleet(end))) => finished.add(end.name, end.end),
            Some(Ok(_)) => continue,
            Some(Err(_)) | None => {
                damaged.get_or_insert(number);
                continue;
            }
        }
        if let Some(number) = damaged {
            return Err(Unreadable::Damaged(format!("line {number} is damaged")));
        }
        finished.kept = place;
    }
    // A single line may be a start that was being written.
    if !has_start && number > u64::from(damaged == Some(1)) {
        return Err(Unreadable::Foreign);
    }
    finished.dropped = place - finished.kept;
    Ok(finished)
}

/// Whether both runs do the same to the same part of a fleet.
fn is_same_work(one: &FleetRun, other: &FleetRun) -> bool {
    (&one.settings, one.shard, one.shards) == (&other.settings, other.shard, other.shards)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use repackbench_records::{FleetRecord, Host, SCHEMA_VERSION};

    use super::*;

    fn run(settings: &str) -> FleetRun {
        FleetRun {
            schema: SCHEMA_VERSION,
            program_version: "1".to_owned(),
            command: None,
            host: Host::default(),
            settings: settings.to_owned(),
            shard: 1,
            shards: 1,
            repositories: 2,
        }
    }

    fn end(name: &str, end: FleetEnd) -> ResultLine {
        let program_version = "1".to_owned();
        let (name, path) = (name.to_owned(), name.to_owned());
        ResultLine::Fleet(Box::new(FleetRecord {
            schema: SCHEMA_VERSION,
            program_version,
            name,
            path,
            seconds: 1.0,
            end,
        }))
    }

    fn resume(path: &Path, settings: &str) -> Result<Finished, String> {
        let opened = ShardFile::open(path, Existing::Resume, &run(settings));
        opened.map(|(_, finished)| finished).map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_was_cut_is_removed_and_the_rest_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("shard.jsonl");
        let (mut shard, _) = ShardFile::open(&path, Existing::Refuse, &run("estimate")).unwrap();
        let again = FleetEnd::TryAgain { message: "killed".to_owned() };
        shard.append(&[end("a", FleetEnd::Done { unchecked: None })]).unwrap();
        shard.append(&[end("b", again.clone())]).unwrap();
        drop(shard);
        let whole = fs::read(&path).unwrap();
        let starts: Vec<usize> = whole.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).collect();
        // Cut after every byte.
        for len in 0..=whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            let finished = resume(&path, "estimate").unwrap();
            let lines = starts
                .iter()
                .scan(0, |sum, line| {
                    *sum += line;
                    Some(*sum)
                })
                .filter(|end| *end <= len)
                .count();
            assert_eq!(finished.ends.len(), lines.saturating_sub(1), "{len}");
            assert_eq!(finished.kept + finished.dropped, len as u64);
            // It can be read again, and has the line of another start.
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(text.lines().count(), lines + 1, "{len}");
            assert!(read_results(text.as_bytes()).all(|line| line.is_ok()), "{text}");
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(resume(&path, "estimate").unwrap().ends["b"], again);
    }

    #[test]
    fn other_files_are_not_touched() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("shard.jsonl");
        let foreign = "{\"schema\":3,\"record\":\"other\"}\n{}\n";
        fs::write(&path, foreign).unwrap();
        assert!(resume(&path, "estimate").unwrap_err().contains("no shard"));
        assert!(ShardFile::open(&path, Existing::Refuse, &run("estimate")).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        let (mut shard, _) = ShardFile::open(&path, Existing::Replace, &run("estimate")).unwrap();
        assert!(resume(&path, "estimate").unwrap_err().contains("another fleet"));
        shard.append(&[end("a", FleetEnd::Done { unchecked: None })]).unwrap();
        drop(shard);
        assert!(resume(&path, "estimate --time 9s").unwrap_err().contains("other options: estimate"));
        let text = fs::read_to_string(&path).unwrap().replace("fleet-run", "fl\u{0}eet-run");
        fs::write(&path, text).unwrap();
        assert!(resume(&path, "estimate").unwrap_err().contains("line 1 is damaged"));
    }
}
