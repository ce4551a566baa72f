//! Chunk to payload: whatever codec wrote it.
//!
//! A chunk says by its first bytes which codec it needs, so one decoder reads every pack, also one
//! that mixes codecs.

use std::io::{BufRead, Read, Write};

use crate::BLOCK_LEN;
use crate::codec::{Codec, PayloadSink};
use crate::codecs::zstd::Zstd;
use crate::decoders::{BodyCodecs, Decoders};
use crate::error::{CodecError, FoundLength};
use crate::leb128;
use crate::spec::CodecSpec;
use crate::stored::StoredBytes;
use crate::tag::{Body, Opening, TAG_LEN, Tag, TakenOpening};

/// How messages name a chunk of several blocks.
const BLOCKED_BODY: &str = "blocked body";

/// The level of codecs that only decode; no encoder is made for it.
pub(crate) const UNUSED_LEVEL: i32 = 1;

/// Decodes chunks of every codec, with contexts that are made when first needed and then reused.
pub struct ChunkDecoder {
    decoders: Decoders,
    zlib_stream: Option<Box<dyn Codec>>,
    zstd_standard: Option<Zstd>,
    bodies: BodyCodecs,
}

impl ChunkDecoder {
    /// A decoder that reads with the implementations that `decoders` names.
    pub fn new(decoders: impl Into<Decoders>) -> Self {
        ChunkDecoder {
            decoders: decoders.into(),
            zlib_stream: None,
            zstd_standard: None,
            bodies: BodyCodecs::default(),
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
        let (codec, body_start) = self.codec_for(opening);
        Ok(body_start + codec.decode(after(stored, body_start), payload)?)
    }

    /// Fills `prefix` with the first bytes of the payload of the chunk at the start of `stored`; returns how
    /// many there are, which is `prefix.len()` unless the payload is shorter. What `prefix` holds beyond them is
    /// unspecified.
    ///
    /// Decodes no more than needed where the codec can (all but libdeflate, lz4 and lz4hc), else the whole payload,
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
        let (codec, body_start) = self.codec_for(opening);
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
        let (codec, _) = self.codec_for(start.opening);
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
        let (codec, body_start) = self.codec_for(start.opening);
        let body_len = codec.decode_stream(&mut start.body().chain(stored), payload_len, sink)?;
        Ok(body_start as u64 + body_len)
    }

    /// The name of the codec that the chunk at the start of `stored` needs, for messages: `zlib`, `zstd (standard
    /// frame)`, or that of a tagged body, such as `zstd` or `store`; `None` where no chunk can start so.
    pub fn identify(stored: &[u8]) -> Option<&'static str> {
        match Opening::of(stored).ok()? {
            Opening::StandardZstdFrame => Some("zstd (standard frame)"),
            Opening::Tagged(tag) => Some(tag.body.name()),
            Opening::ZlibStream => {
                let header = u16::from_be_bytes(*stored.first_chunk()?);
                // RFC 1950: the header, as a number, is a multiple of 31.
                (header % 31 == 0).then_some("zlib")
            }
        }
    }

    /// The codec for an unblocked chunk, and where its body starts.
    fn codec_for(&mut self, opening: Opening) -> (&mut dyn Codec, usize) {
        match opening {
            Opening::ZlibStream => {
                let reader = self.decoders.zlib;
                (self.zlib_stream.get_or_insert_with(|| reader.new_codec()).as_mut(), 0)
            }
            Opening::StandardZstdFrame => (self.zstd_standard.get_or_insert_with(|| Zstd::new(UNUSED_LEVEL, true)), 0),
            Opening::Tagged(tag) => (self.bodies.codec_for(self.decoders, tag), TAG_LEN),
        }
    }

    fn decode_blocks(&mut self, outer: Tag, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = after(stored, TAG_LEN);
        let mut blocks = Blocks::open(outer, StoredBytes::new(&mut rest, BLOCKED_BODY))?;
        blocks.expect_payload_len(payload.len() as u64)?;
        for block in payload.chunks_mut(BLOCK_LEN) {
            let (codec, _) = self.codec_for(blocks.next_opening()?);
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
            let (codec, _) = self.codec_for(blocks.next_opening()?);
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
            let (codec, _) = self.codec_for(blocks.next_opening()?);
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
        match Tag::parse(byte) {
            Ok(tag)
                if !tag.blocked
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
