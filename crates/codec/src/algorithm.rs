//! The codecs: the registry of what [`crate::codecs`] has.

use crate::codecs::descriptor::{CodecDescriptor, Levels};
#[cfg(feature = "zlib-ng")]
use crate::codecs::zlib_ng;
use crate::codecs::{
    brotli, bzip2, deflate, libdeflate, lz4, lz4_flex, lz4hc, lzma, lzo, miniz, sirocco, snappy, store, zlib, zlib_rs,
    zopfli, zstd,
};
use crate::tag::Body;

/// Makes the enum of codecs, the list of all, and the way from each to its descriptor.
macro_rules! codecs {
    ($($(#[doc = $doc:expr])+ $(#[cfg($condition:meta)])? $name:ident => $descriptor:path,)+) => {
        /// A codec: an algorithm with its implementation, without level and options.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Algorithm {
            $($(#[doc = $doc])+ $(#[cfg($condition)])? $name,)+
        }

        impl Algorithm {
            /// Every codec, in the order in which they are listed to the user.
            pub const ALL: [Algorithm; [$($(#[cfg($condition)])? stringify!($name)),+].len()] =
                [$($(#[cfg($condition)])? Algorithm::$name),+];

            /// All facts of the codec.
            pub(crate) fn descriptor(self) -> &'static CodecDescriptor {
                match self {
                    $($(#[cfg($condition)])? Algorithm::$name => &$descriptor,)+
                }
            }
        }
    };
}

codecs! {
    /// The payload itself, with its length and checksum.
    Store => store::DESCRIPTOR,
    /// Stock zlib: the C library, statically linked.
    Zlib => zlib::DESCRIPTOR,
    /// Raw DEFLATE by stock zlib, in a tagged body: `zlib` without its wrapping.
    Deflate => deflate::DESCRIPTOR,
    /// zlib-ng, a faster C zlib; only with the feature `zlib-ng`, since its build needs cmake.
    #[cfg(feature = "zlib-ng")]
    ZlibNg => zlib_ng::DESCRIPTOR,
    /// zlib-rs, a zlib written in Rust.
    ZlibRs => zlib_rs::DESCRIPTOR,
    /// miniz_oxide, a DEFLATE in safe Rust.
    Miniz => miniz::DESCRIPTOR,
    /// sirocco, a DEFLATE written in Rust after libdeflate's design.
    Sirocco => sirocco::DESCRIPTOR,
    /// libdeflate, a C library that encodes and decodes whole buffers.
    Libdeflate => libdeflate::DESCRIPTOR,
    /// zopfli, which searches long for the shortest stream; its level is the number of iterations.
    Zopfli => zopfli::DESCRIPTOR,
    /// Zstandard, the C library.
    Zstd => zstd::DESCRIPTOR,
    /// LZ4 blocks by liblz4, the C library, in its fast mode.
    Lz4 => lz4::DESCRIPTOR,
    /// LZ4 blocks by liblz4 in its high compression modes; read like those of `lz4`.
    Lz4hc => lz4hc::DESCRIPTOR,
    /// LZ4 blocks by lz4_flex, an implementation in Rust, fast mode only.
    Lz4Flex => lz4_flex::DESCRIPTOR,
    /// Snappy blocks by snap, an implementation in Rust.
    Snappy => snappy::DESCRIPTOR,
    /// LZO1X streams by our own implementation, at lzop's levels.
    Lzo => lzo::DESCRIPTOR,
    /// Brotli (RFC 7932), translated into Rust.
    Brotli => brotli::DESCRIPTOR,
    /// LZMA2 without a container, by liblzma, the C library.
    Lzma => lzma::LZMA,
    /// LZMA2 in the .xz container, by liblzma, the C library.
    Xz => lzma::XZ,
    /// bzip2, translated into Rust.
    Bzip2 => bzip2::DESCRIPTOR,
}

impl Algorithm {
    /// The name that a codec spec begins with.
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// The codec of this name, exactly as [`name`](Algorithm::name) gives it.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// The levels it takes; `None` for codecs without levels.
    pub fn levels(self) -> Option<Levels> {
        self.descriptor().levels.clone()
    }

    /// The longest dictionary that it can use, in bytes; `None` for codecs that take none.
    pub fn longest_dictionary(self) -> Option<usize> {
        self.descriptor().longest_dictionary
    }

    /// What follows the tag byte of its chunks; `None` for those that are RFC 1950 streams.
    pub(crate) fn body(self) -> Option<Body> {
        self.descriptor().body
    }

    /// A codec that reads `body`, one of those that do.
    pub(crate) fn reading(body: Body) -> Algorithm {
        // Only a zstd patch is the body of no codec of its own.
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.body() == Some(body)).unwrap_or(Algorithm::Zstd)
    }

    /// Whether its chunks are RFC 1950 streams, which stock git reads.
    pub fn is_zlib_family(self) -> bool {
        self.body().is_none()
    }
}
