//! Converts the revlogs of the source.
//!
//! A store has thousands of small revlogs and one or two huge ones. Small ones are converted as a whole on one thread,
//! files included, several in a batch. Large ones are cut into batches of revisions, whose chunks return to one thread
//! that writes them in order. Both use one pipeline, so that no thread waits for the end of a revlog.

use std::{
    fs::Metadata,
    io,
    ops::Range,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use repackbench_codec::Dictionaries;
use repackbench_reader::{
    ReaderError,
    hg::{
        HgRepository,
        revlog::{Revlog, RevlogFiles},
    },
    threads,
};

use super::{
    chunks::{ChunkConverter, RevisionBatch, cut_into_batches},
    emit::{NewFile, RevlogEmitter},
};
use crate::{
    Encoding, JobControl, ProgressUnit, Result, WriterError,
    pipeline::{self, BatchConverter, EncodedBatch},
};

/// A revlog with at least this many bytes in its files is cut into batches.
const LARGE: u64 = 512 << 10;

/// The bytes and revlogs after which a batch of small revlogs is complete.
const BATCH_BYTES: u64 = 128 << 10;
const BATCH_REVLOGS: usize = 32;

/// The most large revlogs that are open at the same time, and the most bytes of their indexes.
const ROUND_REVLOGS: usize = 64;
const ROUND_INDEX_BYTES: u64 = 256 << 20;

/// A revlog of the source, with the modes and lengths of its files.
#[derive(Debug)]
struct SourceRevlog<'a> {
    files: &'a RevlogFiles,
    index: Metadata,
    data: Option<Metadata>,
}

impl<'a> SourceRevlog<'a> {
    fn new(files: &'a RevlogFiles) -> Result<Self> {
        let failed = |path: &Path, error| ReaderError::io("inspect", path, error);
        let index = std::fs::metadata(&files.index).map_err(|error| failed(&files.index, error))?;
        let data = match files.has_data {
            true => Some(std::fs::metadata(&files.data).map_err(|error| failed(&files.data, error))?),
            false => None,
        };
        Ok(SourceRevlog { files, index, data })
    }

    fn bytes(&self) -> u64 {
        self.index.len() + self.data.as_ref().map_or(0, Metadata::len)
    }

    /// Whether it is cut into batches. A revlog without revisions is not, whatever its data file holds.
    fn is_large(&self) -> bool {
        self.index.len() > 0 && self.bytes() >= LARGE
    }
}

/// Rewrites every revlog of `source` under `encoding` into the store `out`, whose folders exist. Returns notes about
/// data that is not in the result.
pub(super) fn convert_revlogs(
    source: &HgRepository,
    encoding: &Encoding,
    out: &Path,
    control: JobControl<'_>,
) -> Result<Vec<String>> {
    let JobControl { threads, progress } = control;
    let revlogs = threads::map(threads, source.revlogs(), SourceRevlog::new)?;
    progress.start("converting revlogs", revlogs.iter().map(SourceRevlog::bytes).sum(), ProgressUnit::Bytes);
    let (large, small): (Vec<_>, Vec<_>) = revlogs.iter().partition(|revlog| revlog.is_large());
    let dictionaries = source.dictionaries()?;
    let stores = Stores { from: source.store_dir(), to: out, dictionaries, notes: Mutex::default() };
    let mut large = large.as_slice();
    loop {
        let (now, later) = large.split_at(round_len(large));
        // The small ones come last, where they keep all threads busy until the end.
        let small = if later.is_empty() { small.as_slice() } else { &[] };
        Round::open(&stores, encoding, now, small, control)?.run()?;
        if later.is_empty() {
            break;
        }
        large = later;
    }
    progress.finish();
    let mut notes = stores.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Threads add them in any order.
    notes.sort();
    Ok(notes)
}

/// The number of `large` revlogs that are converted in one round.
fn round_len(large: &[&SourceRevlog<'_>]) -> usize {
    let mut index_bytes = 0;
    let fits = |revlog: &&&SourceRevlog<'_>| {
        index_bytes += revlog.index.len();
        index_bytes <= ROUND_INDEX_BYTES
    };
    large.iter().take(ROUND_REVLOGS).take_while(fits).count().max(1).min(large.len())
}

/// The stores of source and result.
struct Stores<'a> {
    from: PathBuf,
    to: &'a Path,
    /// The dictionaries of the source.
    dictionaries: Dictionaries,
    /// Notes about data that is not in the result.
    notes: Mutex<Vec<String>>,
}

impl Stores<'_> {
    fn target(&self, path: &Path) -> Result<PathBuf> {
        match path.strip_prefix(&self.from) {
            Ok(below) => Ok(self.to.join(below)),
            // The reader lists only files below the store.
            Err(_) => Err(WriterError::io("place", path, io::ErrorKind::InvalidInput.into())),
        }
    }

    fn emitter<'a>(&self, source: &SourceRevlog<'_>, revlog: &'a Revlog) -> Result<RevlogEmitter<'a>> {
        let is_inline = revlog.header().is_some_and(|header| header.is_inline());
        let index = NewFile::new(self.target(&source.files.index)?, source.index.mode());
        // hg does not read a data file beside an inline revlog.
        let data = match source.data.as_ref().filter(|_| !is_inline) {
            Some(data) => {
                self.note_trailing_bytes(source, revlog, data.len());
                Some(NewFile::new(self.target(&source.files.data)?, data.mode()))
            }
            None => None,
        };
        RevlogEmitter::new(revlog, index, data)
    }

    /// Notes trailing bytes after the last chunk in a data file of `len` bytes, such as the chunks of an aborted
    /// transaction: no entry describes them.
    fn note_trailing_bytes(&self, source: &SourceRevlog<'_>, revlog: &Revlog, len: u64) {
        let end = revlog.entries().last().map_or(0, |entry| entry.offset + u64::from(entry.stored_len));
        if len > end {
            let path = source.files.data.display();
            let note = format!("{path}: ignored: {} bytes after the last chunk, at offset {end}", len - end);
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
        }
    }
}

/// The unit of work of a thread.
#[derive(Debug)]
enum Batch {
    /// Revisions of the large revlog with that number.
    Part { large: usize, part: RevisionBatch },
    /// Whole small revlogs.
    Small(Range<usize>),
}

/// The revlogs that are converted in one run of the pipeline.
struct Round<'a> {
    stores: &'a Stores<'a>,
    encoding: &'a Encoding,
    large: Vec<(&'a SourceRevlog<'a>, Revlog)>,
    small: &'a [&'a SourceRevlog<'a>],
    batches: Vec<Batch>,
    control: JobControl<'a>,
}

impl<'a> Round<'a> {
    fn open(
        stores: &'a Stores<'a>,
        encoding: &'a Encoding,
        large: &[&'a SourceRevlog<'a>],
        small: &'a [&'a SourceRevlog<'a>],
        control: JobControl<'a>,
    ) -> Result<Self> {
        let mut round = Round { stores, encoding, large: Vec::new(), small, batches: Vec::new(), control };
        for (number, source) in large.iter().enumerate() {
            let revlog = Revlog::open(source.files)?;
            round.batches.extend(cut_into_batches(&revlog).into_iter().map(|part| Batch::Part { large: number, part }));
            round.large.push((*source, revlog));
        }
        round.batches.extend(group(small).into_iter().map(Batch::Small));
        Ok(round)
    }

    fn run(&self) -> Result<()> {
        let mut emitter = None;
        pipeline::run(self, &self.batches, self.control, &mut |batch, encoded| match batch {
            Batch::Part { large, part } => self.write_part(*large, part, encoded, &mut emitter),
            Batch::Small(_) => Ok(()),
        })
    }

    /// Writes the next part of a large revlog. `emitter` belongs to that revlog, and is `None` before its first part.
    fn write_part<'r>(
        &'r self,
        number: usize,
        part: &RevisionBatch,
        encoded: &EncodedBatch,
        emitter: &mut Option<RevlogEmitter<'r>>,
    ) -> Result<()> {
        let Some((source, revlog)) = self.large.get(number) else {
            let what = format!("revlog {number} is not one of {}", self.large.len());
            return Err(ReaderError::internal(&self.stores.from, what).into());
        };
        if emitter.is_none() {
            *emitter = Some(self.stores.emitter(source, revlog)?);
        }
        if let Some(emitter) = emitter.as_mut() {
            encoded.chunks().try_for_each(|chunk| emitter.push(chunk))?;
        }
        if part.revisions.end == revlog.len()
            && let Some(done) = emitter.take()
        {
            done.finish()?;
        }
        // The part's share of the revisions, as bytes of the revlog.
        let share = |revisions: usize| source.bytes() * revisions as u64 / revlog.len().max(1) as u64;
        self.control.progress.advance(share(part.revisions.end) - share(part.revisions.start));
        Ok(())
    }

    fn convert_whole(
        &self,
        converter: &mut ChunkConverter,
        source: &SourceRevlog<'_>,
        encoded: &mut EncodedBatch,
    ) -> Result<()> {
        let revlog = Revlog::open(source.files)?;
        let mut emitter = self.stores.emitter(source, &revlog)?;
        for part in cut_into_batches(&revlog) {
            encoded.clear();
            converter.convert(&revlog, part.revisions, encoded)?;
            encoded.chunks().try_for_each(|chunk| emitter.push(chunk))?;
        }
        encoded.clear();
        emitter.finish()?;
        self.control.progress.advance(source.bytes());
        Ok(())
    }
}

impl BatchConverter for Round<'_> {
    type Batch = Batch;
    type Contexts = ChunkConverter;

    fn cost(&self, batch: &Batch) -> u64 {
        match batch {
            Batch::Part { part, .. } => part.cost,
            // The thread writes the result itself.
            Batch::Small(_) => 0,
        }
    }

    fn contexts(&self) -> Result<ChunkConverter> {
        Ok(ChunkConverter::new(self.encoding, &self.stores.dictionaries))
    }

    fn convert(&self, converter: &mut ChunkConverter, batch: &Batch, encoded: &mut EncodedBatch) -> Result<()> {
        match batch {
            Batch::Part { large, part } => match self.large.get(*large) {
                Some((_, revlog)) => converter.convert(revlog, part.revisions.clone(), encoded),
                None => Ok(()),
            },
            Batch::Small(range) => {
                let revlogs = self.small.get(range.clone()).unwrap_or_default();
                revlogs.iter().try_for_each(|source| self.convert_whole(converter, source, encoded))
            }
        }
    }
}

/// Groups small revlogs.
fn group(small: &[&SourceRevlog<'_>]) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, revlog) in small.iter().enumerate() {
        bytes += revlog.bytes();
        if bytes >= BATCH_BYTES || at + 1 - start >= BATCH_REVLOGS {
            groups.push(start..at + 1);
            (start, bytes) = (at + 1, 0);
        }
    }
    if start < small.len() {
        groups.push(start..small.len());
    }
    groups
}
