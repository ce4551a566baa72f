//! Decodes files in pieces, so that neither file nor content has to be in memory as a whole.

use std::io::{self, BufRead, Read};

use super::{CHUNK_FILE, FLAT_FILE, FileDecoder, claimed_len};
use crate::codec::{PayloadSink, UNUSED_LEVEL};
use crate::codecs::steps::Inflater;
use crate::codecs::zstd::Zstd;
use crate::error::{CodecError, FoundLength};
use crate::file::{FileForm, gzip};
use crate::opening;
use crate::source::PIECE_LEN;
use crate::stored::StoredBytes;

impl FileDecoder {
    /// Decodes the file that is all of what `stored` yields, hands its content of at most `limit` bytes to `sink` in
    /// pieces and returns the content's length.
    ///
    /// The codec's window or [`BLOCK_LEN`](crate::BLOCK_LEN) bounds the memory, whatever the file's length.
    ///
    /// # Errors
    /// As [`decode`](FileDecoder::decode), and when the source or the sink fails. The bytes that the sink received
    /// before an error are unchecked and must be discarded.
    pub fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        limit: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let mut stored = StoredBytes::new(stored, self.form.in_messages());
        let len = match self.form {
            FileForm::Flat => flat(&mut stored, limit, sink)?,
            FileForm::Gzip => self.member(&mut stored, limit, sink)?,
            FileForm::Bzip2 | FileForm::Xz => inflate(self.inflater()?, &mut stored, limit, sink)?,
            FileForm::Zstd => {
                let zstd = self.zstd.get_or_insert_with(|| Zstd::new(UNUSED_LEVEL, true));
                zstd.decode_stream_within(&mut stored, limit, sink)?
            }
            FileForm::Chunk => self.chunk_stream(&mut stored, limit, sink)?,
        };
        expect_end(&mut stored)?;
        Ok(len)
    }

    fn member<R: BufRead + ?Sized>(
        &mut self,
        stored: &mut StoredBytes<'_, R>,
        limit: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        gzip::check_header(&stored.take_array()?)?;
        let mut sums = gzip::sums(&[]);
        let len = inflate(self.inflater()?, stored, limit, &mut |piece| {
            sums.update(piece);
            sink(piece)
        })?;
        gzip::check_trailer(stored.take_array()?, &sums, len)?;
        Ok(len)
    }

    fn chunk_stream<R: BufRead + ?Sized>(
        &mut self,
        stored: &mut StoredBytes<'_, R>,
        limit: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let mut opening = [0; opening::MAX_LEN];
        let taken = stored.take_into(&mut opening)?;
        let opening = opening.get(..taken).unwrap_or_default();
        let (_, len) = claimed_len(opening)?;
        if len > limit {
            return Err(CodecError::PayloadLimit { codec: CHUNK_FILE, limit, found: FoundLength::Exactly(len) });
        }
        let mut whole = opening.chain(&mut *stored);
        let consumed = self.chunks.decode_stream_from(&mut whole, len, sink)?;
        // The chunk may be shorter than the bytes taken for its opening.
        let (beginning, _) = whole.into_inner();
        if beginning.is_empty() {
            return Ok(len);
        }
        let found = consumed + beginning.len() as u64 + rest(stored)?;
        Err(CodecError::TrailingBytes { codec: CHUNK_FILE, expected: consumed, found })
    }
}

impl FileForm {
    /// The name in messages of a file of this form.
    fn in_messages(self) -> &'static str {
        match self {
            FileForm::Flat => FLAT_FILE,
            FileForm::Gzip => gzip::MEMBER,
            FileForm::Zstd => super::ZSTD_FILE,
            FileForm::Bzip2 => super::BZIP2_FILE,
            FileForm::Xz => super::XZ_FILE,
            FileForm::Chunk => CHUNK_FILE,
        }
    }
}

fn flat<R: BufRead + ?Sized>(
    stored: &mut StoredBytes<'_, R>,
    limit: u64,
    sink: &mut PayloadSink<'_>,
) -> Result<u64, CodecError> {
    loop {
        let before = stored.consumed();
        let piece = stored.available()?;
        let len = piece.len();
        if len == 0 {
            return Ok(before);
        }
        if before + len as u64 > limit {
            return Err(CodecError::PayloadLimit { codec: FLAT_FILE, limit, found: FoundLength::More });
        }
        sink(piece).map_err(CodecError::delivering_payload)?;
        stored.advance(len);
    }
}

/// Decompresses the stream that `stored` yields next and returns the length of its content.
fn inflate<R: BufRead + ?Sized>(
    inflater: &mut dyn Inflater,
    stored: &mut StoredBytes<'_, R>,
    limit: u64,
    sink: &mut PayloadSink<'_>,
) -> Result<u64, CodecError> {
    // The length is unknown: the limit bounds the content.
    inflater.restart(u64::MAX)?;
    let mut piece = vec![0; PIECE_LEN];
    let mut len = 0;
    loop {
        let step = inflater.step(stored.available()?, &mut piece, false)?;
        stored.advance(step.consumed);
        len += step.produced as u64;
        if len > limit {
            return Err(CodecError::PayloadLimit { codec: stored.codec(), limit, found: FoundLength::More });
        }
        sink(piece.get(..step.produced).unwrap_or_default()).map_err(CodecError::delivering_payload)?;
        if step.ended {
            return Ok(len);
        }
        if step.consumed == 0 && step.produced == 0 {
            return Err(stored.truncated());
        }
    }
}

/// Returns an error if any stored bytes are left.
fn expect_end<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>) -> Result<(), CodecError> {
    let (codec, expected) = (stored.codec(), stored.consumed());
    match rest(stored)? {
        0 => Ok(()),
        more => Err(CodecError::TrailingBytes { codec, expected, found: expected + more }),
    }
}

/// The number of bytes that are left.
fn rest<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>) -> Result<u64, CodecError> {
    io::copy(stored, &mut io::sink()).map_err(CodecError::reading_stored)
}
