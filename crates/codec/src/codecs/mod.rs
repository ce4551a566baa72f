//! One file for each codec, and what several of them share.

pub(crate) mod block;
pub(crate) mod brotli;
pub(crate) mod bzip2;
pub(crate) mod deflate;
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
pub(crate) mod zlib;
#[cfg(feature = "zlib-ng")]
pub(crate) mod zlib_ng;
pub(crate) mod zlib_rs;
pub(crate) mod zopfli;
pub(crate) mod zstd;
pub(crate) mod zstd_frame;
pub(crate) mod zstd_prefix;
mod zstd_steps;

use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::spec::CodecChoice;

/// The codec of `choice` at its level, with its container options but without dictionary and checksum setting.
pub(crate) fn new_codec(choice: &CodecChoice) -> Box<dyn Codec> {
    let level = choice.level().unwrap_or_default();
    match choice.algorithm() {
        // The only codec with container options.
        Algorithm::Zstd => Box::new(zstd::Zstd::new(level, choice.standard_frame()).with_window(choice.window_log())),
        algorithm => (algorithm.descriptor().new)(level),
    }
}
