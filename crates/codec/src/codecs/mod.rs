//! One file for each codec, and what several of them share.

pub(crate) mod block;
pub(crate) mod libdeflate;
pub(crate) mod liblz4;
pub(crate) mod lz4;
pub(crate) mod lz4_block;
pub(crate) mod lz4_flex;
pub(crate) mod lz4hc;
pub(crate) mod lzo;
mod lzo1x;
mod rfc1950;
pub(crate) mod snappy;
pub(crate) mod store;
pub(crate) mod zlib;
pub(crate) mod zlib_rs;
pub(crate) mod zstd;
pub(crate) mod zstd_frame;

use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::spec::CodecChoice;

/// The codec of `choice` at its level, with its container options but without dictionary and checksum setting.
pub(crate) fn new_codec(choice: &CodecChoice) -> Box<dyn Codec> {
    let level = choice.level().unwrap_or_default();
    match choice.algorithm() {
        Algorithm::Store => Box::new(store::Store::new()),
        // The levels of zlib and zlib-rs are not negative.
        Algorithm::Zlib => Box::new(zlib::Zlib::new(level.unsigned_abs())),
        Algorithm::ZlibRs => Box::new(zlib_rs::ZlibRs::new(level)),
        Algorithm::Libdeflate => Box::new(libdeflate::Libdeflate::new(level)),
        Algorithm::Zstd => Box::new(zstd::Zstd::new(level, choice.standard_frame()).with_window(choice.window_log())),
        Algorithm::Lz4 => Box::new(lz4::codec(level)),
        Algorithm::Lz4hc => Box::new(lz4hc::codec(level)),
        Algorithm::Lz4Flex => Box::new(lz4_flex::codec()),
        Algorithm::Snappy => Box::new(snappy::codec()),
        Algorithm::Lzo => Box::new(lzo::codec(level)),
    }
}
