//! From a source pack to a finished one: threads that convert, one that writes in order.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use gix_hash::ObjectId;
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, ZlibReader};
use repackbench_reader::{
    ReaderError,
    git::{
        pack::{DeltaForest, EntryTable, PackFile},
        repository::PackFiles,
    },
};

use super::{
    batch::{Batch, Cut, EncodedBatch, EntryConverter, cut, unfaithful},
    emit::{FinishedPack, PackEmitter},
    index,
};
use crate::{Progress, Result, WriterError, git::stream};

/// About how many bytes of new chunks may wait while one slow batch holds the order up.
const WAITING_BYTES: u64 = 64 << 20;

/// A buffer larger than this is given back to the allocator when its batch is written.
const LARGEST_SPARE: usize = 4 << 20;

/// A pack that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedPack {
    /// Its trailing checksum, which is also its name.
    pub checksum: ObjectId,
    /// Its path.
    pub path: PathBuf,
    /// Whether a pack of that name, and thus of that content, had been written before: two sources were alike.
    pub is_repeated: bool,
}

/// Rewrites the pack of `files` under `spec` into the folder `out`, with its index and side files.
///
/// # Errors
/// The source is damaged, a chunk does not decode to what was encoded, or `out` cannot be written. Files of unfinished
/// packs may be left in `out`, which the caller discards.
pub fn convert_pack(
    files: &PackFiles,
    hash: gix_hash::Kind,
    spec: &CodecSpec,
    threads: usize,
    out: &Path,
    progress: &dyn Progress,
) -> Result<ConvertedPack> {
    let pack = PackFile::open(files, hash)?;
    let table = EntryTable::new(&pack)?;
    pack.check_index_checksum()?;
    let Cut { batches, has_ref_deltas } = cut(&pack, &table)?;
    if has_ref_deltas {
        // Only bases that are named by id can lead round in a circle, and what is emitted names them as it found them.
        DeltaForest::new(&pack, &table)?;
    }
    let unnamed = out.join("tmp_pack");
    let mut emitter = PackEmitter::create(&pack, &table, unnamed)?;
    Pipeline { pack: &pack, table: &table, spec, batches: &batches, progress }
        .run(threads.clamp(1, batches.len().max(1)), &mut emitter)?;
    let finished = emitter.finish()?;
    name_and_index(files, &pack, &table, finished, out)
}

/// Gives the pack its name and writes what belongs to it.
fn name_and_index(
    files: &PackFiles,
    pack: &PackFile,
    table: &EntryTable,
    finished: FinishedPack,
    out: &Path,
) -> Result<ConvertedPack> {
    let path = out.join(format!("pack-{}.pack", finished.checksum));
    let is_repeated = path.exists();
    std::fs::rename(&finished.path, &path).map_err(|e| WriterError::io("rename", &finished.path, e))?;
    let sibling = |extension: &str| path.with_extension(extension);
    if !is_repeated {
        index::write_index(pack, table, &finished, &sibling("idx"))?;
    }
    if files.reverse_index.is_some() && !sibling("rev").exists() {
        index::write_reverse_index(pack, table, &finished, &sibling("rev"))?;
    }
    if let Some(mtimes) = &files.mtimes
        && !sibling("mtimes").exists()
    {
        index::rewrite_mtimes(pack, mtimes, &finished, &sibling("mtimes"))?;
    }
    for (mark, extension) in [(&files.keep, "keep"), (&files.promisor, "promisor")] {
        if let Some(mark) = mark {
            let content = std::fs::read(mark).map_err(|e| ReaderError::io("read", mark, e))?;
            crate::git::write_file(&sibling(extension), &content)?;
        }
    }
    Ok(ConvertedPack { checksum: finished.checksum, path, is_repeated })
}

struct Pipeline<'a> {
    pack: &'a PackFile,
    table: &'a EntryTable,
    spec: &'a CodecSpec,
    batches: &'a [Batch],
    progress: &'a dyn Progress,
}

/// What threads and writer share.
struct Shared {
    next: AtomicUsize,
    written: Mutex<Written>,
    advanced: Condvar,
    spare: Mutex<Vec<EncodedBatch>>,
}

struct Written {
    batches: usize,
    /// What batches cost that were begun and are not written.
    waiting_bytes: u64,
    stopped: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panics ends the conversion anyway: the scope hands its panic on.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Waits until there is room for batch `number`, or it is the next to be written; `false` if there is no point any
    /// more.
    fn wait_for_turn(&self, number: usize, cost: u64) -> bool {
        let mut written = lock(&self.written);
        while !written.stopped && number != written.batches && written.waiting_bytes + cost > WAITING_BYTES {
            written = self.advanced.wait(written).unwrap_or_else(PoisonError::into_inner);
        }
        written.waiting_bytes += cost;
        !written.stopped
    }

    fn update(&self, change: impl FnOnce(&mut Written)) {
        change(&mut lock(&self.written));
        self.advanced.notify_all();
    }
}

/// Stops the threads when the writer leaves, for whatever reason.
struct StopOnDrop<'a>(&'a Shared);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.update(|written| written.stopped = true);
    }
}

type Outcome = (usize, Result<EncodedBatch>);

impl Pipeline<'_> {
    fn run(&self, threads: usize, emitter: &mut PackEmitter<'_>) -> Result<()> {
        let shared = Shared {
            next: AtomicUsize::new(0),
            written: Mutex::new(Written { batches: 0, waiting_bytes: 0, stopped: false }),
            advanced: Condvar::new(),
            spare: Mutex::new(Vec::new()),
        };
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..threads {
                let (sender, shared) = (sender.clone(), &shared);
                scope.spawn(move || self.convert_batches(shared, &sender));
            }
            drop(sender);
            let _stop = StopOnDrop(&shared);
            self.write_in_order(&shared, &receiver, emitter)
        })
    }

    /// A thread's work: batch after batch, until none is left or the writer has stopped.
    fn convert_batches(&self, shared: &Shared, sender: &mpsc::Sender<Outcome>) {
        let mut converter = match EntryConverter::new(self.pack, self.table, self.spec) {
            Ok(converter) => converter,
            // The writer receives it as the outcome of the batch that it waits for.
            Err(error) => return drop(sender.send((shared.next.fetch_add(1, Ordering::Relaxed), Err(error)))),
        };
        loop {
            let number = shared.next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = self.batches.get(number) else { return };
            if !shared.wait_for_turn(number, batch.cost()) {
                return;
            }
            let mut encoded = lock(&shared.spare).pop().unwrap_or_default();
            let result = match batch {
                Batch::InMemory { positions, .. } => converter.convert(positions.clone(), &mut encoded),
                Batch::Streamed(_) => Ok(()),
            };
            if sender.send((number, result.map(|()| encoded))).is_err() {
                return;
            }
        }
    }

    fn write_in_order(
        &self,
        shared: &Shared,
        receiver: &mpsc::Receiver<Outcome>,
        emitter: &mut PackEmitter<'_>,
    ) -> Result<()> {
        let mut waiting = BTreeMap::new();
        for (number, batch) in self.batches.iter().enumerate() {
            if self.progress.is_cancelled() {
                return Err(WriterError::Interrupted);
            }
            let encoded = loop {
                if let Some(outcome) = waiting.remove(&number) {
                    break outcome;
                }
                match receiver.recv() {
                    Ok((received, outcome)) => drop(waiting.insert(received, outcome)),
                    // Only a thread that panicked leaves a batch out; the scope is about to hand that panic on.
                    Err(_) => return Ok(()),
                }
            }?;
            match batch {
                Batch::InMemory { positions, .. } => self.write_batch(positions.clone(), &encoded, emitter)?,
                Batch::Streamed(position) => self.stream_entry(*position, emitter)?,
            }
            if encoded.stored.capacity() <= LARGEST_SPARE {
                lock(&shared.spare).push(encoded);
            }
            shared.update(|written| {
                written.batches = number + 1;
                written.waiting_bytes -= batch.cost();
            });
        }
        Ok(())
    }

    fn write_batch(
        &self,
        positions: std::ops::Range<usize>,
        encoded: &EncodedBatch,
        emitter: &mut PackEmitter<'_>,
    ) -> Result<()> {
        let mut rest = encoded.stored.as_slice();
        let mut done = 0;
        for (position, length) in positions.zip(&encoded.lengths) {
            let entry = self.table.entry(self.pack, position)?;
            let (chunk, tail) = rest.split_at_checked(*length).unwrap_or_default();
            emitter.entry(&entry, chunk)?;
            rest = tail;
            done += entry.bytes.len() as u64;
        }
        self.progress.advance(done);
        Ok(())
    }

    fn stream_entry(&self, position: usize, emitter: &mut PackEmitter<'_>) -> Result<()> {
        let entry = self.table.entry(self.pack, position)?;
        entry.check_crc(self.pack)?;
        let mut encoder = ChunkEncoder::new(self.spec)?;
        let mut decoder = ChunkDecoder::new(ZlibReader::Libdeflate);
        let payload_len = entry.header.payload_len;
        let (streamed, range) = emitter.streamed_entry(&entry, |sink| {
            let streamed = stream::convert(&mut decoder, entry.stored, payload_len, &mut encoder, sink, self.progress)?;
            // The source's fault, if there is one, explains the encoder's.
            entry.check_consumed(self.pack, streamed.consumed)?;
            Ok((streamed.encoded?, streamed.digest))
        })?;
        let (encoded, expected) = streamed;

        // What was written so far begins as a pack does, which is enough to map it.
        let written = gix_pack::data::File::at(emitter.path(), self.pack.hash_kind())
            .map_err(|e| unfaithful(self.pack, &entry, e.to_string()))?;
        let chunk = written.entry_slice(range).unwrap_or_default();
        match stream::digest(&mut decoder, chunk, payload_len) {
            Ok((consumed, digest)) if consumed == encoded && digest == expected => {}
            Ok(_) => return Err(unfaithful(self.pack, &entry, "same length, other content".into())),
            Err(error) => return Err(unfaithful(self.pack, &entry, error.to_string())),
        }
        self.progress.advance(entry.bytes.len() as u64);
        Ok(())
    }
}
