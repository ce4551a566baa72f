//! What the first bytes of a chunk say: which body follows, and how long it and its payload are.

use super::{CHUNK, Outer, Phase};
use crate::BLOCK_LEN;
use crate::checksum;
use crate::codec::{Codec, UNUSED_LEVEL};
use crate::codecs::zstd::Zstd;
use crate::error::CodecError;
use crate::leb128;
use crate::stored::StoredBytes;
use crate::tag::{Body, Opening, Tag};

/// The most payload bytes that one byte of a block stands for, in any format.
const MOST_EXPANSION: u64 = 255;

/// The most that a block may be longer than its payload, as a divisor of the payload's length; every block format stays below.
const MOST_GROWTH: u64 = 4;

/// What an opening says.
pub(super) struct Parsed {
    /// Bytes that belong to the opening alone.
    pub(super) len: usize,
    /// Bytes of a frame's header behind them.
    pub(super) header_len: usize,
    pub(super) what: What,
}

pub(super) enum What {
    Blocks {
        tag: Tag,
        payload_len: u64,
    },
    Store {
        tag: Tag,
        payload_len: u64,
    },
    Block {
        payload_len: u64,
        block_len: u64,
        checksum: bool,
    },
    Stream {
        tag: Tag,
        payload_len: u64,
    },
    /// The frame's header is looked at, and not part of the opening.
    Frame {
        tag: Option<Tag>,
        payload_len: Option<u64>,
    },
}

impl Parsed {
    /// Reads the opening that `stored` begins with; [`CodecError::Truncated`] when it goes on behind it.
    pub(super) fn of(stored: &[u8]) -> Result<Self, CodecError> {
        const MAGIC: [u8; 4] = crate::codecs::zstd::frame::MAGIC;
        if stored.len() < MAGIC.len() && MAGIC.starts_with(stored) {
            return Err(truncated(stored));
        }
        let tag = match Opening::of(stored)? {
            Opening::Tagged(tag) if tag.needs_base => return Err(CodecError::BaseNeeded { codec: tag.body.name() }),
            Opening::Tagged(tag) => tag,
            Opening::StandardZstdFrame => return Parsed::frame(None, stored),
            Opening::ZlibStream { .. } => {
                let found = "a zlib stream".to_owned();
                return Err(CodecError::Corrupt { codec: CHUNK, expected: "a tag byte or a zstd frame", found });
            }
        };
        if tag.body == Body::Zstd {
            return Parsed::frame(Some(tag), stored.get(tag.len()..).unwrap_or_default());
        }
        let mut rest = stored.get(tag.len()..).unwrap_or_default();
        let mut fields = StoredBytes::new(&mut rest, tag.body.name());
        let payload_len = leb128::read(&mut fields)?;
        let what = match tag.body {
            _ if tag.blocked => What::Blocks { tag, payload_len },
            Body::Store => What::Store { tag, payload_len },
            Body::Lz4 | Body::Snappy | Body::Lzo => {
                What::Block { payload_len, block_len: leb128::read(&mut fields)?, checksum: tag.checksum }
            }
            _ => What::Stream { tag, payload_len },
        };
        Ok(Parsed { len: stored.len() - rest.len(), header_len: 0, what })
    }

    fn frame(tag: Option<Tag>, frame: &[u8]) -> Result<Self, CodecError> {
        let mut zstd = Zstd::new(UNUSED_LEVEL, tag.is_none());
        zstd.set_checksum(tag.is_none_or(|tag| tag.checksum));
        let (header_len, payload_len) = zstd.frame_header(frame)?;
        Ok(Parsed { len: tag.map_or(0, Tag::len), header_len, what: What::Frame { tag, payload_len } })
    }

    pub(super) fn payload_len(&self) -> Option<u64> {
        match self.what {
            What::Blocks { payload_len, .. }
            | What::Store { payload_len, .. }
            | What::Block { payload_len, .. }
            | What::Stream { payload_len, .. } => Some(payload_len),
            What::Frame { payload_len, .. } => payload_len,
        }
    }
}

/// Checks the lengths of a block body, of which memory is taken only for what arrives.
pub(super) fn block_phase(
    opening_len: usize,
    payload_len: u64,
    block_len: u64,
    checksum: bool,
) -> Result<Phase, CodecError> {
    let limit = BLOCK_LEN as u64;
    let impossible = || {
        let found = format!("{payload_len} payload bytes in a block of {block_len}");
        CodecError::Corrupt { codec: CHUNK, expected: "a payload of at most 64 MiB that the block can hold", found }
    };
    if payload_len > limit.min(block_len.saturating_mul(MOST_EXPANSION)) || block_len > limit + limit / MOST_GROWTH {
        return Err(impossible());
    }
    let behind = if checksum { checksum::LEN } else { 0 };
    match (usize::try_from(block_len), usize::try_from(payload_len)) {
        (Ok(block_len), Ok(payload_len)) => {
            Ok(Phase::Block { chunk_len: opening_len + block_len + behind, payload_len })
        }
        _ => Err(impossible()),
    }
}

/// Checks that a chunk can be the next block of another.
pub(super) fn check_block(outer: &Outer, parsed: &Parsed) -> Result<(), CodecError> {
    let wanted = outer.remaining.min(BLOCK_LEN as u64);
    let suits = match parsed.what {
        What::Store { tag, .. } => tag.checksum == outer.tag.checksum,
        What::Block { checksum, .. } => checksum == outer.tag.checksum,
        _ => false,
    };
    if suits && parsed.payload_len() == Some(wanted) {
        return Ok(());
    }
    let found = "another chunk".to_owned();
    Err(CodecError::Corrupt { codec: CHUNK, expected: "a block that suits the first", found })
}

fn truncated(stored: &[u8]) -> CodecError {
    CodecError::Truncated { codec: CHUNK, available: stored.len() as u64 }
}
