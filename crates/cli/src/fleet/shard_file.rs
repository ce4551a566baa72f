//! The file of a shard: a line for each start of the command, and for each repository a line when the work on it
//! begins, then its records and the line of how the work ended.
//!
//! The records and the end of a repository are written at once. Whatever follows the last line of a start, a beginning
//! or an end belongs to a repository that was not finished: the command was killed, or the disk is full. Resuming
//! removes it. A beginning without an end counts as a try, because the repository may be what killed the command: a
//! container without memory is killed as a whole.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom, Write},
    path::Path,
};

use repackbench_records::{
    FleetEnd, FleetRun, FleetTry, FleetTryEvent, MAX_LINE_BYTES, ResultLine, SCHEMA_VERSION, read_results, write_result,
};

use crate::{
    failure::{FAILED, Failure, USAGE},
    options::{locked, refuse_existing},
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
    /// The bytes of all whole lines.
    len: u64,
}

/// What a shard holds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Finished {
    /// The last end of each repository.
    pub(crate) ends: HashMap<String, FleetEnd>,
    /// The tries of each.
    tries: HashMap<String, Tries>,
    /// The bytes up to the end of the last line of a start, a try or an end.
    kept: u64,
    /// The bytes after it.
    pub(crate) dropped: u64,
}

/// How often a repository was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tries {
    count: u32,
    /// Those of them without an end: the fleet was killed meanwhile.
    killed: u32,
    /// Whether the last one is among these.
    is_open: bool,
}

impl Tries {
    fn begin(&mut self) {
        *self = Tries { count: self.count + 1, killed: self.killed + 1, is_open: true };
    }

    /// An end. Older versions wrote no beginnings.
    fn end(&mut self) {
        if self.is_open {
            *self = Tries { killed: self.killed - 1, is_open: false, ..*self };
        } else {
            self.count += 1;
        }
    }

    /// The last try does not count.
    fn stop(&mut self) {
        if self.is_open {
            *self = Tries { count: self.count - 1, killed: self.killed - 1, is_open: false };
        }
    }
}

impl Finished {
    /// Adds the end of a try.
    pub(crate) fn add(&mut self, name: String, end: FleetEnd) {
        self.tries.entry(name.clone()).or_default().end();
        self.ends.insert(name, end);
    }

    fn add_try(&mut self, name: String, event: FleetTryEvent) {
        let tries = self.tries.entry(name).or_default();
        match event {
            FleetTryEvent::Begun => tries.begin(),
            FleetTryEvent::Stopped => tries.stop(),
        }
    }

    /// Whether the repository of this name is not tried again.
    pub(crate) fn is_final(&self, name: &str) -> bool {
        let is_final = self.ends.get(name).is_some_and(FleetEnd::is_final);
        is_final || self.tries.get(name).is_some_and(|tries| tries.count >= MOST_TRIES)
    }

    /// Whether the fleet was killed in a try of this repository, which may have been the reason.
    pub(crate) fn is_suspect(&self, name: &str) -> bool {
        self.tries.get(name).is_some_and(|tries| tries.killed > 0)
    }

    /// The end of a repository that is not tried again, and whose last try has none.
    pub(crate) fn given_up(&self, name: &str) -> Option<FleetEnd> {
        let Tries { count, killed, .. } =
            self.tries.get(name).filter(|tries| tries.is_open && tries.count >= MOST_TRIES)?;
        let message = format!(
            "given up: repackbench itself was killed in {killed} of {count} tries; if memory was short, --memory limits \
             that of each process"
        );
        Some(FleetEnd::Failed { message })
    }
}

impl ShardFile {
    /// Opens the file at `path` for `run`, and writes its line.
    pub(crate) fn open(path: &Path, existing: Existing, run: &FleetRun) -> Result<(Self, Finished), Failure> {
        if existing == Existing::Refuse {
            refuse_existing(path, "--resume continues the shard, --force replaces it")?;
        }
        let cannot = |error: io::Error| cannot_create(path, &error);
        let file = locked(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))?;
        let finished = match existing {
            Existing::Resume => read(&file, run).map_err(|failure| failure.in_file(path))?,
            Existing::Refuse | Existing::Replace => Finished::default(),
        };
        let mut shard = ShardFile { file, len: finished.kept };
        shard.cut().map_err(cannot)?;
        shard.append(&[ResultLine::FleetRun(Box::new(run.clone()))]).map_err(|error| cannot_write(path, &error))?;
        Ok((shard, finished))
    }

    /// Writes `lines` at once, and waits until they are on the disk. If that fails, none of them stays in the file.
    pub(crate) fn append(&mut self, lines: &[ResultLine]) -> io::Result<()> {
        let mut bytes = Vec::new();
        lines.iter().try_for_each(|line| write_result(&mut bytes, line)).map_err(io::Error::other)?;
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.len += bytes.len() as u64,
            // The next one to resume the shard removes what cannot be removed now.
            Err(_) => drop(self.cut()),
        }
        written
    }

    /// Writes what happened to a try of the repository of this name.
    pub(crate) fn append_try(&mut self, name: &str, event: FleetTryEvent) -> io::Result<()> {
        let (program_version, name) = (env!("CARGO_PKG_VERSION").to_owned(), name.to_owned());
        self.append(&[ResultLine::FleetTry(Box::new(FleetTry {
            schema: SCHEMA_VERSION,
            program_version,
            name,
            event,
        }))])
    }

    /// Removes what follows the whole lines.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.len)?;
        self.file.seek(SeekFrom::Start(self.len)).map(drop)
    }
}

/// What each shard begins with.
const START: &[u8] = br#"{"record":"fleet-run""#;

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
    // A damaged line is one that was being written, unless a try or an end follows.
    let mut damaged = None;
    let (mut has_start, mut is_start) = (false, false);
    loop {
        line.clear();
        let len = input.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line).map_err(cannot)? as u64;
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
            Some(Ok(ResultLine::FleetTry(event))) => finished.add_try(event.name, event.event),
            Some(Ok(ResultLine::Fleet(end))) => finished.add(end.name, end.end),
            Some(Ok(_)) => continue,
            Some(Err(_)) | None => {
                damaged.get_or_insert(number);
                is_start = is_start || number == 1 && is_part_of_a_start(&line);
                continue;
            }
        }
        if let Some(number) = damaged {
            return Err(Unreadable::Damaged(format!("line {number} is damaged")));
        }
        finished.kept = place;
    }
    // A single line may be a start that was being written.
    if !has_start && number > u64::from(is_start) {
        return Err(Unreadable::Foreign);
    }
    finished.dropped = place - finished.kept;
    Ok(finished)
}

/// Whether `line` is what a killed fleet has of its first line: not its end, and the beginning of no other file.
fn is_part_of_a_start(line: &[u8]) -> bool {
    let len = line.len().min(START.len());
    !line.ends_with(b"\n") && line.get(..len) == START.get(..len)
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
        shard.append_try("a", FleetTryEvent::Begun).unwrap();
        shard.append(&[end("a", FleetEnd::Done { unchecked: None })]).unwrap();
        shard.append_try("b", FleetTryEvent::Begun).unwrap();
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
            // After the start, beginnings and ends take turns.
            assert_eq!(finished.ends.len(), lines.saturating_sub(1) / 2, "{len}");
            assert_eq!(["a", "b"].iter().any(|name| finished.is_suspect(name)), lines > 0 && lines % 2 == 0, "{len}");
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
    fn files_of_others_are_not_emptied() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("list.txt");
        for foreign in
            ["/srv/git/a.git\n", "/srv/git/a.git", "{\"name\":\"a\"}", "{\"record\":\"fleet-run\"\n", "\0\x7f"]
        {
            fs::write(&path, foreign).unwrap();
            let why = resume(&path, "estimate").unwrap_err();
            assert!(why.contains("no shard of a fleet"), "{foreign:?}: {why}");
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
    }

    /// The shard after these events of the repository `a`.
    fn after(events: &[Result<FleetTryEvent, FleetEnd>]) -> Finished {
        let mut finished = Finished::default();
        for event in events {
            match event {
                Ok(event) => finished.add_try("a".to_owned(), *event),
                Err(end) => finished.add("a".to_owned(), end.clone()),
            }
        }
        finished
    }

    #[test]
    fn tries_without_an_end_count() {
        let (begun, stopped) = (Ok(FleetTryEvent::Begun), Ok(FleetTryEvent::Stopped));
        let again = Err(FleetEnd::TryAgain { message: "killed".to_owned() });
        let twice = after(&[begun.clone(), begun.clone()]);
        assert!(twice.is_suspect("a") && !twice.is_final("a"));
        assert_eq!(twice.given_up("a"), None);
        let mut thrice = after(&[begun.clone(), begun.clone(), begun.clone()]);
        let end = thrice.given_up("a").unwrap();
        let FleetEnd::Failed { message } = &end else { panic!("{end:?}") };
        assert!(message.starts_with("given up: repackbench itself was killed in 3 of 3 tries"), "{message}");
        thrice.add("a".to_owned(), end);
        assert_eq!((thrice.is_final("a"), thrice.given_up("a")), (true, None));
        // What the user stops does not count, and an end counts once.
        let mixed = after(&[begun.clone(), stopped.clone(), begun.clone(), again.clone()]);
        assert!(!mixed.is_final("a") && !mixed.is_suspect("a"));
        let mixed = after(&[begun.clone(), begun.clone(), stopped.clone()]);
        assert!(!mixed.is_final("a") && mixed.is_suspect("a"), "killed before it was stopped");
        let mixed = after(&[begun.clone(), again.clone(), begun.clone(), begun.clone()]);
        assert!(matches!(mixed.given_up("a"), Some(FleetEnd::Failed { message }) if message.contains("2 of 3 tries")));
        let ended = after(&[begun.clone(), begun.clone(), begun, again.clone()]);
        assert_eq!((ended.is_final("a"), ended.given_up("a")), (true, None));
        // Older versions wrote ends alone.
        assert!(!after(&[again.clone(), again.clone(), stopped.clone()]).is_final("a"));
        assert!(after(&[again.clone(), again.clone(), again]).is_final("a"));
        assert_eq!(after(&[stopped]).tries["a"], Tries::default());
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
        assert!(resume(&path, "estimate").unwrap_err().contains("another command writes this file"));
        shard.append(&[end("a", FleetEnd::Done { unchecked: None })]).unwrap();
        drop(shard);
        assert!(resume(&path, "estimate --time 9s").unwrap_err().contains("other options: estimate"));
        let text = fs::read_to_string(&path).unwrap().replace("fleet-run", "fl\u{0}eet-run");
        fs::write(&path, text).unwrap();
        assert!(resume(&path, "estimate").unwrap_err().contains("line 1 is damaged"));
    }
}
