//! Reading stored bytes from a source that may end before the chunk does.

use std::io::{self, BufRead, ErrorKind, Read};

use crate::error::CodecError;

/// Stored bytes in order, counted as they are taken; never one more than asked for.
///
/// The source is a slice (`&[u8]` is a [`BufRead`] that copies nothing) or a buffered file: one implementation of
/// each format reads both.
pub(crate) struct StoredBytes<'a, R: BufRead + ?Sized> {
    reader: &'a mut R,
    codec: &'static str,
    consumed: u64,
}

impl<'a, R: BufRead + ?Sized> StoredBytes<'a, R> {
    /// Starts where `reader` stands. `codec` names the body in errors.
    pub(crate) fn new(reader: &'a mut R, codec: &'static str) -> Self {
        StoredBytes { reader, codec, consumed: 0 }
    }

    /// How messages name the body.
    pub(crate) fn codec(&self) -> &'static str {
        self.codec
    }

    /// How many bytes were taken so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The next bytes, as many as the source has at hand: all the rest of a slice. None only at the end.
    pub(crate) fn at_hand(&mut self) -> Result<&[u8], CodecError> {
        self.fill_buf().map_err(CodecError::reading_stored)
    }

    /// Takes bytes that [`at_hand`](Self::at_hand) showed.
    pub(crate) fn advance(&mut self, count: usize) {
        self.consume(count);
    }

    /// Takes the next `LEN` bytes.
    pub(crate) fn take_array<const LEN: usize>(&mut self) -> Result<[u8; LEN], CodecError> {
        let mut field = [0; LEN];
        if self.take_into(&mut field)? == LEN { Ok(field) } else { Err(self.truncated()) }
    }

    /// Takes bytes until `bytes` is full or the source at its end; returns how many there are.
    pub(crate) fn take_into(&mut self, bytes: &mut [u8]) -> Result<usize, CodecError> {
        let mut filled = 0;
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            match self.read(room).map_err(CodecError::reading_stored)? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Replaces the content of `bytes` by the next `length` bytes. It grows with what arrives, not with `length`.
    pub(crate) fn take_to_vec(&mut self, length: usize, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        bytes.clear();
        let read = Read::take(&mut *self, length as u64).read_to_end(bytes).map_err(CodecError::reading_stored)?;
        if read == length { Ok(()) } else { Err(self.truncated()) }
    }

    /// The error for a chunk that goes on where the source has ended.
    pub(crate) fn truncated(&self) -> CodecError {
        CodecError::Truncated { codec: self.codec, available: self.consumed }
    }
}

impl<R: BufRead + ?Sized> Read for StoredBytes<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(bytes)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead + ?Sized> BufRead for StoredBytes<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while let Err(error) = self.reader.fill_buf() {
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // Asked again, since the borrow checker lets no loop return what it borrows: the bytes are still at hand.
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.consumed += count as u64;
    }
}
