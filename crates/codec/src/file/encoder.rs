//! Content to file.

use super::{FileForm, gzip};
use crate::BLOCK_LEN;
use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::codecs::deflate::RawDeflate;
use crate::codecs::lzma::Xz;
use crate::encoder::ChunkEncoder;
use crate::error::CodecError;
use crate::leb128;
use crate::spec::CodecChoice;

/// Length of the header of an RFC 1950 stream.
const ZLIB_HEADER_LEN: usize = 2;
/// Length of its Adler-32.
const ADLER_LEN: usize = 4;

/// Encodes files under one choice of codec, with contexts that are reused.
pub struct FileEncoder {
    form: FileForm,
    level: Option<i32>,
    work: Work,
}

enum Work {
    Flat,
    /// RFC 1950 streams, whose wrapping gives way to gzip's.
    ZlibStream(Box<dyn Codec>),
    /// Bodies of raw DEFLATE, behind the payload's length, which gives way to gzip's header.
    RawDeflate(Box<RawDeflate>),
    /// Standard zstd frames.
    Frame(Box<dyn Codec>),
    /// Bodies of streams, behind the payload's length, which goes.
    Stream(Box<dyn Codec>),
    Chunk(Box<ChunkEncoder>),
}

impl std::fmt::Debug for FileEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileEncoder").field("form", &self.form).finish_non_exhaustive()
    }
}

impl FileEncoder {
    /// An encoder for `choice`, whose dictionary, if it has one, is not used. Contexts are made when the first file comes.
    ///
    /// # Errors
    /// When the codec cannot be set up.
    pub fn new(choice: &CodecChoice) -> Result<Self, CodecError> {
        let form = FileForm::of(choice);
        let level = choice.level();
        let unsigned_level = level.unwrap_or_default().unsigned_abs();
        let work = match (form, choice.algorithm()) {
            (FileForm::Flat, _) => Work::Flat,
            // The same stream without the Adler-32 that nobody would read.
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

    /// Appends the file of `content` to `out`, returns its length.
    ///
    /// # Errors
    /// When the implementation fails; `out` is then as it was before.
    pub fn encode(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        match self.append(content, out) {
            Ok(()) => Ok(out.len() - start),
            Err(error) => {
                out.truncate(start);
                Err(error)
            }
        }
    }

    fn append(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let start = out.len();
        match &mut self.work {
            Work::Flat => out.extend_from_slice(content),
            Work::ZlibStream(codec) => {
                wrap_in_gzip(codec.as_mut(), content, ZLIB_HEADER_LEN, self.level, out)?;
                out.truncate(out.len().saturating_sub(ADLER_LEN));
                gzip::write_trailer(content, out);
            }
            Work::RawDeflate(codec) => {
                let length_len = leb128::len(content.len() as u64);
                wrap_in_gzip(codec.as_mut(), content, length_len, self.level, out)?;
                gzip::write_trailer(content, out);
            }
            Work::Frame(codec) => body(codec.as_mut(), content, out)?,
            Work::Stream(codec) => {
                body(codec.as_mut(), content, out)?;
                out.drain(start..start + leb128::len(content.len() as u64));
            }
            Work::Chunk(encoder) => drop(encoder.encode(content, out)?),
        }
        Ok(())
    }
}

/// Appends a gzip header and the body of `content`, so that the body's first `replaced` bytes are the header's last ones.
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
    body(codec, content, out)?;
    if let Some(place) = out.get_mut(at..at + last.len()) {
        place.copy_from_slice(last);
    }
    Ok(())
}

fn body(codec: &mut dyn Codec, content: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
    if content.len() > BLOCK_LEN {
        codec.encode_stream(&mut &*content, content.len() as u64, out)?;
    } else {
        codec.encode(content, out)?;
    }
    Ok(())
}
