//! Revlog chunk to payload: whatever engine wrote it.

use super::{LZ4, LZ4_CHUNK, OpenEnded, RAW, RAW_AS_IT_IS, RAW_CHUNK, ZLIB, ZSTD};
use super::{doubled_room, parse_revlog_tag, reserve};
use crate::codec::Codec;
use crate::codecs::lz4_block;
use crate::codecs::zstd::Zstd;
use crate::codecs::zstd_frame;
use crate::decoder::UNUSED_LEVEL;
use crate::decoders::{BodyCodecs, Decoders, Lz4Reader};
use crate::error::{CodecError, FoundLength};
use crate::leb128;
use crate::spec::CodecSpec;
use crate::stored::StoredBytes;
use crate::tag::{TAG_LEN, Tag};

/// Bytes of the payload length behind header `4`.
const LZ4_LENGTH_LEN: usize = 4;

/// The longest payload, in bytes, that room is made for at once because a tagged body claims it.
const BELIEVED: usize = 1 << 20;

/// How many times as long as its body a longer one may be for that.
const BELIEVED_EXPANSION: usize = 255;

/// Decodes revlog chunks of every engine, with contexts that are made when first needed and then reused.
pub struct RevlogDecoder {
    decoders: Decoders,
    zlib: Option<Box<dyn OpenEnded>>,
    zstd: Option<Zstd>,
    bodies: BodyCodecs,
}

impl RevlogDecoder {
    /// A decoder that reads with the implementations that `decoders` names.
    pub fn new(decoders: impl Into<Decoders>) -> Self {
        RevlogDecoder { decoders: decoders.into(), zlib: None, zstd: None, bodies: BodyCodecs::default() }
    }

    /// A decoder for a variant under `spec`, by the implementation that wrote it where that can read: see
    /// [`Decoders::for_spec`].
    pub fn for_spec(spec: &CodecSpec) -> Self {
        RevlogDecoder::new(Decoders::for_spec(spec))
    }

    /// Decodes the chunk that is all of `stored`, appends its payload to `payload` and returns the payload's length in
    /// bytes.
    ///
    /// A payload of more than `limit` bytes is an error. Where the caller knows the payload's length, as it does for a
    /// full text, that is the best limit: the buffer then grows once. Memory is taken for what decodes, not for what a
    /// length field claims: at most `limit` bytes, and before the first byte is decoded at most 1 MiB or 255 times
    /// `stored.len()`, whichever is more.
    ///
    /// # Errors
    /// When the header is not known, the chunk is damaged, does not end with `stored`, or holds more than `limit` bytes.
    /// `payload` is then as it was before.
    pub fn decode(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = payload.len();
        let decoded = match stored {
            [] => Ok(0),
            [RAW_AS_IT_IS, ..] => append_raw(stored, limit, payload),
            [RAW, rest @ ..] => append_raw(rest, limit, payload),
            [ZLIB, ..] => self.zlib().decode_to_end(stored, limit, payload),
            [ZSTD, ..] => self.zstd().decode_to_end(stored, limit, payload),
            [LZ4, body @ ..] => decode_lz4(self.decoders.lz4, body, limit, payload),
            [header, body @ ..] => match parse_revlog_tag(*header) {
                Some(tag) => {
                    let codec = self.bodies.codec_for(self.decoders, tag);
                    decode_tagged(codec, tag, body, limit, payload)
                }
                None => Err(CodecError::RevlogHeader { header: *header }),
            },
        };
        decoded.inspect_err(|_| payload.truncate(start))
    }

    /// The name of the codec that the chunk needs, for messages: `zlib`, `zstd`, `lz4`, that of a tagged body, or `store`
    /// for raw and empty ones; `None` where no chunk can begin so.
    pub fn identify(stored: &[u8]) -> Option<&'static str> {
        match stored {
            [] | [RAW_AS_IT_IS | RAW, ..] => Some("store"),
            // RFC 1950: the header, as a number, is a multiple of 31.
            [ZLIB, second, ..] if u16::from_be_bytes([ZLIB, *second]).is_multiple_of(31) => Some("zlib"),
            [ZSTD, ..] if stored.starts_with(&zstd_frame::MAGIC) => Some("zstd"),
            [LZ4, ..] => Some("lz4"),
            [header, ..] => parse_revlog_tag(*header).map(|tag| tag.body.name()),
        }
    }

    fn zlib(&mut self) -> &mut dyn OpenEnded {
        let reader = self.decoders.zlib;
        self.zlib.get_or_insert_with(|| reader.new_open_ended()).as_mut()
    }

    fn zstd(&mut self) -> &mut Zstd {
        self.zstd.get_or_insert_with(|| Zstd::new(UNUSED_LEVEL, true))
    }
}

fn append_raw(raw: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
    check_limit(raw.len() as u64, limit, RAW_CHUNK)?;
    reserve(payload, raw.len(), RAW_CHUNK)?;
    payload.extend_from_slice(raw);
    Ok(raw.len())
}

/// Decodes what follows header `4`.
fn decode_lz4(reader: Lz4Reader, body: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
    let truncated = || CodecError::Truncated { codec: LZ4_CHUNK, available: body.len() as u64 + 1 };
    let (length, block) = body.split_first_chunk::<LZ4_LENGTH_LEN>().ok_or_else(truncated)?;
    let claimed = u64::from(u32::from_le_bytes(*length));
    if claimed > (block.len() as u64).saturating_mul(lz4_block::MAX_EXPANSION) {
        return Err(CodecError::Corrupt {
            codec: LZ4_CHUNK,
            expected: "a payload length that the block can hold",
            found: format!("{claimed} payload bytes in a block of {}", block.len()),
        });
    }
    let length = check_limit(claimed, limit, LZ4_CHUNK)?;
    let start = payload.len();
    reserve(payload, length, LZ4_CHUNK)?;
    payload.resize(start.saturating_add(length), 0);
    reader.decompress(block, payload.get_mut(start..).unwrap_or_default(), LZ4_CHUNK)?;
    Ok(length)
}

/// Decodes what follows a tag byte: a body that begins with the payload's length, and takes all that is there.
fn decode_tagged(
    codec: &mut dyn Codec,
    tag: Tag,
    body: &[u8],
    limit: usize,
    payload: &mut Vec<u8>,
) -> Result<usize, CodecError> {
    let name = tag.body.name();
    let claimed = leb128::read(&mut StoredBytes::new(&mut &*body, name))?;
    let length = check_limit(claimed, limit, name)?;
    let body_len = if length <= body.len().saturating_mul(BELIEVED_EXPANSION).max(BELIEVED) {
        let start = payload.len();
        reserve(payload, length, name)?;
        payload.resize(start.saturating_add(length), 0);
        codec.decode(body, payload.get_mut(start..).unwrap_or_default())?
    } else {
        decode_growing(codec, body, length, payload)?
    };
    if body_len == body.len() {
        return Ok(length);
    }
    let (expected, found) = ((TAG_LEN + body_len) as u64, (TAG_LEN + body.len()) as u64);
    Err(CodecError::TrailingBytes { codec: name, expected, found })
}

/// Decodes a body that claims more than is believed: room is made as bytes arrive. Returns the body's length.
fn decode_growing(
    codec: &mut dyn Codec,
    body: &[u8],
    length: usize,
    payload: &mut Vec<u8>,
) -> Result<usize, CodecError> {
    let start = payload.len();
    let mut rest = body;
    codec.decode_stream(&mut rest, length as u64, &mut |piece| {
        if payload.capacity() - payload.len() < piece.len() {
            let filled = payload.len() - start;
            let room = doubled_room(filled.saturating_add(piece.len()), length).unwrap_or(length);
            payload.try_reserve_exact(room.saturating_sub(filled))?;
        }
        payload.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(body.len() - rest.len())
}

/// `length` as a length in memory, which it is at most `limit`.
fn check_limit(length: u64, limit: usize, codec: &'static str) -> Result<usize, CodecError> {
    let too_long = || CodecError::PayloadLimit { codec, limit: limit as u64, found: FoundLength::Exactly(length) };
    usize::try_from(length).ok().filter(|length| *length <= limit).ok_or_else(too_long)
}
