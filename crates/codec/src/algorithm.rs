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
    /// Raw DEFLATE by stock zlib, in a tagged body: `zlib` without its wrapping.
    Deflate,
    /// zlib-ng, a faster C zlib; only with the feature `zlib-ng`, since its build needs cmake.
    #[cfg(feature = "zlib-ng")]
    ZlibNg,
    /// zlib-rs, a zlib written in Rust.
    ZlibRs,
    /// miniz_oxide, a DEFLATE in safe Rust.
    Miniz,
    /// sirocco, a DEFLATE written in Rust after libdeflate's design.
    Sirocco,
    /// libdeflate, a C library that encodes and decodes whole buffers.
    Libdeflate,
    /// zopfli, which searches long for the shortest stream; its level is the number of iterations.
    Zopfli,
    /// Zstandard, the C library.
    Zstd,
    /// LZ4 blocks by liblz4, the C library, in its fast mode.
    Lz4,
    /// LZ4 blocks by liblz4 in its high compression modes; read like those of `lz4`.
    Lz4hc,
    /// LZ4 blocks by lz4_flex, an implementation in Rust, fast mode only.
    Lz4Flex,
    /// Snappy blocks by snap, an implementation in Rust.
    Snappy,
    /// LZO1X streams by our own implementation, at lzop's levels.
    Lzo,
    /// Brotli (RFC 7932), translated into Rust.
    Brotli,
    /// LZMA2 without a container, by liblzma, the C library.
    Lzma,
    /// LZMA2 in the .xz container, by liblzma, the C library.
    Xz,
    /// bzip2, translated into Rust.
    Bzip2,
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

/// `ZSTD_minCLevel()` of every libzstd since 1.3.4: the longest block, negative.
const LEAST_ZSTD_LEVEL: i32 = -(1 << 17);

/// How many codecs are built in.
const ALGORITHMS: usize = if cfg!(feature = "zlib-ng") { 19 } else { 18 };

impl Algorithm {
    /// Every codec, in the order in which they are listed to the user.
    pub const ALL: [Algorithm; ALGORITHMS] = [
        Algorithm::Store,
        Algorithm::Zlib,
        Algorithm::Deflate,
        #[cfg(feature = "zlib-ng")]
        Algorithm::ZlibNg,
        Algorithm::ZlibRs,
        Algorithm::Miniz,
        Algorithm::Sirocco,
        Algorithm::Libdeflate,
        Algorithm::Zopfli,
        Algorithm::Zstd,
        Algorithm::Lz4,
        Algorithm::Lz4hc,
        Algorithm::Lz4Flex,
        Algorithm::Snappy,
        Algorithm::Lzo,
        Algorithm::Brotli,
        Algorithm::Lzma,
        Algorithm::Xz,
        Algorithm::Bzip2,
    ];

    /// The name that a codec spec begins with.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Store => "store",
            Algorithm::Zlib => "zlib",
            Algorithm::Deflate => "deflate",
            #[cfg(feature = "zlib-ng")]
            Algorithm::ZlibNg => "zlib-ng",
            Algorithm::ZlibRs => "zlib-rs",
            Algorithm::Miniz => "miniz",
            Algorithm::Sirocco => "sirocco",
            Algorithm::Libdeflate => "libdeflate",
            Algorithm::Zopfli => "zopfli",
            Algorithm::Zstd => "zstd",
            Algorithm::Lz4 => "lz4",
            Algorithm::Lz4hc => "lz4hc",
            Algorithm::Lz4Flex => "lz4_flex",
            Algorithm::Snappy => "snappy",
            Algorithm::Lzo => "lzo",
            Algorithm::Brotli => "brotli",
            Algorithm::Lzma => "lzma",
            Algorithm::Xz => "xz",
            Algorithm::Bzip2 => "bzip2",
        }
    }

    /// The codec of this name, exactly as [`name`](Algorithm::name) gives it.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// The levels it takes; `None` for codecs without levels.
    pub fn levels(self) -> Option<Levels> {
        let (range, except, default) = match self {
            Algorithm::Store | Algorithm::Lz4Flex | Algorithm::Snappy => return None,
            Algorithm::Zlib | Algorithm::Deflate | Algorithm::ZlibRs | Algorithm::Sirocco => (0..=9, None, 6),
            #[cfg(feature = "zlib-ng")]
            Algorithm::ZlibNg => (0..=9, None, 6),
            Algorithm::Miniz => (0..=10, None, 6),
            Algorithm::Libdeflate => (1..=12, None, 6),
            // To zstd, level 0 means "the default": it would measure level 3 under another name.
            Algorithm::Zstd => (LEAST_ZSTD_LEVEL..=22, Some(0), 3),
            // The bounds within which liblz4 keeps an acceleration.
            Algorithm::Lz4 => (1..=65_537, None, 1),
            Algorithm::Lz4hc => (1..=12, None, 9),
            Algorithm::Lzo => (1..=9, None, 3),
            // Iterations; the default is that of the authors' own program.
            Algorithm::Zopfli => (1..=99, None, 15),
            Algorithm::Brotli => (0..=11, None, 5),
            Algorithm::Lzma | Algorithm::Xz => (0..=9, None, 6),
            Algorithm::Bzip2 => (1..=9, None, 9),
        };
        Some(Levels { range, except, default })
    }

    /// The longest dictionary that it can use, in bytes; `None` for codecs that take none.
    pub fn longest_dictionary(self) -> Option<usize> {
        match self {
            // zstd's own trainer gains nothing from larger ones, and every reader holds them in memory.
            Algorithm::Zstd => Some(16 << 20),
            // As far as DEFLATE reaches back.
            Algorithm::Zlib | Algorithm::Deflate => Some(32 << 10),
            // As far as an LZ4 block reaches back.
            Algorithm::Lz4 | Algorithm::Lz4hc => Some(64 << 10),
            _ => None,
        }
    }

    /// What follows the tag byte of its chunks; `None` for those that are RFC 1950 streams.
    pub(crate) fn body(self) -> Option<Body> {
        match self {
            Algorithm::Store => Some(Body::Store),
            Algorithm::Zlib
            | Algorithm::ZlibRs
            | Algorithm::Miniz
            | Algorithm::Sirocco
            | Algorithm::Libdeflate
            | Algorithm::Zopfli => None,
            #[cfg(feature = "zlib-ng")]
            Algorithm::ZlibNg => None,
            Algorithm::Deflate => Some(Body::Deflate),
            Algorithm::Zstd => Some(Body::Zstd),
            Algorithm::Lz4 | Algorithm::Lz4hc | Algorithm::Lz4Flex => Some(Body::Lz4),
            Algorithm::Snappy => Some(Body::Snappy),
            Algorithm::Lzo => Some(Body::Lzo),
            Algorithm::Brotli => Some(Body::Brotli),
            Algorithm::Lzma => Some(Body::Lzma),
            Algorithm::Xz => Some(Body::Xz),
            Algorithm::Bzip2 => Some(Body::Bzip2),
        }
    }

    /// Whether its chunks are RFC 1950 streams, which stock git reads.
    pub fn is_zlib_family(self) -> bool {
        self.body().is_none()
    }
}
