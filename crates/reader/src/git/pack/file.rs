//! One pack and its index, both memory-mapped.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use gix_hash::{ObjectId, oid};

use super::{
    PACK_HEADER_LEN,
    entry::{EntryHeaderError, PackEntryHeader},
    log::{IndexLayout, PackLog},
    repeated::RepeatedIds,
    search,
};
use crate::{
    ObjectKind, Place, ReaderError, Result,
    access::{AccessLog, FileRole},
    git::{
        delta::DeltaError,
        numbered::{self, NumberError, PackNumbers, check_mark},
        repository::PackFiles,
    },
    hash::IdHasher,
    memory::{self, TooLarge},
};

/// A pack and its index, opened and checked against each other.
pub struct PackFile {
    pack: gix_pack::data::File,
    index: gix_pack::index::File,
    path: PathBuf,
    index_path: PathBuf,
    hash_kind: gix_hash::Kind,
    end: u64,
    /// How commits, trees and tags name other objects of the pack; `None` if by id.
    numbers: Option<PackNumbers>,
    repeated: OnceLock<RepeatedIds>,
    /// The access log while accesses are recorded.
    log: Option<PackLog>,
}

impl std::fmt::Debug for PackFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl PackFile {
    /// Maps the pack and index of `files`.
    ///
    /// # Errors
    /// A file is unreadable or too short, its version is unknown, or the two do not belong together.
    pub fn open(files: &PackFiles, hash_kind: gix_hash::Kind) -> Result<Self> {
        // The pack comes first: if a repack removes both, the error should name a file that `convert` listed.
        check_readable(&files.pack)?;
        check_readable(&files.index)?;
        let pack = gix_pack::data::File::at(&files.pack, hash_kind).map_err(|e| bad_file(&files.pack, "a pack", &e))?;
        let index =
            gix_pack::index::File::at(&files.index, hash_kind).map_err(|e| bad_file(&files.index, "an index", &e))?;
        if pack.num_objects() != index.num_objects() {
            return Err(ReaderError::corrupt(
                &files.index,
                Place::Whole,
                format!("{} entries, as its pack's header says", pack.num_objects()),
                format!("{}", index.num_objects()),
            ));
        }
        let end = pack.pack_end() as u64;
        let (path, index_path) = (files.pack.clone(), files.index.clone());
        let (numbers, repeated) = (None, OnceLock::new());
        let mut this = PackFile { pack, index, path, index_path, hash_kind, end, numbers, repeated, log: None };
        let trailer = this.trailer()?;
        let recorded = this.index.pack_checksum();
        if recorded != trailer {
            return Err(ReaderError::corrupt(
                &this.index_path,
                Place::Whole,
                format!("the checksum of its pack, {trailer}"),
                format!("{recorded}"),
            ));
        }
        if let Some(mark) = &files.numbers {
            check_mark(mark, &trailer)?;
            this.numbers = Some(PackNumbers::new(this.entry_count(), hash_kind));
        }
        Ok(this)
    }

    /// The pack's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The index's path.
    pub fn index_path(&self) -> &Path {
        &self.index_path
    }

    /// The index, sorted by id.
    pub fn index(&self) -> &gix_pack::index::File {
        &self.index
    }

    /// The object hash that ids and trailers use.
    pub fn hash_kind(&self) -> gix_hash::Kind {
        self.hash_kind
    }

    /// How the objects are numbered, if commits, trees and tags name others of the pack by number.
    pub fn numbers(&self) -> Option<&PackNumbers> {
        self.numbers.as_ref()
    }

    /// Whether objects of `kind` name others by number.
    #[inline]
    pub fn is_numbered(&self, kind: ObjectKind) -> bool {
        self.numbers.is_some() && kind != ObjectKind::Blob
    }

    /// Replaces `content` by the object of `kind` at `offset` that `numbered` stands for. Without numbers, and for
    /// blobs, that is `numbered` itself.
    ///
    /// # Errors
    /// It stands for no object, or for one that is too large.
    pub fn expand(&self, offset: u64, kind: ObjectKind, numbered: &[u8], content: &mut Vec<u8>) -> Result<()> {
        let Some(numbers) = self.numbers.as_ref().filter(|_| kind != ObjectKind::Blob) else {
            content.clear();
            content.extend_from_slice(numbered);
            return Ok(());
        };
        let id_at = |position| {
            if let Some(log) = &self.log {
                log.id(position);
            }
            self.index.oid_at_index(position)
        };
        let expanded = numbered::expand(kind, numbered, content, |bytes| numbers.take_id(bytes, id_at));
        expanded.map_err(|error| self.bad_numbers(offset, kind, error))
    }

    /// Number of entries.
    pub fn entry_count(&self) -> u32 {
        self.pack.num_objects()
    }

    /// The pack format's version, 2 or 3.
    pub fn version(&self) -> u32 {
        match self.pack.version() {
            gix_pack::data::Version::V2 => 2,
            gix_pack::data::Version::V3 => 3,
        }
    }

    /// Offset of the first byte after the last entry, where the trailer starts.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Length of the pack file in bytes.
    pub fn len(&self) -> u64 {
        self.pack.data_len() as u64
    }

    /// Whether the pack holds no entries.
    pub fn is_empty(&self) -> bool {
        self.entry_count() == 0
    }

    /// The checksum in the pack's trailer, as recorded.
    pub fn trailer(&self) -> Result<ObjectId> {
        let bytes = self.pack.entry_slice(self.end..self.len()).unwrap_or_default();
        ObjectId::try_from(bytes).map_err(|_| {
            ReaderError::corrupt(&self.path, Place::Offset(self.end), "a trailing checksum", "the end of the file")
        })
    }

    /// The bytes from `start` up to `end`. They must not overlap the trailer.
    pub fn bytes(&self, start: u64, end: u64) -> Result<&[u8]> {
        let within = start <= end && end <= self.end;
        within.then(|| self.pack.entry_slice(start..end)).flatten().ok_or_else(|| {
            self.corrupt(start, format!("an entry within {} bytes", self.end), format!("an entry up to {end}"))
        })
    }

    /// The header of the entry at `offset`, and the bytes from the start of its chunk to the trailer.
    pub fn entry(&self, offset: u64) -> Result<(PackEntryHeader, &[u8])> {
        if offset < PACK_HEADER_LEN || offset >= self.end {
            return Err(self.corrupt(
                offset,
                format!("an entry between {PACK_HEADER_LEN} and {}", self.end),
                "an offset outside the pack's entries",
            ));
        }
        let bytes = self.bytes(offset, self.end)?;
        let header = PackEntryHeader::parse(bytes, self.hash_kind).map_err(|e| self.bad_header(offset, e))?;
        Ok((header, bytes.get(header.header_len..).unwrap_or_default()))
    }

    /// The offset of the base of the offset delta at `offset`.
    pub fn base_offset(&self, offset: u64, distance: u64) -> Result<u64> {
        offset.checked_sub(distance).filter(|base| *base >= PACK_HEADER_LEN).ok_or_else(|| {
            self.corrupt(
                offset,
                "a base offset inside the pack".to_string(),
                format!("a base {distance} bytes back, before the first entry"),
            )
        })
    }

    /// The offset of the base `id` of the ref delta at `offset`. The base has to be in the same pack.
    pub fn base_offset_of_id(&self, offset: u64, id: &oid) -> Result<u64> {
        self.find(id).ok_or_else(|| {
            let delta = self.id_at(offset).map_or_else(|| "an entry".to_owned(), |id| id.to_string());
            self.corrupt(
                offset,
                format!("the base {id} of {delta} in the same pack"),
                "no such entry: the pack is thin, or its base was removed",
            )
        })
    }

    /// The id of the entry at `offset`, for messages. A linear search.
    fn id_at(&self, offset: u64) -> Option<ObjectId> {
        self.index.iter().find(|entry| entry.pack_offset == offset).map(|entry| entry.oid)
    }

    /// Compares the bytes of the pack with its trailing checksum.
    pub fn check_pack_checksum(&self) -> Result<()> {
        let mut hasher = IdHasher::new(self.hash_kind);
        hasher.update(self.pack.entry_slice(0..self.end).unwrap_or_default());
        let (recorded, found) = (self.trailer()?, hasher.finish());
        if recorded == found {
            return Ok(());
        }
        Err(self.corrupt(self.end, format!("the checksum {found} of the bytes before it"), format!("{recorded}")))
    }

    /// Compares the bytes of the index with its own trailing checksum. Nothing else protects the ids until objects are
    /// hashed.
    pub fn check_index_checksum(&self) -> Result<()> {
        let file = std::fs::File::open(&self.index_path).map_err(|e| ReaderError::io("open", &self.index_path, e))?;
        let recorded = self.index.index_checksum();
        let length = file.metadata().map_err(|e| ReaderError::io("inspect", &self.index_path, e))?.len();
        let end = length.saturating_sub(self.hash_kind.len_in_bytes() as u64);
        let mut hasher = IdHasher::new(self.hash_kind);
        let failed = |error| ReaderError::io("read", &self.index_path, error);
        if hasher.update_from(&mut file.take(end)).map_err(failed)? < end {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        let found = hasher.finish();
        if recorded == found {
            return Ok(());
        }
        let expected = format!("the checksum {found} of the bytes before it");
        Err(ReaderError::corrupt(&self.index_path, Place::Offset(end), expected, format!("{recorded}")))
    }

    /// Starts recording accesses in `log`, beginning with those of opening; `None` ends the recording.
    pub(crate) fn set_log(&mut self, log: Option<&Arc<AccessLog>>) {
        self.log = log.map(|log| {
            let index_len = std::fs::metadata(&self.index_path).map_or(0, |metadata| metadata.len());
            let pack = log.file(&self.path, FileRole::Pack, self.len());
            let index = log.file(&self.index_path, FileRole::PackIndex, index_len);
            let pack_log = PackLog::new(Arc::clone(log), pack, index, self.index_layout());
            pack_log.opened(self.end, index_len);
            pack_log
        });
    }

    fn index_layout(&self) -> IndexLayout {
        IndexLayout {
            has_header: self.index.version() != gix_pack::index::Version::V1,
            id_len: self.hash_kind.len_in_bytes() as u64,
            entries: self.entry_count().into(),
        }
    }

    /// The access log while accesses are recorded.
    #[inline]
    pub(crate) fn log(&self) -> Option<&PackLog> {
        self.log.as_ref()
    }

    /// The offset of the entry of object `id`. Of duplicates it is any one, but always the same.
    pub fn find(&self, id: &oid) -> Option<u64> {
        self.position(id).and_then(|at| self.offset_at(at))
    }

    /// The offset of the entry at `position` of the index; `None` past the last one.
    pub fn offset_at(&self, position: u32) -> Option<u64> {
        if position >= self.index.num_objects() {
            return None;
        }
        let offset = self.index.pack_offset_at_index(position);
        if let Some(log) = &self.log {
            log.offset(position);
        }
        Some(offset)
    }

    /// The position of object `id` in the index.
    pub fn position(&self, id: &oid) -> Option<u32> {
        match &self.log {
            None => search::position(self.index.num_objects(), |at| self.index.oid_at_index(at), id),
            Some(log) => self.position_logged(id, log),
        }
    }

    /// The positions that [`position`](PackFile::position) does not find. The first call reads all ids.
    pub(in crate::git) fn repeated_ids(&self) -> &RepeatedIds {
        let (count, id_at) = (self.index.num_objects(), |at| self.index.oid_at_index(at));
        let searches_as_git = self.log.as_ref().is_some_and(PackLog::searches_as_git);
        // The same search as in `position`: of several positions, each kind of search may find another.
        let find = |id: &oid| match searches_as_git {
            true => search::position_by_halving(search::fan_out(count, id_at, id.first_byte()), id_at, id),
            false => search::position(count, id_at, id),
        };
        self.repeated.get_or_init(|| {
            self.log.iter().for_each(PackLog::ids);
            RepeatedIds::new(count, id_at, find)
        })
    }

    #[cold]
    fn position_logged(&self, id: &oid, log: &PackLog) -> Option<u32> {
        let id_at = |at| {
            log.id(at);
            self.index.oid_at_index(at)
        };
        if !log.searches_as_git() {
            return search::position(self.index.num_objects(), id_at, id);
        }
        let first_byte = id.first_byte();
        log.fan_out(first_byte);
        let range = search::fan_out(self.index.num_objects(), |at| self.index.oid_at_index(at), first_byte);
        search::position_by_halving(range, id_at, id)
    }

    /// The error for damage at `offset` of this pack.
    pub fn corrupt(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> ReaderError {
        ReaderError::corrupt(&self.path, Place::Offset(offset), expected, found)
    }

    /// Checks that the payload of the entry at `offset` may be held in memory.
    ///
    /// # Errors
    /// It is too long.
    #[inline]
    pub fn check_size(&self, offset: u64, payload_len: u64) -> Result<()> {
        memory::check(payload_len).map_err(|excess| self.too_large(offset, "a payload", excess))
    }

    pub(crate) fn too_large(&self, offset: u64, what: &'static str, excess: TooLarge) -> ReaderError {
        ReaderError::too_large(&self.path, Place::Offset(offset), what, excess)
    }

    /// The error for the delta at `offset`, which cannot be applied.
    pub fn bad_delta(&self, offset: u64, error: DeltaError) -> ReaderError {
        match error {
            DeltaError::TooLarge(excess) => self.too_large(offset, "an object", excess),
            error => self.corrupt(offset, "a delta that fits its base", error.to_string()),
        }
    }

    /// The error for the object of `kind` at `offset`, whose numbers are wrong.
    pub(crate) fn bad_numbers(&self, offset: u64, kind: ObjectKind, error: NumberError) -> ReaderError {
        match error {
            NumberError::TooLarge(excess) => self.too_large(offset, "an object", excess),
            error => self.corrupt(offset, format!("a numbered {kind}"), error.to_string()),
        }
    }

    fn bad_header(&self, offset: u64, error: EntryHeaderError) -> ReaderError {
        self.corrupt(offset, "an entry header", error.to_string())
    }
}

/// Fails with the operating system's error if the file cannot be opened. Mapping it would hide that error.
fn check_readable(path: &Path) -> Result<()> {
    std::fs::File::open(path).map(drop).map_err(|e| ReaderError::io("open", path, e))
}

fn bad_file(path: &Path, expected: &str, error: &gix_error::Error) -> ReaderError {
    ReaderError::corrupt(path, Place::Whole, expected, error.to_string())
}
