//! `store`: the payload without compression.
//!
//! | field | length | meaning |
//! |---|---|---|
//! | payload length | 1-10 | LEB128 |
//! | payload | payload length | as it is |
//! | checksum | 4, or 0 | see [`checksum`]; absent with `checksum=no` |

use std::io::{BufRead, Read, Write};

use super::descriptor::CodecDescriptor;
use crate::checksum::{self, RunningChecksum};
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, reserve_chunk};
use crate::leb128;
use crate::source::{PIECE_LEN, PayloadSource};
use crate::stored::StoredBytes;
use crate::tag::Body;

/// The facts about `store`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "store",
    levels: None,
    longest_dictionary: None,
    body: Some(Body::Store),
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "repackbench",
    version: || env!("CARGO_PKG_VERSION").to_owned(),
    language: "Rust",
    licence: env!("CARGO_PKG_LICENSE"),
    new: |_| Box::new(Store::new()),
    new_open_ended: None,
    new_inflater: None,
};

const BODY: &str = "store body";

/// The capabilities of `store`.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: false, streams: true, partial_decode: true, dictionaries: false };

/// The codec that does not compress.
pub(crate) struct Store {
    checksum: bool,
    piece: Vec<u8>,
}

impl Store {
    /// Creates a codec whose bodies carry a checksum.
    pub(crate) fn new() -> Self {
        Store { checksum: true, piece: Vec::new() }
    }

    /// The length of the body of a payload of `payload_len` bytes.
    pub(crate) fn body_len(payload_len: usize, with_checksum: bool) -> usize {
        let checksum_len = if with_checksum { checksum::LEN } else { 0 };
        leb128::len(payload_len as u64) + payload_len + checksum_len
    }

    /// Takes the checksum, if bodies carry one, and compares it with that of the decoded payload.
    fn take_checksum<R: BufRead + ?Sized>(
        &self,
        stored: &mut StoredBytes<'_, R>,
        of_payload: impl FnOnce() -> u32,
    ) -> Result<(), CodecError> {
        if self.checksum { checksum::verify(stored.take_array()?, of_payload(), BODY) } else { Ok(()) }
    }
}

impl Codec for Store {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        reserve_chunk(out, leb128::MAX_LEN + payload.len() + checksum::LEN)?;
        leb128::write(payload.len() as u64, out);
        out.extend_from_slice(payload);
        if self.checksum {
            out.extend_from_slice(&checksum::of(payload).to_le_bytes());
        }
        Ok(out.len() - start)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = stored;
        let mut body = StoredBytes::new(&mut rest, BODY);
        leb128::read_expected(&mut body, payload.len() as u64)?;
        if body.take_into(payload)? < payload.len() {
            return Err(body.truncated());
        }
        self.take_checksum(&mut body, || checksum::of(payload))?;
        Ok(stored.len() - rest.len())
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        let mut body = StoredBytes::new(stored, BODY);
        let payload_len = leb128::read(&mut body)?;
        let wanted = usize::try_from(payload_len).map_or(prefix.len(), |length| length.min(prefix.len()));
        let filled = body.take_into(prefix.get_mut(..wanted).unwrap_or_default())?;
        if filled < wanted { Err(body.truncated()) } else { Ok(filled) }
    }

    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let mut source = PayloadSource::new(payload, payload_len);
        let mut hash = RunningChecksum::new();
        self.piece.clear();
        leb128::write(payload_len, &mut self.piece);
        let mut written = self.piece.len() as u64 + payload_len;
        stored.write_all(&self.piece).map_err(CodecError::writing_stored)?;
        loop {
            source.next_piece(&mut self.piece, PIECE_LEN)?;
            hash.update(&self.piece);
            stored.write_all(&self.piece).map_err(CodecError::writing_stored)?;
            if source.remaining() == 0 {
                break;
            }
        }
        if self.checksum {
            stored.write_all(&hash.value().to_le_bytes()).map_err(CodecError::writing_stored)?;
            written += checksum::LEN as u64;
        }
        Ok(written)
    }

    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let mut body = StoredBytes::new(stored, BODY);
        leb128::read_expected(&mut body, payload_len)?;
        let mut hash = RunningChecksum::new();
        let mut remaining = payload_len;
        while remaining > 0 {
            let available = body.available()?;
            let length = usize::try_from(remaining).unwrap_or(usize::MAX).min(available.len()).min(PIECE_LEN);
            let piece = available.get(..length).unwrap_or_default();
            if piece.is_empty() {
                return Err(body.truncated());
            }
            hash.update(piece);
            sink(piece).map_err(CodecError::delivering_payload)?;
            body.advance(length);
            remaining -= length as u64;
        }
        self.take_checksum(&mut body, || hash.value())?;
        Ok(body.consumed())
    }

    fn set_checksum(&mut self, carried: bool) {
        self.checksum = carried;
    }

    fn set_dictionary(&mut self, _dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        Err(CodecError::NoDictionaries { codec: "store" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_len_is_the_length_of_the_body() {
        for payload_len in [0, 1, 127, 128, 16_383, 16_384, 70_000] {
            for with_checksum in [true, false] {
                let mut store = Store::new();
                store.set_checksum(with_checksum);
                let mut body = Vec::new();
                store.encode(&vec![7; payload_len], &mut body).unwrap();
                assert_eq!(Store::body_len(payload_len, with_checksum), body.len());
            }
        }
    }
}
