//! Reading a payload of announced length from a source that may not keep its word.

use std::io::{self, Read};

use crate::error::{CodecError, FoundLength};

/// How much of a payload is read, encoded or delivered at a time, in bytes.
///
/// Fixed, because the pieces in which a payload arrives show in the output of some encoders: stored
/// bytes must depend on spec and payload alone.
pub(crate) const PIECE_LEN: usize = 128 << 10;

/// A source of exactly `announced` payload bytes.
pub(crate) struct PayloadSource<'a> {
    reader: &'a mut dyn Read,
    announced: u64,
    remaining: u64,
}

impl<'a> PayloadSource<'a> {
    pub(crate) fn new(reader: &'a mut dyn Read, announced: u64) -> Self {
        PayloadSource { reader, announced, remaining: announced }
    }

    /// Bytes not yet read.
    pub(crate) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Replaces the content of `piece` by the next `limit` bytes, or by all that remain if fewer.
    ///
    /// The buffer grows with what arrives, not with what was announced. After the last byte the source
    /// is asked for one more, which must not exist.
    ///
    /// # Errors
    /// When the source ends early, goes on after the end, or cannot be read.
    pub(crate) fn next_piece(&mut self, piece: &mut Vec<u8>, limit: usize) -> Result<(), CodecError> {
        piece.clear();
        let wanted = self.remaining.min(limit as u64);
        let mut limited = Read::take(&mut *self.reader, wanted);
        let read = limited.read_to_end(piece).map_err(CodecError::reading_payload)? as u64;
        if read < wanted {
            let found = self.announced - self.remaining + read;
            return Err(CodecError::SourceLength { expected: self.announced, found: FoundLength::Exactly(found) });
        }
        self.remaining -= read;
        if self.remaining == 0 { self.expect_end() } else { Ok(()) }
    }

    fn expect_end(&mut self) -> Result<(), CodecError> {
        let mut beyond = [0; 1];
        loop {
            match self.reader.read(&mut beyond) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    return Err(CodecError::SourceLength { expected: self.announced, found: FoundLength::More });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(CodecError::reading_payload(error)),
            }
        }
    }
}
