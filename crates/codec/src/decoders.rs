//! Which implementation reads: an axis of its own, since every RFC 1950 stream can be read by each of several.

use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::codecs::libdeflate::Libdeflate;
use crate::codecs::store::Store;
use crate::codecs::zlib::Zlib;
use crate::codecs::zlib_rs::ZlibRs;
use crate::codecs::zstd::Zstd;
use crate::codecs::{liblz4, lz4, lz4_flex, lzo, snappy};
use crate::decoder::UNUSED_LEVEL;
use crate::error::CodecError;
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

/// Which implementation reads LZ4 blocks; all of them read every block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lz4Reader {
    /// liblz4, the C library.
    #[default]
    Liblz4,
    /// lz4_flex, in its bounds-checked form.
    Lz4Flex,
}

impl Lz4Reader {
    /// A codec that reads lz4 bodies.
    pub(crate) fn new_codec(self) -> Box<dyn Codec> {
        match self {
            Lz4Reader::Liblz4 => Box::new(lz4::codec(UNUSED_LEVEL)),
            Lz4Reader::Lz4Flex => Box::new(lz4_flex::codec()),
        }
    }

    /// Decodes all of `block` into all of `payload`; `codec` names in errors what the block lies in.
    ///
    /// # Errors
    /// When the block is damaged or its payload has another length.
    pub(crate) fn decompress(self, block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
        match self {
            Lz4Reader::Liblz4 => liblz4::decompress(block, payload, None, codec),
            Lz4Reader::Lz4Flex => lz4_flex::decompress(block, payload, codec),
        }
    }
}

/// The implementation that reads each format that several can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decoders {
    /// RFC 1950 streams.
    pub zlib: ZlibReader,
    /// LZ4 blocks.
    pub lz4: Lz4Reader,
}

impl From<ZlibReader> for Decoders {
    fn from(zlib: ZlibReader) -> Self {
        Decoders { zlib, lz4: Lz4Reader::default() }
    }
}

impl Decoders {
    /// Those for a variant under `spec`: a zlib-rs variant is read by zlib-rs, a libdeflate variant by libdeflate, zlib
    /// streams in all others by stock zlib; a lz4_flex variant is read by lz4_flex, LZ4 blocks in all others by liblz4.
    pub fn for_spec(spec: &CodecSpec) -> Self {
        let zlib = match spec.algorithm() {
            Algorithm::ZlibRs => ZlibReader::ZlibRs,
            Algorithm::Libdeflate => ZlibReader::Libdeflate,
            _ => ZlibReader::Stock,
        };
        let lz4 = match spec.algorithm() {
            Algorithm::Lz4Flex => Lz4Reader::Lz4Flex,
            _ => Lz4Reader::Liblz4,
        };
        Decoders { zlib, lz4 }
    }

    /// A codec that reads tagged bodies of this kind.
    pub(crate) fn new_codec(self, body: Body) -> Box<dyn Codec> {
        match body {
            Body::Store => Box::new(Store::new()),
            Body::Zstd | Body::ZstdPatch => Box::new(Zstd::new(UNUSED_LEVEL, false)),
            Body::Lz4 => self.lz4.new_codec(),
            Body::Snappy => Box::new(snappy::codec()),
            Body::Lzo => Box::new(lzo::codec(UNUSED_LEVEL)),
        }
    }
}
