//! `deflate`: DEFLATE blocks (RFC 1951) without the wrapper of RFC 1950, by stock zlib. A comparison with `zlib` shows
//! the cost of the wrapper, and one with the other tagged bodies the cost of the format.

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::steps::Machine;
use super::stream::{STREAMING, StreamCodec};
use super::wrapping::{DEFLATE_BODY, Wrapping};
use super::zlib::{StockDeflater, StockInflater, usable_dictionary};
use crate::codec::Capabilities;
use crate::dictionary::Dictionary;
use crate::error::CodecError;
use crate::tag::Body;

/// The facts about `deflate`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "deflate",
    levels: Some(Levels { range: 0..=9, except: None, default: 6 }),
    // The longest distance of a DEFLATE match.
    longest_dictionary: Some(32 << 10),
    body: Some(Body::Deflate),
    is_read_by_hg: false,
    capabilities: CAPABILITIES,
    implementation: "stock zlib (C, linked statically)",
    version: super::zlib::version,
    language: "C",
    licence: "Zlib",
    new: |level| Box::new(RawDeflate::new(level.unsigned_abs())),
    new_open_ended: None,
    new_inflater: None,
};

/// The capabilities of `deflate`.
pub(crate) const CAPABILITIES: Capabilities = Capabilities { dictionaries: true, ..STREAMING };

/// Raw DEFLATE at one level.
pub(crate) type RawDeflate = StreamCodec<RawStockZlib>;

impl RawDeflate {
    /// Creates a codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: u32) -> Self {
        StreamCodec::of(RawStockZlib { level, dictionary: None })
    }
}

/// The level and the dictionary of stock zlib's contexts. A raw stream does not name the dictionary that it needs.
pub(crate) struct RawStockZlib {
    level: u32,
    dictionary: Option<Dictionary>,
}

impl Machine for RawStockZlib {
    const CODEC: &'static str = "deflate";
    const BODY: &'static str = DEFLATE_BODY;
    const CAPABILITIES: Capabilities = CAPABILITIES;
    type Deflater = StockDeflater;
    type Inflater = StockInflater;

    fn deflater(&self) -> Result<StockDeflater, CodecError> {
        Ok(StockDeflater::new(self.level, Wrapping::None, self.dictionary.clone()))
    }

    fn inflater(&self) -> Result<StockInflater, CodecError> {
        Ok(StockInflater::new(Wrapping::None, self.dictionary.clone()))
    }

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        self.dictionary = usable_dictionary(dictionary, Self::CODEC)?;
        Ok(())
    }
}
