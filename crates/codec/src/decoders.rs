//! Which implementation reads: an axis of its own, since every RFC 1950 stream can be read by each of several.

use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::codecs::libdeflate::Libdeflate;
use crate::codecs::lz4::Lz4;
use crate::codecs::store::Store;
use crate::codecs::zlib::Zlib;
use crate::codecs::zlib_rs::ZlibRs;
use crate::codecs::zstd::Zstd;
use crate::decoder::UNUSED_LEVEL;
use crate::revlog::OpenEnded;
use crate::spec::CodecSpec;
use crate::tag::Body;

/// Which implementation reads RFC 1950 streams; all of them read every stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ZlibReader {
    /// Stock zlib, as stock git reads.
    #[default]
    Stock,
    /// zlib-rs.
    ZlibRs,
    /// libdeflate; prefixes and payloads above [`BLOCK_LEN`](crate::BLOCK_LEN) in pieces are read by stock zlib.
    Libdeflate,
}

impl ZlibReader {
    /// A codec that reads whole streams and pieces.
    pub(crate) fn new_codec(self) -> Box<dyn Codec> {
        match self {
            ZlibReader::Stock => Box::new(Zlib::new(UNUSED_LEVEL.unsigned_abs())),
            ZlibReader::ZlibRs => Box::new(ZlibRs::new(UNUSED_LEVEL)),
            ZlibReader::Libdeflate => Box::new(Libdeflate::new(UNUSED_LEVEL)),
        }
    }

    /// The same for payloads whose length nobody knows.
    pub(crate) fn new_open_ended(self) -> Box<dyn OpenEnded> {
        match self {
            ZlibReader::Stock => Box::new(Zlib::new(UNUSED_LEVEL.unsigned_abs())),
            ZlibReader::ZlibRs => Box::new(ZlibRs::new(UNUSED_LEVEL)),
            ZlibReader::Libdeflate => Box::new(Libdeflate::new(UNUSED_LEVEL)),
        }
    }
}

/// The implementation that reads each format that several can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decoders {
    /// RFC 1950 streams.
    pub zlib: ZlibReader,
}

impl From<ZlibReader> for Decoders {
    fn from(zlib: ZlibReader) -> Self {
        Decoders { zlib }
    }
}

impl Decoders {
    /// Those for a variant under `spec`: a zlib-rs variant is read by zlib-rs, a libdeflate variant by libdeflate, zlib
    /// streams in all others by stock zlib.
    pub fn for_spec(spec: &CodecSpec) -> Self {
        let zlib = match spec.algorithm() {
            Algorithm::ZlibRs => ZlibReader::ZlibRs,
            Algorithm::Libdeflate => ZlibReader::Libdeflate,
            Algorithm::Store | Algorithm::Zlib | Algorithm::Zstd | Algorithm::Lz4 | Algorithm::Lz4hc => {
                ZlibReader::Stock
            }
        };
        Decoders { zlib }
    }

    /// A codec that reads tagged bodies of this kind.
    pub(crate) fn new_codec(self, body: Body) -> Box<dyn Codec> {
        match body {
            Body::Store => Box::new(Store::new()),
            Body::Zstd | Body::ZstdPatch => Box::new(Zstd::new(UNUSED_LEVEL, false)),
            Body::Lz4 => Box::new(Lz4::fast()),
        }
    }
}
