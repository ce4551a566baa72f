//! Decodes chunks of every codec.
//!
//! The first bytes of a chunk say which codec it needs, so one decoder reads every pack, even one that mixes codecs.

use std::io::{BufRead, Read, Write};

use crate::BLOCK_LEN;
use crate::codec::{Codec, PayloadSink, UNUSED_LEVEL};
use crate::codecs::zstd::Zstd;
use crate::decoders::{Decoders, DeflateReader, Lz4Reader, ZlibReader};
use crate::dictionary::Dictionaries;
use crate::error::{CodecError, check_limit, expect_all_taken, expect_payload_len};
use crate::growing::{PushedPayload, is_plausible_len, new_room};
use crate::memo::{DecodeMemo, Remembered, StandInDecoder};
use crate::opening::{BLOCKED_BODY, Opening, TakenOpening, claimed_len, take_blocked_len};
use crate::spec::CodecSpec;
use crate::stored::StoredBytes;
use crate::tag::{BaseUse, Body, TAG_LEN, Tag};

/// Decodes chunks of every codec, with contexts that are made when first needed and then reused.
pub struct ChunkDecoder {
    decoders: Decoders,
    zlib_stream: Option<Box<dyn Codec>>,
    zstd_standard: Option<Zstd>,
    bodies: BodyCodecs,
    dictionaries: Dictionaries,
    /// The codec that last used each dictionary, by the dictionary's number.
    by_dictionary: Vec<Option<(DictionaryUser, Box<dyn Codec>)>>,
    /// Decodes chunks that need their base.
    on_base: Option<Zstd>,
    /// Gives payloads back without decoding; `None` unless the caller asked for it.
    memo: Option<Box<DecodeMemo>>,
}

/// The codec that uses a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DictionaryUser {
    ZlibStream,
    Tagged(Body),
}

impl ChunkDecoder {
    /// Creates a decoder that uses the implementations in `decoders`.
    pub fn new(decoders: impl Into<Decoders>) -> Self {
        ChunkDecoder {
            decoders: decoders.into(),
            zlib_stream: None,
            zstd_standard: None,
            bodies: BodyCodecs::default(),
            dictionaries: Dictionaries::default(),
            by_dictionary: Vec::new(),
            on_base: None,
            memo: None,
        }
    }

    /// Creates a decoder for a variant with `spec`. It uses the implementation that wrote the variant, if that can
    /// decode: see [`Decoders::for_spec`].
    pub fn for_spec(spec: &CodecSpec) -> Self {
        ChunkDecoder::new(Decoders::for_spec(spec))
    }

    /// Sets the dictionaries of the repository whose chunks are decoded.
    #[must_use]
    pub fn with_dictionaries(mut self, dictionaries: &Dictionaries) -> Self {
        self.by_dictionary.clear();
        self.by_dictionary.resize_with(dictionaries.len(), || None);
        self.dictionaries = dictionaries.clone();
        self
    }

    /// Sets the memo of decoded payloads, or takes it away, and returns the one before. Payloads that are streamed or need
    /// their base are always decoded.
    pub fn set_memo(&mut self, memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>> {
        std::mem::replace(&mut self.memo, memo)
    }

    /// How the chunk at the start of `stored` uses the content of its base. Only
    /// [`decode_on_base`](ChunkDecoder::decode_on_base) decodes a chunk that uses it. Damaged chunks count as using
    /// none.
    pub fn base_use(stored: &[u8]) -> BaseUse {
        match Opening::of(stored) {
            Ok(Opening::Tagged(tag)) => tag.base_use(),
            _ => BaseUse::None,
        }
    }

    /// The payload length that the chunk at the start of `stored` claims, if the chunk uses its base.
    pub fn claimed_len_on_base(stored: &[u8]) -> Option<u64> {
        match Opening::of(stored) {
            Ok(Opening::Tagged(tag)) if tag.needs_base => claimed_len(tag, stored, tag.body.name()).ok(),
            _ => None,
        }
    }

    /// Does the same as [`decode`](ChunkDecoder::decode) for the chunk of a delta whose base has the content `base`,
    /// whether the chunk uses the base or not.
    ///
    /// # Errors
    /// As `decode`.
    pub fn decode_on_base(&mut self, stored: &[u8], base: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        match Opening::of(stored)? {
            Opening::Tagged(tag) if tag.needs_base => {
                let codec = self.on_base.get_or_insert_with(|| Zstd::new(UNUSED_LEVEL, false));
                codec.set_checksum(tag.checksum);
                Ok(tag.len() + codec.decode_on(base, after(stored, tag.len()), payload)?)
            }
            _ => self.decode(stored, payload),
        }
    }

    /// Decodes the chunk at the start of `stored`, which may extend far beyond the chunk, into `payload`, which has the
    /// expected length. Returns the number of stored bytes that the chunk took.
    ///
    /// # Errors
    /// When the chunk does not hold exactly `payload.len()` bytes, is damaged, or its checksum does not
    /// match. The content of `payload` is then unspecified.
    pub fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        match self.memo {
            None => self.decode_opened(Opening::of(stored)?, stored, payload),
            Some(_) => self.decode_with_memo(stored, payload),
        }
    }

    #[cold]
    fn decode_with_memo(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let key = DecodeMemo::key_of_open(stored, payload.len());
        match self.memo.as_mut().and_then(|memo| memo.get(key)) {
            Some((Remembered::Payload(known), consumed)) => {
                expect_payload_len("memo", known.len() as u64, payload.len() as u64)?;
                payload.copy_from_slice(known);
                return Ok(consumed);
            }
            Some((Remembered::StandIn(StandInDecoder::Chunks(decoder), stored), consumed)) => {
                decoder.decode(stored, payload)?;
                return Ok(consumed);
            }
            Some((Remembered::StandIn(StandInDecoder::Revlogs(_), _), _)) | None => {}
        }
        let consumed = self.decode_opened(Opening::of(stored)?, stored, payload)?;
        self.memo.iter_mut().for_each(|memo| memo.put(key, payload, consumed));
        Ok(consumed)
    }

    /// Does the same as [`decode`](ChunkDecoder::decode) for a chunk whose opening the caller has read.
    #[inline]
    pub(crate) fn decode_opened(
        &mut self,
        opening: Opening,
        stored: &[u8],
        payload: &mut [u8],
    ) -> Result<usize, CodecError> {
        if let Opening::Tagged(tag) = opening
            && tag.blocked
        {
            return self.decode_blocks(tag, stored, payload);
        }
        let body_start = opening.body_start();
        let codec = self.codec_for(opening)?;
        Ok(body_start + codec.decode(after(stored, body_start), payload)?)
    }

    /// Decodes the chunk that is all of `stored` and claims `claimed` payload bytes, appends its payload to `payload`
    /// and returns the payload's length. Errors name the chunk `codec`.
    ///
    /// # Errors
    /// As [`decode`](ChunkDecoder::decode), and when the payload is longer than `limit` or the chunk does not end with
    /// `stored`. The appended bytes are then unspecified.
    pub(crate) fn append_claimed(
        &mut self,
        opening: Opening,
        stored: &[u8],
        (claimed, limit): (u64, usize),
        codec: &'static str,
        payload: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let length = check_limit(codec, claimed, limit)?;
        let taken = if is_plausible_len(length, stored.len(), 0) {
            self.decode_opened(opening, stored, new_room(payload, length, codec)?)? as u64
        } else {
            let mut growing = PushedPayload::new(payload, length);
            self.decode_stream(stored, claimed, &mut |piece| growing.push(piece))?
        };
        expect_all_taken(codec, taken, stored.len() as u64)?;
        Ok(length)
    }

    /// Fills `prefix` with the first bytes of the payload of the chunk at the start of `stored` and returns their
    /// number, which is `prefix.len()` unless the payload is shorter. The rest of `prefix` is unspecified.
    ///
    /// Decodes only the needed bytes if the codec can do that (all but libdeflate and the block codecs), otherwise the
    /// whole payload or its first block. Bytes that are not decoded are not checked.
    ///
    /// # Errors
    /// When the chunk is damaged before the prefix is complete.
    pub fn decode_prefix(&mut self, stored: &[u8], prefix: &mut [u8]) -> Result<usize, CodecError> {
        let opening = Opening::of(stored)?;
        if let Opening::Tagged(tag) = opening
            && tag.blocked
        {
            let mut rest = after(stored, TAG_LEN);
            return self.decode_blocks_prefix(Blocks::open(tag, StoredBytes::new(&mut rest, BLOCKED_BODY))?, prefix);
        }
        self.codec_for(opening)?.decode_prefix(after(stored, opening.body_start()), prefix)
    }

    /// Does the same as [`decode_prefix`](ChunkDecoder::decode_prefix) with a source of stored bytes, from which it may
    /// take more than it needs.
    ///
    /// # Errors
    /// When the chunk is damaged before the prefix is complete, or the source cannot be read.
    pub fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        let mut stored = StoredBytes::new(stored, BLOCKED_BODY);
        let start = TakenOpening::take(&mut stored)?;
        if let Opening::Tagged(tag) = start.opening
            && tag.blocked
        {
            return self.decode_blocks_prefix(Blocks::open(tag, stored)?, prefix);
        }
        self.codec_for(start.opening)?.decode_prefix_from(&mut start.body().chain(stored), prefix)
    }

    /// Decodes the chunk at the start of `stored`, hands its payload of `payload_len` bytes to `sink` in pieces and
    /// returns the number of stored bytes that the chunk took.
    ///
    /// The codec's window or [`BLOCK_LEN`] bounds the memory, whatever the payload's length.
    ///
    /// # Errors
    /// As [`decode`](ChunkDecoder::decode), and when the sink fails. The bytes that the sink received before an error
    /// are unchecked and must be discarded.
    pub fn decode_stream(
        &mut self,
        stored: &[u8],
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let mut rest = stored;
        self.decode_stream_from(&mut rest, payload_len, sink)
    }

    /// Does the same as [`decode_stream`](ChunkDecoder::decode_stream) with a source of stored bytes such as a buffered
    /// file, so that at most one block of them is in memory. Takes exactly the chunk's bytes.
    ///
    /// # Errors
    /// As `decode_stream`, and when the source cannot be read.
    pub fn decode_stream_from(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let mut stored = StoredBytes::new(stored, BLOCKED_BODY);
        let start = TakenOpening::take(&mut stored)?;
        if let Opening::Tagged(tag) = start.opening
            && tag.blocked
        {
            return self.decode_blocks_stream(Blocks::open(tag, stored)?, payload_len, sink);
        }
        let codec = self.codec_for(start.opening)?;
        let body_len = codec.decode_stream(&mut start.body().chain(stored), payload_len, sink)?;
        Ok(start.opening.body_start() as u64 + body_len)
    }

    /// The name for messages of the format of the chunk at the start of `stored`: `zlib`, `zstd (standard frame)`, or
    /// the name of a tagged body, such as `zstd`, `lz4` or `store`. `None` if no chunk can start like this.
    pub fn identify(stored: &[u8]) -> Option<&'static str> {
        match Opening::of(stored).ok()? {
            Opening::StandardZstdFrame => Some("zstd (standard frame)"),
            Opening::Tagged(tag) => Some(tag.body.name()),
            Opening::ZlibStream { .. } => {
                let header = u16::from_be_bytes(*stored.first_chunk()?);
                // RFC 1950: the header, as a number, is a multiple of 31.
                (header % 31 == 0).then_some("zlib")
            }
        }
    }

    /// The codec for an unblocked chunk.
    fn codec_for(&mut self, opening: Opening) -> Result<&mut dyn Codec, CodecError> {
        match opening {
            Opening::ZlibStream { preset: None } => {
                let reader = self.decoders.zlib;
                Ok(self.zlib_stream.get_or_insert_with(|| reader.new_codec()).as_mut())
            }
            Opening::ZlibStream { preset: Some(adler32) } => {
                let found = || CodecError::NoSuchDictionary { found: format!("one with Adler-32 {adler32:08x}") };
                let (number, _) = self.dictionaries.by_adler32(adler32).ok_or_else(found)?;
                self.with_dictionary(number, DictionaryUser::ZlibStream)
            }
            Opening::StandardZstdFrame => Ok(self.zstd_standard.get_or_insert_with(|| Zstd::new(UNUSED_LEVEL, true))),
            Opening::Tagged(tag) if tag.needs_base => Err(CodecError::BaseNeeded { codec: tag.body.name() }),
            Opening::Tagged(tag) => {
                let codec = match tag.dictionary {
                    Some(number) => self.with_dictionary(number, DictionaryUser::Tagged(tag.body))?,
                    None => self.bodies.codec_for(self.decoders, tag),
                };
                codec.set_checksum(tag.checksum);
                Ok(codec)
            }
        }
    }

    /// The codec of `user` with the dictionary `number`.
    fn with_dictionary(&mut self, number: u8, user: DictionaryUser) -> Result<&mut dyn Codec, CodecError> {
        let found = || CodecError::NoSuchDictionary { found: format!("number {number}") };
        let slot = self.by_dictionary.get_mut(usize::from(number)).ok_or_else(found)?;
        if slot.as_ref().is_none_or(|(last, _)| *last != user) {
            let mut codec: Box<dyn Codec> = match user {
                // Not all readers support dictionaries.
                DictionaryUser::ZlibStream => ZlibReader::Stock.new_codec(),
                DictionaryUser::Tagged(Body::Deflate) => DeflateReader::Stock.new_codec(),
                DictionaryUser::Tagged(Body::Lz4) => Lz4Reader::Liblz4.new_codec(),
                DictionaryUser::Tagged(body) => self.decoders.new_codec(body),
            };
            codec.set_dictionary(self.dictionaries.get(number))?;
            *slot = Some((user, codec));
        }
        match slot {
            Some((_, codec)) => Ok(codec.as_mut()),
            None => Err(found()),
        }
    }

    fn decode_blocks(&mut self, outer: Tag, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = after(stored, TAG_LEN);
        let mut blocks = Blocks::open(outer, StoredBytes::new(&mut rest, BLOCKED_BODY))?;
        expect_payload_len(BLOCKED_BODY, payload.len() as u64, blocks.payload_len)?;
        for block in payload.chunks_mut(BLOCK_LEN) {
            let codec = self.codec_for(blocks.next_opening()?)?;
            let body_len = codec.decode(blocks.stored.available()?, block)?;
            blocks.stored.advance(body_len);
        }
        Ok(stored.len() - rest.len())
    }

    fn decode_blocks_prefix<R: BufRead + ?Sized>(
        &mut self,
        mut blocks: Blocks<'_, R>,
        prefix: &mut [u8],
    ) -> Result<usize, CodecError> {
        let length = usize::try_from(blocks.payload_len).map_or(prefix.len(), |length| length.min(prefix.len()));
        let wanted = prefix.get_mut(..length).unwrap_or_default();
        for part in wanted.chunks_mut(BLOCK_LEN) {
            let codec = self.codec_for(blocks.next_opening()?)?;
            if part.len() == BLOCK_LEN {
                let mut room = part;
                codec.decode_stream(&mut blocks.stored, BLOCK_LEN as u64, &mut |piece| room.write_all(piece))?;
                continue;
            }
            // This is the last part. Nothing is read after it, so it does not matter where its chunk ends.
            let filled = codec.decode_prefix_from(&mut blocks.stored, part)?;
            expect_payload_len(BLOCKED_BODY, part.len() as u64, filled as u64)?;
        }
        Ok(length)
    }

    fn decode_blocks_stream<R: BufRead + ?Sized>(
        &mut self,
        mut blocks: Blocks<'_, R>,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        expect_payload_len(BLOCKED_BODY, payload_len, blocks.payload_len)?;
        let mut remaining = payload_len;
        while remaining > 0 {
            let block_len = remaining.min(BLOCK_LEN as u64);
            let codec = self.codec_for(blocks.next_opening()?)?;
            codec.decode_stream(&mut blocks.stored, block_len, sink)?;
            remaining -= block_len;
        }
        Ok(blocks.stored.consumed())
    }
}

/// Iterates over the blocks of one chunk.
struct Blocks<'a, R: BufRead + ?Sized> {
    outer: Tag,
    stored: StoredBytes<'a, R>,
    payload_len: u64,
}

impl<'a, R: BufRead + ?Sized> Blocks<'a, R> {
    /// Starts after the tag, which is `outer`, and takes the payload length.
    fn open(outer: Tag, mut stored: StoredBytes<'a, R>) -> Result<Self, CodecError> {
        let payload_len = take_blocked_len(&mut stored)?;
        Ok(Blocks { outer, stored, payload_len })
    }

    /// Takes the tag byte of the next block.
    fn next_opening(&mut self) -> Result<Opening, CodecError> {
        let [byte] = self.stored.take_array()?;
        // A zlib stream or a standard zstd frame is not a block, so the byte is parsed as a tag in any case.
        match Tag::parse(&[byte]) {
            Ok(tag) if tag.is_block_of(self.outer) => Ok(Opening::Tagged(tag)),
            _ => Err(CodecError::Corrupt {
                codec: BLOCKED_BODY,
                expected: "the tag byte of a block of this chunk",
                found: format!("{byte:#04x}"),
            }),
        }
    }
}

fn after(stored: &[u8], position: usize) -> &[u8] {
    stored.get(position..).unwrap_or_default()
}

/// The number of bodies that a tag byte can distinguish.
const BODY_NUMBERS: usize = 16;

/// The codecs of tagged bodies by the body's number. Each is made when first needed.
#[derive(Default)]
struct BodyCodecs([Option<Box<dyn Codec>>; BODY_NUMBERS]);

impl BodyCodecs {
    /// The codec that decodes the body after `tag`.
    fn codec_for(&mut self, decoders: Decoders, tag: Tag) -> &mut dyn Codec {
        #[allow(clippy::indexing_slicing, reason = "a nibble is below the number of bodies")]
        let slot = &mut self.0[usize::from(tag.body.nibble()) % BODY_NUMBERS];
        let codec = slot.get_or_insert_with(|| decoders.new_codec(tag.body)).as_mut();
        codec.set_checksum(tag.checksum);
        codec
    }
}
