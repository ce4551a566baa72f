//! Encodes payloads into revlog chunks.

use super::RevlogEngine;
use crate::BLOCK_LEN;
use crate::algorithm::Algorithm;
use crate::base_encoder::{BaseEncoder, DeltaBase};
use crate::codec::Codec;
use crate::codecs::block::BlockCoder;
use crate::codecs::lz4::FastCoder;
use crate::codecs::lz4_block;
use crate::codecs::lz4_flex::FlexCoder;
use crate::codecs::lz4hc::HighCoder;
use crate::codecs::zstd::Zstd;
use crate::dictionary::Dictionary;
use crate::error::{CodecError, reserve_chunk};
use crate::growing::is_plausible_len;
use crate::opening::revlog::{LZ4, RAW, RAW_WITHOUT_HEADER, revlog_tag};
use crate::spec::{CodecChoice, CodecSpec};
use crate::tag::Tag;

/// The length of the shortest payload that hg's zlib engine compresses, in bytes.
const MIN_ZLIB_PAYLOAD: usize = 44;

/// The length of the shortest payload that hg's zstd engine compresses, in bytes.
const MIN_ZSTD_PAYLOAD: usize = 50;

/// Encodes payloads into revlog chunks with one codec choice. Contexts are reused.
///
/// A payload is written as hg writes it: raw if hg's engine would not try to compress it, or if the compressed bytes
/// are no fewer than the payload's. So `zlib` writes exactly the same bytes as hg. The stored bytes depend only on
/// choice, dictionary, payload and base.
pub struct RevlogEncoder {
    compressor: Compressor,
    /// Replaces the compressor for payloads that are short enough for a dictionary.
    with_dictionary: Option<TaggedCodec>,
    /// Tries the full text of a delta's base as prefix.
    on_base: Option<BaseEncoder>,
}

/// Writes a tag byte, then a body without checksum.
struct TaggedCodec {
    codec: Box<dyn Codec>,
    tag: Tag,
}

enum Compressor {
    /// Writes the codec's stored bytes, whose first byte is the header.
    Whole { codec: Box<dyn Codec>, min_payload: usize },
    /// Writes header, payload length and block.
    Lz4(Box<dyn BlockCoder>),
    /// Writes bodies that hg has no header for.
    Tagged(TaggedCodec),
    /// Compresses nothing.
    None,
}

impl RevlogEncoder {
    /// Creates an encoder for the default part of `spec`, without a dictionary. Contexts are made when the first
    /// payload arrives.
    ///
    /// # Errors
    /// When the codec of the spec cannot be set up.
    pub fn new(spec: &CodecSpec) -> Result<Self, CodecError> {
        RevlogEncoder::for_choice(spec.default_choice(), None)
    }

    /// Creates an encoder for `choice`, with a numbered dictionary. Contexts are made when the first payload arrives.
    ///
    /// # Errors
    /// When the codec cannot be set up, or does not take the dictionary.
    pub fn for_choice(choice: &CodecChoice, dictionary: Option<(u8, &Dictionary)>) -> Result<Self, CodecError> {
        let for_tag = choice.for_revlog_tag();
        let with_dictionary = match dictionary.zip(for_tag.algorithm().body()) {
            None => None,
            Some(((number, dictionary), body)) => {
                let mut codec = for_tag.new_codec()?;
                codec.set_dictionary(Some(dictionary))?;
                Some(TaggedCodec { codec, tag: Tag { dictionary: Some(number), ..Tag::plain(body, false) } })
            }
        };
        let on_base = choice.uses_base().then(|| BaseEncoder::new(&for_tag));
        Ok(RevlogEncoder { compressor: Compressor::new(choice)?, with_dictionary, on_base })
    }

    /// Whether [`encode_delta`](RevlogEncoder::encode_delta) may write shorter chunks for deltas than
    /// [`encode`](RevlogEncoder::encode).
    pub fn uses_bases(&self) -> bool {
        self.on_base.is_some()
    }

    /// Appends the shortest chunk of the delta `payload`, or of its full text, to `stored` and returns the chunk's
    /// length in bytes.
    ///
    /// # Errors
    /// When the implementation fails. `stored` is then unchanged.
    pub fn encode_delta(
        &mut self,
        payload: &[u8],
        base: &DeltaBase<'_>,
        stored: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let start = stored.len();
        self.encode(payload, stored)?;
        let Some(on_base) = &mut self.on_base else { return Ok(stored.len() - start) };
        let alone = stored.len() - start;
        on_base.replace_if_shorter(payload, base, start, stored).inspect_err(|_| stored.truncate(start))?;
        // A reader accepts only plausible lengths. A delta with an implausible one is mostly zeros, and short without
        // its base too.
        let longest = base.object.map_or(0, <[u8]>::len).max(payload.len());
        let length = stored.len() - start;
        if length < alone && !is_plausible_len(longest, length, base.content.len()) {
            stored.truncate(start);
            return self.encode(payload, stored);
        }
        Ok(length)
    }

    /// Appends the chunk of `payload` to `stored` and returns the chunk's length in bytes.
    ///
    /// # Errors
    /// When the implementation fails. `stored` is then unchanged.
    pub fn encode(&mut self, payload: &[u8], stored: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = stored.len();
        let compressed = self.compress(payload, stored).inspect_err(|_| stored.truncate(start))?;
        if !compressed || stored.len() - start >= payload.len() {
            stored.truncate(start);
            write_raw(payload, stored);
        }
        Ok(stored.len() - start)
    }

    /// Appends the compressed chunk of `payload`, if compression should be tried, and returns whether it did.
    fn compress(&mut self, payload: &[u8], stored: &mut Vec<u8>) -> Result<bool, CodecError> {
        match &mut self.with_dictionary {
            Some(with_dictionary) if (1..=BLOCK_LEN).contains(&payload.len()) => {
                with_dictionary.encode(payload, stored)?;
                Ok(true)
            }
            _ => self.compressor.compress(payload, stored),
        }
    }
}

impl TaggedCodec {
    fn encode(&mut self, payload: &[u8], stored: &mut Vec<u8>) -> Result<(), CodecError> {
        self.tag.write(stored);
        self.codec.encode(payload, stored).map(drop)
    }
}

impl Compressor {
    fn new(choice: &CodecChoice) -> Result<Self, CodecError> {
        let level = choice.level().unwrap_or_default();
        Ok(match choice.revlog_engine() {
            RevlogEngine::None => Compressor::None,
            RevlogEngine::Zlib => Compressor::Whole { codec: choice.new_codec()?, min_payload: MIN_ZLIB_PAYLOAD },
            RevlogEngine::Zstd => {
                // As in hg: with magic number and content size, without a checksum, whatever the options of the choice.
                let mut codec = Zstd::new(level, true).with_window(choice.window_log());
                codec.set_checksum(false);
                Compressor::Whole { codec: Box::new(codec), min_payload: MIN_ZSTD_PAYLOAD }
            }
            RevlogEngine::Lz4 => Compressor::Lz4(match choice.algorithm() {
                Algorithm::Lz4hc => Box::new(HighCoder::new(level)),
                Algorithm::Lz4Flex => Box::new(FlexCoder::default()),
                _ => Box::new(FastCoder::new(level)),
            }),
            RevlogEngine::Tagged(algorithm) => match algorithm.body().and_then(revlog_tag) {
                Some(tag) => Compressor::Tagged(TaggedCodec { codec: choice.for_revlog_tag().new_codec()?, tag }),
                None => Compressor::None,
            },
        })
    }

    /// See [`RevlogEncoder::compress`].
    fn compress(&mut self, payload: &[u8], stored: &mut Vec<u8>) -> Result<bool, CodecError> {
        match self {
            Compressor::Whole { codec, min_payload } if payload.len() >= *min_payload => {
                codec.encode(payload, stored).map(|_| true)
            }
            Compressor::Lz4(coder) => compress_lz4(coder.as_mut(), payload, stored),
            Compressor::Tagged(tagged) if can_encode(tagged.codec.as_ref(), payload.len()) => {
                tagged.encode(payload, stored).map(|()| true)
            }
            Compressor::Whole { .. } | Compressor::Tagged(_) | Compressor::None => Ok(false),
        }
    }
}

/// Whether to try a payload of this length. Empty payloads, and those that would have to be cut into blocks, are not
/// tried.
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
    let most = coder.bound(payload.len());
    reserve_chunk(stored, most)?;
    stored.resize(block_start.saturating_add(most), 0);
    let block_len = coder.compress(payload, stored.get_mut(block_start..).unwrap_or_default())?;
    stored.truncate(block_start + block_len);
    Ok(true)
}

fn write_raw(payload: &[u8], stored: &mut Vec<u8>) {
    // The chunk of an empty payload is empty, and a payload that starts with a NUL byte needs no header.
    if payload.first().is_some_and(|first| *first != RAW_WITHOUT_HEADER) {
        stored.push(RAW);
    }
    stored.extend_from_slice(payload);
}
