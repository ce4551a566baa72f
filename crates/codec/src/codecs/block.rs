//! The body of codecs whose compressed bytes do not say where they end.
//!
//! | field | length | meaning |
//! |---|---|---|
//! | payload length | 1-10 | LEB128, at most [`BLOCK_LEN`] |
//! | block length | 1-10 | LEB128 |
//! | block | block length | in the codec's own format, no frame |
//! | checksum | 4, or 0 | see [`checksum`]; absent with `checksum=no` |
//!
//! A block cannot be encoded in pieces: the container cuts payloads above [`BLOCK_LEN`] into several blocks.

use std::io::{BufRead, Read, Write};

use crate::BLOCK_LEN;
use crate::checksum;
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, FoundLength, expect_payload_len, reserve_chunk};
use crate::leb128;
use crate::source::PayloadSource;
use crate::stored::StoredBytes;

/// The capabilities of block codecs without dictionaries.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: false, streams: false, partial_decode: false, dictionaries: false };

/// One block format in one implementation: encodes a whole payload into a block, and decodes it.
pub(crate) trait BlockCoder: Send {
    /// The name at the start of a codec spec.
    fn name(&self) -> &'static str;

    /// The name of the body in messages.
    fn body(&self) -> &'static str;

    /// Whether [`set_dictionary`](Self::set_dictionary) accepts dictionaries.
    fn takes_dictionaries(&self) -> bool {
        false
    }

    /// The maximum number of payload bytes that one byte of a block stands for.
    fn max_expansion(&self) -> u64;

    /// The maximum length of the block of a payload, in bytes.
    fn bound(&self, payload_len: usize) -> usize;

    /// Writes the block of `payload` to the start of `room`, which has at least [`bound`](Self::bound) bytes, and
    /// returns the block's length.
    ///
    /// # Errors
    /// When the implementation fails.
    fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, CodecError>;

    /// Decodes all of `block` into all of `payload`. `codec` is the name in errors of what contains the block.
    ///
    /// # Errors
    /// When the block is damaged or its payload has another length.
    fn decompress(&mut self, block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError>;

    /// Does the same as [`Codec::set_dictionary`].
    ///
    /// # Errors
    /// When the coder takes no dictionaries.
    fn set_dictionary(&mut self, _dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        Err(CodecError::NoDictionaries { codec: self.name() })
    }
}

/// A block codec: a coder, and buffers that are reused.
pub(crate) struct BlockCodec<C> {
    coder: C,
    checksum: bool,
    /// Holds a block whose bytes are arriving.
    block: Vec<u8>,
    /// Holds a payload that the caller wants in pieces, or of which it wants only a prefix.
    whole: Vec<u8>,
}

/// The lengths at the start of a body, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLengths {
    pub(crate) payload: u64,
    pub(crate) block: u64,
}

impl BlockLengths {
    /// Takes the lengths, without checking them.
    pub(crate) fn take<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>) -> Result<Self, CodecError> {
        Ok(BlockLengths { payload: leb128::read(stored)?, block: leb128::read(stored)? })
    }

    /// Checks that a block of at most `max_block` bytes, each of which stands for at most `max_expansion` payload
    /// bytes, can have these lengths. Returns the payload length and the block length.
    ///
    /// # Errors
    /// When no block can.
    pub(crate) fn check(
        self,
        codec: &'static str,
        max_expansion: u64,
        max_block: usize,
    ) -> Result<(usize, usize), CodecError> {
        let BlockLengths { payload, block } = self;
        let corrupt = |expected, found| CodecError::Corrupt { codec, expected, found };
        let most_payload = block.saturating_mul(max_expansion).min(BLOCK_LEN as u64);
        match (usize::try_from(payload), usize::try_from(block)) {
            (Ok(payload_len), Ok(block_len)) if payload <= most_payload && block_len <= max_block => {
                Ok((payload_len, block_len))
            }
            _ if payload <= most_payload => {
                Err(corrupt("a block short enough for 64 MiB of payload", format!("{block} bytes")))
            }
            _ => Err(corrupt(
                "a payload length that the block can hold",
                format!("{payload} payload bytes in a block of {block}"),
            )),
        }
    }
}

/// The checked lengths of a body.
struct Lengths {
    payload: usize,
    block: usize,
}

impl Lengths {
    fn take<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>, coder: &impl BlockCoder) -> Result<Self, CodecError> {
        let claimed = BlockLengths::take(stored)?;
        let (payload, block) = claimed.check(coder.body(), coder.max_expansion(), coder.bound(BLOCK_LEN))?;
        Ok(Lengths { payload, block })
    }
}

impl<C: BlockCoder> BlockCodec<C> {
    /// Creates a codec whose bodies carry a checksum.
    pub(crate) fn new(coder: C) -> Self {
        BlockCodec { coder, checksum: true, block: Vec::new(), whole: Vec::new() }
    }

    /// Takes a block of `block_len` bytes and decodes it into `room()`, which has the claimed length of the payload. It
    /// is called only after the whole block has arrived, so that a mere claim takes no memory.
    ///
    /// A block that is not available in one piece is copied first.
    fn decode_block<'p, R: BufRead + ?Sized>(
        &mut self,
        stored: &mut StoredBytes<'_, R>,
        block_len: usize,
        room: impl FnOnce() -> &'p mut [u8],
    ) -> Result<&'p [u8], CodecError> {
        let codec = self.coder.body();
        let in_place = stored.available()?.len() >= block_len;
        if !in_place {
            stored.take_to_vec(block_len, &mut self.block)?;
        }
        let block = if in_place { stored.available()?.get(..block_len).unwrap_or_default() } else { &self.block };
        let payload = room();
        self.coder.decompress(block, payload, codec)?;
        if in_place {
            stored.advance(block_len);
        }
        Ok(payload)
    }

    /// Takes the block and the checksum, which follow the lengths, and decodes the block into `room()`; see
    /// [`decode_block`](Self::decode_block).
    fn decode_rest<'p, R: BufRead + ?Sized>(
        &mut self,
        lengths: &Lengths,
        stored: &mut StoredBytes<'_, R>,
        room: impl FnOnce() -> &'p mut [u8],
    ) -> Result<(), CodecError> {
        let payload = self.decode_block(stored, lengths.block, room)?;
        if !self.checksum {
            return Ok(());
        }
        checksum::verify(stored.take_array()?, checksum::of(payload), self.coder.body())
    }

    /// Does the same as [`decode_rest`](Self::decode_rest) into `self.whole`.
    fn decode_rest_to_whole<R: BufRead + ?Sized>(
        &mut self,
        lengths: &Lengths,
        stored: &mut StoredBytes<'_, R>,
    ) -> Result<&[u8], CodecError> {
        let mut whole = std::mem::take(&mut self.whole);
        let decoded = self.decode_rest(lengths, stored, || {
            whole.resize(lengths.payload, 0);
            &mut whole
        });
        self.whole = whole;
        decoded.map(|()| self.whole.as_slice())
    }

    /// Appends the length of the block of `payload` and the block itself to `out`, where it is compressed, so that no
    /// copy of it is held.
    fn append_block(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let start = out.len();
        let most = self.coder.bound(payload.len());
        // The length comes first and is not yet known. It may turn out to be shorter than this.
        let longest_len = leb128::len(most as u64);
        reserve_chunk(out, longest_len + most + checksum::LEN)?;
        out.resize(start + longest_len + most, 0);
        let room = out.get_mut(start + longest_len..).unwrap_or_default();
        let block_len = self.coder.compress(payload, room)?;
        out.truncate(start + longest_len + block_len);
        out.splice(start..start + longest_len, leb128::bytes(block_len as u64));
        Ok(())
    }
}

impl<C: BlockCoder> Codec for BlockCodec<C> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { dictionaries: self.coder.takes_dictionaries(), ..CAPABILITIES }
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        leb128::write(payload.len() as u64, out);
        self.append_block(payload, out)?;
        if self.checksum {
            out.extend_from_slice(&checksum::of(payload).to_le_bytes());
        }
        Ok(out.len() - start)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = stored;
        let mut body = StoredBytes::new(&mut rest, self.coder.body());
        let lengths = Lengths::take(&mut body, &self.coder)?;
        expect_payload_len(self.coder.body(), payload.len() as u64, lengths.payload as u64)?;
        self.decode_rest(&lengths, &mut body, || payload)?;
        Ok(stored.len() - rest.len())
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        let mut body = StoredBytes::new(stored, self.coder.body());
        let lengths = Lengths::take(&mut body, &self.coder)?;
        if let Some(payload) = prefix.get_mut(..lengths.payload) {
            self.decode_rest(&lengths, &mut body, || payload)?;
            return Ok(lengths.payload);
        }
        let whole = self.decode_rest_to_whole(&lengths, &mut body)?;
        prefix.copy_from_slice(whole.get(..prefix.len()).unwrap_or_default());
        Ok(prefix.len())
    }

    /// Holds the whole payload in memory, so the payload must not be longer than [`BLOCK_LEN`].
    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let codec = self.coder.body();
        let too_long = || CodecError::PayloadLength { codec, expected: BLOCK_LEN as u64, found: FoundLength::More };
        let limit = usize::try_from(payload_len).ok().filter(|length| *length <= BLOCK_LEN).ok_or_else(too_long)?;
        let mut whole = std::mem::take(&mut self.whole);
        PayloadSource::new(payload, payload_len).next_piece(&mut whole, limit)?;
        let mut body = Vec::new();
        self.encode(&whole, &mut body)?;
        self.whole = whole;
        stored.write_all(&body).map_err(CodecError::writing_stored)?;
        Ok(body.len() as u64)
    }

    /// Holds the whole payload in memory, which is at most [`BLOCK_LEN`].
    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let mut body = StoredBytes::new(stored, self.coder.body());
        let lengths = Lengths::take(&mut body, &self.coder)?;
        expect_payload_len(self.coder.body(), payload_len, lengths.payload as u64)?;
        sink(self.decode_rest_to_whole(&lengths, &mut body)?).map_err(CodecError::delivering_payload)?;
        Ok(body.consumed())
    }

    fn set_checksum(&mut self, carried: bool) {
        self.checksum = carried;
    }

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        self.coder.set_dictionary(dictionary)
    }
}
