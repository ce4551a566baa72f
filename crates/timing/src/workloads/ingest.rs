//! `ingest`: write the objects of the last commits, as a commit or an unbundling does: loose objects in Git, appended
//! chunks in Mercurial.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    ops::Range,
    path::{Path, PathBuf},
};

use gix_hash::ObjectId;
use repackbench_codec::{ChunkKind, Decoders, ZlibReader};
use repackbench_reader::{
    BaseReader, ChunkPlace, History, ObjectKind, Repository,
    git::introduced_by,
    hash::IdHasher,
    hg::{HgRepository, new_chunks::NewChunks, revlog::Revlog},
};
use repackbench_records::{ComparedTime, WorkloadLabel};
use repackbench_writer::PayloadEncoders;

use super::{
    Counts, HistoryRange, Observer, VariantPlace, Workload, WorkloadError,
    codec_only::CodecPart,
    delta_bases::{BaseCollector, Collected, HeldBase, HeldContents, MOST_CONTENT},
    destination::Destination,
    diff::label,
    encode::EncodersByVariant,
    files_error,
};

/// The default number of commits.
pub(super) const DEFAULT_COMMITS: u64 = 100;

/// The approximate limit of payload bytes in memory; the newest commits come first.
const BUDGET: usize = 256 << 20;

/// A payload that is written.
#[derive(Debug, Clone, Copy)]
struct Item {
    kind: ChunkKind,
    id: ObjectId,
    /// The number of its revlog, in Mercurial.
    revlog: usize,
    len: usize,
    base: Option<HeldBase>,
}

/// New payloads in memory.
#[derive(Debug, Default)]
struct NewPayloads {
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// The bases of deltas, if some variant uses them.
    contents: HeldContents,
    left_out: u64,
    is_git: bool,
}

impl NewPayloads {
    fn collect(place: &VariantPlace, range: &HistoryRange, with_bases: bool) -> Result<Self, WorkloadError> {
        let repository = Repository::open(&place.payloads)?;
        let mut history = repository.history(Decoders::from(ZlibReader::Libdeflate))?;
        let mut payloads = NewPayloads { is_git: matches!(repository, Repository::Git(_)), ..NewPayloads::default() };
        match &repository {
            Repository::Git(_) => {
                let commits = last_commits(history.as_mut(), range)?;
                payloads.collect_objects(history.as_mut(), &commits)?;
            }
            Repository::Hg(hg) => {
                let changesets = last_changesets(hg, history.as_mut(), range)?;
                let reader = BaseReader::new(&repository, Decoders::from(ZlibReader::Libdeflate))?;
                let mut bases = with_bases.then(|| BaseCollector::new(reader, MOST_CONTENT));
                payloads.collect_chunks(hg, &changesets, bases.as_mut())?;
                payloads.contents = bases.map(BaseCollector::finish).unwrap_or_default();
            }
        }
        Ok(payloads)
    }

    fn collect_chunks(
        &mut self,
        hg: &HgRepository,
        changesets: &Range<usize>,
        mut bases: Option<&mut BaseCollector>,
    ) -> Result<(), WorkloadError> {
        let mut chunks = NewChunks::new(hg, Decoders::from(ZlibReader::Libdeflate))?;
        for (number, files) in hg.revlogs().iter().enumerate() {
            let revlog = Revlog::open(files)?;
            chunks.for_each(&revlog, number, changesets, &mut |chunk| {
                let kind = ChunkKind { object: files.kind, is_delta: chunk.base.is_some() };
                let base = match &mut bases {
                    Some(bases) if kind.is_delta && self.has_room(chunk.payload.len()) => {
                        let place = ChunkPlace::of_revision(&revlog, chunk.revision);
                        bases.add(&files.index, place, chunk.payload)?
                    }
                    _ => Collected::Nothing,
                };
                let node = revlog.entry(chunk.revision)?.node;
                match base {
                    Collected::Nothing => self.push(kind, node, number, None, &[chunk.payload]),
                    Collected::Held(base) => self.push(kind, node, number, Some(base), &[chunk.payload]),
                    Collected::TooMuch => self.left_out += 1,
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn collect_objects(&mut self, history: &mut dyn History, commits: &[ObjectId]) -> Result<(), WorkloadError> {
        let Some(objects) = history.git_objects() else { return Ok(()) };
        let mut store = objects.lock();
        let mut wanted: Vec<(ObjectKind, ObjectId)> = Vec::new();
        introduced_by(&mut store, commits, &mut |kind, id| wanted.push((kind, id.to_owned())))?;
        let mut content = Vec::new();
        for (object, id) in wanted {
            let Some(place) = store.place(&id)? else { continue };
            store.read_place(&place, &mut content)?;
            let header = format!("{object} {}\0", content.len());
            self.push(ChunkKind { object, is_delta: false }, id, 0, None, &[header.as_bytes(), &content]);
        }
        Ok(())
    }

    fn has_room(&self, len: usize) -> bool {
        self.bytes.len().saturating_add(len) <= BUDGET
    }

    fn push(&mut self, kind: ChunkKind, id: ObjectId, revlog: usize, base: Option<HeldBase>, parts: &[&[u8]]) {
        let len = parts.iter().map(|part| part.len()).sum();
        if !self.has_room(len) {
            self.left_out += 1;
            return;
        }
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.items.push(Item { kind, id, revlog, len, base });
    }

    fn iter(&self) -> impl Iterator<Item = (&Item, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.items.iter().map(move |item| {
            let (payload, after) = rest.split_at_checked(item.len).unwrap_or_default();
            rest = after;
            (item, payload)
        })
    }
}

/// The commits that a log of `range` lists, by default [`DEFAULT_COMMITS`] of them.
pub(super) fn last_commits(history: &mut dyn History, range: &HistoryRange) -> Result<Vec<ObjectId>, WorkloadError> {
    let tip = history.resolve(&range.revision)?;
    history.start_log(tip)?;
    let mut commits = Vec::new();
    while (commits.len() as u64) < range.commits.unwrap_or(DEFAULT_COMMITS)
        && let Some(revision) = history.next_revision()?
    {
        commits.push(revision.id);
    }
    Ok(commits)
}

/// The numbers of the last changesets of `range` in `hg`, as if its revision were the newest one.
pub(super) fn last_changesets(
    hg: &HgRepository,
    history: &mut dyn History,
    range: &HistoryRange,
) -> Result<Range<usize>, WorkloadError> {
    let tip = history.resolve(&range.revision)?;
    let changelog = hg.revlogs().iter().find(|files| files.kind == ObjectKind::Changelog);
    let changelog = changelog.map(Revlog::open).transpose()?;
    // Names are resolved among changesets.
    let end = changelog.and_then(|changelog| changelog.find(&tip)).map_or(0, |tip| tip + 1);
    let count = usize::try_from(range.commits.unwrap_or(DEFAULT_COMMITS)).unwrap_or(usize::MAX);
    Ok(end.saturating_sub(count)..end)
}

#[derive(Debug)]
pub(super) struct Ingest {
    range: HistoryRange,
    destination: Destination,
    payloads: Option<(PathBuf, NewPayloads)>,
    /// Whether some variant compresses deltas with their bases.
    uses_bases: bool,
    encoders: EncodersByVariant,
    stored: Vec<u8>,
    stored_bytes: u64,
}

impl Ingest {
    pub(super) fn new(range: HistoryRange, into: Option<PathBuf>) -> Self {
        let range = HistoryRange { commits: Some(range.commits.unwrap_or(DEFAULT_COMMITS)), ..range };
        let destination = Destination::new(into);
        Ingest {
            range,
            destination,
            payloads: None,
            uses_bases: false,
            encoders: EncodersByVariant::default(),
            stored: Vec::new(),
            stored_bytes: 0,
        }
    }

    /// Reads the payloads into memory, and makes the encoders of `variant`.
    fn collect(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        if variant.uses_bases() && !self.uses_bases {
            self.announce(&[variant]);
            self.payloads = None;
        }
        if self.payloads.as_ref().is_none_or(|(folder, _)| *folder != variant.payloads) {
            let payloads = NewPayloads::collect(variant, &self.range, self.uses_bases)?;
            self.payloads = Some((variant.payloads.clone(), payloads));
        }
        self.encoders.select("ingest", variant, PayloadEncoders::of_variant)
    }
}

impl Workload for Ingest {
    fn label(&self) -> WorkloadLabel {
        label("ingest", &self.range, &[])
    }

    /// As for a checkout: the kernel's time for a file varies.
    fn compared_time(&self) -> ComparedTime {
        ComparedTime::CpuWithoutWriting
    }

    fn announce(&mut self, variants: &[&VariantPlace]) {
        self.uses_bases = variants.iter().any(|variant| variant.uses_bases());
    }

    fn prepare(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        self.collect(variant)?;
        self.destination.make()
    }
    fn run(&mut self, _history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let Some((_, payloads)) = &self.payloads else { return Err(WorkloadError::not_prepared()) };
        let encoders = self.encoders.get()?;
        let folder = self.destination.path()?;
        let mut encoding = Encoding {
            folder: &folder,
            encoders,
            stored: &mut self.stored,
            stored_bytes: 0,
            is_checked: observer.wants_written_files(),
        };
        if payloads.is_git {
            encoding.write_loose(payloads, observer)?;
        } else {
            encoding.append_chunks(payloads, observer)?;
        }
        self.stored_bytes = encoding.stored_bytes;
        for item in &payloads.items {
            observer.object(item.kind.object, &item.id);
        }
        Ok(())
    }

    fn extra(&self) -> Counts {
        let Some((_, payloads)) = &self.payloads else { return Counts::new() };
        let counts = [
            ("payload bytes", payloads.bytes.len() as u64),
            ("stored bytes", self.stored_bytes),
            ("left out beyond 256 MiB", payloads.left_out),
            ("bytes of bases held", payloads.contents.bytes()),
        ];
        counts.map(|(name, count)| (name.to_owned(), count)).into()
    }

    fn clean_up(&mut self) -> Result<(), WorkloadError> {
        self.destination.remove()
    }
}

impl CodecPart for Ingest {
    fn prepare_codec(&mut self, place: &VariantPlace) -> Result<(), WorkloadError> {
        self.collect(place)
    }

    fn has_codec_work(&self) -> bool {
        self.payloads.as_ref().is_some_and(|(_, payloads)| !payloads.items.is_empty())
    }

    fn run_codec(&mut self, _history: &mut dyn History) -> Result<(), WorkloadError> {
        let Some((_, payloads)) = &self.payloads else { return Err(WorkloadError::not_prepared()) };
        let encoders = self.encoders.get()?;
        let mut encoding =
            Encoding { folder: Path::new(""), encoders, stored: &mut self.stored, stored_bytes: 0, is_checked: false };
        for (item, payload) in payloads.iter() {
            encoding.encode(item, payload, &payloads.contents)?;
        }
        self.stored_bytes = encoding.stored_bytes;
        Ok(())
    }

    fn codec_counts(&self) -> Counts {
        self.extra()
    }
}

/// One run.
struct Encoding<'a> {
    folder: &'a Path,
    encoders: &'a mut PayloadEncoders,
    stored: &'a mut Vec<u8>,
    stored_bytes: u64,
    /// Whether chunks are decoded again.
    is_checked: bool,
}

impl Encoding<'_> {
    /// Writes a file for each object, named by its id, which is computed as git does.
    fn write_loose(&mut self, payloads: &NewPayloads, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let mut fan_outs = [false; 256];
        for (item, payload) in payloads.iter() {
            let mut hasher = IdHasher::new(item.id.kind());
            hasher.update(payload);
            let id = hasher.finish();
            if id != item.id {
                let why = format!("{}: its content has the id {id}", item.id);
                return Err(WorkloadError::Refused { why });
            }
            self.encode(item, payload, &payloads.contents)?;
            let hex = id.to_hex().to_string();
            let (fan_out, rest) = hex.split_at(2);
            let folder = self.folder.join(fan_out);
            let path = folder.join(rest);
            let is_made = fan_outs.get_mut(usize::from(id.first_byte()));
            let is_new = is_made.is_some_and(|is_made| !std::mem::replace(is_made, true));
            observer.writing(|| {
                if is_new {
                    fs::create_dir(&folder).map_err(|e| files_error("make", &folder, e))?;
                }
                let file = OpenOptions::new().write(true).create_new(true).open(&path);
                let written = file.and_then(|mut file| file.write_all(self.stored));
                written.map_err(|e| files_error("write", &path, e))
            })?;
        }
        Ok(())
    }

    /// Writes a file for each revlog, to which its chunks are appended one by one. The file stays open while the next
    /// chunk is encoded, which is not part of writing.
    fn append_chunks(&mut self, payloads: &NewPayloads, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let mut open: Option<(usize, PathBuf, File)> = None;
        for (item, payload) in payloads.iter() {
            self.encode(item, payload, &payloads.contents)?;
            observer.writing(|| {
                let (path, file) = match &mut open {
                    Some((number, path, file)) if *number == item.revlog => (path, file),
                    other => {
                        let path = self.folder.join(format!("{}.d", item.revlog));
                        let file = File::create_new(&path).map_err(|e| files_error("create", &path, e))?;
                        let (_, path, file) = other.insert((item.revlog, path, file));
                        (path, file)
                    }
                };
                file.write_all(self.stored).map_err(|e| files_error("write", path, e))
            })?;
        }
        observer.writing(|| drop(open));
        Ok(())
    }

    fn encode(&mut self, item: &Item, payload: &[u8], contents: &HeldContents) -> Result<(), WorkloadError> {
        self.stored.clear();
        let base = item.base.as_ref().and_then(|base| contents.get(base));
        let length = self.encoders.encode(item.kind, true, payload, base.as_ref(), self.stored)?;
        self.stored_bytes += length as u64;
        if self.is_checked && !self.encoders.is_faithful(self.stored, payload, base.as_ref(), &mut Vec::new()) {
            let why = format!("{}: decodes to other bytes after encoding", item.id);
            return Err(WorkloadError::Refused { why });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::{Counter, Digester, observer::tests::MadeUpClock};

    /// Writes `payloads` into a new folder and returns the sorted lengths of the files.
    fn write(payloads: &NewPayloads, observer: &mut dyn Observer) -> Vec<u64> {
        let (repository, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in ["objects", "refs"] {
            fs::create_dir(repository.path().join(folder)).unwrap();
        }
        fs::write(repository.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let repository = Repository::open(repository.path()).unwrap();
        let mut encoders = PayloadEncoders::of_variant(&repository, &"store".parse().unwrap()).unwrap();
        let mut encoding = Encoding {
            folder: folder.path(),
            encoders: &mut encoders,
            stored: &mut Vec::new(),
            stored_bytes: 0,
            is_checked: false,
        };
        match payloads.is_git {
            true => encoding.write_loose(payloads, observer).unwrap(),
            false => encoding.append_chunks(payloads, observer).unwrap(),
        }
        let files = walkdir::WalkDir::new(folder.path()).into_iter().map(|entry| entry.unwrap().metadata().unwrap());
        let mut lengths: Vec<u64> = files.filter(fs::Metadata::is_file).map(|file| file.len()).collect();
        lengths.sort_unstable();
        lengths
    }

    fn payloads(is_git: bool, revlogs: [usize; 3]) -> NewPayloads {
        let mut payloads = NewPayloads { is_git, ..NewPayloads::default() };
        for (number, revlog) in revlogs.into_iter().enumerate() {
            let payload = format!("blob {number}\0{}", "x".repeat(number));
            let mut hasher = IdHasher::new(gix_hash::Kind::Sha1);
            hasher.update(payload.as_bytes());
            let kind = ChunkKind { object: ObjectKind::Blob, is_delta: false };
            payloads.push(kind, hasher.finish(), revlog, None, &[payload.as_bytes()]);
        }
        payloads
    }

    #[test]
    fn clock_is_read_around_each_loose_object() {
        let clock = MadeUpClock::default();
        let mut counter = Counter::timing_writes(&clock);
        let files = write(&payloads(true, [0; 3]), &mut counter);
        assert_eq!(files.len(), 3);
        assert_eq!((clock.readings(), counter.writing().unwrap()), (6, Some(Duration::from_millis(3))));
        write(&payloads(true, [0; 3]), &mut Digester::default());
        assert_eq!(clock.readings(), 6, "nobody times the run in which content is checked");
    }

    /// The next chunk of a file is encoded between two writes, which has to count.
    #[test]
    fn clock_is_read_around_each_chunk_of_an_open_file() {
        let clock = MadeUpClock::default();
        let mut counter = Counter::timing_writes(&clock);
        let files = write(&payloads(false, [4, 4, 7]), &mut counter);
        assert_eq!(files.len(), 2, "a file for each revlog");
        // Three chunks, and the closing of the last file.
        assert_eq!((clock.readings(), counter.writing().unwrap()), (8, Some(Duration::from_millis(4))));
    }
}
