//! Writes a pack: entries in order, their offsets and CRCs, and the running checksum.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use gix_hash::ObjectId;
use repackbench_codec::ChunkDecoder;
use repackbench_reader::{
    ReaderError,
    git::pack::{EntryKind, EntryTable, PackFile, StoredEntry, write_offset_distance, write_type_and_size},
    hash::IdHasher,
};

use crate::{Result, WriterError, new_file::create_read_only};

const BUFFER: usize = 1 << 20;

/// The type of a delta that names its base by id. It has every bit that is set in the type of an offset delta.
const REFERENCE_DELTA_TYPE: u8 = 7;

/// Writes a pack entry by entry.
pub(super) struct PackEmitter<'a> {
    pack: &'a PackFile,
    table: &'a EntryTable,
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    hasher: IdHasher,
    offset: u64,
    entry_header: Vec<u8>,
    /// The new offset of each entry by position in file order, or [`NOT_WRITTEN`].
    offsets: Vec<u64>,
    /// The CRC-32 of each written entry, by position in file order.
    crcs: Vec<u32>,
    reference_deltas: ReferenceDeltas,
}

/// No entry has this offset, since a pack starts with its header.
const NOT_WRITTEN: u64 = 0;

/// Deltas that named their base by distance, and now name it by id because they come before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReferenceDeltas {
    /// The number of such deltas.
    pub entries: u64,
    /// The additional length of their headers, in bytes.
    pub header_bytes: u64,
}

impl<'a> PackEmitter<'a> {
    /// Creates the pack at `path`, which must not exist, with the header of `pack`.
    pub(super) fn create(pack: &'a PackFile, table: &'a EntryTable, path: PathBuf) -> Result<Self> {
        let file = create_read_only(&path)?;
        let mut emitter = PackEmitter {
            pack,
            table,
            path,
            file,
            buffer: Vec::with_capacity(BUFFER),
            hasher: IdHasher::new(pack.hash_kind()),
            offset: 0,
            entry_header: Vec::new(),
            offsets: vec![NOT_WRITTEN; table.len()],
            crcs: vec![0; table.len()],
            reference_deltas: ReferenceDeltas::default(),
        };
        let mut header = Vec::new();
        header.extend_from_slice(b"PACK");
        header.extend_from_slice(&pack.version().to_be_bytes());
        header.extend_from_slice(&pack.entry_count().to_be_bytes());
        emitter.put(&header)?;
        Ok(emitter)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the entry for `entry`, which is at `position` in file order, with the new chunk `stored`. `payload_len`
    /// is the length of its payload, if that is another one.
    pub(super) fn entry(
        &mut self,
        position: usize,
        entry: &StoredEntry<'_>,
        stored: &[u8],
        payload_len: Option<u64>,
    ) -> Result<()> {
        self.make_header(entry, ChunkDecoder::claimed_len_on_base(stored).or(payload_len))?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.entry_header);
        crc.update(stored);
        self.set_place(position)?;
        self.set_crc(position, crc.finalize())?;
        let header = std::mem::take(&mut self.entry_header);
        let result = self.put(&header).and_then(|()| self.put(stored));
        self.entry_header = header;
        result
    }

    /// As [`entry`](Self::entry), with a chunk that `chunk` writes piece by piece. Returns the result of `chunk`, and
    /// the range of the chunk in the file.
    pub(super) fn streamed_entry<T>(
        &mut self,
        position: usize,
        entry: &StoredEntry<'_>,
        chunk: impl FnOnce(&mut dyn Write) -> Result<T>,
    ) -> Result<(T, std::ops::Range<u64>)> {
        self.make_header(entry, None)?;
        self.set_place(position)?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.entry_header);
        let header = std::mem::take(&mut self.entry_header);
        let result = self.put(&header);
        self.entry_header = header;
        result?;
        let start = self.offset;
        let mut sink = StreamSink { emitter: self, crc };
        let value = chunk(&mut sink)?;
        let crc = sink.crc.finalize();
        self.set_crc(position, crc)?;
        self.flush()?;
        Ok((value, start..self.offset))
    }

    /// Makes the header of `entry` at the present offset. The size field stays as it is, unless another payload
    /// replaces the delta. The base is named by its new distance, or by its id if it comes later.
    fn make_header(&mut self, entry: &StoredEntry<'_>, payload_len: Option<u64>) -> Result<()> {
        self.entry_header.clear();
        let size_field = entry.bytes.get(..entry.header.size_field_len).unwrap_or_default();
        match (payload_len.filter(|len| *len != entry.header.payload_len), size_field.first()) {
            (Some(len), Some(type_byte)) => write_type_and_size(*type_byte, len, &mut self.entry_header),
            _ => self.entry_header.extend_from_slice(size_field),
        }
        match entry.header.kind {
            EntryKind::Whole(_) => {}
            EntryKind::RefDelta { base } => {
                // The id does not change. Only check that the base is in this pack: a thin pack is not valid in a
                // repository.
                self.pack.base_offset_of_id(entry.offset, &base)?;
                self.entry_header.extend_from_slice(base.as_bytes());
            }
            EntryKind::OffsetDelta { distance } => {
                let base_offset = self.pack.base_offset(entry.offset, distance)?;
                let base = self.table.position_of(base_offset);
                match base.and_then(|base| Some((base, *self.offsets.get(base)?))) {
                    Some((base, NOT_WRITTEN)) => self.name_base(entry, base)?,
                    Some((_, base)) => write_offset_distance(self.offset - base, &mut self.entry_header),
                    None => {
                        let found = format!("no entry starts at {base_offset}");
                        let expected = "a base that is an entry of this pack";
                        return Err(self.pack.corrupt(entry.offset, expected, found).into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Completes the header of an offset delta, which lacks only its distance, as that of a delta that names the entry
    /// at `base` by id.
    fn name_base(&mut self, entry: &StoredEntry<'_>, base: usize) -> Result<()> {
        if let Some(type_byte) = self.entry_header.first_mut() {
            *type_byte |= REFERENCE_DELTA_TYPE << 4;
        }
        let index = self.pack.index();
        match self.table.index_position(base).filter(|at| *at < index.num_objects()) {
            Some(at) => self.entry_header.extend_from_slice(index.oid_at_index(at).as_bytes()),
            None => return Err(self.internal(format!("entry {base} is not in the index"))),
        }
        let longer = self.entry_header.len().saturating_sub(entry.header.header_len) as u64;
        self.reference_deltas.entries += 1;
        self.reference_deltas.header_bytes += longer;
        Ok(())
    }

    /// Records that the entry at `position` starts here.
    fn set_place(&mut self, position: usize) -> Result<()> {
        match self.offsets.get_mut(position) {
            Some(offset) if *offset == NOT_WRITTEN => *offset = self.offset,
            _ => return Err(self.internal(format!("entry {position} is not in the pack, or was written before"))),
        }
        Ok(())
    }

    fn set_crc(&mut self, position: usize, crc: u32) -> Result<()> {
        match self.crcs.get_mut(position) {
            Some(place) => *place = crc,
            None => return Err(self.internal(format!("entry {position} is not in the pack"))),
        }
        Ok(())
    }

    fn internal(&self, what: String) -> WriterError {
        ReaderError::internal(self.pack.path(), what).into()
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        self.offset += bytes.len() as u64;
        if bytes.len() >= BUFFER {
            self.hasher.update(bytes);
            return self.file.write_all(bytes).map_err(|e| WriterError::io("write", &self.path, e));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.hasher.update(&self.buffer);
        self.file.write_all(&self.buffer).map_err(|e| WriterError::io("write", &self.path, e))?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the trailing checksum. Returns it with offsets and CRCs by position in file order. Every entry has to be
    /// written before.
    pub(super) fn finish(mut self) -> Result<FinishedPack> {
        if let Some(position) = self.offsets.iter().position(|offset| *offset == NOT_WRITTEN) {
            return Err(self.internal(format!("entry {position} of {} was not written", self.offsets.len())));
        }
        self.flush()?;
        let checksum = self.hasher.clone().finish();
        self.file.write_all(checksum.as_bytes()).map_err(|e| WriterError::io("write", &self.path, e))?;
        let PackEmitter { path, offsets, crcs, reference_deltas, .. } = self;
        Ok(FinishedPack { path, checksum, offsets, crcs, reference_deltas })
    }
}

/// A pack that lacks only its index.
pub(super) struct FinishedPack {
    pub(super) path: PathBuf,
    pub(super) checksum: ObjectId,
    pub(super) offsets: Vec<u64>,
    pub(super) crcs: Vec<u32>,
    pub(super) reference_deltas: ReferenceDeltas,
}

struct StreamSink<'e, 'a> {
    emitter: &'e mut PackEmitter<'a>,
    crc: crc32fast::Hasher,
}

impl Write for StreamSink<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.crc.update(bytes);
        self.emitter.put(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::pack::index::tests::packed;

    /// Emits the entries at the positions that `wanted` accepts.
    fn emit(wanted: impl Fn(usize) -> bool) -> Result<FinishedPack> {
        let scratch = tempfile::tempdir().unwrap();
        let repository = packed(scratch.path());
        let pack = PackFile::open(&repository.packs()[0], repository.object_hash()).unwrap();
        let table = EntryTable::new(&pack).unwrap();
        let mut emitter = PackEmitter::create(&pack, &table, scratch.path().join("new.pack"))?;
        for position in (0..table.len()).filter(|position| wanted(*position)) {
            let entry = table.entry(&pack, position).unwrap();
            emitter.entry(position, &entry, entry.stored, None)?;
        }
        emitter.finish()
    }

    #[test]
    fn finishing_without_all_entries_is_an_error() {
        let finished = emit(|_| true).unwrap();
        assert_eq!(finished.offsets[0], 12);
        let last = finished.offsets.len() - 1;
        for left_out in [0, 1, last] {
            let error = emit(|position| position != left_out).map(|finished| finished.offsets).unwrap_err();
            let expected = format!("internal error: entry {left_out} of {} was not written", last + 1);
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }
}
