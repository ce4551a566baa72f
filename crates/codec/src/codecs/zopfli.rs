//! `zopfli`: searches a long time for the shortest RFC 1950 stream. It has no decoder, so stock zlib decodes.

use std::io::{BufRead, Read, Write};
use std::num::NonZeroU64;

use zopfli::{BlockType, Options, ZlibEncoder};

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::wrapping::STREAM;
use super::zlib::{Zlib, by_stock_zlib};
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::CodecError;

/// The facts about `zopfli`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "zopfli",
    // Iterations. The default is that of the authors' own program.
    levels: Some(Levels { range: 1..=99, except: None, default: 15 }),
    longest_dictionary: None,
    body: None,
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "zopfli (Rust)",
    version: || env!("REPACKBENCH_ZOPFLI_VERSION").to_owned(),
    language: "Rust",
    licence: "Apache-2.0",
    new: |level| Box::new(Zopfli::new(level.unsigned_abs())),
    new_open_ended: None,
    new_inflater: None,
};

/// The capabilities of zopfli itself.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: true, streams: false, partial_decode: false, dictionaries: false };

/// The length of the pieces that zopfli compresses, in bytes, as in its authors' own program. It is also the length of
/// the longest payload that gets all iterations: one that is k times as long gets a k-th of them, so that it takes
/// about the same time.
const PIECE_LEN: usize = 1_000_000;

/// The level of stock zlib for payloads that are streamed.
const STREAM_LEVEL: u32 = 9;

/// zopfli with one number of iterations, with stock zlib for what it cannot do.
pub(crate) struct Zopfli {
    iterations: u32,
    zlib: Zlib,
}

impl Zopfli {
    /// Creates a codec with at most `iterations` iterations, but at least one. zopfli has no contexts to reuse: it
    /// allocates for each payload.
    pub(crate) fn new(iterations: u32) -> Self {
        Zopfli { iterations: iterations.max(1), zlib: Zlib::new(STREAM_LEVEL) }
    }

    fn options(&self, payload_len: usize) -> Options {
        let pieces = payload_len.div_ceil(PIECE_LEN).max(1) as u64;
        let iterations = NonZeroU64::new(u64::from(self.iterations) / pieces).unwrap_or(NonZeroU64::MIN);
        Options { iteration_count: iterations, ..Options::default() }
    }
}

fn failed(error: std::io::Error) -> CodecError {
    CodecError::Implementation { codec: STREAM, message: error.to_string() }
}

impl Codec for Zopfli {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        let mut encoder =
            ZlibEncoder::new(self.options(payload.len()), BlockType::Dynamic, &mut *out).map_err(failed)?;
        for piece in payload.chunks(PIECE_LEN) {
            encoder.write_all(piece).map_err(failed)?;
        }
        encoder.finish().map_err(failed)?;
        Ok(out.len() - start)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        self.zlib.decode(stored, payload)
    }

    fn set_checksum(&mut self, _carried: bool) {}

    by_stock_zlib!("zopfli", zlib);
}
