//! Encodes payloads into chunks: with the codec of a spec, or stored if the codec does not make them shorter.

use std::io::{Read, Write};

use crate::BLOCK_LEN;
use crate::base_encoder::{BaseEncoder, DeltaBase};
use crate::codec::Codec;
use crate::codecs::store::Store;
use crate::dictionary::Dictionary;
use crate::error::CodecError;
use crate::leb128;
use crate::source::PayloadSource;
use crate::spec::{CodecChoice, CodecSpec};
use crate::tag::{Body, TAG_LEN, Tag};

/// Encodes payloads with one codec choice. Contexts are reused.
///
/// The stored bytes depend only on choice, dictionary, payload and base: not on earlier payloads, and not on whether
/// [`encode`](ChunkEncoder::encode) or [`encode_stream`](ChunkEncoder::encode_stream) wrote them.
pub struct ChunkEncoder {
    codec: Box<dyn Codec>,
    /// The number of the dictionary, and the codec with the dictionary.
    dictionary: Option<(u8, Box<dyn Codec>)>,
    /// Tries the base's content as prefix.
    on_base: Option<BaseEncoder>,
    /// Writes payloads that do not shrink, in chunks with a tag.
    store: Store,
    /// The body of the chunks; `None` for chunks without a tag.
    tagged: Option<Body>,
    checksum: bool,
    store_if_larger: bool,
    /// Scratch space for a whole payload or block.
    block: Vec<u8>,
    /// Scratch space for the chunk of such a payload or block.
    chunk: Vec<u8>,
}

impl ChunkEncoder {
    /// Creates an encoder for the default part of `spec`, without a dictionary. Contexts are made when the first
    /// payload arrives.
    ///
    /// # Errors
    /// When the codec of the spec cannot be set up.
    pub fn new(spec: &CodecSpec) -> Result<Self, CodecError> {
        ChunkEncoder::for_choice(spec.default_choice(), None)
    }

    /// Creates an encoder for `choice`, with a numbered dictionary. Contexts are made when the first payload arrives.
    ///
    /// # Errors
    /// When the codec cannot be set up, or does not take the dictionary.
    pub fn for_choice(choice: &CodecChoice, dictionary: Option<(u8, &Dictionary)>) -> Result<Self, CodecError> {
        let mut store = Store::new();
        store.set_checksum(choice.checksum());
        let dictionary = match dictionary {
            None => None,
            Some((number, dictionary)) => {
                let mut codec = choice.new_codec()?;
                codec.set_dictionary(Some(dictionary))?;
                Some((number, codec))
            }
        };
        let on_base = choice.uses_base().then(|| BaseEncoder::new(choice));
        Ok(ChunkEncoder {
            codec: choice.new_codec()?,
            dictionary,
            on_base,
            store,
            tagged: choice.algorithm().body().filter(|_| !choice.standard_frame()),
            checksum: choice.checksum(),
            store_if_larger: choice.store_if_larger(),
            block: Vec::new(),
            chunk: Vec::new(),
        })
    }

    /// Whether [`encode_delta`](ChunkEncoder::encode_delta) may write shorter chunks for deltas than
    /// [`encode`](ChunkEncoder::encode).
    pub fn uses_bases(&self) -> bool {
        self.on_base.is_some()
    }

    /// Appends the shortest chunk of the delta `payload`, or of its whole object, to `out` and returns the chunk's
    /// length in bytes.
    ///
    /// A base, object or payload above [`BLOCK_LEN`] is not used.
    ///
    /// # Errors
    /// When the implementation fails; `out` is then as it was before.
    pub fn encode_delta(
        &mut self,
        payload: &[u8],
        base: &DeltaBase<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let start = out.len();
        self.encode(payload, out)?;
        if let Some(on_base) = &mut self.on_base {
            on_base.replace_if_shorter(payload, base, start, out).inspect_err(|_| out.truncate(start))?;
        }
        Ok(out.len() - start)
    }

    /// Appends the chunk of `payload` to `out` and returns the chunk's length in bytes.
    ///
    /// Payloads above [`BLOCK_LEN`] are streamed to `out`. Shorter ones are encoded in one call.
    ///
    /// # Errors
    /// When the implementation fails; `out` is then as it was before.
    pub fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        let result = if payload.len() > BLOCK_LEN {
            self.encode_long(&mut &*payload, payload.len() as u64, out)
        } else {
            self.encode_short(payload, out)
        };
        if let Err(error) = result {
            out.truncate(start);
            return Err(error);
        }
        Ok(out.len() - start)
    }

    /// Encodes the `payload_len` bytes that `payload` yields, writes the chunk to `stored` and returns the chunk's
    /// length in bytes.
    ///
    /// Holds at most [`BLOCK_LEN`] payload bytes and their stored bytes in memory, in addition to the codec's own
    /// context.
    ///
    /// # Errors
    /// When the source is shorter or longer than `payload_len`, or a reader, a writer or the implementation
    /// fails. `stored` may then have received a part of a chunk.
    pub fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        if payload_len > BLOCK_LEN as u64 {
            return self.encode_long(payload, payload_len, stored);
        }
        self.write_block(&mut PayloadSource::new(payload, payload_len), false, stored)
    }

    /// Encodes a payload of at most [`BLOCK_LEN`] bytes.
    fn encode_short(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<u64, CodecError> {
        let start = out.len();
        let (codec, number) = match &mut self.dictionary {
            Some((number, codec)) => (codec, Some(*number)),
            None => (&mut self.codec, None),
        };
        let Some(body) = self.tagged else {
            return Ok(codec.encode(payload, out)? as u64);
        };
        Tag { dictionary: number, ..Tag::plain(body, self.checksum) }.write(out);
        codec.encode(payload, out)?;
        let stored_len = TAG_LEN + Store::body_len(payload.len(), self.checksum);
        if body != Body::Store && self.store_if_larger && out.len() - start >= stored_len {
            out.truncate(start);
            Tag::plain(Body::Store, self.checksum).write(out);
            self.store.encode(payload, out)?;
        }
        Ok((out.len() - start) as u64)
    }

    /// Encodes a payload above [`BLOCK_LEN`] without the dictionary, which does not help a payload of that length.
    fn encode_long(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        match self.tagged {
            Some(body) if body.is_blocked_when_long() => self.encode_blocks(body, payload, payload_len, stored),
            Some(body) => {
                let mut tag = Vec::new();
                Tag::plain(body, self.checksum).write(&mut tag);
                stored.write_all(&tag).map_err(CodecError::writing_stored)?;
                Ok(self.codec.encode_stream(payload, payload_len, stored)? + tag.len() as u64)
            }
            None => self.codec.encode_stream(payload, payload_len, stored),
        }
    }

    /// Writes the tag, the payload length, then one chunk for each block.
    fn encode_blocks(
        &mut self,
        body: Body,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let mut header = Vec::new();
        Tag { blocked: true, ..Tag::plain(body, self.checksum) }.write(&mut header);
        leb128::write(payload_len, &mut header);
        stored.write_all(&header).map_err(CodecError::writing_stored)?;
        let mut source = PayloadSource::new(payload, payload_len);
        let mut written = header.len() as u64;
        while source.remaining() > 0 {
            written += self.write_block(&mut source, true, stored)?;
        }
        Ok(written)
    }

    /// Reads the next [`BLOCK_LEN`] payload bytes, or the rest, and writes them as one chunk.
    fn write_block(
        &mut self,
        source: &mut PayloadSource<'_>,
        is_one_of_several: bool,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        // The buffers are kept only while more blocks follow, so that those of a rare long payload are freed.
        let mut block = std::mem::take(&mut self.block);
        let mut chunk = std::mem::take(&mut self.chunk);
        source.next_piece(&mut block, BLOCK_LEN)?;
        chunk.clear();
        let dictionary = self.dictionary.take_if(|_| is_one_of_several);
        let written = self.encode_short(&block, &mut chunk);
        if is_one_of_several {
            self.dictionary = dictionary;
        }
        let written = written?;
        stored.write_all(&chunk).map_err(CodecError::writing_stored)?;
        if source.remaining() > 0 {
            (self.block, self.chunk) = (block, chunk);
        }
        Ok(written)
    }
}
