//! libdeflate on tagged DEFLATE bodies: see [`deflate`](super::deflate), which does what libdeflate cannot.

use std::io::{BufRead, Read, Write};

use super::deflate::{BODY, RawDeflate};
use super::libdeflate::{Decompressed, Decompressor};
use super::stream::take_length;
use super::zlib::Wrapping;
use crate::checksum;
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, FoundLength};
use crate::stored::StoredBytes;

/// Reads whole bodies by libdeflate, and is stock zlib for all else.
pub(crate) struct RawLibdeflate {
    decompressor: Option<Decompressor>,
    stock: RawDeflate,
    checksum: bool,
}

impl RawLibdeflate {
    /// A codec whose bodies carry a checksum; it encodes at `level`, 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: u32) -> Self {
        RawLibdeflate { decompressor: None, stock: RawDeflate::new(level), checksum: true }
    }
}

impl Codec for RawLibdeflate {
    fn capabilities(&self) -> Capabilities {
        super::libdeflate::CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        self.stock.encode(payload, out)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = stored;
        let mut body = StoredBytes::new(&mut rest, BODY);
        let expected = payload.len() as u64;
        take_length(&mut body, expected)?;
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new(Wrapping::None)?),
        };
        let wrong_length = |found| Err(CodecError::PayloadLength { codec: BODY, expected, found });
        match decompressor.decompress(body.at_hand()?, payload)? {
            Decompressed::Whole { consumed, produced } if produced == payload.len() => body.advance(consumed),
            Decompressed::Whole { produced, .. } => return wrong_length(FoundLength::Exactly(produced as u64)),
            Decompressed::DoesNotFit => return wrong_length(FoundLength::More),
        }
        if self.checksum {
            checksum::verify(body.take_array()?, checksum::of(payload), BODY)?;
        }
        Ok(stored.len() - rest.len())
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        self.stock.decode_prefix_from(stored, prefix)
    }

    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        self.stock.encode_stream(payload, payload_len, stored)
    }

    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        self.stock.decode_stream(stored, payload_len, sink)
    }

    fn set_checksum(&mut self, carried: bool) {
        self.checksum = carried;
        self.stock.set_checksum(carried);
    }

    fn set_dictionary(&mut self, _dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        Err(CodecError::NoDictionaries { codec: "libdeflate" })
    }
}
