//! Encodes files.

use std::io::{self, Read, Write};

use flate2::Crc;

use super::{FileForm, gzip, trimmed::Trimmed};
use crate::BLOCK_LEN;
use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::codecs::deflate::RawDeflate;
use crate::codecs::lzma::Xz;
use crate::encoder::ChunkEncoder;
use crate::error::CodecError;
use crate::leb128;
use crate::source::{PIECE_LEN, PayloadSource};
use crate::spec::CodecChoice;

/// The length of the header of an RFC 1950 stream.
const ZLIB_HEADER_LEN: usize = 2;
/// The length of its Adler-32.
const ADLER_LEN: usize = 4;

/// Encodes files with one codec choice. Contexts are reused.
///
/// The bytes of a file depend only on choice and content, and not on whether [`encode`](FileEncoder::encode) or
/// [`encode_stream`](FileEncoder::encode_stream) wrote them.
pub struct FileEncoder {
    form: FileForm,
    level: Option<i32>,
    work: Work,
}

enum Work {
    Flat,
    /// RFC 1950 streams, whose wrapper is replaced with that of gzip.
    ZlibStream(Box<dyn Codec>),
    /// Bodies of raw DEFLATE, whose payload length is replaced with the header of gzip.
    RawDeflate(Box<RawDeflate>),
    /// Standard zstd frames.
    Frame(Box<dyn Codec>),
    /// Bodies of streams, whose payload length is removed.
    Stream(Box<dyn Codec>),
    Chunk(Box<ChunkEncoder>),
}

impl std::fmt::Debug for FileEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileEncoder").field("form", &self.form).finish_non_exhaustive()
    }
}

impl FileEncoder {
    /// Creates an encoder for `choice`, which does not use a dictionary of `choice`. Contexts are made when the first
    /// file arrives.
    ///
    /// # Errors
    /// When the codec cannot be set up.
    pub fn new(choice: &CodecChoice) -> Result<Self, CodecError> {
        let form = FileForm::of(choice);
        let level = choice.level();
        let unsigned_level = level.unwrap_or_default().unsigned_abs();
        let work = match (form, choice.algorithm()) {
            (FileForm::Flat, _) => Work::Flat,
            // The same stream without an Adler-32, which the file does not contain.
            (FileForm::Gzip, Algorithm::Zlib | Algorithm::Deflate) => {
                let mut codec = RawDeflate::new(unsigned_level);
                codec.set_checksum(false);
                Work::RawDeflate(Box::new(codec))
            }
            (FileForm::Gzip, _) => Work::ZlibStream(choice.new_codec()?),
            (FileForm::Zstd, _) => Work::Frame(choice.in_standard_frame().new_codec()?),
            (FileForm::Xz, _) => Work::Stream(Box::new(Xz::for_files(unsigned_level))),
            (FileForm::Bzip2, _) => Work::Stream(choice.new_codec()?),
            (FileForm::Chunk, _) => Work::Chunk(Box::new(ChunkEncoder::for_choice(choice, None)?)),
        };
        let mut encoder = FileEncoder { form, level, work };
        if let Work::Stream(codec) = &mut encoder.work {
            // These formats have checksums of their own.
            codec.set_checksum(false);
        }
        Ok(encoder)
    }

    /// The form of the files.
    pub fn form(&self) -> FileForm {
        self.form
    }

    /// Appends the file of `content` to `out` and returns the file's length.
    ///
    /// # Errors
    /// When the implementation fails; `out` is then as it was before.
    pub fn encode(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        let encoded = if content.len() > BLOCK_LEN {
            self.stream(&mut &*content, content.len() as u64, out).map(drop)
        } else {
            self.append(content, out)
        };
        match encoded {
            Ok(()) => Ok(out.len() - start),
            Err(error) => {
                out.truncate(start);
                Err(error)
            }
        }
    }

    /// Writes the file of the `content_len` bytes that `content` yields to `file` and returns the file's length.
    ///
    /// Holds at most [`BLOCK_LEN`] bytes of the content and their encoded bytes in memory, in addition to the codec's
    /// own context.
    ///
    /// # Errors
    /// When the content is shorter or longer than `content_len`, or a reader, a writer or the implementation fails.
    /// `file` may then have received a part.
    pub fn encode_stream(
        &mut self,
        content: &mut dyn Read,
        content_len: u64,
        file: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        if content_len > BLOCK_LEN as u64 {
            return self.stream(content, content_len, file);
        }
        let (mut whole, mut stored) = (Vec::new(), Vec::new());
        PayloadSource::new(content, content_len).next_piece(&mut whole, BLOCK_LEN)?;
        self.append(&whole, &mut stored)?;
        file.write_all(&stored).map_err(CodecError::writing_stored)?;
        Ok(stored.len() as u64)
    }

    /// Does the same as [`encode_stream`](Self::encode_stream) in pieces, whatever the length of the content.
    pub(super) fn stream(
        &mut self,
        content: &mut dyn Read,
        content_len: u64,
        file: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let length_len = leb128::len(content_len);
        match &mut self.work {
            Work::Flat => copy(content, content_len, file),
            Work::ZlibStream(codec) => {
                let header = gzip::header(self.level);
                stream_member(codec.as_mut(), header, (ZLIB_HEADER_LEN, ADLER_LEN), content, content_len, file)
            }
            Work::RawDeflate(codec) => {
                let header = gzip::header(self.level);
                stream_member(codec.as_mut(), header, (length_len, 0), content, content_len, file)
            }
            Work::Frame(codec) => codec.encode_stream(content, content_len, file),
            Work::Stream(codec) => {
                let mut body = Trimmed::new(file, length_len, 0);
                codec.encode_stream(content, content_len, &mut body)?;
                Ok(body.written())
            }
            Work::Chunk(encoder) => encoder.encode_stream(content, content_len, file),
        }
    }

    /// Appends the file of a content of at most [`BLOCK_LEN`] bytes.
    fn append(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let start = out.len();
        match &mut self.work {
            Work::Flat => out.extend_from_slice(content),
            Work::ZlibStream(codec) => {
                wrap_in_gzip(codec.as_mut(), content, ZLIB_HEADER_LEN, self.level, out)?;
                out.truncate(out.len().saturating_sub(ADLER_LEN));
                out.extend_from_slice(&gzip::trailer(&gzip::sums(content)));
            }
            Work::RawDeflate(codec) => {
                let length_len = leb128::len(content.len() as u64);
                wrap_in_gzip(codec.as_mut(), content, length_len, self.level, out)?;
                out.extend_from_slice(&gzip::trailer(&gzip::sums(content)));
            }
            Work::Frame(codec) => drop(codec.encode(content, out)?),
            Work::Stream(codec) => {
                codec.encode(content, out)?;
                out.drain(start..start + leb128::len(content.len() as u64));
            }
            Work::Chunk(encoder) => drop(encoder.encode(content, out)?),
        }
        Ok(())
    }
}

/// Appends a gzip header and the body of `content`. The end of the header replaces the first `replaced` bytes of the
/// body.
fn wrap_in_gzip(
    codec: &mut dyn Codec,
    content: &[u8],
    replaced: usize,
    level: Option<i32>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let header = gzip::header(level);
    let (kept, last) = header.split_at(gzip::HEADER_LEN.saturating_sub(replaced));
    out.extend_from_slice(kept);
    let at = out.len();
    codec.encode(content, out)?;
    if let Some(place) = out.get_mut(at..at + last.len()) {
        place.copy_from_slice(last);
    }
    Ok(())
}

/// Writes a gzip member. Its DEFLATE data is what `codec` writes without the `first` and the `last` bytes.
fn stream_member(
    codec: &mut dyn Codec,
    header: [u8; gzip::HEADER_LEN],
    (first, last): (usize, usize),
    content: &mut dyn Read,
    content_len: u64,
    file: &mut dyn Write,
) -> Result<u64, CodecError> {
    file.write_all(&header).map_err(CodecError::writing_stored)?;
    let mut content = Summed { content, sums: Crc::new() };
    let mut body = Trimmed::new(file, first, last);
    codec.encode_stream(&mut content, content_len, &mut body)?;
    let written = body.written();
    file.write_all(&gzip::trailer(&content.sums)).map_err(CodecError::writing_stored)?;
    Ok(written + (gzip::HEADER_LEN + gzip::TRAILER_LEN) as u64)
}

/// Writes the content unchanged.
fn copy(content: &mut dyn Read, content_len: u64, file: &mut dyn Write) -> Result<u64, CodecError> {
    let mut source = PayloadSource::new(content, content_len);
    let mut piece = Vec::new();
    while source.remaining() > 0 {
        source.next_piece(&mut piece, PIECE_LEN)?;
        file.write_all(&piece).map_err(CodecError::writing_stored)?;
    }
    Ok(content_len)
}

/// Computes the checksum of the content while it is read.
struct Summed<'a> {
    content: &'a mut dyn Read,
    sums: Crc,
}

impl Read for Summed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.sums.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}
