//! Reads the fields of a table in order.

use std::path::Path;

use crate::error::{Place, ReaderError, Result};

/// Bytes of a table with a position in them. Every error names the file and the offset.
#[derive(Debug, Clone)]
pub(super) struct Fields<'t> {
    path: &'t Path,
    bytes: &'t [u8],
    at: usize,
    /// The offset of `bytes` in the file.
    start: usize,
    /// Whether `bytes` are compressed in the file, so that only their start has an offset.
    is_compressed: bool,
}

impl<'t> Fields<'t> {
    /// The fields in `bytes`, which are at offset `start` of the file at `path`.
    pub(super) fn new(path: &'t Path, bytes: &'t [u8], start: usize) -> Self {
        Fields { path, bytes, at: 0, start, is_compressed: false }
    }

    /// The fields in `bytes`, which are compressed at offset `start` of the file at `path`.
    pub(super) fn of_compressed(path: &'t Path, bytes: &'t [u8], start: usize) -> Self {
        Fields { is_compressed: true, ..Fields::new(path, bytes, start) }
    }

    /// The same fields from the position `at` to before `end`.
    pub(super) fn within(&self, at: usize, end: usize) -> Self {
        Fields { bytes: self.bytes.get(..end).unwrap_or(self.bytes), at, ..self.clone() }
    }

    /// The position in the bytes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next `len` bytes, which messages call `what`.
    pub(super) fn take(&mut self, len: usize, what: &str) -> Result<&'t [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..len) else {
            return Err(self.corrupt(format!("{what} of {len} bytes"), format!("{} bytes", rest.len())));
        };
        self.at += len;
        Ok(taken)
    }

    /// The next `len` bytes, at most 8, as a big-endian number.
    pub(super) fn number(&mut self, len: usize, what: &str) -> Result<u64> {
        let bytes = self.take(len, what)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Like [`number`](Self::number), for a length or position in memory.
    pub(super) fn size(&mut self, len: usize, what: &str) -> Result<usize> {
        let start = self.clone();
        let number = self.number(len, what)?;
        usize::try_from(number).map_err(|_| start.corrupt(what, number.to_string()))
    }

    /// The next number of variable length, encoded like the distance of an offset delta in a pack.
    pub(super) fn varint(&mut self, what: &str) -> Result<u64> {
        let start = self.clone();
        let too_long = || start.corrupt(format!("{what} of at most 64 bits"), "more bits");
        let mut number = 0_u64;
        loop {
            let byte = self.number(1, what)?;
            let shifted = number.checked_mul(128).ok_or_else(too_long)?;
            number = shifted | (byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
            number = number.checked_add(1).ok_or_else(too_long)?;
        }
    }

    /// The next bytes, after their number.
    pub(super) fn text(&mut self, what: &str) -> Result<&'t [u8]> {
        let len = self.varint(what)?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX), what)
    }

    /// The error of something wrong at the present position.
    pub(super) fn corrupt(&self, expected: impl Into<String>, found: impl Into<String>) -> ReaderError {
        let offset = self.start.saturating_add(if self.is_compressed { 0 } else { self.at });
        ReaderError::corrupt(self.path, Place::Offset(offset as u64), expected, found)
    }
}
