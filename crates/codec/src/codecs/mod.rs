//! One file per codec, and the parts that several codecs share.
//!
//! | shared by | modules |
//! |---|---|
//! | all | `descriptor` |
//! | block codecs: `lz4`, `lz4hc`, `lz4_flex`, `snappy`, `lzo` | `block`, `lz4_block`, `liblz4`, `lzo1x` |
//! | codecs that work in steps | `steps` |
//! | tagged streams: `deflate`, `brotli`, `lzma`, `xz`, `bzip2` | `stream` |
//! | RFC 1950 streams: the zlib family | `rfc1950`, `wrapping` |

pub(crate) mod block;
pub(crate) mod brotli;
pub(crate) mod bzip2;
pub(crate) mod deflate;
pub(crate) mod descriptor;
pub(crate) mod libdeflate;
pub(crate) mod liblz4;
pub(crate) mod lz4;
pub(crate) mod lz4_block;
pub(crate) mod lz4_flex;
pub(crate) mod lz4hc;
pub(crate) mod lzma;
pub(crate) mod lzo;
mod lzo1x;
pub(crate) mod miniz;
pub(crate) mod raw_libdeflate;
pub(crate) mod rfc1950;
pub(crate) mod sirocco;
pub(crate) mod snappy;
pub(crate) mod steps;
pub(crate) mod store;
pub(crate) mod stream;
mod wrapping;
pub(crate) mod zlib;
#[cfg(feature = "zlib-ng")]
pub(crate) mod zlib_ng;
pub(crate) mod zlib_rs;
pub(crate) mod zopfli;
pub(crate) mod zstd;
