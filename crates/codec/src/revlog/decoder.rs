//! Revlog chunk to payload: whatever engine wrote it.

use super::{LZ4, LZ4_CHUNK, RAW, RAW_AS_IT_IS, RAW_CHUNK, ZLIB, ZSTD};
use super::{is_believed, parse_revlog_tag};
use crate::codec::{Codec, OpenEnded, UNUSED_LEVEL};
use crate::codecs::lz4_block;
use crate::codecs::zstd::Zstd;
use crate::codecs::zstd::frame;
use crate::decoder::ChunkDecoder;
use crate::decoders::{BodyCodecs, Decoders, Lz4Reader};
use crate::dictionary::Dictionaries;
use crate::error::{CodecError, FoundLength};
use crate::growing::{doubled_room, reserve};
use crate::leb128;
use crate::spec::CodecSpec;
use crate::stored::StoredBytes;
use crate::tag::{BaseUse, Body, TAG_LEN, Tag};

/// Bytes of the payload length behind header `4`.
const LZ4_LENGTH_LEN: usize = 4;

/// Decodes revlog chunks of every engine, with contexts that are made when first needed and then reused.
pub struct RevlogDecoder {
    decoders: Decoders,
    zlib: Option<Box<dyn OpenEnded>>,
    zstd: Option<Zstd>,
    bodies: BodyCodecs,
    /// Reads what needs a dictionary or a base, which in packs is stored alike.
    as_in_packs: ChunkDecoder,
}

impl RevlogDecoder {
    /// A decoder that reads with the implementations that `decoders` names.
    pub fn new(decoders: impl Into<Decoders>) -> Self {
        let decoders = decoders.into();
        let as_in_packs = ChunkDecoder::new(decoders);
        RevlogDecoder { decoders, zlib: None, zstd: None, bodies: BodyCodecs::default(), as_in_packs }
    }

    /// The same decoder for chunks of a repository that has these dictionaries.
    #[must_use]
    pub fn with_dictionaries(self, dictionaries: &Dictionaries) -> Self {
        RevlogDecoder { as_in_packs: self.as_in_packs.with_dictionaries(dictionaries), ..self }
    }

    /// How the chunk that is all of `stored` uses the full text of its delta's base: where it does,
    /// [`decode_on_base`](RevlogDecoder::decode_on_base) alone decodes it. Damaged chunks use none.
    pub fn base_use(stored: &[u8]) -> BaseUse {
        match stored {
            // Most chunks are Mercurial's own.
            [] | [RAW_AS_IT_IS | RAW | ZLIB | ZSTD | LZ4, ..] => BaseUse::None,
            _ => parse_revlog_tag(stored).map_or(BaseUse::None, Tag::base_use),
        }
    }

    /// The payload length that the chunk that is all of `stored`, one that uses its base, claims itself.
    pub fn claimed_len_on_base(stored: &[u8]) -> Option<u64> {
        ChunkDecoder::claimed_len_on_base(stored).filter(|_| RevlogDecoder::base_use(stored) != BaseUse::None)
    }

    /// As [`decode`](RevlogDecoder::decode), for the chunk of a delta, whose base has the full text `base`: also chunks that use
    /// it. What such a chunk holds, a delta or a full text, [`base_use`](RevlogDecoder::base_use) says.
    ///
    /// # Errors
    /// As `decode`; also when it claims more payload than its length and that of the base make likely.
    pub fn decode_on_base(
        &mut self,
        stored: &[u8],
        base: &[u8],
        limit: usize,
        payload: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        if RevlogDecoder::base_use(stored) == BaseUse::None {
            return self.decode(stored, limit, payload);
        }
        let start = payload.len();
        let decoded = self.decode_with_base(stored, base, limit, payload);
        decoded.inspect_err(|_| payload.truncate(start))
    }

    fn decode_with_base(
        &mut self,
        stored: &[u8],
        base: &[u8],
        limit: usize,
        payload: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let name = parse_revlog_tag(stored)?.body.name();
        let corrupt = |found| CodecError::Corrupt { codec: name, expected: "a payload length that is likely", found };
        let claimed = RevlogDecoder::claimed_len_on_base(stored).ok_or_else(|| corrupt("none".to_owned()))?;
        let length = check_limit(claimed, limit, name)?;
        if !is_believed(length, stored.len(), base.len()) {
            let (stored, base) = (stored.len(), base.len());
            return Err(corrupt(format!("{length} payload bytes in {stored} with a base of {base}")));
        }
        let consumed = self.as_in_packs.decode_on_base(stored, base, new_room(payload, length, name)?)?;
        expect_all(consumed, stored, name).map(|()| length)
    }

    /// Decodes a chunk that needs a dictionary.
    fn decode_with_dictionary(
        &mut self,
        tag: Tag,
        stored: &[u8],
        limit: usize,
        payload: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let name = tag.body.name();
        let mut body = stored.get(tag.len()..).unwrap_or_default();
        let claimed = match tag.body {
            Body::Zstd => self.zstd_content_size(body)?,
            _ => leb128::read(&mut StoredBytes::new(&mut body, name))?,
        };
        let length = check_limit(claimed, limit, name)?;
        let consumed = if is_believed(length, stored.len(), 0) {
            self.as_in_packs.decode(stored, new_room(payload, length, name)?)?
        } else {
            let mut rest = stored;
            let mut growing = Growing { start: payload.len(), length, payload };
            self.as_in_packs.decode_stream_from(&mut rest, length as u64, &mut |piece| growing.push(piece))?;
            stored.len() - rest.len()
        };
        expect_all(consumed, stored, name).map(|()| length)
    }

    /// The payload length of a magicless frame.
    fn zstd_content_size(&self, frame: &[u8]) -> Result<u64, CodecError> {
        let mut zstd = Zstd::new(UNUSED_LEVEL, false);
        zstd.set_checksum(false);
        let missing = || CodecError::Corrupt {
            codec: Body::Zstd.name(),
            expected: "a frame with its content size",
            found: "one without".to_owned(),
        };
        zstd.content_size(frame)?.ok_or_else(missing)
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
            [_, body @ ..] => match parse_revlog_tag(stored) {
                Ok(tag) if tag.needs_base => Err(CodecError::BaseNeeded { codec: tag.body.name() }),
                Ok(tag) if tag.dictionary.is_some() => self.decode_with_dictionary(tag, stored, limit, payload),
                Ok(tag) => {
                    let codec = self.bodies.codec_for(self.decoders, tag);
                    decode_tagged(codec, tag, body, limit, payload)
                }
                Err(error) => Err(error),
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
            [ZSTD, ..] if stored.starts_with(&frame::MAGIC) => Some("zstd"),
            [LZ4, ..] => Some("lz4"),
            _ => parse_revlog_tag(stored).ok().map(|tag| tag.body.name()),
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
    let body_len = if is_believed(length, body.len(), 0) {
        codec.decode(body, new_room(payload, length, name)?)?
    } else {
        let mut rest = body;
        let mut growing = Growing { start: payload.len(), length, payload };
        codec.decode_stream(&mut rest, length as u64, &mut |piece| growing.push(piece))?;
        body.len() - rest.len()
    };
    if body_len == body.len() {
        return Ok(length);
    }
    let (expected, found) = ((TAG_LEN + body_len) as u64, (TAG_LEN + body.len()) as u64);
    Err(CodecError::TrailingBytes { codec: name, expected, found })
}

/// `length` bytes of room at the end of `payload`.
fn new_room<'a>(payload: &'a mut Vec<u8>, length: usize, codec: &'static str) -> Result<&'a mut [u8], CodecError> {
    let start = payload.len();
    reserve(payload, length, codec)?;
    payload.resize(start.saturating_add(length), 0);
    Ok(payload.get_mut(start..).unwrap_or_default())
}

/// An error unless a chunk took all of `stored`.
fn expect_all(consumed: usize, stored: &[u8], codec: &'static str) -> Result<(), CodecError> {
    if consumed == stored.len() {
        return Ok(());
    }
    Err(CodecError::TrailingBytes { codec, expected: consumed as u64, found: stored.len() as u64 })
}

/// A payload whose chunk claims more than is believed: room is made as bytes arrive.
struct Growing<'a> {
    payload: &'a mut Vec<u8>,
    /// Where it starts.
    start: usize,
    /// What is claimed, in bytes.
    length: usize,
}

impl Growing<'_> {
    fn push(&mut self, piece: &[u8]) -> std::io::Result<()> {
        let Growing { payload, start, length } = self;
        if payload.capacity() - payload.len() < piece.len() {
            let filled = payload.len() - *start;
            let room = doubled_room(filled.saturating_add(piece.len()), *length).unwrap_or(*length);
            payload.try_reserve_exact(room.saturating_sub(filled))?;
        }
        payload.extend_from_slice(piece);
        Ok(())
    }
}

/// `length` as a length in memory, which it is at most `limit`.
fn check_limit(length: u64, limit: usize, codec: &'static str) -> Result<usize, CodecError> {
    let too_long = || CodecError::PayloadLimit { codec, limit: limit as u64, found: FoundLength::Exactly(length) };
    usize::try_from(length).ok().filter(|length| *length <= limit).ok_or_else(too_long)
}
