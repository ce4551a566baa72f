//! Revlog chunk to payload: whatever engine wrote it.

use super::{LZ4, LZ4_CHUNK, OpenEnded, RAW, RAW_AS_IT_IS, RAW_CHUNK, ZLIB, ZSTD, reserve};
use crate::codecs::lz4_block;
use crate::codecs::zstd::Zstd;
use crate::codecs::zstd_frame;
use crate::decoder::UNUSED_LEVEL;
use crate::decoders::{Decoders, Lz4Reader};
use crate::error::{CodecError, FoundLength};
use crate::spec::CodecSpec;

/// Bytes of the payload length behind header `4`.
const LZ4_LENGTH_LEN: usize = 4;

/// Decodes revlog chunks of every engine, with contexts that are made when first needed and then reused.
pub struct RevlogDecoder {
    decoders: Decoders,
    zlib: Option<Box<dyn OpenEnded>>,
    zstd: Option<Zstd>,
}

impl RevlogDecoder {
    /// A decoder that reads with the implementations that `decoders` names.
    pub fn new(decoders: impl Into<Decoders>) -> Self {
        RevlogDecoder { decoders: decoders.into(), zlib: None, zstd: None }
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
            [header, ..] => Err(CodecError::RevlogHeader { header: *header }),
        };
        decoded.inspect_err(|_| payload.truncate(start))
    }

    /// The name of the codec that the chunk needs, for messages: `zlib`, `zstd`, `lz4`, or `store` for raw and empty
    /// ones; `None` where no chunk can begin so.
    pub fn identify(stored: &[u8]) -> Option<&'static str> {
        match stored {
            [] | [RAW_AS_IT_IS | RAW, ..] => Some("store"),
            // RFC 1950: the header, as a number, is a multiple of 31.
            [ZLIB, second, ..] if u16::from_be_bytes([ZLIB, *second]).is_multiple_of(31) => Some("zlib"),
            [ZSTD, ..] if stored.starts_with(&zstd_frame::MAGIC) => Some("zstd"),
            [LZ4, ..] => Some("lz4"),
            _ => None,
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

/// `length` as a length in memory, which it is at most `limit`.
fn check_limit(length: u64, limit: usize, codec: &'static str) -> Result<usize, CodecError> {
    let too_long = || CodecError::PayloadLimit { codec, limit: limit as u64, found: FoundLength::Exactly(length) };
    usize::try_from(length).ok().filter(|length| *length <= limit).ok_or_else(too_long)
}
