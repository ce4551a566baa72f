//! Chunk to payload: whatever codec wrote it.
//!
//! A chunk says by its first bytes which codec it needs, so one decoder reads every pack, also one
//! that mixes codecs.

use std::io::{BufRead, Read, Write};

use crate::BLOCK_LEN;
use crate::codec::{Codec, PayloadSink, UNUSED_LEVEL};
use crate::codecs::zstd::Zstd;
use crate::decoders::{BodyCodecs, Decoders, DeflateReader, Lz4Reader, ZlibReader};
use crate::dictionary::Dictionaries;
use crate::error::{CodecError, FoundLength};
use crate::leb128;
use crate::spec::CodecSpec;
use crate::stored::StoredBytes;
use crate::tag::{BaseUse, Body, Opening, TAG_LEN, Tag, TakenOpening};

/// How messages name a chunk of several blocks.
const BLOCKED_BODY: &str = "blocked body";

/// Decodes chunks of every codec, with contexts that are made when first needed and then reused.
pub struct ChunkDecoder {
    decoders: Decoders,
    zlib_stream: Option<Box<dyn Codec>>,
    zstd_standard: Option<Zstd>,
    bodies: BodyCodecs,
    dictionaries: Dictionaries,
    /// The codec that last used each dictionary, by the dictionary's number.
    by_dictionary: Vec<Option<(DictionaryUser, Box<dyn Codec>)>>,
    /// Decodes what needs its base.
    on_base: Option<Zstd>,
}

/// Which codec uses a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DictionaryUser {
    ZlibStream,
    Tagged(Body),
}

impl ChunkDecoder {
    /// A decoder that reads with the implementations that `decoders` names.
    pub fn new(decoders: impl Into<Decoders>) -> Self {
        ChunkDecoder {
            decoders: decoders.into(),
            zlib_stream: None,
            zstd_standard: None,
            bodies: BodyCodecs::default(),
            dictionaries: Dictionaries::default(),
            by_dictionary: Vec::new(),
            on_base: None,
        }
    }

    /// The same decoder for chunks of a repository that has these dictionaries.
    #[must_use]
    pub fn with_dictionaries(mut self, dictionaries: &Dictionaries) -> Self {
        self.by_dictionary.clear();
        self.by_dictionary.resize_with(dictionaries.len(), || None);
        self.dictionaries = dictionaries.clone();
        self
    }

    /// How the chunk at the start of `stored` uses the content of its entry's base: where it does,
    /// [`decode_on_base`](ChunkDecoder::decode_on_base) alone decodes it. Damaged chunks use none.
    pub fn base_use(stored: &[u8]) -> BaseUse {
        match Opening::of(stored) {
            Ok(Opening::Tagged(tag)) => tag.base_use(),
            _ => BaseUse::None,
        }
    }

    /// The payload length that the chunk at the start of `stored`, one that uses its base, claims itself.
    pub fn claimed_len_on_base(stored: &[u8]) -> Option<u64> {
        match Opening::of(stored) {
            Ok(Opening::Tagged(tag)) if tag.needs_base => {
                let mut zstd = Zstd::new(UNUSED_LEVEL, false);
                zstd.set_checksum(tag.checksum);
                zstd.content_size(after(stored, tag.len())).ok().flatten()
            }
            _ => None,
        }
    }

    /// As [`decode`](ChunkDecoder::decode), for the chunk of a delta, whose base has the content `base`: also chunks that
    /// use it.
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

    /// A decoder for a variant under `spec`, by the implementation that wrote it where that can read: see
    /// [`Decoders::for_spec`].
    pub fn for_spec(spec: &CodecSpec) -> Self {
        ChunkDecoder::new(Decoders::for_spec(spec))
    }

    /// Decodes the chunk at the start of `stored`, which may extend far beyond it, into `payload`, whose
    /// length is what the caller expects; returns how many stored bytes the chunk took.
    ///
    /// # Errors
    /// When the chunk does not hold exactly `payload.len()` bytes, is damaged, or its checksum does not
    /// match. The content of `payload` is then unspecified.
    pub fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let opening = Opening::of(stored)?;
        if let Opening::Tagged(tag) = opening
            && tag.blocked
        {
            return self.decode_blocks(tag, stored, payload);
        }
        let (codec, body_start) = self.codec_for(opening)?;
        Ok(body_start + codec.decode(after(stored, body_start), payload)?)
    }

    /// Fills `prefix` with the first bytes of the payload of the chunk at the start of `stored`; returns how
    /// many there are, which is `prefix.len()` unless the payload is shorter. What `prefix` holds beyond them is
    /// unspecified.
    ///
    /// Decodes no more than needed where the codec can (all but libdeflate and those that write blocks), else the whole payload,
    /// or its first block. What is not decoded is not checked either.
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
        let (codec, body_start) = self.codec_for(opening)?;
        codec.decode_prefix(after(stored, body_start), prefix)
    }

    /// As [`decode_prefix`](ChunkDecoder::decode_prefix), from a source of stored bytes, of which it may take more than
    /// it needs.
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
        let (codec, _) = self.codec_for(start.opening)?;
        codec.decode_prefix_from(&mut start.body().chain(stored), prefix)
    }

    /// Decodes the chunk at the start of `stored` and hands its payload of `payload_len` bytes to `sink` in
    /// pieces; returns how many stored bytes the chunk took.
    ///
    /// Memory stays bounded by the codec's window or by [`BLOCK_LEN`], whatever the payload's length.
    ///
    /// # Errors
    /// As [`decode`](ChunkDecoder::decode), and when the sink fails. What the sink received before an error was
    /// not yet checked and must be discarded.
    pub fn decode_stream(
        &mut self,
        stored: &[u8],
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let mut rest = stored;
        self.decode_stream_from(&mut rest, payload_len, sink)
    }

    /// As [`decode_stream`](ChunkDecoder::decode_stream), from a source of stored bytes such as a buffered file, so that
    /// they too need not be in memory: at most one block of them is. Takes exactly the chunk's bytes.
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
        let (codec, body_start) = self.codec_for(start.opening)?;
        let body_len = codec.decode_stream(&mut start.body().chain(stored), payload_len, sink)?;
        Ok(body_start as u64 + body_len)
    }

    /// The name of the format that the chunk at the start of `stored` has, for messages: `zlib`, `zstd (standard frame)`,
    /// or that of a tagged body, such as `zstd`, `lz4` or `store`; `None` where no chunk can start so.
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

    /// The codec for an unblocked chunk, and where its body starts.
    fn codec_for(&mut self, opening: Opening) -> Result<(&mut dyn Codec, usize), CodecError> {
        match opening {
            Opening::ZlibStream { preset: None } => {
                let reader = self.decoders.zlib;
                Ok((self.zlib_stream.get_or_insert_with(|| reader.new_codec()).as_mut(), 0))
            }
            Opening::ZlibStream { preset: Some(adler32) } => {
                let found = || CodecError::NoSuchDictionary { found: format!("one with Adler-32 {adler32:08x}") };
                let (number, _) = self.dictionaries.by_adler32(adler32).ok_or_else(found)?;
                Ok((self.with_dictionary(number, DictionaryUser::ZlibStream)?, 0))
            }
            Opening::StandardZstdFrame => {
                Ok((self.zstd_standard.get_or_insert_with(|| Zstd::new(UNUSED_LEVEL, true)), 0))
            }
            Opening::Tagged(tag) if tag.needs_base => Err(CodecError::BaseNeeded { codec: tag.body.name() }),
            Opening::Tagged(tag) => {
                let codec = match tag.dictionary {
                    Some(number) => self.with_dictionary(number, DictionaryUser::Tagged(tag.body))?,
                    None => self.bodies.codec_for(self.decoders, tag),
                };
                codec.set_checksum(tag.checksum);
                Ok((codec, tag.len()))
            }
        }
    }

    /// The codec of `user` with the dictionary of that number.
    fn with_dictionary(&mut self, number: u8, user: DictionaryUser) -> Result<&mut dyn Codec, CodecError> {
        let found = || CodecError::NoSuchDictionary { found: format!("number {number}") };
        let slot = self.by_dictionary.get_mut(usize::from(number)).ok_or_else(found)?;
        if slot.as_ref().is_none_or(|(last, _)| *last != user) {
            let mut codec: Box<dyn Codec> = match user {
                // Not all readers take preset dictionaries.
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
        blocks.expect_payload_len(payload.len() as u64)?;
        for block in payload.chunks_mut(BLOCK_LEN) {
            let (codec, _) = self.codec_for(blocks.next_opening()?)?;
            let body_len = codec.decode(blocks.stored.at_hand()?, block)?;
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
            let (codec, _) = self.codec_for(blocks.next_opening()?)?;
            if part.len() == BLOCK_LEN {
                let mut room = part;
                codec.decode_stream(&mut blocks.stored, BLOCK_LEN as u64, &mut |piece| room.write_all(piece))?;
                continue;
            }
            // The last part; nothing is read after it, so where its chunk ends is of no interest.
            let filled = codec.decode_prefix_from(&mut blocks.stored, part)?;
            if filled < part.len() {
                let (expected, found) = (part.len() as u64, FoundLength::Exactly(filled as u64));
                return Err(CodecError::PayloadLength { codec: BLOCKED_BODY, expected, found });
            }
        }
        Ok(length)
    }

    fn decode_blocks_stream<R: BufRead + ?Sized>(
        &mut self,
        mut blocks: Blocks<'_, R>,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        blocks.expect_payload_len(payload_len)?;
        let mut remaining = payload_len;
        while remaining > 0 {
            let block_len = remaining.min(BLOCK_LEN as u64);
            let (codec, _) = self.codec_for(blocks.next_opening()?)?;
            codec.decode_stream(&mut blocks.stored, block_len, sink)?;
            remaining -= block_len;
        }
        Ok(blocks.stored.consumed())
    }
}

/// A walk over the blocks of one chunk.
struct Blocks<'a, R: BufRead + ?Sized> {
    outer: Tag,
    stored: StoredBytes<'a, R>,
    payload_len: u64,
}

impl<'a, R: BufRead + ?Sized> Blocks<'a, R> {
    /// Starts behind the tag byte, already parsed as `outer`, and takes the payload length.
    fn open(outer: Tag, mut stored: StoredBytes<'a, R>) -> Result<Self, CodecError> {
        let payload_len = leb128::read(&mut stored)?;
        if payload_len <= BLOCK_LEN as u64 {
            let found = format!("{payload_len} payload bytes");
            return Err(CodecError::Corrupt { codec: BLOCKED_BODY, expected: "a payload above one block", found });
        }
        Ok(Blocks { outer, stored, payload_len })
    }

    fn expect_payload_len(&self, expected: u64) -> Result<(), CodecError> {
        if self.payload_len == expected {
            return Ok(());
        }
        let found = FoundLength::Exactly(self.payload_len);
        Err(CodecError::PayloadLength { codec: BLOCKED_BODY, expected, found })
    }

    /// Takes the tag byte of the next block, which is of the outer body or stored, unblocked, and checked alike.
    fn next_opening(&mut self) -> Result<Opening, CodecError> {
        let [byte] = self.stored.take_array()?;
        // Where a zlib stream or a standard zstd frame could start there is no tag byte either.
        match Tag::parse(&[byte]) {
            Ok(tag)
                if !tag.blocked
                    && !tag.needs_base
                    && tag.checksum == self.outer.checksum
                    && (tag.body == self.outer.body || tag.body == Body::Store) =>
            {
                Ok(Opening::Tagged(tag))
            }
            _ => Err(CodecError::Corrupt {
                codec: BLOCKED_BODY,
                expected: "a block's tag byte that suits the first",
                found: format!("{byte:#04x}"),
            }),
        }
    }
}

fn after(stored: &[u8], position: usize) -> &[u8] {
    stored.get(position..).unwrap_or_default()
}
