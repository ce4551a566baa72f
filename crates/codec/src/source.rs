//! Reads a payload of announced length from a source that may have another length.

use std::io::{self, Read};

use crate::error::{CodecError, FoundLength};

/// The length of the pieces in which a payload is read, encoded or delivered, in bytes.
///
/// It is fixed, because the output of some encoders depends on the pieces, and stored bytes must depend only on spec
/// and payload.
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

    /// The number of bytes not yet read.
    pub(crate) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Replaces the content of `piece` with the next `limit` bytes, or with all the rest if that is shorter.
    ///
    /// The buffer grows with the bytes that arrive, not with the announced length. After the last byte it tries to read
    /// one more, which must not exist.
    ///
    /// # Errors
    /// When the source is shorter or longer than announced, or cannot be read.
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
