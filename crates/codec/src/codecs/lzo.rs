//! `lzo`: LZO1X streams by our own implementation in [`lzo1x`]. The levels are those of lzop.

use super::block::{BlockCodec, BlockCoder};
use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::lzo1x::{self, Effort, FastEncoder, Fault, NoRoom, ThoroughEncoder};
use crate::error::{CodecError, FoundLength};
use crate::tag::Body;

/// The facts about `lzo`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "lzo",
    levels: Some(Levels { range: 1..=9, except: None, default: 3 }),
    longest_dictionary: None,
    body: Some(Body::Lzo),
    is_read_by_hg: false,
    capabilities: super::block::CAPABILITIES,
    implementation: "repackbench (Rust)",
    version: || env!("CARGO_PKG_VERSION").to_owned(),
    language: "Rust",
    licence: env!("CARGO_PKG_LICENSE"),
    new: |level| Box::new(codec(level)),
    new_open_ended: None,
    new_inflater: None,
};

/// The name of the body in messages.
const BODY: &str = "lzo body";

/// Creates the codec `lzo` at `level`, which is 1 to 9.
pub(crate) fn codec(level: i32) -> BlockCodec<LzoCoder> {
    BlockCodec::new(LzoCoder { level, encoder: None })
}

/// LZO1X at one level, with tables that are made when first used.
pub(crate) struct LzoCoder {
    level: i32,
    encoder: Option<Encoder>,
}

enum Encoder {
    Fast(FastEncoder),
    Thorough(Box<ThoroughEncoder>),
}

impl Encoder {
    fn new(level: i32) -> Self {
        let thorough = |depth, enough| Encoder::Thorough(Box::new(ThoroughEncoder::new(Effort { depth, enough })));
        match level {
            // A smaller table, which fits into the level 1 cache.
            ..=1 => Encoder::Fast(FastEncoder::new(12, 5)),
            2..=6 => Encoder::Fast(FastEncoder::new(14, 5)),
            7 => thorough(4, 32),
            8 => thorough(48, 256),
            _ => thorough(1_024, 2_048),
        }
    }
}

impl BlockCoder for LzoCoder {
    fn name(&self) -> &'static str {
        DESCRIPTOR.name
    }

    fn body(&self) -> &'static str {
        BODY
    }

    fn max_expansion(&self) -> u64 {
        lzo1x::MAX_EXPANSION
    }

    fn bound(&self, payload_len: usize) -> usize {
        lzo1x::bound(payload_len)
    }

    fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, CodecError> {
        let level = self.level;
        let written = match self.encoder.get_or_insert_with(|| Encoder::new(level)) {
            Encoder::Fast(encoder) => encoder.compress(payload, room),
            Encoder::Thorough(encoder) => encoder.compress(payload, room),
        };
        let no_room =
            |NoRoom| CodecError::Implementation { codec: "lzo", message: "the block does not fit".to_owned() };
        written.map_err(no_room)
    }

    fn decompress(&mut self, block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
        let expected = payload.len() as u64;
        let invalid = |found: &str| CodecError::Corrupt { codec, expected: "a valid block", found: found.to_owned() };
        lzo1x::decompress(block, payload).map_err(|fault| match fault {
            Fault::Truncated => invalid("the end before the end marker"),
            Fault::Distance => invalid("a match that starts before the payload"),
            Fault::Instruction => invalid("an unknown instruction"),
            Fault::Trailing => invalid("bytes after the end marker"),
            Fault::TooLong => CodecError::PayloadLength { codec, expected, found: FoundLength::More },
            Fault::TooShort(found) => {
                CodecError::PayloadLength { codec, expected, found: FoundLength::Exactly(found as u64) }
            }
        })
    }
}
