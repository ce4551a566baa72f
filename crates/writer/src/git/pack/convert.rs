//! Converts a source pack into a finished pack.

use std::path::{Path, PathBuf};

use gix_hash::ObjectId;
use repackbench_codec::Dictionaries;
use repackbench_reader::{
    ObjectKind, ReaderError,
    git::{
        pack::{DeltaForest, EntryTable, PackFile},
        repository::PackFiles,
    },
    hash::IdHasher,
};

use super::{
    batch::{Batch, PackBatches, cut_into_batches, unfaithful},
    emit::{FinishedPack, PackEmitter, ReferenceDeltas},
    entry_converter::{EntryConverter, SourcePack},
    index,
};
use crate::{
    Encoding, JobControl, Progress, Result, WriterError,
    git::{
        numbers::ReferenceForm,
        order::{EntryOrder, WriteOrder},
        stream::{self, SourceChunk},
    },
    new_file::write_read_only,
    pipeline::{self, BatchConverter, EncodedBatch},
};

/// A pack that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedPack {
    /// Its trailing checksum.
    pub checksum: ObjectId,
    /// Its path.
    pub path: PathBuf,
    /// Whether a pack with the same bytes and the same objects had been written before: two sources were alike.
    pub is_repeated: bool,
    /// The cost of naming bases by id that come later in the pack.
    pub reference_deltas: ReferenceDeltas,
}

/// How to rewrite packs.
pub struct PackJob<'a> {
    /// The hash of object ids.
    pub hash: gix_hash::Kind,
    /// The dictionaries that chunks may name.
    pub dictionaries: &'a Dictionaries,
    /// The encoding of new chunks.
    pub encoding: &'a Encoding,
    /// The order of entries; `None` for that of the source.
    pub order: Option<&'a dyn EntryOrder>,
    /// How the conversion runs. Progress counts source bytes.
    pub control: JobControl<'a>,
}

/// Rewrites the pack `files` into the folder `out`, with its index and side files.
///
/// # Errors
/// The source is damaged, a new chunk does not decode to its payload, or `out` cannot be written. Unfinished files may
/// be left in `out`, which the caller discards.
pub fn convert_pack(files: &PackFiles, job: &PackJob<'_>, out: &Path) -> Result<ConvertedPack> {
    let PackJob { encoding, control, .. } = *job;
    let pack = PackFile::open(files, job.hash)?;
    let table = EntryTable::new(&pack)?;
    pack.check_index_checksum()?;
    let (order, forest) = match job.order {
        None => (WriteOrder::default(), None),
        Some(order) => ordered(order, &pack, &table),
    };
    let is_translated = ReferenceForm::changed(&pack, encoding.spec().uses_numbers()).is_some();
    let forest = match forest {
        None if is_translated => Some(Ok(DeltaForest::new(&pack, &table)?)),
        forest => forest,
    };
    let needs_memory = |position: usize| {
        let kind = forest.as_ref().and_then(|forest| forest.as_ref().ok()?.kind(position));
        is_translated && kind.is_some_and(|kind| kind != ObjectKind::Blob)
    };
    let PackBatches { batches, has_ref_deltas } = cut_into_batches(&pack, &table, &order, needs_memory)?;
    let is_same_for_all = encoding.spec().is_uniform() && !encoding.spec().uses_bases() && !is_translated;
    // Only bases that are named by id can form a cycle, and such deltas are written with the same id.
    let needs_structure = !is_same_for_all || has_ref_deltas;
    let (structure, broken) = match forest {
        None if needs_structure => (Some(DeltaForest::new(&pack, &table)?), None),
        None => (None, None),
        Some(Ok(forest)) => (needs_structure.then_some(forest), None),
        Some(Err(error)) if needs_structure => return Err(error.into()),
        Some(Err(error)) => (None, Some(error)),
    };
    let dictionaries = job.dictionaries;
    let source = SourcePack { pack: &pack, table: &table, order: &order, dictionaries, structure, is_translated };
    let unnamed = out.join("tmp_pack");
    let mut emitter = PackEmitter::create(&pack, &table, unnamed)?;
    let pipeline = Pipeline { source: &source, encoding, progress: control.progress };
    pipeline::run(&pipeline, &batches, control, &mut |batch, encoded| pipeline.write(batch, encoded, &mut emitter))?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    let finished = emitter.finish()?;
    name_and_index(files, &source, finished, encoding.spec().uses_numbers(), out)
}

/// The write order of a pack, and its delta structure. The entries of a damaged pack are written in file order. So the
/// damage is found at the same entry as without an order, and reported in the same words.
fn ordered(
    order: &dyn EntryOrder,
    pack: &PackFile,
    table: &EntryTable,
) -> (WriteOrder, Option<std::result::Result<DeltaForest, ReaderError>>) {
    let forest = DeltaForest::new(pack, table);
    let order = forest.as_ref().map(|forest| WriteOrder::new(order, pack, table, forest)).unwrap_or_default();
    (order, Some(forest))
}

/// Renames the pack, whose objects may be numbered, and writes its side files.
fn name_and_index(
    files: &PackFiles,
    source: &SourcePack<'_>,
    finished: FinishedPack,
    is_numbered: bool,
    out: &Path,
) -> Result<ConvertedPack> {
    let SourcePack { pack, table, order, .. } = *source;
    let path = out.join(format!("pack-{}.pack", name(pack, &finished, is_numbered, out)?));
    let is_repeated = path.exists();
    std::fs::rename(&finished.path, &path).map_err(|e| WriterError::io("rename", &finished.path, e))?;
    let sibling = |extension: &str| path.with_extension(extension);
    if !is_repeated {
        index::write_index(pack, table, &finished, &sibling("idx"))?;
    }
    if files.reverse_index.is_some() && !sibling("rev").exists() {
        index::write_reverse_index(pack, table, order, &finished, &sibling("rev"))?;
    }
    if is_numbered && !is_repeated {
        index::write_numbers_mark(pack, &finished, &sibling("numbers"))?;
    }
    match &files.mtimes {
        Some(mtimes) if !is_repeated => index::rewrite_mtimes(pack, mtimes, &finished, &sibling("mtimes"))?,
        None if is_repeated => not_unreachable(&sibling("mtimes"))?,
        _ => {}
    }
    for (mark, extension) in [(&files.keep, "keep"), (&files.promisor, "promisor")] {
        if let Some(mark) = mark {
            let content = std::fs::read(mark).map_err(|e| ReaderError::io("read", mark, e))?;
            write_read_only(&sibling(extension), &content)?;
        }
    }
    let FinishedPack { checksum, reference_deltas, .. } = finished;
    Ok(ConvertedPack { checksum, path, is_repeated, reference_deltas })
}

/// The name of a finished pack in `out`: its checksum. The bytes of a numbered pack do not tell what its numbers stand
/// for, so packs of different objects can have the same. The second of them is named by a hash of checksum and ids.
fn name(pack: &PackFile, finished: &FinishedPack, is_numbered: bool, out: &Path) -> Result<ObjectId> {
    let index = out.join(format!("pack-{}.idx", finished.checksum));
    if !is_numbered || !index.exists() {
        return Ok(finished.checksum);
    }
    let ids = |index: &gix_pack::index::File| index.iter().map(|entry| entry.oid).collect::<Vec<_>>();
    let earlier = gix_pack::index::File::at(&index, pack.hash_kind())
        .map_err(|e| WriterError::io("read", &index, std::io::Error::other(e)))?;
    let own = ids(pack.index());
    if own == ids(&earlier) {
        return Ok(finished.checksum);
    }
    let mut hasher = IdHasher::new(pack.hash_kind());
    hasher.update(finished.checksum.as_bytes());
    own.iter().for_each(|id| hasher.update(id.as_bytes()));
    Ok(hasher.finish())
}

/// Removes the object times `mtimes` of a pack that has become equal to another one. A pack with times is a cruft pack,
/// which git prunes by these times; the other one is not.
fn not_unreachable(mtimes: &Path) -> Result<()> {
    match std::fs::remove_file(mtimes) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(WriterError::io("remove", mtimes, error)),
        _ => Ok(()),
    }
}

struct Pipeline<'a> {
    source: &'a SourcePack<'a>,
    encoding: &'a Encoding,
    progress: &'a dyn Progress,
}

impl<'a> BatchConverter for Pipeline<'a> {
    type Batch = Batch;
    type Contexts = EntryConverter<'a>;

    fn cost(&self, batch: &Batch) -> u64 {
        batch.cost()
    }

    fn contexts(&self) -> Result<EntryConverter<'a>> {
        Ok(EntryConverter::new(self.source, self.encoding))
    }

    fn convert(&self, converter: &mut EntryConverter<'a>, batch: &Batch, encoded: &mut EncodedBatch) -> Result<()> {
        match batch {
            Batch::InMemory { places, .. } => converter.convert(places.clone(), encoded),
            Batch::Streamed(_) => Ok(()),
        }
    }
}

impl Pipeline<'_> {
    fn write(&self, batch: &Batch, encoded: &EncodedBatch, emitter: &mut PackEmitter<'_>) -> Result<()> {
        match batch {
            Batch::InMemory { places, .. } => self.write_batch(places.clone(), encoded, emitter),
            Batch::Streamed(position) => self.stream_entry(*position, emitter),
        }
    }

    fn write_batch(
        &self,
        places: std::ops::Range<usize>,
        encoded: &EncodedBatch,
        emitter: &mut PackEmitter<'_>,
    ) -> Result<()> {
        let mut done = 0;
        let payload_lens = encoded.payload_lens.iter().copied().chain(std::iter::repeat(None));
        for ((position, chunk), payload_len) in
            self.source.order.positions(places).zip(encoded.chunks()).zip(payload_lens)
        {
            let entry = self.source.table.entry(self.source.pack, position)?;
            emitter.entry(position, &entry, chunk, payload_len)?;
            done += entry.bytes.len() as u64;
        }
        self.progress.advance(done);
        Ok(())
    }

    fn stream_entry(&self, position: usize, emitter: &mut PackEmitter<'_>) -> Result<()> {
        let entry = self.source.table.entry(self.source.pack, position)?;
        entry.check_crc(self.source.pack)?;
        let mut encoder = self.encoding.streaming_encoder(self.source.kind(position))?;
        let mut decoder = self.source.decoder();
        let payload_len = entry.header.payload_len;
        let (streamed, range) = emitter.streamed_entry(position, &entry, |sink| {
            let source = SourceChunk::new(&mut decoder, entry.stored, payload_len);
            let streamed = stream::convert(source, &mut encoder, sink, self.progress)?;
            // An error of the source explains an error of the encoder.
            entry.check_consumed(self.source.pack, streamed.consumed)?;
            Ok((streamed.encoded?, streamed.digest))
        })?;
        let (encoded, expected) = streamed;

        // The unfinished file starts like a pack, which is enough to map it.
        let written = gix_pack::data::File::at(emitter.path(), self.source.pack.hash_kind())
            .map_err(|e| unfaithful(self.source.pack, &entry, e.to_string()))?;
        let chunk = written.entry_slice(range).unwrap_or_default();
        match stream::digest(&mut decoder, chunk, payload_len) {
            Ok((consumed, digest)) if consumed == encoded && digest == expected => {}
            Ok(_) => return Err(unfaithful(self.source.pack, &entry, "same length, different content".into())),
            Err(error) => return Err(unfaithful(self.source.pack, &entry, error.to_string())),
        }
        self.progress.advance(entry.bytes.len() as u64);
        Ok(())
    }
}
