//! The blocks of a table, and the sorted records in them.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | kind: `r` refs, `i` index, `o` objects, `g` logs |
//! | 3 | length of the block without padding. The first block starts with the table's header and counts it. |
//! | | records |
//! | 3 each | restart points: the offsets in the block of records whose key is complete, ascending |
//! | 2 | number of restart points |
//!
//! In a log block, everything after the length is one zlib stream, and the length is that of the block without
//! compression.
//!
//! A record starts with its key, of which the first bytes may be those of the key before it: `varint prefix_len`,
//! `varint (suffix_len << 3 | extra)`, suffix. What follows depends on the kind of block and on `extra`.

use std::{borrow::Cow, path::Path};

use super::fields::Fields;
use crate::{error::Result, git::repository::references::quoted};

/// The length of a block's kind and length.
pub(super) const HEAD_LEN: usize = 4;
/// The length of one restart point.
const RESTART_LEN: usize = 3;
/// The length of the number of restart points.
const COUNT_LEN: usize = 2;

/// A block without its compression.
#[derive(Debug)]
pub(super) struct Block<'t> {
    pub(super) path: &'t Path,
    /// The offset in the file.
    pub(super) start: usize,
    /// The offset of the first record in `bytes`.
    pub(super) first_record: usize,
    /// The block. Only a log block is compressed, and owned here.
    pub(super) bytes: Cow<'t, [u8]>,
    /// The offset of the next block in the file, or the end of the last block.
    pub(super) next: usize,
}

impl Block<'_> {
    fn fields(&self) -> Fields<'_> {
        match &self.bytes {
            Cow::Borrowed(bytes) => Fields::new(self.path, bytes, self.start),
            Cow::Owned(bytes) => Fields::of_compressed(self.path, bytes, self.start),
        }
    }

    /// The records. Their keys have to be greater than `previous`, the last key of the block before.
    pub(super) fn records(&self, previous: Vec<u8>) -> Result<Records<'_>> {
        let (fields, len) = (self.fields(), self.bytes.len());
        let at_count = len.saturating_sub(COUNT_LEN);
        let count = fields.within(at_count, len).size(COUNT_LEN, "the number of restart points")?;
        let at_restarts = at_count.checked_sub(count.saturating_mul(RESTART_LEN)).filter(|at| *at > self.first_record);
        let Some(at_restarts) = at_restarts.filter(|_| count > 0) else {
            let wrong = fields.within(at_count, len);
            return Err(wrong.corrupt("restart points that fit into their block", format!("{count} of them")));
        };
        let mut records = Records {
            fields: fields.within(self.first_record, at_restarts),
            key: previous,
            restarts: fields.within(at_restarts, at_count),
            next_restart: None,
            is_first: true,
        };
        records.advance_restart()?;
        Ok(records)
    }
}

/// The records of a block. A caller reads the value of each record before it asks for the next.
#[derive(Debug)]
pub(super) struct Records<'b> {
    /// What follows the present record's key.
    pub(super) fields: Fields<'b>,
    /// The present record's key.
    pub(super) key: Vec<u8>,
    restarts: Fields<'b>,
    /// The next restart point; `None` after the last one.
    next_restart: Option<usize>,
    is_first: bool,
}

impl Records<'_> {
    /// Goes on to the next record and returns the `extra` of its key; `None` at the end.
    pub(super) fn advance(&mut self) -> Result<Option<u8>> {
        let start = self.fields.clone();
        if self.fields.is_at_end() {
            return match self.next_restart {
                Some(restart) => Err(start.corrupt(format!("a record at restart point {restart}"), "none")),
                None => Ok(None),
            };
        }
        let prefix_len = self.fields.varint("the length of a key's prefix")?;
        let suffix_len = self.fields.varint("the length of a key's suffix")?;
        let extra = u8::try_from(suffix_len & 7).unwrap_or_default();
        let suffix = self.fields.take(usize::try_from(suffix_len >> 3).unwrap_or(usize::MAX), "the suffix of a key")?;
        let is_restart = self.next_restart == Some(start.at());
        if (is_restart || self.is_first) && prefix_len > 0 {
            return Err(start.corrupt("a complete key", format!("a prefix of {prefix_len} bytes")));
        }
        let prefix_len = usize::try_from(prefix_len).unwrap_or(usize::MAX);
        let Some(rest) = self.key.get(prefix_len..) else {
            let expected = format!("a prefix of at most {} bytes", self.key.len());
            return Err(start.corrupt(expected, format!("one of {prefix_len} bytes")));
        };
        if prefix_len == 0 && suffix.is_empty() {
            return Err(start.corrupt("a key", "an empty one"));
        }
        if rest >= suffix {
            let found = [self.key.get(..prefix_len).unwrap_or_default(), suffix].concat();
            return Err(start.corrupt(format!("a key after {}", quoted(&self.key)), quoted(&found)));
        }
        self.key.truncate(prefix_len);
        self.key.extend_from_slice(suffix);
        self.is_first = false;
        if is_restart {
            self.advance_restart()?;
        }
        if let Some(restart) = self.next_restart.filter(|restart| *restart <= start.at()) {
            return Err(start.corrupt("restart points at records, ascending", format!("one at {restart}")));
        }
        Ok(Some(extra))
    }

    fn advance_restart(&mut self) -> Result<()> {
        self.next_restart =
            if self.restarts.is_at_end() { None } else { Some(self.restarts.size(RESTART_LEN, "a restart point")?) };
        Ok(())
    }
}
