//! Payload to chunk: the codec of a spec, the tag byte, and the choice to store what does not shrink.

use std::io::{Read, Write};

use crate::BLOCK_LEN;
use crate::codec::Codec;
use crate::codecs::store::Store;
use crate::error::CodecError;
use crate::leb128;
use crate::source::PayloadSource;
use crate::spec::CodecSpec;
use crate::tag::{Body, Tag};

/// Encodes payloads under one spec, with contexts that are reused.
///
/// The stored bytes depend on spec and payload alone: not on earlier payloads, and not on whether
/// [`encode`](ChunkEncoder::encode) or [`encode_stream`](ChunkEncoder::encode_stream) wrote them.
pub struct ChunkEncoder {
    codec: Box<dyn Codec>,
    /// Writes what does not shrink, where a tag byte can say so.
    store: Store,
    /// The body behind the tag byte; `None` for chunks that need no tag byte.
    tagged: Option<Body>,
    checksum: bool,
    /// A payload or a block, read whole before it is encoded.
    block: Vec<u8>,
    /// The chunk of such a payload or block.
    chunk: Vec<u8>,
}

impl ChunkEncoder {
    /// An encoder for `spec`. Contexts are made when the first payload arrives.
    ///
    /// # Errors
    /// When the codec of the spec cannot be set up.
    pub fn new(spec: &CodecSpec) -> Result<Self, CodecError> {
        let mut store = Store::new();
        store.set_checksum(spec.checksum());
        let tagged = spec.algorithm().body().filter(|_| !spec.standard_frame());
        let codec = spec.new_codec()?;
        Ok(ChunkEncoder { codec, store, tagged, checksum: spec.checksum(), block: Vec::new(), chunk: Vec::new() })
    }

    /// Appends the stored bytes of `payload` to `out`, returns how many.
    ///
    /// Payloads above [`BLOCK_LEN`] are streamed to `out`; smaller ones are encoded in one call.
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

    /// Encodes the `payload_len` bytes that `payload` yields and writes the chunk to `stored`;
    /// returns its length in bytes.
    ///
    /// Holds at most [`BLOCK_LEN`] payload bytes and their stored bytes in memory, beside what the
    /// codec's own context takes.
    ///
    /// # Errors
    /// When the source is shorter or longer than `payload_len`, or a reader, a writer or the implementation
    /// fails; `stored` may then have received a part of a chunk.
    pub fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        if payload_len > BLOCK_LEN as u64 {
            return self.encode_long(payload, payload_len, stored);
        }
        self.write_block(&mut PayloadSource::new(payload, payload_len), stored)
    }

    /// A payload of at most [`BLOCK_LEN`].
    fn encode_short(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<u64, CodecError> {
        let start = out.len();
        let Some(body) = self.tagged else {
            return Ok(self.codec.encode(payload, out)? as u64);
        };
        out.push(self.tag(body).to_byte());
        let body_len = self.codec.encode(payload, out)?;
        if body != Body::Store && body_len >= Store::body_len(payload.len(), self.checksum) {
            out.truncate(start);
            out.push(self.tag(Body::Store).to_byte());
            self.store.encode(payload, out)?;
        }
        Ok((out.len() - start) as u64)
    }

    /// A payload above [`BLOCK_LEN`].
    fn encode_long(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        match self.tagged {
            Some(body) if body.is_blocked_when_long() => self.encode_blocks(body, payload, payload_len, stored),
            Some(body) => {
                let tag = [self.tag(body).to_byte()];
                stored.write_all(&tag).map_err(CodecError::writing_stored)?;
                Ok(self.codec.encode_stream(payload, payload_len, stored)? + tag.len() as u64)
            }
            None => self.codec.encode_stream(payload, payload_len, stored),
        }
    }

    /// Tag, payload length, then one chunk for each block.
    fn encode_blocks(
        &mut self,
        body: Body,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let mut header = vec![Tag { body, checksum: self.checksum, blocked: true }.to_byte()];
        leb128::write(payload_len, &mut header);
        stored.write_all(&header).map_err(CodecError::writing_stored)?;
        let mut source = PayloadSource::new(payload, payload_len);
        let mut written = header.len() as u64;
        while source.remaining() > 0 {
            written += self.write_block(&mut source, stored)?;
        }
        Ok(written)
    }

    /// Reads the next [`BLOCK_LEN`] payload bytes, or what remains, and writes them as one chunk.
    fn write_block(&mut self, source: &mut PayloadSource<'_>, stored: &mut dyn Write) -> Result<u64, CodecError> {
        // Taken, and given back only while blocks follow: the buffers of a rare long payload are not held for ever.
        let mut block = std::mem::take(&mut self.block);
        let mut chunk = std::mem::take(&mut self.chunk);
        source.next_piece(&mut block, BLOCK_LEN)?;
        chunk.clear();
        let written = self.encode_short(&block, &mut chunk)?;
        stored.write_all(&chunk).map_err(CodecError::writing_stored)?;
        if source.remaining() > 0 {
            (self.block, self.chunk) = (block, chunk);
        }
        Ok(written)
    }

    fn tag(&self, body: Body) -> Tag {
        Tag { body, checksum: self.checksum, blocked: false }
    }
}
