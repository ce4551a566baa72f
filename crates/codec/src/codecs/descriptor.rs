//! The facts about one codec. Each file in this folder states those of its codec.

use std::ops::RangeInclusive;

use super::steps::Inflater;
use crate::codec::{Capabilities, Codec, OpenEnded};
use crate::error::CodecError;
use crate::tag::Body;

/// Makes a decoder that works in steps.
pub(crate) type NewInflater = fn() -> Result<Box<dyn Inflater>, CodecError>;

/// A codec: an algorithm with its implementation. Specs, decoders, tags and the list of codecs follow from it.
pub(crate) struct CodecDescriptor {
    /// The name at the start of a codec spec.
    pub(crate) name: &'static str,
    /// The levels of the codec and its default level; `None` if it has no levels.
    pub(crate) levels: Option<Levels>,
    /// The longest dictionary that the codec can use, in bytes; `None` if it takes no dictionaries.
    pub(crate) longest_dictionary: Option<usize>,
    /// The body that follows the tag byte of its chunks; `None` for RFC 1950 streams.
    pub(crate) body: Option<Body>,
    /// Stock hg reads revlogs that this codec wrote.
    pub(crate) is_read_by_hg: bool,
    /// What the codec can do without help from the container.
    pub(crate) capabilities: Capabilities,
    /// The library that implements the codec.
    pub(crate) implementation: &'static str,
    /// The version of the library: queried from the library if possible, otherwise that of its source.
    pub(crate) version: fn() -> String,
    /// The language that the library is written in: `C` or `Rust`.
    pub(crate) language: &'static str,
    /// The licence under which the library is linked, as an SPDX expression.
    pub(crate) licence: &'static str,
    /// Makes the codec at a level, without container options, dictionary and checksum setting. Codecs without levels
    /// ignore the level, and so do all codecs when they decode.
    pub(crate) new: fn(i32) -> Box<dyn Codec>,
    /// Makes a decoder of RFC 1950 streams of unknown payload length; `None` if the codec has no such decoder.
    pub(crate) new_open_ended: Option<fn() -> Box<dyn OpenEnded>>,
    /// Makes a decoder that works in steps, without a dictionary; `None` if the codec has no such decoder or needs
    /// parameters for it.
    pub(crate) new_inflater: Option<NewInflater>,
}

/// The levels of a codec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Every level, from the fastest to the slowest. The levels of `lz4` are accelerations and go the other way.
    pub range: RangeInclusive<i32>,
    /// A number inside the range that is not a level, because the implementation gives it another meaning.
    pub except: Option<i32>,
    /// The level that is used if the user types none.
    pub default: i32,
}

impl Levels {
    /// Whether `level` is a valid level.
    pub fn contains(&self, level: i32) -> bool {
        self.range.contains(&level) && self.except != Some(level)
    }
}

impl std::fmt::Display for Levels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.range.start(), self.range.end())?;
        match self.except {
            Some(level) => write!(f, " without {level}"),
            None => Ok(()),
        }
    }
}
