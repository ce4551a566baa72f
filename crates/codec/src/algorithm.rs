//! The registry of the codecs in [`crate::codecs`].

use crate::codecs::descriptor::{CodecDescriptor, Levels};
#[cfg(feature = "zlib-ng")]
use crate::codecs::zlib_ng;
use crate::codecs::{
    brotli, bzip2, deflate, libdeflate, lz4, lz4_flex, lz4hc, lzma, lzo, miniz, sirocco, snappy, store, zlib, zlib_rs,
    zopfli, zstd,
};
use crate::tag::Body;

/// Defines the enum of codecs, the list of all codecs, and the function from a codec to its descriptor.
macro_rules! codecs {
    ($($(#[doc = $doc:expr])+ $(#[cfg($condition:meta)])? $name:ident => $descriptor:path,)+) => {
        /// A codec: an algorithm with its implementation, without level and options.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Algorithm {
            $($(#[doc = $doc])+ $(#[cfg($condition)])? $name,)+
        }

        impl Algorithm {
            /// Every codec, in the order in which the user sees them.
            pub const ALL: [Algorithm; [$($(#[cfg($condition)])? stringify!($name)),+].len()] =
                [$($(#[cfg($condition)])? Algorithm::$name),+];

            /// All facts about the codec.
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
    /// Raw DEFLATE by stock zlib, in a tagged body: `zlib` without the RFC 1950 wrapper.
    Deflate => deflate::DESCRIPTOR,
    /// zlib-ng, a faster zlib in C. Only with the feature `zlib-ng`, because its build needs cmake.
    #[cfg(feature = "zlib-ng")]
    ZlibNg => zlib_ng::DESCRIPTOR,
    /// zlib-rs, a zlib written in Rust.
    ZlibRs => zlib_rs::DESCRIPTOR,
    /// miniz_oxide, a DEFLATE in safe Rust.
    Miniz => miniz::DESCRIPTOR,
    /// sirocco, a DEFLATE in Rust that follows the design of libdeflate.
    Sirocco => sirocco::DESCRIPTOR,
    /// libdeflate, a C library that encodes and decodes whole buffers.
    Libdeflate => libdeflate::DESCRIPTOR,
    /// zopfli, which searches a long time for the shortest stream. Its level is the number of iterations.
    Zopfli => zopfli::DESCRIPTOR,
    /// Zstandard, the C library.
    Zstd => zstd::DESCRIPTOR,
    /// LZ4 blocks by liblz4, the C library, in its fast mode.
    Lz4 => lz4::DESCRIPTOR,
    /// LZ4 blocks by liblz4 in its high compression modes. They are read like those of `lz4`.
    Lz4hc => lz4hc::DESCRIPTOR,
    /// LZ4 blocks by lz4_flex, an implementation in Rust that has only a fast mode.
    Lz4Flex => lz4_flex::DESCRIPTOR,
    /// Snappy blocks by snap, an implementation in Rust.
    Snappy => snappy::DESCRIPTOR,
    /// LZO1X streams by our own implementation, at the levels of lzop.
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
    /// The name at the start of a codec spec.
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// The codec of this name, exactly as [`name`](Algorithm::name) gives it.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// The levels of the codec; `None` if it has none.
    pub fn levels(self) -> Option<Levels> {
        self.descriptor().levels.clone()
    }

    /// The longest dictionary that the codec can use, in bytes; `None` if it takes no dictionaries.
    pub fn longest_dictionary(self) -> Option<usize> {
        self.descriptor().longest_dictionary
    }

    /// The body that follows the tag byte of its chunks; `None` if its chunks are RFC 1950 streams.
    pub(crate) fn body(self) -> Option<Body> {
        self.descriptor().body
    }

    /// The first codec that can read `body`.
    pub(crate) fn reading(body: Body) -> Algorithm {
        // A zstd patch is the only body that is not listed as that of a codec.
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.body() == Some(body)).unwrap_or(Algorithm::Zstd)
    }

    /// Whether stock hg reads its chunks.
    pub(crate) fn is_read_by_hg(self) -> bool {
        self.descriptor().is_read_by_hg
    }

    /// Whether the chunks of the codec are RFC 1950 streams, which stock git reads.
    pub fn is_zlib_family(self) -> bool {
        self.body().is_none()
    }
}
