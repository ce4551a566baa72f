//! Decodes files.

mod stream;

use super::{FileForm, gzip};
use crate::codec::{OpenEnded, UNUSED_LEVEL};
use crate::codecs::bzip2::Bzip2;
use crate::codecs::deflate::RawDeflate;
use crate::codecs::lzma::Xz;
use crate::codecs::steps::Inflater;
use crate::codecs::zstd::Zstd;
use crate::decoder::ChunkDecoder;
use crate::decoders::Decoders;
use crate::error::{CodecError, check_limit, expect_all_taken};
use crate::growing::{GrowingPayload, first_room, reserve};
use crate::opening::{self, Opening};
use crate::tag::Body;

/// The names of files in messages, by form.
const BZIP2_FILE: &str = "bzip2 file";
const ZSTD_FILE: &str = "zstd frame";
const XZ_FILE: &str = "xz file";
const CHUNK_FILE: &str = "chunk file";
const FLAT_FILE: &str = "flat file";

/// DEFLATE data holds less than this many times its own length: a symbol has at least one bit and stands for at most
/// 258 bytes.
const DEFLATE_EXPANSION: usize = 258 * 8;

/// Decodes files of one form. Contexts are made when first needed, and reused.
pub struct FileDecoder {
    form: FileForm,
    inflater: Option<Box<dyn Inflater>>,
    zstd: Option<Zstd>,
    chunks: ChunkDecoder,
}

impl std::fmt::Debug for FileDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileDecoder").field("form", &self.form).finish_non_exhaustive()
    }
}

impl FileDecoder {
    /// Creates a decoder for files of `form`. Stock zlib decodes gzip members. The implementation in `decoders` decodes
    /// LZ4 blocks.
    pub fn new(form: FileForm, decoders: impl Into<Decoders>) -> Self {
        FileDecoder { form, inflater: None, zstd: None, chunks: ChunkDecoder::new(decoders) }
    }

    /// The form of the files that it decodes.
    pub fn form(&self) -> FileForm {
        self.form
    }

    /// Decodes the file that is all of `stored`, appends its content of at most `limit` bytes to `content` and returns
    /// the content's length.
    ///
    /// # Errors
    /// When the file is damaged, has trailing bytes, or holds more than `limit` bytes. `content` is then unchanged.
    pub fn decode(&mut self, stored: &[u8], limit: usize, content: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = content.len();
        let decoded = match self.form {
            FileForm::Flat => flat(stored, limit, content),
            FileForm::Gzip => self.gzip(stored, limit, content),
            FileForm::Bzip2 => self.stream(stored, limit, BZIP2_FILE, content),
            FileForm::Xz => self.stream(stored, limit, XZ_FILE, content),
            FileForm::Zstd => {
                let zstd = self.zstd.get_or_insert_with(|| Zstd::new(UNUSED_LEVEL, true));
                zstd.decode_to_end(stored, limit, content)
            }
            FileForm::Chunk => self.chunk(stored, limit, content),
        };
        decoded.inspect_err(|_| content.truncate(start))
    }

    fn inflater(&mut self) -> Result<&mut dyn Inflater, CodecError> {
        let made = match self.inflater.take() {
            Some(inflater) => inflater,
            None => match self.form {
                FileForm::Bzip2 => Bzip2::new(UNUSED_LEVEL.unsigned_abs()).new_inflater()?,
                FileForm::Xz => Xz::for_files(UNUSED_LEVEL.unsigned_abs()).new_inflater()?,
                _ => RawDeflate::new(UNUSED_LEVEL.unsigned_abs()).new_inflater()?,
            },
        };
        Ok(self.inflater.insert(made).as_mut())
    }

    fn gzip(&mut self, stored: &[u8], limit: usize, content: &mut Vec<u8>) -> Result<usize, CodecError> {
        let member = gzip::Member::parse(stored)?;
        let room = member.claimed_len().min(member.deflate.len().saturating_mul(DEFLATE_EXPANSION));
        let start = content.len();
        let (consumed, len) = inflate(self.inflater()?, member.deflate, room, limit, gzip::MEMBER, content)?;
        member.verify(content.get(start..).unwrap_or_default(), consumed)?;
        Ok(len)
    }

    fn stream(
        &mut self,
        stored: &[u8],
        limit: usize,
        codec: &'static str,
        content: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let room = first_room(stored.len(), limit);
        let (consumed, len) = inflate(self.inflater()?, stored, room, limit, codec, content)?;
        expect_all_taken(codec, consumed as u64, stored.len() as u64)?;
        Ok(len)
    }

    fn chunk(&mut self, stored: &[u8], limit: usize, content: &mut Vec<u8>) -> Result<usize, CodecError> {
        let (opening, claimed) = claimed_len(stored)?;
        self.chunks.append_claimed(opening, stored, (claimed, limit), CHUNK_FILE, content)
    }
}

fn flat(stored: &[u8], limit: usize, content: &mut Vec<u8>) -> Result<usize, CodecError> {
    check_limit(FLAT_FILE, stored.len() as u64, limit)?;
    reserve(content, stored.len(), FLAT_FILE)?;
    content.extend_from_slice(stored);
    Ok(stored.len())
}

/// The opening of the chunk at the start of `stored`, and the payload length that the chunk claims. Chunk files contain
/// only bodies that start with that length.
fn claimed_len(stored: &[u8]) -> Result<(Opening, u64), CodecError> {
    match Opening::of(stored)? {
        Opening::Tagged(tag) if !tag.needs_base && tag.dictionary.is_none() && tag.body != Body::Zstd => {
            Ok((Opening::Tagged(tag), opening::claimed_len(tag, stored, CHUNK_FILE)?))
        }
        _ => {
            let found = stored.first().map(|byte| format!("{byte:#04x}")).unwrap_or_default();
            let expected = "a tag byte of a body that starts with its payload's length";
            Err(CodecError::Corrupt { codec: CHUNK_FILE, expected, found })
        }
    }
}

/// Decompresses the stream at the start of `stored`, with `room` as the initial room. Returns the number of stored
/// bytes that the stream takes and the length of its content.
fn inflate(
    inflater: &mut dyn Inflater,
    stored: &[u8],
    room: usize,
    limit: usize,
    codec: &'static str,
    content: &mut Vec<u8>,
) -> Result<(usize, usize), CodecError> {
    // The length is unknown: the limit bounds the content.
    inflater.restart(u64::MAX)?;
    let mut payload = GrowingPayload::new(content, room, limit, codec)?;
    let mut consumed = 0;
    loop {
        let mut beyond = [0; 1];
        let rest = stored.get(consumed..).unwrap_or_default();
        // A stream whose content exactly fills the room may need another step to end, but no more room.
        let is_full = payload.is_full();
        let step = inflater.step(rest, if is_full { &mut beyond } else { payload.room() }, !is_full)?;
        consumed += step.consumed;
        if is_full && step.produced > 0 {
            if !payload.grow()? {
                return Err(payload.too_long());
            }
            if let Some(first) = payload.room().first_mut() {
                [*first] = beyond;
            }
        }
        payload.advance(step.produced);
        if step.ended {
            return Ok((consumed, payload.finish()));
        }
        if step.consumed == 0 && step.produced == 0 {
            return Err(CodecError::Truncated { codec, available: stored.len() as u64 });
        }
    }
}
