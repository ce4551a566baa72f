//! Recording what is read of a pack and its index.
//!
//! Where the parts of an index are (gitformat-pack(5)). `n` is the number of entries, `h` the length of an id:
//!
//! | part | version 1 | version 2 |
//! |---|---|---|
//! | fan-out of 256 numbers | at 0 | at 8 |
//! | ids | in records of 4 + `h` bytes, after the offset | `h` bytes each, after the fan-out |
//! | CRC-32s | none | 4 bytes each, after the ids |
//! | offsets | in the same records | 4 bytes each, after the CRC-32s |
//!
//! Entries beyond 2 GiB have another offset of 8 bytes, after all others. Reading that one is not recorded.

use std::sync::Arc;

use super::{PACK_HEADER_LEN, PackEntryHeader};
use crate::{
    ChunkKind, ObjectKind,
    access::{Access, AccessLog, AccessPart, TracedDecode},
};

const FAN_OUT_NUMBER_LEN: u64 = 4;
const FAN_OUT_LEN: u64 = 256 * FAN_OUT_NUMBER_LEN;
const OFFSET_LEN: u64 = 4;
const CRC_LEN: u64 = 4;
/// Magic number and version of an index of version 2.
const INDEX_HEADER_LEN: u64 = 8;

/// Where the parts of an index are.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexLayout {
    /// Whether the index is of version 2, which starts with a header. Version 1 does not.
    pub(super) has_header: bool,
    /// Length of an id in bytes.
    pub(super) id_len: u64,
    /// Number of entries.
    pub(super) entries: u64,
}

impl IndexLayout {
    /// Where the fan-out starts.
    fn fan_out(self) -> u64 {
        if self.has_header { INDEX_HEADER_LEN } else { 0 }
    }

    /// Length of the part that all ids are in, in bytes.
    fn ids_len(self) -> u64 {
        self.entries * if self.has_header { self.id_len } else { OFFSET_LEN + self.id_len }
    }

    /// Length of ids, CRC-32s and offsets together, in bytes.
    fn tables_len(self) -> u64 {
        let crc_len = if self.has_header { CRC_LEN } else { 0 };
        self.entries * (self.id_len + OFFSET_LEN + crc_len)
    }

    /// Where the id at `position` starts.
    fn id(self, position: u32) -> u64 {
        let tables = self.fan_out() + FAN_OUT_LEN;
        match self.has_header {
            false => tables + OFFSET_LEN + u64::from(position) * (OFFSET_LEN + self.id_len),
            true => tables + u64::from(position) * self.id_len,
        }
    }

    /// Where the offset at `position` starts.
    fn offset(self, position: u32) -> u64 {
        let tables = self.fan_out() + FAN_OUT_LEN;
        match self.has_header {
            false => tables + u64::from(position) * (OFFSET_LEN + self.id_len),
            true => tables + self.entries * (self.id_len + CRC_LEN) + u64::from(position) * OFFSET_LEN,
        }
    }
}

/// A log, and the numbers of a pack and its index in it.
pub(crate) struct PackLog {
    log: Arc<AccessLog>,
    pack: u32,
    index: u32,
    layout: IndexLayout,
}

/// A chunk that was decoded.
pub(crate) struct DecodedChunk<'a> {
    /// Where the access starts: at the entry's header or, if that was read before, at the chunk.
    pub(crate) start: u64,
    /// Where the chunk starts.
    pub(crate) chunk: u64,
    /// How many stored bytes decoding consumed.
    pub(crate) consumed: u64,
    /// Length of the payload in bytes.
    pub(crate) payload_len: u64,
    pub(crate) kind: ChunkKind,
    /// The base that it was decoded with: where that starts, and its content.
    pub(crate) base: Option<(u64, &'a [u8])>,
}

impl PackLog {
    /// Records in `log`, where the pack and the index have these numbers.
    pub(super) fn new(log: Arc<AccessLog>, pack: u32, index: u32, layout: IndexLayout) -> Self {
        PackLog { log, pack, index, layout }
    }

    /// Records what opening the two files reads: both ends of both. The pack's entries end at `pack_end`.
    pub(super) fn opened(&self, pack_end: u64, index_len: u64) {
        let opened = |file, offset, len| {
            self.log.access(Access { file, part: AccessPart::Opening, kind: None, offset, len });
        };
        let trailer = self.layout.id_len;
        opened(self.pack, 0, PACK_HEADER_LEN);
        opened(self.index, 0, self.layout.fan_out() + FAN_OUT_LEN);
        opened(self.pack, pack_end, trailer);
        opened(self.index, index_len.saturating_sub(2 * trailer), 2 * trailer);
    }

    /// Records that the whole index was read: every id, with its CRC-32 and offset.
    pub(crate) fn tables(&self) {
        self.look_up(self.layout.fan_out() + FAN_OUT_LEN, self.layout.tables_len());
    }

    /// Records that every id was read.
    pub(super) fn ids(&self) {
        self.look_up(self.layout.fan_out() + FAN_OUT_LEN, self.layout.ids_len());
    }

    fn look_up(&self, offset: u64, len: u64) {
        self.log.access(Access { file: self.index, part: AccessPart::LookUp, kind: None, offset, len });
    }

    /// Whether to search for ids as git does.
    pub(super) fn searches_as_git(&self) -> bool {
        self.log.searches_as_git()
    }

    /// Records that the numbers of the fan-out around `first_byte` were read. They say between which positions the ids
    /// with this first byte are. For byte 0 it is one number.
    pub(super) fn fan_out(&self, first_byte: u8) {
        let before = u64::from(first_byte.saturating_sub(1));
        let numbers = if first_byte == 0 { 1 } else { 2 };
        self.look_up(self.layout.fan_out() + before * FAN_OUT_NUMBER_LEN, numbers * FAN_OUT_NUMBER_LEN);
    }

    /// Records that the id at `position` was compared.
    pub(super) fn id(&self, position: u32) {
        self.look_up(self.layout.id(position), self.layout.id_len);
    }

    /// Records that the offset at `position` was read.
    pub(super) fn offset(&self, position: u32) {
        self.look_up(self.layout.offset(position), OFFSET_LEN);
    }

    /// Records that the header of the delta at `offset` was read on the way to its base.
    #[cold]
    pub(crate) fn header(&self, offset: u64, header: &PackEntryHeader) {
        let len = header.header_len as u64;
        self.log.access(Access { file: self.pack, part: AccessPart::EntryHeader, kind: None, offset, len });
    }

    /// Records that the last `count` headers are of deltas of an `object`.
    #[cold]
    pub(crate) fn name_headers(&self, count: usize, object: ObjectKind) {
        self.log.name_headers(count, object);
    }

    /// Records that a chunk was decoded.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of three entries, as gitformat-pack(5) lays it out.
    #[test]
    fn index_parts_are_where_the_format_says() {
        let version_1 = IndexLayout { has_header: false, id_len: 20, entries: 3 };
        assert_eq!(
            [version_1.offset(0), version_1.id(0), version_1.offset(1), version_1.id(1)],
            [1024, 1028, 1048, 1052]
        );
        assert_eq!((version_1.ids_len(), version_1.tables_len()), (3 * 24, 3 * 24));
        let version_2 = IndexLayout { has_header: true, ..version_1 };
        assert_eq!([version_2.id(0), version_2.id(2)], [1032, 1072]);
        assert_eq!([version_2.offset(0), version_2.offset(2)], [1032 + 3 * 24, 1032 + 3 * 24 + 8]);
        assert_eq!((version_2.ids_len(), version_2.tables_len()), (3 * 20, 3 * 28));
    }
}
