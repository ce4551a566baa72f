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
