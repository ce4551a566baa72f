//! `zlib-rs`: zlib written in Rust.

use std::io::{BufRead, Read, Write};

use zlib_rs::{Deflate, DeflateFlush, Inflate, InflateError, InflateFlush, Status};

use super::rfc1950::{self, Deflater, Inflater, Pieces, STREAM, Step, added};
use super::zlib;
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::CodecError;
use crate::revlog::OpenEnded;
use crate::source::PayloadSource;

/// The window that zlib and git use, as the base-2 logarithm of its bytes.
const WINDOW_BITS: u8 = 15;

/// zlib-rs at one level.
pub(crate) struct ZlibRs {
    level: i32,
    deflate: Option<Deflate>,
    inflate: Option<Inflate>,
    pieces: Pieces,
    delivered: Vec<u8>,
}

impl ZlibRs {
    /// A codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: i32) -> Self {
        ZlibRs { level, deflate: None, inflate: None, pieces: Pieces::default(), delivered: Vec::new() }
    }

    /// The inflating context, without borrowing the scratch space beside it.
    fn inflate(inflate: &mut Option<Inflate>) -> &mut Inflate {
        inflate.get_or_insert_with(|| Inflate::new(true, WINDOW_BITS))
    }

    /// The deflating context, without borrowing the scratch space beside it.
    fn deflate(deflate: &mut Option<Deflate>, level: i32) -> &mut Deflate {
        deflate.get_or_insert_with(|| Deflate::new(level, true, WINDOW_BITS))
    }
}

impl Codec for ZlibRs {
    fn capabilities(&self) -> Capabilities {
        zlib::CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        let deflate = Self::deflate(&mut self.deflate, self.level);
        rfc1950::encode(deflate, payload, &mut self.pieces, &mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(out.len() - start)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        rfc1950::decode(Self::inflate(&mut self.inflate), stored, payload)
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        rfc1950::decode_prefix(Self::inflate(&mut self.inflate), stored, prefix)
    }

    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let deflate = Self::deflate(&mut self.deflate, self.level);
        rfc1950::encode_stream(deflate, PayloadSource::new(payload, payload_len), stored, &mut self.pieces)
    }

    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let inflate = Self::inflate(&mut self.inflate);
        rfc1950::decode_stream(inflate, &mut self.delivered, stored, payload_len, sink)
    }

    fn set_checksum(&mut self, _carried: bool) {}

    fn set_dictionary(&mut self, _dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        Err(CodecError::NoDictionaries { codec: "zlib-rs" })
    }
}

impl OpenEnded for ZlibRs {
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        rfc1950::decode_to_end(Self::inflate(&mut self.inflate), stored, limit, payload)
    }
}

impl Inflater for Inflate {
    fn restart(&mut self) {
        self.reset(true);
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], whole: bool) -> Result<Step, CodecError> {
        let (taken, given) = (self.total_in(), self.total_out());
        let flush = if whole { InflateFlush::Finish } else { InflateFlush::NoFlush };
        let status = self.decompress(input, output, flush);
        let status = status.map_err(|error| match error {
            InflateError::NeedDict { dict_id } => CodecError::DictionaryNeeded { codec: STREAM, id: dict_id },
            other => CodecError::Corrupt {
                codec: STREAM,
                expected: "a valid stream",
                found: self.error_message().unwrap_or(other.as_str()).to_owned(),
            },
        })?;
        Ok(Step {
            consumed: added(taken, self.total_in()),
            produced: added(given, self.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}

impl Deflater for Deflate {
    fn restart(&mut self) {
        self.reset();
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        let (taken, given) = (self.total_in(), self.total_out());
        let flush = if finish { DeflateFlush::Finish } else { DeflateFlush::NoFlush };
        let status = self
            .compress(input, output, flush)
            .map_err(|error| CodecError::Implementation { codec: STREAM, message: error.as_str().to_owned() })?;
        Ok(Step {
            consumed: added(taken, self.total_in()),
            produced: added(given, self.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}
