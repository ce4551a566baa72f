//! Decodes revlog chunks of every engine.

use super::{LZ4_CHUNK, RAW_CHUNK};
use crate::codec::{OpenEnded, UNUSED_LEVEL};
use crate::codecs::lz4_block;
use crate::codecs::zstd::Zstd;
use crate::codecs::zstd::frame;
use crate::decoder::ChunkDecoder;
use crate::decoders::{Decoders, Lz4Reader};
use crate::dictionary::Dictionaries;
use crate::error::{CodecError, check_limit, expect_all_taken};
use crate::growing::{is_plausible_len, new_room, reserve};
use crate::memo::{DecodeMemo, Remembered, StandInDecoder};
use crate::opening::revlog::RevlogOpening;
use crate::opening::{Opening, claimed_len};
use crate::spec::CodecSpec;
use crate::tag::{BaseUse, Tag};

/// The length of the payload length after header `4`, in bytes.
const LZ4_LENGTH_LEN: usize = 4;

/// Decodes revlog chunks of every engine. Contexts are made when first needed, and reused.
pub struct RevlogDecoder {
    decoders: Decoders,
    zlib: Option<Box<dyn OpenEnded>>,
    zstd: Option<Zstd>,
    /// Decodes tagged bodies, which are the same as in packs.
    tagged: ChunkDecoder,
    /// Gives payloads back without decoding; `None` unless the caller asked for it.
    memo: Option<Box<DecodeMemo>>,
}

impl RevlogDecoder {
    /// Creates a decoder that uses the implementations in `decoders`.
    pub fn new(decoders: impl Into<Decoders>) -> Self {
        let decoders = decoders.into();
        RevlogDecoder { decoders, zlib: None, zstd: None, tagged: ChunkDecoder::new(decoders), memo: None }
    }

    /// Creates a decoder for a variant with `spec`. It uses the implementation that wrote the variant, if that can
    /// decode: see [`Decoders::for_spec`].
    pub fn for_spec(spec: &CodecSpec) -> Self {
        RevlogDecoder::new(Decoders::for_spec(spec))
    }

    /// Sets the dictionaries of the repository whose chunks are decoded.
    #[must_use]
    pub fn with_dictionaries(self, dictionaries: &Dictionaries) -> Self {
        RevlogDecoder { tagged: self.tagged.with_dictionaries(dictionaries), ..self }
    }

    /// Sets the memo of decoded payloads, or takes it away, and returns the one before. Payloads that need their base are
    /// always decoded.
    pub fn set_memo(&mut self, memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>> {
        std::mem::replace(&mut self.memo, memo)
    }

    /// How the chunk that is all of `stored` uses the full text of its delta's base. Only
    /// [`decode_on_base`](RevlogDecoder::decode_on_base) decodes a chunk that uses it. Damaged chunks count as using
    /// none.
    pub fn base_use(stored: &[u8]) -> BaseUse {
        RevlogOpening::of(stored).map_or(BaseUse::None, RevlogOpening::base_use)
    }

    /// The payload length that the chunk that is all of `stored` claims, if the chunk uses its base.
    pub fn claimed_len_on_base(stored: &[u8]) -> Option<u64> {
        ChunkDecoder::claimed_len_on_base(stored).filter(|_| RevlogDecoder::base_use(stored) != BaseUse::None)
    }

    /// Does the same as [`decode`](RevlogDecoder::decode) for the chunk of a delta whose base has the full text `base`,
    /// whether the chunk uses the base or not. [`base_use`](RevlogDecoder::base_use) says whether the chunk holds a
    /// delta or a full text.
    ///
    /// # Errors
    /// As `decode`, and when the chunk claims more payload than its length and that of the base make plausible.
    pub fn decode_on_base(
        &mut self,
        stored: &[u8],
        base: &[u8],
        limit: usize,
        payload: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let start = payload.len();
        match RevlogOpening::of(stored)? {
            RevlogOpening::Tagged(tag) if tag.needs_base => {
                let decoded = self.decode_with_base(tag, stored, base, limit, payload);
                decoded.inspect_err(|_| payload.truncate(start))
            }
            _ => self.decode(stored, limit, payload),
        }
    }

    fn decode_with_base(
        &mut self,
        tag: Tag,
        stored: &[u8],
        base: &[u8],
        limit: usize,
        payload: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let name = tag.body.name();
        let corrupt = |found| CodecError::Corrupt { codec: name, expected: "a plausible payload length", found };
        let claimed = claimed_len(tag, stored, name).map_err(|_| corrupt("none".to_owned()))?;
        let length = check_limit(name, claimed, limit)?;
        if !is_plausible_len(length, stored.len(), base.len()) {
            let (stored, base) = (stored.len(), base.len());
            return Err(corrupt(format!("{length} payload bytes in {stored} with a base of {base}")));
        }
        let consumed = self.tagged.decode_on_base(stored, base, new_room(payload, length, name)?)?;
        expect_all_taken(name, consumed as u64, stored.len() as u64)?;
        Ok(length)
    }

    /// Decodes the chunk that is all of `stored`, appends its payload to `payload` and returns the payload's length in
    /// bytes.
    ///
    /// A payload of more than `limit` bytes is an error. If the caller knows the payload's length, as it does for a
    /// full text, that is the best limit: the buffer then grows only once. Memory is allocated for decoded bytes and
    /// not for the claim of a length field: at most `limit` bytes, and before the first byte is decoded at most 1 MiB
    /// or 255 times `stored.len()`, whichever is more.
    ///
    /// # Errors
    /// When the header is unknown, the chunk is damaged, does not end with `stored`, or holds more than `limit` bytes.
    /// `payload` is then unchanged.
    pub fn decode(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        if self.memo.is_some() {
            return self.decode_with_memo(stored, limit, payload);
        }
        let start = payload.len();
        let decoded = self.decode_opened(RevlogOpening::of(stored)?, stored, limit, payload);
        decoded.inspect_err(|_| payload.truncate(start))
    }

    #[cold]
    fn decode_with_memo(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        let (start, key) = (payload.len(), DecodeMemo::key_of(stored));
        match self.memo.as_mut().and_then(|memo| memo.get(key)) {
            Some((Remembered::Payload(known), _)) => {
                let length = check_limit("memo", known.len() as u64, limit)?;
                payload.extend_from_slice(known);
                return Ok(length);
            }
            Some((Remembered::StandIn(StandInDecoder::Revlogs(decoder), stored), _)) => {
                return decoder.decode(stored, limit, payload);
            }
            Some((Remembered::StandIn(StandInDecoder::Chunks(_), _), _)) | None => {}
        }
        let decoded = self.decode_opened(RevlogOpening::of(stored)?, stored, limit, payload);
        let length = decoded.inspect_err(|_| payload.truncate(start))?;
        let new = payload.get(start..).unwrap_or_default();
        self.memo.iter_mut().for_each(|memo| memo.put(key, new, stored.len()));
        Ok(length)
    }

    #[inline]
    fn decode_opened(
        &mut self,
        opening: RevlogOpening,
        stored: &[u8],
        limit: usize,
        payload: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        match opening {
            RevlogOpening::Empty => Ok(0),
            RevlogOpening::RawWithoutHeader => append_raw(stored, limit, payload),
            RevlogOpening::Raw => append_raw(after_header(stored), limit, payload),
            RevlogOpening::ZlibStream => self.zlib().decode_to_end(stored, limit, payload),
            RevlogOpening::ZstdFrame => self.zstd().decode_to_end(stored, limit, payload),
            RevlogOpening::Lz4 => decode_lz4(self.decoders.lz4, after_header(stored), limit, payload),
            RevlogOpening::Tagged(tag) => {
                let name = tag.body.name();
                if tag.needs_base {
                    return Err(CodecError::BaseNeeded { codec: name });
                }
                let claimed = claimed_len(tag, stored, name)?;
                self.tagged.append_claimed(Opening::Tagged(tag), stored, (claimed, limit), name, payload)
            }
        }
    }

    /// The name for messages of the codec that the chunk needs: `zlib`, `zstd`, `lz4`, the name of a tagged body, or
    /// `store` for raw and empty chunks. `None` if no chunk can start like this.
    pub fn identify(stored: &[u8]) -> Option<&'static str> {
        match RevlogOpening::of(stored).ok()? {
            RevlogOpening::Empty | RevlogOpening::RawWithoutHeader | RevlogOpening::Raw => Some("store"),
            RevlogOpening::ZlibStream => ChunkDecoder::identify(stored),
            RevlogOpening::ZstdFrame => stored.starts_with(&frame::MAGIC).then_some("zstd"),
            RevlogOpening::Lz4 => Some("lz4"),
            RevlogOpening::Tagged(tag) => Some(tag.body.name()),
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
    check_limit(RAW_CHUNK, raw.len() as u64, limit)?;
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
    let length = check_limit(LZ4_CHUNK, claimed, limit)?;
    reader.decompress(block, new_room(payload, length, LZ4_CHUNK)?, LZ4_CHUNK)?;
    Ok(length)
}

/// The bytes after a header of one byte.
fn after_header(stored: &[u8]) -> &[u8] {
    stored.get(1..).unwrap_or_default()
}
