//! An entry as stored in a pack, and its checks.

use repackbench_codec::{BaseUse, ChunkDecoder, CodecError};

use super::{EntryTable, PackEntryHeader, PackFile};
use crate::{
    Result,
    git::chunk::{decode_delta_to_vec, decode_to_vec},
};

/// An entry of a pack that has been located but not decoded.
#[derive(Debug, Clone, Copy)]
pub struct StoredEntry<'a> {
    /// Its offset.
    pub offset: u64,
    /// Its position in the index.
    pub index_position: u32,
    /// Its header.
    pub header: PackEntryHeader,
    /// Header and chunk, up to the next entry.
    pub bytes: &'a [u8],
    /// Only the chunk.
    pub stored: &'a [u8],
}

impl EntryTable {
    /// The entry of `pack` at `position` in file order.
    pub fn entry<'a>(&self, pack: &'a PackFile, position: usize) -> Result<StoredEntry<'a>> {
        let Some(((offset, end), index_position)) = self.extent(position).zip(self.index_position(position)) else {
            return Err(pack.corrupt(pack.end(), "an entry", format!("none at position {position}")));
        };
        let (header, _) = pack.entry(offset)?;
        let bytes = pack.bytes(offset, end)?;
        let Some(stored) = bytes.get(header.header_len..) else {
            let found = format!("a header of {} bytes, which overlaps the next entry at {end}", header.header_len);
            return Err(pack.corrupt(offset, "an entry", found));
        };
        Ok(StoredEntry { offset, index_position, header, bytes, stored })
    }
}

impl StoredEntry<'_> {
    /// Compares the entry with the CRC-32 in the index, if the version of the index has one.
    pub fn check_crc(&self, pack: &PackFile) -> Result<()> {
        let Some(expected) = pack.index().crc32_at_index(self.index_position) else { return Ok(()) };
        let found = crc32fast::hash(self.bytes);
        if expected == found {
            return Ok(());
        }
        let expected = format!("an entry with the CRC-32 of its index, {expected:08x}");
        Err(pack.corrupt(self.offset, expected, format!("{found:08x}")))
    }

    /// Replaces `payload` by that of the chunk, which has to end exactly at the next entry.
    pub fn decode(&self, pack: &PackFile, decoder: &mut ChunkDecoder, payload: &mut Vec<u8>) -> Result<()> {
        pack.check_size(self.offset, self.header.payload_len)?;
        self.check_consumed(pack, decode_to_vec(decoder, self.stored, self.header.payload_len, payload))
    }

    /// As [`decode`](StoredEntry::decode), for a delta whose base has the content `base`. The result says whether the
    /// payload is the delta or, instead, the object.
    pub fn decode_on_base(
        &self,
        pack: &PackFile,
        decoder: &mut ChunkDecoder,
        base: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<BaseUse> {
        pack.check_size(self.offset, self.header.payload_len)?;
        let decoded = decode_delta_to_vec(decoder, self.stored, Some(base), self.header.payload_len, payload);
        self.check_consumed(pack, decoded)?;
        Ok(ChunkDecoder::base_use(self.stored))
    }

    /// Checks `result`, which decoding returned: the chunk has to be valid and end exactly at the next entry.
    pub fn check_consumed(&self, pack: &PackFile, result: std::result::Result<u64, CodecError>) -> Result<()> {
        let (expected, found) = match result {
            Ok(consumed) if consumed == self.stored.len() as u64 => return Ok(()),
            Ok(consumed) => {
                (format!("a chunk of {} stored bytes", self.stored.len()), format!("one that ends after {consumed}"))
            }
            Err(error) => (format!("a chunk of {} payload bytes", self.header.payload_len), error.to_string()),
        };
        Err(pack.corrupt(self.offset, expected, found))
    }
}
