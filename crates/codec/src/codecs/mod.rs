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
        Algorithm::Store => Box::new(store::Store::new()),
        // Where a level is taken as unsigned, none is negative.
        Algorithm::Zlib => Box::new(zlib::Zlib::new(level.unsigned_abs())),
        Algorithm::Deflate => Box::new(deflate::RawDeflate::new(level.unsigned_abs())),
        #[cfg(feature = "zlib-ng")]
        Algorithm::ZlibNg => Box::new(zlib_ng::ZlibNg::new(level)),
        Algorithm::Miniz => Box::new(miniz::Miniz::new(level)),
        Algorithm::Sirocco => Box::new(sirocco::Sirocco::new(level)),
        Algorithm::Zopfli => Box::new(zopfli::Zopfli::new(level.unsigned_abs())),
        Algorithm::ZlibRs => Box::new(zlib_rs::ZlibRs::new(level)),
        Algorithm::Libdeflate => Box::new(libdeflate::Libdeflate::new(level)),
        Algorithm::Zstd => Box::new(zstd::Zstd::new(level, choice.standard_frame()).with_window(choice.window_log())),
        Algorithm::Lz4 => Box::new(lz4::codec(level)),
        Algorithm::Lz4hc => Box::new(lz4hc::codec(level)),
        Algorithm::Lz4Flex => Box::new(lz4_flex::codec()),
        Algorithm::Snappy => Box::new(snappy::codec()),
        Algorithm::Lzo => Box::new(lzo::codec(level)),
        Algorithm::Brotli => Box::new(brotli::Brotli::new(level.unsigned_abs())),
        Algorithm::Lzma => Box::new(lzma::Lzma::new(level.unsigned_abs())),
        Algorithm::Xz => Box::new(lzma::Xz::new(level.unsigned_abs())),
        Algorithm::Bzip2 => Box::new(bzip2::Bzip2::new(level.unsigned_abs())),
    }
}
