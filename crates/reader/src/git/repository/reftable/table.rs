//! A table: a file of refs, sorted by name, and of their reflogs.
//!
//! | part | |
//! |---|---|
//! | header | `REFT`, version (1), block size (3), `min_update_index` (8), `max_update_index` (8); in version 2, the hash (4): `sha1` or `s256` |
//! | ref blocks, index of them | the header is part of the first block |
//! | object blocks, index of them | which blocks have refs to an object |
//! | log blocks, index of them | |
//! | footer | the header again; positions of the ref index, object blocks, object index, log blocks, log index (8 each); CRC-32 of the footer before it (4) |
//!
//! Numbers are big-endian; lengths are in bytes. The position of objects is `position << 5 | length of their keys`. The
//! position of a missing part is 0.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use gix_hash::ObjectId;
use repackbench_codec::ChunkDecoder;

use super::{
    block::{Block, HEAD_LEN},
    fields::Fields,
};
use crate::{
    error::{Place, ReaderError, Result},
    git::repository::references::{is_reference_name, quoted},
};

const MAGIC: &[u8] = b"REFT";
/// The length of the header in version 1. In version 2, the name of the hash follows.
const HEADER_LEN: usize = 24;
const HASH_LEN: usize = 4;
/// The number of positions in the footer, the length of one, and that of the checksum.
const POSITIONS: usize = 5;
const POSITION_LEN: usize = 8;
const CHECKSUM_LEN: usize = 4;
/// The bits of the object position that hold the length of keys.
const KEY_LEN_BITS: u32 = 5;

/// The kinds of blocks.
const REFS: u8 = b'r';
const INDEX: u8 = b'i';
const OBJECTS: u8 = b'o';
const LOGS: u8 = b'g';

/// An index of more levels is not plausible: each level of git's has at least a hundredth of the blocks below it.
const MAX_LEVELS: usize = 16;

/// Names take at most as many bytes as the file, multiplied by this. git writes every 16th name completely, and the
/// format's description recommends 16 or 64. Without a limit, a small file of long common prefixes could fill the memory.
const MAX_EXPANSION: usize = 64;

/// Takes the key and the content of a log record, and returns the number of bytes that it has kept so far.
type LogVisitor<'v> = dyn FnMut(&[u8], Option<&[u8]>) -> usize + 'v;

/// A table of a reftable. Header, footer and checksum are right.
#[derive(Debug)]
pub struct ReferenceTable {
    path: PathBuf,
    content: Vec<u8>,
    hash: gix_hash::Kind,
    header_len: usize,
    /// The file's blocks have this length, with padding; 0 if they are not aligned.
    block_size: usize,
    max_update_index: u64,
    /// The offset of the footer.
    end: usize,
    positions: Positions,
}

/// The offsets of the parts after the ref blocks. 0 if there is none.
#[derive(Debug, Clone, Copy)]
struct Positions {
    ref_index: usize,
    objects: usize,
    logs: usize,
}

/// The value of a ref in one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceValue {
    /// The ref does not exist, whatever older tables say.
    Deletion,
    /// An object.
    Object {
        /// Its id.
        id: ObjectId,
        /// The object that a tag finally leads to, if the writer of the table knew it.
        peeled: Option<ObjectId>,
    },
    /// Another ref, by full name.
    Symbolic(BString),
}

impl ReferenceTable {
    /// Checks the header and the footer of a table of `hash`, the `content` of the file at `path`.
    pub(crate) fn parse(path: PathBuf, content: Vec<u8>, hash: gix_hash::Kind) -> Result<Self> {
        let mut fields = Fields::new(&path, &content, 0);
        let magic = fields.clone();
        let found = fields.take(MAGIC.len(), "'REFT'")?;
        if found != MAGIC {
            return Err(magic.corrupt("'REFT'", format!("'{}'", found.escape_ascii())));
        }
        let at_version = fields.clone();
        let version = fields.number(1, "a version")?;
        let header_len = match version {
            1 => HEADER_LEN,
            2 => HEADER_LEN + HASH_LEN,
            _ => return Err(at_version.corrupt("version 1 or 2", version.to_string())),
        };
        let block_size = fields.size(3, "a block size")?;
        fields.take(8, "the smallest update index")?;
        let max_update_index = fields.number(8, "the largest update index")?;
        let at_hash = if version == 1 { at_version } else { fields.clone() };
        let found = if version == 1 { b"sha1" } else { fields.take(HASH_LEN, "the name of a hash")? };
        let expected: &[u8] = if hash == gix_hash::Kind::Sha256 { b"s256" } else { b"sha1" };
        if found != expected {
            let name = |name: &[u8]| format!("ids of the hash '{}'", name.escape_ascii());
            return Err(at_hash.corrupt(name(expected), name(found)));
        }
        let (end, positions) = parse_footer(&path, &content, header_len)?;
        Ok(ReferenceTable { hash, header_len, block_size, max_update_index, end, positions, path, content })
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of the file.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// The greatest update index of its records.
    #[must_use]
    pub fn max_update_index(&self) -> u64 {
        self.max_update_index
    }

    /// The blocks and padding.
    fn blocks(&self) -> &[u8] {
        self.content.get(..self.end).unwrap_or_default()
    }

    /// Calls `visit` with each ref, in order of names.
    pub(crate) fn for_each_ref(&self, visit: &mut dyn FnMut(&[u8], ReferenceValue)) -> Result<()> {
        let mut leaves = Vec::new();
        let (mut key, mut names_len) = (Vec::new(), 0_usize);
        let mut start = 0;
        while let Some(block) = self.block_of_kind(start, REFS)? {
            let mut records = block.records(key)?;
            while let Some(kind) = records.advance()? {
                names_len = names_len.saturating_add(records.key.len());
                self.check_expansion(names_len)?;
                let value = ReferenceValue::read(kind, &mut records.fields, self.hash)?;
                // git would take what precedes it for the name.
                if records.key.contains(&0) {
                    return Err(records.fields.corrupt("names of refs", "one with a byte of zero"));
                }
                if let ReferenceValue::Symbolic(target) = &value
                    && !is_reference_name(target.as_bstr())
                {
                    let found = format!("'{}'", target.escape_ascii());
                    return Err(records.fields.corrupt("the name of a ref in a symbolic ref", found));
                }
                visit(&records.key, value);
            }
            key = records.key;
            leaves.push((start, key.clone()));
            start = block.next;
        }
        self.check_end_of_refs(start, &leaves)
    }

    /// Checks that all ref blocks were found: `leaves`, the offsets and last keys of blocks up to `end`.
    fn check_end_of_refs(&self, end: usize, leaves: &[(usize, Vec<u8>)]) -> Result<()> {
        let Positions { ref_index, objects, logs } = self.positions;
        if ref_index > 0 {
            return self.check_index(ref_index, leaves);
        }
        let expected = [objects, logs].into_iter().find(|position| *position > 0).unwrap_or(self.end);
        // Without refs, the first block has logs, or the footer follows the header.
        if end == expected || leaves.is_empty() {
            return Ok(());
        }
        let expected = format!("ref blocks up to offset {expected}");
        Err(self.corrupt(end, expected, format!("{} of them", leaves.len())))
    }

    /// Fails if `len`, the bytes that are kept of its records, is far larger than the file.
    pub(super) fn check_expansion(&self, len: usize) -> Result<()> {
        if len <= self.content.len().saturating_mul(MAX_EXPANSION) {
            return Ok(());
        }
        let expected = format!("records of at most {MAX_EXPANSION} times as many bytes as the file has");
        Err(ReaderError::corrupt(&self.path, Place::Whole, expected, "more"))
    }

    /// Checks that a search in the index at `position` finds each of `leaves`: the offsets and last keys of blocks.
    fn check_index(&self, position: usize, leaves: &[(usize, Vec<u8>)]) -> Result<()> {
        let mut leaves = leaves.iter();
        let mut start = position;
        let mut key = Vec::new();
        // The highest level may have several blocks.
        while let Some(block) = self.block_of_kind(start, INDEX)? {
            key = self.check_index_block(&block, key, MAX_LEVELS, &mut leaves)?;
            start = block.next;
        }
        match leaves.next() {
            None => Ok(()),
            Some((leaf, _)) => Err(self.corrupt(position, format!("an index of the block at {leaf}"), "none")),
        }
    }

    /// Checks one block of an index and everything below it. Returns its last key.
    fn check_index_block(
        &self,
        block: &Block<'_>,
        previous: Vec<u8>,
        levels: usize,
        leaves: &mut std::slice::Iter<'_, (usize, Vec<u8>)>,
    ) -> Result<Vec<u8>> {
        let mut records = block.records(previous)?;
        loop {
            let before = records.key.clone();
            if records.advance()?.is_none() {
                return Ok(records.key);
            }
            let at_position = records.fields.clone();
            let position = records.fields.varint("the offset of a block")?;
            let below = usize::try_from(position).ok().filter(|below| *below < block.start);
            let wrong = |expected: String| at_position.corrupt(expected, format!("offset {position}"));
            let Some(below) = below else { return Err(wrong("a block before the index".to_owned())) };
            let last = match self.block_of_kind(below, INDEX)? {
                Some(_) if levels == 0 => return Err(wrong(format!("an index of at most {MAX_LEVELS} levels"))),
                Some(block) => self.check_index_block(&block, before, levels - 1, leaves)?,
                None => match leaves.next() {
                    Some((start, key)) if *start == below => key.clone(),
                    Some((start, _)) => return Err(wrong(format!("the block at {start}"))),
                    None => return Err(wrong("no further block".to_owned())),
                },
            };
            if last != records.key {
                let expected = format!("a block that ends with {}", quoted(&records.key));
                return Err(at_position.corrupt(expected, format!("one that ends with {}", quoted(&last))));
            }
        }
    }

    /// Calls `visit` with the key and the content of each log record, in order; without content for a deletion.
    pub(crate) fn for_each_log(&self, visit: &mut LogVisitor<'_>) -> Result<()> {
        let mut start = self.positions.logs;
        let mut key = Vec::new();
        let mut decoder = ChunkDecoder::new(repackbench_codec::Decoders::default());
        while let Some(block) = self.log_block(start, &mut decoder)? {
            let mut records = block.records(key)?;
            while let Some(kind) = records.advance()? {
                let data = self.log_data(kind, &mut records.fields)?;
                self.check_expansion(visit(&records.key, data))?;
            }
            key = records.key;
            start = block.next;
        }
        Ok(())
    }

    /// The block at `start`; `None` if it is of another kind, or after the last one.
    fn block_of_kind(&self, start: usize, kind: u8) -> Result<Option<Block<'_>>> {
        let Some((_, len)) = self.block_head(start)?.filter(|(found, _)| *found == kind) else { return Ok(None) };
        let blocks = self.blocks();
        let mut fields = Fields::new(&self.path, blocks.get(start..).unwrap_or_default(), start);
        let bytes = fields.take(len, "a block")?;
        let end = start.saturating_add(len);
        // Padding is zero, and no block starts with a zero. A block without padding comes before an unaligned one.
        let is_padded = len < self.block_size && blocks.get(end).is_none_or(|byte| *byte == 0);
        let next = if is_padded { start.saturating_add(self.block_size).min(self.end) } else { end };
        let first_record = self.skipped(start) + HEAD_LEN;
        Ok(Some(Block { path: &self.path, start, first_record, bytes: Cow::Borrowed(bytes), next }))
    }

    /// The log block at `start`; `None` if it is of another kind, or after the last one.
    fn log_block(&self, start: usize, decoder: &mut ChunkDecoder) -> Result<Option<Block<'_>>> {
        let Some((_, len)) = self.block_head(start)?.filter(|(kind, _)| *kind == LOGS) else { return Ok(None) };
        let first_record = self.skipped(start) + HEAD_LEN;
        let from = start.saturating_add(first_record);
        let head = self.blocks().get(start..from).unwrap_or_default();
        let stored = self.blocks().get(from..).unwrap_or_default();
        let mut bytes = head.to_vec();
        bytes.resize(len, 0);
        let wrong = |found| self.corrupt(from, format!("a zlib stream of {} bytes", len - first_record), found);
        match ChunkDecoder::identify(stored) {
            Some("zlib") => {}
            found => return Err(wrong(found.unwrap_or("something else").to_owned())),
        }
        let inflated = decoder.decode(stored, bytes.get_mut(first_record..).unwrap_or_default());
        let taken = inflated.map_err(|error| wrong(error.to_string()))?;
        let next = from.saturating_add(taken);
        Ok(Some(Block { path: &self.path, start, first_record, bytes: Cow::Owned(bytes), next }))
    }

    /// The kind and the length of the block at `start`; `None` after the last one.
    fn block_head(&self, start: usize) -> Result<Option<(u8, usize)>> {
        let at = start.saturating_add(self.skipped(start));
        if at >= self.end {
            return Ok(None);
        }
        let mut fields = Fields::new(&self.path, self.blocks().get(at..).unwrap_or_default(), at);
        let at_kind = fields.clone();
        let kind = fields.take(1, "the kind of a block")?.first().copied().unwrap_or_default();
        let len = fields.size(HEAD_LEN - 1, "the length of a block")?;
        if ![REFS, INDEX, OBJECTS, LOGS].contains(&kind) {
            return Err(at_kind.corrupt("a block of kind r, i, o or g", format!("byte {kind:#04x}")));
        }
        let shortest = self.skipped(start) + HEAD_LEN;
        if len <= shortest {
            return Err(at_kind.corrupt("a block with records", format!("a length of {len} bytes")));
        }
        Ok(Some((kind, len)))
    }

    /// The length of what comes before the kind of the block at `start`.
    fn skipped(&self, start: usize) -> usize {
        if start == 0 { self.header_len } else { 0 }
    }

    fn corrupt(&self, offset: usize, expected: impl Into<String>, found: impl Into<String>) -> ReaderError {
        ReaderError::corrupt(&self.path, Place::Offset(offset as u64), expected, found)
    }

    /// The content of a log record: ids before and after, name, address, time, time zone, message.
    fn log_data<'b>(&self, kind: u8, fields: &mut Fields<'b>) -> Result<Option<&'b [u8]>> {
        let mut start = fields.clone();
        match kind {
            0 => return Ok(None),
            1 => {}
            _ => return Err(start.corrupt("a log record of kind 0 or 1", kind.to_string())),
        }
        let ids = 2 * self.hash.len_in_bytes();
        fields.take(ids, "the ids of a log record")?;
        fields.text("a name in a log record")?;
        fields.text("an address in a log record")?;
        fields.varint("the time of a log record")?;
        fields.take(2, "the time zone of a log record")?;
        fields.text("the message of a log record")?;
        start.take(fields.at() - start.at(), "a log record").map(Some)
    }
}

impl ReferenceValue {
    /// Reads what follows the key of a ref, whose `extra` is the kind of value.
    fn read(kind: u8, fields: &mut Fields<'_>, hash: gix_hash::Kind) -> Result<Self> {
        let start = fields.clone();
        fields.varint("the update index of a ref")?;
        let mut id = |what: &str| {
            let at_id = fields.clone();
            let bytes = fields.take(hash.len_in_bytes(), what)?;
            ObjectId::try_from(bytes).map_err(|_| at_id.corrupt(what, "another"))
        };
        match kind {
            0 => Ok(ReferenceValue::Deletion),
            1 => Ok(ReferenceValue::Object { id: id("an object id")?, peeled: None }),
            2 => Ok(ReferenceValue::Object { id: id("an object id")?, peeled: Some(id("the id of a tag's object")?) }),
            3 => Ok(ReferenceValue::Symbolic(fields.text("the name of a ref")?.into())),
            _ => Err(start.corrupt("a ref of kind 0, 1, 2 or 3", kind.to_string())),
        }
    }
}

/// The offset of the footer, and the positions in it.
fn parse_footer(path: &Path, content: &[u8], header_len: usize) -> Result<(usize, Positions)> {
    let footer_len = header_len + POSITIONS * POSITION_LEN + CHECKSUM_LEN;
    let Some(end) = content.len().checked_sub(footer_len).filter(|end| *end >= header_len) else {
        let expected = format!("a table of at least {} bytes", header_len + footer_len);
        return Err(ReaderError::corrupt(path, Place::Whole, expected, content.len().to_string()));
    };
    let footer = content.get(end..).unwrap_or_default();
    let mut fields = Fields::new(path, footer, end);
    let at_header = fields.clone();
    if Some(fields.take(header_len, "a footer")?) != content.get(..header_len) {
        return Err(at_header.corrupt("the header again in the footer", "another"));
    }
    let mut at_checksum = fields.within(footer_len - CHECKSUM_LEN, footer_len);
    let start = at_checksum.clone();
    let stored = at_checksum.number(CHECKSUM_LEN, "a checksum")?;
    let computed = crc32fast::hash(footer.get(..footer_len - CHECKSUM_LEN).unwrap_or_default());
    if stored != u64::from(computed) {
        return Err(start.corrupt(format!("the CRC-32 {computed:08x} of the footer"), format!("{stored:08x}")));
    }
    let mut position = |what: &str, bits: u32| {
        let at_position = fields.clone();
        let found = fields.number(POSITION_LEN, what)? >> bits;
        let usable = usize::try_from(found).ok().filter(|found| *found < end.max(1));
        usable.ok_or_else(|| at_position.corrupt(format!("{what} before offset {end}"), found.to_string()))
    };
    let ref_index = position("a ref index", 0)?;
    let objects = position("object blocks", KEY_LEN_BITS)?;
    position("an object index", 0)?;
    let logs = position("log blocks", 0)?;
    position("a log index", 0)?;
    Ok((end, Positions { ref_index, objects, logs }))
}
