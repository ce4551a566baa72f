//! `snappy`: Snappy's raw format by snap, an implementation in Rust.
//!
//! Source: the format description of the Snappy project. A block starts with the payload's length and does not say
//! where it ends.

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use super::block::{BlockCodec, BlockCoder};
use super::descriptor::CodecDescriptor;
use crate::error::{CodecError, expect_payload_len};
use crate::tag::Body;

/// The facts about `snappy`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "snappy",
    levels: None,
    longest_dictionary: None,
    body: Some(Body::Snappy),
    is_read_by_hg: false,
    capabilities: super::block::CAPABILITIES,
    implementation: "snap (Rust)",
    version: || env!("REPACKBENCH_SNAP_VERSION").to_owned(),
    language: "Rust",
    licence: "BSD-3-Clause",
    new: |_| Box::new(codec()),
    new_open_ended: None,
    new_inflater: None,
};

/// The name of the body in messages.
const BODY: &str = "snappy body";

/// The maximum number of payload bytes that one byte of a block stands for: three bytes copy up to 64.
const MAX_EXPANSION: u64 = 22;

/// snap with a table that is reused.
pub(crate) struct SnappyCoder {
    encoder: Encoder,
    decoder: Decoder,
}

/// Creates the codec `snappy`.
pub(crate) fn codec() -> BlockCodec<SnappyCoder> {
    BlockCodec::new(SnappyCoder { encoder: Encoder::new(), decoder: Decoder::new() })
}

impl BlockCoder for SnappyCoder {
    fn name(&self) -> &'static str {
        DESCRIPTOR.name
    }

    fn body(&self) -> &'static str {
        BODY
    }

    fn max_expansion(&self) -> u64 {
        MAX_EXPANSION
    }

    fn bound(&self, payload_len: usize) -> usize {
        max_compress_len(payload_len)
    }

    fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, CodecError> {
        let failed = |error: snap::Error| CodecError::Implementation { codec: "snappy", message: error.to_string() };
        self.encoder.compress(payload, room).map_err(failed)
    }

    fn decompress(&mut self, block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
        let invalid =
            |error: snap::Error| CodecError::Corrupt { codec, expected: "a valid block", found: error.to_string() };
        let claimed = decompress_len(block).map_err(invalid)?;
        expect_payload_len(codec, payload.len() as u64, claimed as u64)?;
        let written = self.decoder.decompress(block, payload).map_err(invalid)?;
        expect_payload_len(codec, payload.len() as u64, written as u64)
    }
}
