//! libdeflate for tagged DEFLATE bodies. Stock zlib, as in [`deflate`](super::deflate), does what libdeflate cannot.

use std::io::{BufRead, Read, Write};

use super::deflate::RawDeflate;
use super::libdeflate::Decompressor;
use super::wrapping::{DEFLATE_BODY, Wrapping};
use super::zlib::by_stock_zlib;
use crate::checksum;
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::CodecError;
use crate::leb128;
use crate::stored::StoredBytes;

/// Decodes whole bodies with libdeflate, and uses stock zlib for everything else.
pub(crate) struct RawLibdeflate {
    decompressor: Option<Decompressor>,
    stock: RawDeflate,
    checksum: bool,
}

impl RawLibdeflate {
    /// Creates a codec whose bodies carry a checksum. It encodes at `level`, which is 0 to 9. Contexts are made when
    /// first used.
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
        let mut body = StoredBytes::new(&mut rest, DEFLATE_BODY);
        leb128::read_expected(&mut body, payload.len() as u64)?;
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new(Wrapping::None)?),
        };
        let consumed = decompressor.decompress(body.available()?, payload, DEFLATE_BODY)?;
        body.advance(consumed);
        if self.checksum {
            checksum::verify(body.take_array()?, checksum::of(payload), DEFLATE_BODY)?;
        }
        Ok(stored.len() - rest.len())
    }

    fn set_checksum(&mut self, carried: bool) {
        self.checksum = carried;
        self.stock.set_checksum(carried);
    }

    by_stock_zlib!("libdeflate", stock);
}
