//! Reads stored bytes from a source that may end before the chunk does.

use std::io::{self, BufRead, ErrorKind, Read};

use crate::error::CodecError;

/// A source of stored bytes that counts the bytes taken, and takes none that was not requested.
///
/// The source is a slice (`&[u8]` is a [`BufRead`] that copies nothing) or a buffered file, so that one parser of each
/// format reads both.
pub(crate) struct StoredBytes<'a, R: BufRead + ?Sized> {
    reader: &'a mut R,
    codec: &'static str,
    consumed: u64,
}

impl<'a, R: BufRead + ?Sized> StoredBytes<'a, R> {
    /// Starts at the position of `reader`. Errors name the body `codec`.
    pub(crate) fn new(reader: &'a mut R, codec: &'static str) -> Self {
        StoredBytes { reader, codec, consumed: 0 }
    }

    /// The name of the body in messages.
    pub(crate) fn codec(&self) -> &'static str {
        self.codec
    }

    /// The number of bytes taken.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The next bytes that the source can give without reading more: the whole rest of a slice. They are empty only at
    /// the end.
    pub(crate) fn available(&mut self) -> Result<&[u8], CodecError> {
        self.fill_buf().map_err(CodecError::reading_stored)
    }

    /// Takes the first `count` of the [`available`](Self::available) bytes.
    pub(crate) fn advance(&mut self, count: usize) {
        self.consume(count);
    }

    /// Takes the next `LEN` bytes.
    pub(crate) fn take_array<const LEN: usize>(&mut self) -> Result<[u8; LEN], CodecError> {
        let mut field = [0; LEN];
        if self.take_into(&mut field)? == LEN { Ok(field) } else { Err(self.truncated()) }
    }

    /// Takes bytes until `bytes` is full or the source ends, and returns their number.
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

    /// Replaces the content of `bytes` with the next `length` bytes. The buffer grows with the bytes that arrive, not
    /// with `length`.
    pub(crate) fn take_to_vec(&mut self, length: usize, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        bytes.clear();
        let read = Read::take(&mut *self, length as u64).read_to_end(bytes).map_err(CodecError::reading_stored)?;
        if read == length { Ok(()) } else { Err(self.truncated()) }
    }

    /// The error for a chunk that continues after the end of the source.
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
        // Called again, because the borrow checker does not let a loop return what it borrows. The bytes are still
        // there.
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.consumed += count as u64;
    }
}
