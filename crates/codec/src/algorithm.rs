//! The codecs by name: which there are, which levels they take, who else reads them.

use std::ops::RangeInclusive;

use crate::tag::Body;

/// A codec: an algorithm with its implementation, without level and options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Algorithm {
    /// The payload itself, with its length and checksum.
    Store,
    /// Stock zlib: the C library, statically linked.
    Zlib,
    /// zlib-rs, a zlib written in Rust.
    ZlibRs,
    /// libdeflate, a C library that encodes and decodes whole buffers.
    Libdeflate,
    /// Zstandard, the C library.
    Zstd,
    /// LZ4 blocks by lz4_flex, fast mode only.
    Lz4,
    /// LZ4 blocks by liblz4, the C library, in its high compression modes; read like those of `lz4`.
    Lz4hc,
}

/// The levels a codec takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Every level from the fastest to the slowest, bounds included.
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

impl Algorithm {
    /// Every codec, in the order in which they are listed to the user.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Store,
        Algorithm::Zlib,
        Algorithm::ZlibRs,
        Algorithm::Libdeflate,
        Algorithm::Zstd,
        Algorithm::Lz4,
        Algorithm::Lz4hc,
    ];

    /// The name that a codec spec begins with.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Store => "store",
            Algorithm::Zlib => "zlib",
            Algorithm::ZlibRs => "zlib-rs",
            Algorithm::Libdeflate => "libdeflate",
            Algorithm::Zstd => "zstd",
            Algorithm::Lz4 => "lz4",
            Algorithm::Lz4hc => "lz4hc",
        }
    }

    /// The codec of this name, exactly as [`name`](Algorithm::name) gives it.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// The levels it takes; `None` for codecs without levels.
    pub fn levels(self) -> Option<Levels> {
        let (range, except, default) = match self {
            Algorithm::Store | Algorithm::Lz4 => return None,
            Algorithm::Zlib | Algorithm::ZlibRs => (0..=9, None, 6),
            Algorithm::Libdeflate => (1..=12, None, 6),
            // To zstd, level 0 means "the default": it would measure level 3 under another name.
            Algorithm::Zstd => (-7..=22, Some(0), 3),
            Algorithm::Lz4hc => (1..=12, None, 9),
        };
        Some(Levels { range, except, default })
    }

    /// The longest dictionary that it can use, in bytes; `None` for codecs that take none.
    pub fn longest_dictionary(self) -> Option<usize> {
        match self {
            // zstd's own trainer gains nothing from larger ones, and every reader holds them in memory.
            Algorithm::Zstd => Some(16 << 20),
            _ => None,
        }
    }

    /// What follows the tag byte of its chunks; `None` for those that are RFC 1950 streams.
    pub(crate) fn body(self) -> Option<Body> {
        match self {
            Algorithm::Store => Some(Body::Store),
            Algorithm::Zlib | Algorithm::ZlibRs | Algorithm::Libdeflate => None,
            Algorithm::Zstd => Some(Body::Zstd),
            Algorithm::Lz4 | Algorithm::Lz4hc => Some(Body::Lz4),
        }
    }

    /// Whether its chunks are RFC 1950 streams, which stock git reads.
    pub fn is_zlib_family(self) -> bool {
        self.body().is_none()
    }
}
