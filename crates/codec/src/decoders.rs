//! Which implementation reads: an axis of its own, since every RFC 1950 stream can be read by each of several.

use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::codecs::brotli::Brotli;
use crate::codecs::bzip2::Bzip2;
use crate::codecs::deflate::RawDeflate;
use crate::codecs::libdeflate::Libdeflate;
use crate::codecs::lzma::{Lzma, Xz};
use crate::codecs::miniz::Miniz;
use crate::codecs::sirocco::Sirocco;
use crate::codecs::store::Store;
use crate::codecs::zlib::Zlib;
#[cfg(feature = "zlib-ng")]
use crate::codecs::zlib_ng::ZlibNg;
use crate::codecs::zlib_rs::ZlibRs;
use crate::codecs::zstd::Zstd;
use crate::codecs::{liblz4, lz4, lz4_flex, lzo, snappy};
use crate::decoder::UNUSED_LEVEL;
use crate::error::CodecError;
use crate::revlog::OpenEnded;
use crate::spec::CodecSpec;
use crate::tag::{Body, Tag};

/// Which implementation reads RFC 1950 streams; all of them read every stream without a preset dictionary. One with a
/// dictionary (`FDICT`) is for stock zlib, whatever the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ZlibReader {
    /// Stock zlib, as stock git reads.
    #[default]
    Stock,
    /// zlib-ng; only with the feature `zlib-ng`.
    #[cfg(feature = "zlib-ng")]
    ZlibNg,
    /// zlib-rs.
    ZlibRs,
    /// miniz_oxide.
    Miniz,
    /// sirocco.
    Sirocco,
    /// libdeflate; prefixes and payloads above [`BLOCK_LEN`](crate::BLOCK_LEN) in pieces are read by stock zlib.
    Libdeflate,
}

/// How many readers are built in.
const READERS: usize = if cfg!(feature = "zlib-ng") { 6 } else { 5 };

impl ZlibReader {
    /// Every reader that is built in.
    pub const ALL: [ZlibReader; READERS] = [
        ZlibReader::Stock,
        #[cfg(feature = "zlib-ng")]
        ZlibReader::ZlibNg,
        ZlibReader::ZlibRs,
        ZlibReader::Miniz,
        ZlibReader::Sirocco,
        ZlibReader::Libdeflate,
    ];

    /// A codec that reads whole streams and pieces.
    pub(crate) fn new_codec(self) -> Box<dyn Codec> {
        match self {
            ZlibReader::Stock => Box::new(Zlib::new(UNUSED_LEVEL.unsigned_abs())),
            #[cfg(feature = "zlib-ng")]
            ZlibReader::ZlibNg => Box::new(ZlibNg::new(UNUSED_LEVEL)),
            ZlibReader::ZlibRs => Box::new(ZlibRs::new(UNUSED_LEVEL)),
            ZlibReader::Miniz => Box::new(Miniz::new(UNUSED_LEVEL)),
            ZlibReader::Sirocco => Box::new(Sirocco::new(UNUSED_LEVEL)),
            ZlibReader::Libdeflate => Box::new(Libdeflate::new(UNUSED_LEVEL)),
        }
    }

    /// The same for payloads whose length nobody knows.
    pub(crate) fn new_open_ended(self) -> Box<dyn OpenEnded> {
        match self {
            ZlibReader::Stock => Box::new(Zlib::new(UNUSED_LEVEL.unsigned_abs())),
            #[cfg(feature = "zlib-ng")]
            ZlibReader::ZlibNg => Box::new(ZlibNg::new(UNUSED_LEVEL)),
            ZlibReader::ZlibRs => Box::new(ZlibRs::new(UNUSED_LEVEL)),
            ZlibReader::Miniz => Box::new(Miniz::new(UNUSED_LEVEL)),
            ZlibReader::Sirocco => Box::new(Sirocco::new(UNUSED_LEVEL)),
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
    /// Those for a variant under `spec`: its zlib streams are read by the implementation that wrote them, those of zopfli,
    /// which has no decoder, and those in variants of other codecs by stock zlib; a lz4_flex variant is read by lz4_flex, LZ4
    /// blocks in all others by liblz4.
    pub fn for_spec(spec: &CodecSpec) -> Self {
        let zlib = match spec.algorithm() {
            #[cfg(feature = "zlib-ng")]
            Algorithm::ZlibNg => ZlibReader::ZlibNg,
            Algorithm::ZlibRs => ZlibReader::ZlibRs,
            Algorithm::Miniz => ZlibReader::Miniz,
            Algorithm::Sirocco => ZlibReader::Sirocco,
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
            Body::Brotli => Box::new(Brotli::new(UNUSED_LEVEL.unsigned_abs())),
            Body::Lzma => Box::new(Lzma::new(UNUSED_LEVEL.unsigned_abs())),
            Body::Xz => Box::new(Xz::new(UNUSED_LEVEL.unsigned_abs())),
            Body::Bzip2 => Box::new(Bzip2::new(UNUSED_LEVEL.unsigned_abs())),
            Body::Deflate => Box::new(RawDeflate::new(UNUSED_LEVEL.unsigned_abs())),
        }
    }
}

/// How many bodies a tag byte can tell apart.
const BODY_NUMBERS: usize = 16;

/// The codec of each tagged body, by the body's number, made when first needed.
#[derive(Default)]
pub(crate) struct BodyCodecs([Option<Box<dyn Codec>>; BODY_NUMBERS]);

impl BodyCodecs {
    /// The codec that reads what follows `tag`.
    pub(crate) fn codec_for(&mut self, decoders: Decoders, tag: Tag) -> &mut dyn Codec {
        #[allow(clippy::indexing_slicing, reason = "a nibble is below the number of bodies")]
        let slot = &mut self.0[usize::from(tag.body.nibble()) % BODY_NUMBERS];
        let codec = slot.get_or_insert_with(|| decoders.new_codec(tag.body)).as_mut();
        codec.set_checksum(tag.checksum);
        codec
    }
}
