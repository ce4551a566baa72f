//! From a source pack to a finished one.

use std::path::{Path, PathBuf};

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
    batch::{Batch, Cut, EntryConverter, cut, unfaithful},
    emit::{FinishedPack, PackEmitter},
    index,
};
use crate::{
    Progress, Result, WriterError,
    git::stream,
    pipeline::{self, BatchConverter, EncodedBatch},
};

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
    let pipeline = Pipeline { pack: &pack, table: &table, spec, progress };
    pipeline::run(&pipeline, &batches, threads, progress, &mut |batch, encoded| {
        pipeline.write(batch, encoded, &mut emitter)
    })?;
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
    progress: &'a dyn Progress,
}

impl<'a> BatchConverter for Pipeline<'a> {
    type Batch = Batch;
    type Contexts = EntryConverter<'a>;

    fn cost(&self, batch: &Batch) -> u64 {
        batch.cost()
    }

    fn contexts(&self) -> Result<EntryConverter<'a>> {
        EntryConverter::new(self.pack, self.table, self.spec)
    }

    fn convert(&self, converter: &mut EntryConverter<'a>, batch: &Batch, encoded: &mut EncodedBatch) -> Result<()> {
        match batch {
            Batch::InMemory { positions, .. } => converter.convert(positions.clone(), encoded),
            Batch::Streamed(_) => Ok(()),
        }
    }
}

impl Pipeline<'_> {
    fn write(&self, batch: &Batch, encoded: &EncodedBatch, emitter: &mut PackEmitter<'_>) -> Result<()> {
        match batch {
            Batch::InMemory { positions, .. } => self.write_batch(positions.clone(), encoded, emitter),
            Batch::Streamed(position) => self.stream_entry(*position, emitter),
        }
    }

    fn write_batch(
        &self,
        positions: std::ops::Range<usize>,
        encoded: &EncodedBatch,
        emitter: &mut PackEmitter<'_>,
    ) -> Result<()> {
        let mut done = 0;
        for (position, chunk) in positions.zip(encoded.chunks()) {
            let entry = self.table.entry(self.pack, position)?;
            emitter.entry(&entry, chunk)?;
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
