//! `zlib`: stock C zlib, statically linked, through flate2. The baseline of every comparison.

use std::ffi::CStr;
use std::io::{BufRead, Read, Write};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::rfc1950::{self, Deflater, Inflater, Pieces, STREAM, Step, added};
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::CodecError;
use crate::revlog::OpenEnded;
use crate::source::PayloadSource;

/// What stock zlib and zlib-rs can do.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: true, streams: true, partial_decode: true, dictionaries: false };

/// The version of the linked library, as the library itself says.
#[allow(unsafe_code)]
pub(crate) fn version() -> String {
    // SAFETY: zlibVersion takes nothing and returns a pointer to a static NUL-terminated string.
    let version = unsafe { CStr::from_ptr(libz_sys::zlibVersion()) };
    version.to_string_lossy().into_owned()
}

/// Stock zlib at one level.
pub(crate) struct Zlib {
    level: u32,
    compress: Option<Compress>,
    decompress: Option<Decompress>,
    pieces: Pieces,
    delivered: Vec<u8>,
}

impl Zlib {
    /// A codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: u32) -> Self {
        Zlib { level, compress: None, decompress: None, pieces: Pieces::default(), delivered: Vec::new() }
    }

    /// The compressing context, without borrowing the scratch space beside it.
    fn compress(compress: &mut Option<Compress>, level: u32) -> &mut Compress {
        compress.get_or_insert_with(|| Compress::new(Compression::new(level), true))
    }

    /// The decompressing context, without borrowing the scratch space beside it.
    fn decompress(decompress: &mut Option<Decompress>) -> &mut Decompress {
        decompress.get_or_insert_with(|| Decompress::new(true))
    }
}

/// The longest stream that `payload_len` bytes can become: zlib's own `compressBound`.
///
/// Output room of at least this much makes the stream independent of how much more there is, also at
/// level 0, whose block lengths otherwise follow the room.
fn bound(payload_len: usize) -> usize {
    payload_len + (payload_len >> 12) + (payload_len >> 14) + (payload_len >> 25) + 13
}

impl Codec for Zlib {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        let compress = Self::compress(&mut self.compress, self.level);
        compress.reset();
        let mut consumed = 0;
        loop {
            let rest = payload.get(consumed..).unwrap_or_default();
            out.reserve(bound(rest.len()));
            let before = compress.total_in();
            let status = compress.compress_vec(rest, out, FlushCompress::Finish).map_err(deflate_failed)?;
            consumed += added(before, compress.total_in());
            if status == Status::StreamEnd {
                return Ok(out.len() - start);
            }
        }
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        rfc1950::decode(Self::decompress(&mut self.decompress), stored, payload)
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        rfc1950::decode_prefix(Self::decompress(&mut self.decompress), stored, prefix)
    }

    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let compress = Self::compress(&mut self.compress, self.level);
        rfc1950::encode_stream(compress, PayloadSource::new(payload, payload_len), stored, &mut self.pieces)
    }

    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let decompress = Self::decompress(&mut self.decompress);
        rfc1950::decode_stream(decompress, &mut self.delivered, stored, payload_len, sink)
    }

    fn set_checksum(&mut self, _carried: bool) {}

    fn set_dictionary(&mut self, _dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        Err(CodecError::NoDictionaries { codec: "zlib" })
    }
}

impl OpenEnded for Zlib {
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        rfc1950::decode_to_end(Self::decompress(&mut self.decompress), stored, limit, payload)
    }
}

fn deflate_failed(error: flate2::CompressError) -> CodecError {
    CodecError::Implementation { codec: STREAM, message: error.to_string() }
}

impl Inflater for Decompress {
    fn restart(&mut self) {
        self.reset(true);
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], whole: bool) -> Result<Step, CodecError> {
        let (taken, given) = (self.total_in(), self.total_out());
        let flush = if whole { FlushDecompress::Finish } else { FlushDecompress::None };
        let status = self.decompress(input, output, flush).map_err(|error| match error.needs_dictionary() {
            Some(id) => CodecError::DictionaryNeeded { codec: STREAM, id },
            None => CodecError::Corrupt {
                codec: STREAM,
                expected: "a valid stream",
                found: error.message().unwrap_or("damaged data").to_owned(),
            },
        })?;
        Ok(Step {
            consumed: added(taken, self.total_in()),
            produced: added(given, self.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}

impl Deflater for Compress {
    fn restart(&mut self) {
        self.reset();
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        let (taken, given) = (self.total_in(), self.total_out());
        let flush = if finish { FlushCompress::Finish } else { FlushCompress::None };
        let status = self.compress(input, output, flush).map_err(deflate_failed)?;
        Ok(Step {
            consumed: added(taken, self.total_in()),
            produced: added(given, self.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}
