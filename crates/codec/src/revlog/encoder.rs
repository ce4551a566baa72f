//! Payload to revlog chunk.

use super::{LZ4, RAW, RAW_AS_IT_IS, RevlogEngine, revlog_tag};
use crate::BLOCK_LEN;
use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::codecs::block::BlockCoder;
use crate::codecs::lz4::FastCoder;
use crate::codecs::lz4_block;
use crate::codecs::lz4_flex::FlexCoder;
use crate::codecs::lz4hc::HighCoder;
use crate::codecs::zstd::Zstd;
use crate::error::CodecError;
use crate::spec::CodecSpec;

/// hg's zlib engine leaves shorter payloads raw, in bytes.
const LEAST_ZLIB_PAYLOAD: usize = 44;

/// hg's zstd engine leaves shorter payloads raw, in bytes.
const LEAST_ZSTD_PAYLOAD: usize = 50;

/// Encodes payloads into revlog chunks under one spec; contexts are reused.
///
/// A payload is written as hg writes it: raw where hg's engine would not try to compress it, and where the compressed bytes
/// are not fewer than the payload's. `zlib` thus gives the very bytes that hg does. The stored bytes depend on spec and
/// payload alone.
pub struct RevlogEncoder {
    compressor: Compressor,
}

enum Compressor {
    /// Chunks that are the codec's own stored bytes and begin with the header already.
    Whole { codec: Box<dyn Codec>, least_payload: usize },
    /// Header, payload length, block.
    Lz4(Box<dyn BlockCoder>),
    /// Tag byte, body without checksum.
    Tagged { codec: Box<dyn Codec>, tag: u8 },
    /// Nothing is compressed.
    None,
}

impl RevlogEncoder {
    /// An encoder for `spec`. Contexts are made when the first payload arrives.
    ///
    /// # Errors
    /// When the codec of the spec cannot be set up.
    pub fn new(spec: &CodecSpec) -> Result<Self, CodecError> {
        let level = spec.level().unwrap_or_default();
        let compressor = match spec.revlog_engine() {
            RevlogEngine::None => Compressor::None,
            RevlogEngine::Zlib => Compressor::Whole { codec: spec.new_codec()?, least_payload: LEAST_ZLIB_PAYLOAD },
            RevlogEngine::Zstd => {
                // As hg: with magic number and content size, without a checksum, whatever the spec's options say.
                let mut codec = Zstd::new(level, true);
                codec.set_checksum(false);
                Compressor::Whole { codec: Box::new(codec), least_payload: LEAST_ZSTD_PAYLOAD }
            }
            RevlogEngine::Lz4 => Compressor::Lz4(match spec.algorithm() {
                Algorithm::Lz4hc => Box::new(HighCoder::new(level)),
                Algorithm::Lz4Flex => Box::new(FlexCoder::default()),
                _ => Box::new(FastCoder::new(level)),
            }),
            RevlogEngine::Tagged(algorithm) => match algorithm.body().and_then(revlog_tag) {
                Some(tag) => {
                    let mut codec = spec.new_codec()?;
                    codec.set_checksum(false);
                    Compressor::Tagged { codec, tag: tag.to_byte() }
                }
                None => Compressor::None,
            },
        };
        Ok(RevlogEncoder { compressor })
    }

    /// Appends the chunk of `payload` to `stored`, returns its length in bytes.
    ///
    /// # Errors
    /// When the implementation fails; `stored` is then as it was before.
    pub fn encode(&mut self, payload: &[u8], stored: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = stored.len();
        let compressed = self.compress(payload, stored).inspect_err(|_| stored.truncate(start))?;
        if !compressed || stored.len() - start >= payload.len() {
            stored.truncate(start);
            write_raw(payload, stored);
        }
        Ok(stored.len() - start)
    }

    /// Appends the compressed chunk of `payload`, unless it is not to be tried; says whether it did.
    fn compress(&mut self, payload: &[u8], stored: &mut Vec<u8>) -> Result<bool, CodecError> {
        match &mut self.compressor {
            Compressor::Whole { codec, least_payload } if payload.len() >= *least_payload => {
                codec.encode(payload, stored).map(|_| true)
            }
            Compressor::Lz4(coder) => compress_lz4(coder.as_mut(), payload, stored),
            Compressor::Tagged { codec, tag } if can_encode(codec.as_ref(), payload.len()) => {
                stored.push(*tag);
                codec.encode(payload, stored).map(|_| true)
            }
            Compressor::Whole { .. } | Compressor::Tagged { .. } | Compressor::None => Ok(false),
        }
    }
}

/// Whether a payload of this length is to be tried: not an empty one, nor one that the codec would have to cut into blocks.
fn can_encode(codec: &dyn Codec, payload_len: usize) -> bool {
    payload_len > 0 && (payload_len <= BLOCK_LEN || codec.capabilities().streams)
}

/// Appends header, payload length and block, unless the payload is empty or longer than a block can hold.
fn compress_lz4(coder: &mut dyn BlockCoder, payload: &[u8], stored: &mut Vec<u8>) -> Result<bool, CodecError> {
    let length = match u32::try_from(payload.len()) {
        Ok(length) if (1..=lz4_block::MAX_PAYLOAD).contains(&payload.len()) => length,
        _ => return Ok(false),
    };
    stored.push(LZ4);
    stored.extend_from_slice(&length.to_le_bytes());
    let block_start = stored.len();
    stored.resize(block_start.saturating_add(coder.bound(payload.len())), 0);
    let block_len = coder.compress(payload, stored.get_mut(block_start..).unwrap_or_default())?;
    stored.truncate(block_start + block_len);
    Ok(true)
}

fn write_raw(payload: &[u8], stored: &mut Vec<u8>) {
    // An empty payload is an empty chunk, and a payload that begins with a NUL byte its own header.
    if payload.first().is_some_and(|first| *first != RAW_AS_IT_IS) {
        stored.push(RAW);
    }
    stored.extend_from_slice(payload);
}
