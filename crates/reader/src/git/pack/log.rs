//! Recording what is read of a pack and its index.
//!
//! Where an index holds what (gitformat-pack(5)), `n` being the number of entries and `h` the length of an id:
//!
//! | part | version 1 | version 2 |
//! |---|---|---|
//! | fan-out of 256 numbers | at 0 | at 8 |
//! | ids | within records of 4 + `h` bytes, behind the offset | `h` bytes each, behind the fan-out |
//! | CRC-32s | none | 4 bytes each, behind the ids |
//! | offsets | within the same records | 4 bytes each, behind the CRC-32s |
//!
//! Entries beyond 2 GiB have an offset of 8 bytes more, behind all others; that read is left out.

use std::sync::Arc;

use super::{PACK_HEADER_LEN, PackEntryHeader, PackFile};
use crate::{
    ChunkKind, ObjectKind,
    access::{Access, AccessLog, AccessPart, FileRole, TracedDecode},
};

const FAN_OUT_NUMBER_LEN: u64 = 4;
const FAN_OUT_LEN: u64 = 256 * FAN_OUT_NUMBER_LEN;
const OFFSET_LEN: u64 = 4;
const CRC_LEN: u64 = 4;
/// Magic number and version of an index of version 2.
const INDEX_HEADER_LEN: u64 = 8;

/// A log, and what it knows a pack and its index as.
pub(crate) struct PackLog {
    log: Arc<AccessLog>,
    pack: u32,
    index: u32,
}

/// A chunk that was decoded.
pub(crate) struct DecodedChunk<'a> {
    /// Where the access starts: at the entry's header or, where that was read before, at the chunk.
    pub(crate) start: u64,
    /// Where the chunk starts.
    pub(crate) chunk: u64,
    /// How many stored bytes decoding consumed.
    pub(crate) consumed: u64,
    /// Length of the payload.
    pub(crate) payload_len: u64,
    pub(crate) kind: ChunkKind,
    /// The base that it was decoded with: where that starts, and its content.
    pub(crate) base: Option<(u64, &'a [u8])>,
}

impl PackLog {
    /// Records in `log`, beginning with what opening `pack` took: both ends of both files.
    pub(super) fn new(pack: &PackFile, log: Arc<AccessLog>) -> Self {
        let index_len = std::fs::metadata(pack.index_path()).map_or(0, |metadata| metadata.len());
        let this = PackLog {
            pack: log.file(pack.path(), FileRole::Pack, pack.len()),
            index: log.file(pack.index_path(), FileRole::PackIndex, index_len),
            log,
        };
        let trailer = pack.hash_kind().len_in_bytes() as u64;
        let opened = |file, offset, len| {
            this.log.access(Access { file, part: AccessPart::Opening, kind: None, offset, len });
        };
        opened(this.pack, 0, PACK_HEADER_LEN);
        opened(this.index, 0, header_len(pack) + FAN_OUT_LEN);
        opened(this.pack, pack.end(), trailer);
        opened(this.index, index_len.saturating_sub(2 * trailer), 2 * trailer);
        this
    }

    /// The whole index is gone through: every id, with CRC-32 and offset.
    pub(crate) fn tables(&self, pack: &PackFile) {
        let entry = pack.hash_kind().len_in_bytes() as u64 + OFFSET_LEN;
        let entry = match pack.index().version() {
            gix_pack::index::Version::V1 => entry,
            gix_pack::index::Version::V2 => entry + CRC_LEN,
        };
        self.look_up(header_len(pack) + FAN_OUT_LEN, u64::from(pack.entry_count()) * entry);
    }

    fn look_up(&self, offset: u64, len: u64) {
        self.log.access(Access { file: self.index, part: AccessPart::LookUp, kind: None, offset, len });
    }

    /// Whether ids are to be searched for as git does it.
    pub(super) fn searches_as_git(&self) -> bool {
        self.log.searches_as_git()
    }

    /// The numbers of the fan-out were read that say between which positions the ids with this first byte lie; for the smallest byte
    /// it is one.
    pub(super) fn fan_out(&self, pack: &PackFile, first_byte: u8) {
        let before = u64::from(first_byte.saturating_sub(1));
        let numbers = if first_byte == 0 { 1 } else { 2 };
        self.look_up(header_len(pack) + before * FAN_OUT_NUMBER_LEN, numbers * FAN_OUT_NUMBER_LEN);
    }

    /// The id at `position` was compared.
    pub(super) fn id(&self, pack: &PackFile, position: u32) {
        let id_len = pack.hash_kind().len_in_bytes() as u64;
        let (start, stride) = match pack.index().version() {
            gix_pack::index::Version::V1 => (FAN_OUT_LEN + OFFSET_LEN, OFFSET_LEN + id_len),
            gix_pack::index::Version::V2 => (INDEX_HEADER_LEN + FAN_OUT_LEN, id_len),
        };
        self.look_up(start + u64::from(position) * stride, id_len);
    }

    /// The offset at `position` was read.
    pub(super) fn offset(&self, pack: &PackFile, position: u32) {
        let id_len = pack.hash_kind().len_in_bytes() as u64;
        let (start, stride) = match pack.index().version() {
            gix_pack::index::Version::V1 => (FAN_OUT_LEN, OFFSET_LEN + id_len),
            gix_pack::index::Version::V2 => {
                let crc_len = 4;
                let before = u64::from(pack.entry_count()) * (id_len + crc_len);
                (INDEX_HEADER_LEN + FAN_OUT_LEN + before, OFFSET_LEN)
            }
        };
        self.look_up(start + u64::from(position) * stride, OFFSET_LEN);
    }

    /// The header of the entry at `offset`, a delta's, was read on the way to its base.
    #[cold]
    pub(crate) fn header(&self, offset: u64, header: &PackEntryHeader) {
        let len = header.header_len as u64;
        self.log.access(Access { file: self.pack, part: AccessPart::EntryHeader, kind: None, offset, len });
    }

    /// The last `count` headers were those of deltas of an `object`.
    #[cold]
    pub(crate) fn name_headers(&self, count: usize, object: ObjectKind) {
        self.log.name_headers(count, object);
    }

    /// A chunk was decoded.
    #[cold]
    pub(crate) fn chunk(&self, decoded: &DecodedChunk<'_>) {
        let DecodedChunk { start, chunk, consumed, payload_len, kind, base } = *decoded;
        let len = (chunk - start).saturating_add(consumed);
        self.log.access(Access { file: self.pack, part: AccessPart::Chunk, kind: Some(kind), offset: start, len });
        self.log.decode(TracedDecode {
            file: self.pack,
            offset: chunk,
            stored_len: consumed,
            payload_limit: payload_len,
            kind,
            base: base.and_then(|(offset, content)| self.log.base(self.pack, offset, content)),
        });
    }
}

fn header_len(pack: &PackFile) -> u64 {
    match pack.index().version() {
        gix_pack::index::Version::V1 => 0,
        gix_pack::index::Version::V2 => INDEX_HEADER_LEN,
    }
}
