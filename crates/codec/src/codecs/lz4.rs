//! `lz4` and `lz4hc`: the same body, its block compressed by lz4_flex in fast mode or by liblz4 at a level.
//!
//! | field | length | meaning |
//! |---|---|---|
//! | payload length | 1-10 | LEB128, at most [`BLOCK_LEN`] |
//! | block length | 1-10 | LEB128 |
//! | block | block length | LZ4 block format, no frame |
//! | checksum | 4, or 0 | see [`checksum`]; absent under `checksum=no` |
//!
//! A block does not say where it ends and cannot be encoded in pieces: the container cuts payloads above
//! [`BLOCK_LEN`].

use std::io::{BufRead, Read, Write};

use super::lz4_block::{self, BlockCompressor, MAX_EXPANSION};
use crate::BLOCK_LEN;
use crate::algorithm::Algorithm;
use crate::checksum;
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, FoundLength};
use crate::leb128;
use crate::source::PayloadSource;
use crate::stored::StoredBytes;

const BODY: &str = "lz4 body";

/// What lz4 and lz4hc can do.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: false, streams: false, partial_decode: false, dictionaries: false };

/// The codecs lz4 and lz4hc.
pub(crate) struct Lz4 {
    name: &'static str,
    checksum: bool,
    compressor: BlockCompressor,
    /// Holds a block while its length is not yet known, or while its bytes arrive; encoding keeps its greatest length,
    /// so that growth alone is zeroed.
    block: Vec<u8>,
    /// Holds a payload that the caller wants in pieces, or of which it wants the prefix only.
    whole: Vec<u8>,
}

/// A body's lengths, checked against each other and against what one block may hold.
struct Lengths {
    payload: usize,
    block: usize,
}

impl Lengths {
    fn take<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>) -> Result<Self, CodecError> {
        let corrupt = |expected, found| CodecError::Corrupt { codec: BODY, expected, found };
        let payload = leb128::read(stored)?;
        let block = leb128::read(stored)?;
        let most_payload = block.saturating_mul(MAX_EXPANSION).min(BLOCK_LEN as u64);
        let most_block = lz4_block::bound(BLOCK_LEN);
        match (usize::try_from(payload), usize::try_from(block)) {
            (Ok(payload_len), Ok(block_len)) if payload <= most_payload && block_len <= most_block => {
                Ok(Lengths { payload: payload_len, block: block_len })
            }
            _ if payload <= most_payload => {
                Err(corrupt("a block that 64 MiB of payload can need", format!("{block} bytes")))
            }
            _ => Err(corrupt(
                "a payload length that the block can hold",
                format!("{payload} payload bytes in a block of {block}"),
            )),
        }
    }

    fn expect_payload(&self, expected: u64) -> Result<(), CodecError> {
        if self.payload as u64 == expected {
            return Ok(());
        }
        let found = FoundLength::Exactly(self.payload as u64);
        Err(CodecError::PayloadLength { codec: BODY, expected, found })
    }
}

/// Takes a block of `block_len` bytes and decodes it into `room`, which has the claimed length of the payload and is
/// asked for only when the block is there: a claim alone takes no memory.
///
/// A block that the source has not at hand in one piece is copied to `copy` first.
fn decode_block<'p, R: BufRead + ?Sized>(
    stored: &mut StoredBytes<'_, R>,
    block_len: usize,
    copy: &mut Vec<u8>,
    room: impl FnOnce() -> &'p mut [u8],
) -> Result<&'p [u8], CodecError> {
    let in_place = stored.at_hand()?.len() >= block_len;
    if !in_place {
        stored.take_to_vec(block_len, copy)?;
    }
    let block = if in_place { stored.at_hand()?.get(..block_len).unwrap_or_default() } else { copy };
    let payload = room();
    lz4_block::decompress(block, payload, BODY)?;
    if in_place {
        stored.advance(block_len);
    }
    Ok(payload)
}

impl Lz4 {
    /// `lz4`, whose bodies carry a checksum.
    pub(crate) fn fast() -> Self {
        Lz4::with(Algorithm::Lz4.name(), BlockCompressor::fast())
    }

    /// `lz4hc` at `level`, which is 1 to 12, whose bodies carry a checksum.
    pub(crate) fn high(level: i32) -> Self {
        Lz4::with(Algorithm::Lz4hc.name(), BlockCompressor::high(level))
    }

    fn with(name: &'static str, compressor: BlockCompressor) -> Self {
        Lz4 { name, checksum: true, compressor, block: Vec::new(), whole: Vec::new() }
    }

    /// Takes what follows the lengths, block and checksum, and decodes it into `room`; see [`decode_block`].
    fn decode_rest<'p, R: BufRead + ?Sized>(
        &mut self,
        lengths: &Lengths,
        stored: &mut StoredBytes<'_, R>,
        room: impl FnOnce() -> &'p mut [u8],
    ) -> Result<(), CodecError> {
        let payload = decode_block(stored, lengths.block, &mut self.block, room)?;
        if self.checksum { checksum::verify(stored.take_array()?, checksum::of(payload), BODY) } else { Ok(()) }
    }

    /// As [`decode_rest`](Self::decode_rest), into `self.whole`.
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

    /// Compresses `payload` into `self.block`; returns the block's length.
    fn compress(&mut self, payload: &[u8]) -> Result<usize, CodecError> {
        let most = lz4_block::bound(payload.len());
        if self.block.len() < most {
            self.block.resize(most, 0);
        }
        self.compressor.compress(payload, &mut self.block)
    }
}

impl Codec for Lz4 {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        let block_len = self.compress(payload)?;
        leb128::write(payload.len() as u64, out);
        leb128::write(block_len as u64, out);
        out.extend_from_slice(self.block.get(..block_len).unwrap_or_default());
        if self.checksum {
            out.extend_from_slice(&checksum::of(payload).to_le_bytes());
        }
        Ok(out.len() - start)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = stored;
        let mut body = StoredBytes::new(&mut rest, BODY);
        let lengths = Lengths::take(&mut body)?;
        lengths.expect_payload(payload.len() as u64)?;
        self.decode_rest(&lengths, &mut body, || payload)?;
        Ok(stored.len() - rest.len())
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        let mut body = StoredBytes::new(stored, BODY);
        let lengths = Lengths::take(&mut body)?;
        if let Some(payload) = prefix.get_mut(..lengths.payload) {
            self.decode_rest(&lengths, &mut body, || payload)?;
            return Ok(lengths.payload);
        }
        let whole = self.decode_rest_to_whole(&lengths, &mut body)?;
        prefix.copy_from_slice(whole.get(..prefix.len()).unwrap_or_default());
        Ok(prefix.len())
    }

    /// Holds the whole payload in memory: for payloads of at most [`BLOCK_LEN`].
    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let too_long =
            || CodecError::PayloadLength { codec: BODY, expected: BLOCK_LEN as u64, found: FoundLength::More };
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
        let mut body = StoredBytes::new(stored, BODY);
        let lengths = Lengths::take(&mut body)?;
        lengths.expect_payload(payload_len)?;
        sink(self.decode_rest_to_whole(&lengths, &mut body)?).map_err(CodecError::delivering_payload)?;
        Ok(body.consumed())
    }

    fn set_checksum(&mut self, carried: bool) {
        self.checksum = carried;
    }

    fn set_dictionary(&mut self, _dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        Err(CodecError::NoDictionaries { codec: self.name })
    }
}
