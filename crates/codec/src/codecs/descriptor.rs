//! All facts of one codec, as each file of this folder states them.

use std::ops::RangeInclusive;

use super::steps::Inflater;
use crate::codec::{Capabilities, Codec, OpenEnded};
use crate::error::CodecError;
use crate::tag::Body;

/// Makes a decoder in steps.
pub(crate) type NewInflater = fn() -> Result<Box<dyn Inflater>, CodecError>;

/// A codec: an algorithm with its implementation. Specs, decoders, tags and the list of codecs are derived from it.
pub(crate) struct CodecDescriptor {
    /// The name that a codec spec begins with.
    pub(crate) name: &'static str,
    /// The levels it takes and its default; `None` for codecs without levels.
    pub(crate) levels: Option<Levels>,
    /// The longest dictionary that it can use, in bytes; `None` for codecs that take none.
    pub(crate) longest_dictionary: Option<usize>,
    /// What follows the tag byte of its chunks; `None` for RFC 1950 streams.
    pub(crate) body: Option<Body>,
    /// Stock hg reads revlogs under it, besides RFC 1950 streams.
    pub(crate) is_read_by_hg: bool,
    /// What it can do by itself.
    pub(crate) capabilities: Capabilities,
    /// The library at work.
    pub(crate) implementation: &'static str,
    /// The library's version: asked of the library where it can be, else taken from what it was built from.
    pub(crate) version: fn() -> String,
    /// The language that the library is written in: `C` or `Rust`.
    pub(crate) language: &'static str,
    /// The licence under which the library is linked, as an SPDX expression.
    pub(crate) licence: &'static str,
    /// The codec at a level, without container options, dictionary and checksum setting. Codecs without levels ignore it, as decoders do.
    pub(crate) new: fn(i32) -> Box<dyn Codec>,
    /// A decoder of RFC 1950 streams whose payload length nobody knows; `None` for codecs that have none.
    pub(crate) new_open_ended: Option<fn() -> Box<dyn OpenEnded>>,
    /// A decoder in steps, without dictionary; `None` for codecs that have none, or none without more to say.
    pub(crate) new_inflater: Option<NewInflater>,
}

/// The levels a codec takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Every level, bounds included: from the fastest to the slowest, but for `lz4`, whose levels are accelerations.
    pub range: RangeInclusive<i32>,
    /// A level inside the range that is not one, because the implementation gives it another meaning.
    pub except: Option<i32>,
    /// The level when none is typed.
    pub default: i32,
}

impl Levels {
    /// Whether `level` can be asked for.
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
