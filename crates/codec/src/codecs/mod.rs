//! One file for each codec, and what several of them share.

pub(crate) mod libdeflate;
pub(crate) mod lz4;
pub(crate) mod lz4_block;
pub(crate) mod lz4hc;
mod rfc1950;
pub(crate) mod store;
pub(crate) mod zlib;
pub(crate) mod zlib_rs;
pub(crate) mod zstd;
pub(crate) mod zstd_frame;
