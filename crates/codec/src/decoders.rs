//! The choice of the implementation that decodes, which is independent of the codec: several implementations can decode
//! every RFC 1950 stream.

use std::fmt;
use std::str::FromStr;

use crate::algorithm::Algorithm;
use crate::codec::{Codec, OpenEnded, UNUSED_LEVEL};
use crate::codecs::deflate::RawDeflate;
use crate::codecs::raw_libdeflate::RawLibdeflate;
use crate::codecs::zlib::Zlib;
use crate::codecs::zlib_rs::RawZlibRs;
use crate::codecs::{liblz4, lz4_flex};
use crate::error::CodecError;
use crate::form::SharedFormat;
use crate::spec::CodecSpec;
use crate::tag::Body;

/// The implementation that decodes RFC 1950 streams. Each can decode every stream without a preset dictionary. Streams
/// with a preset dictionary (`FDICT`) are always decoded by stock zlib.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ZlibReader {
    /// Stock zlib, which stock git uses.
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
    /// libdeflate. Stock zlib decodes prefixes, and payloads above [`BLOCK_LEN`](crate::BLOCK_LEN) in pieces.
    Libdeflate,
}

/// The number of built-in readers.
const READERS: usize = if cfg!(feature = "zlib-ng") { 6 } else { 5 };

impl ZlibReader {
    /// Every built-in reader.
    pub const ALL: [ZlibReader; READERS] = [
        ZlibReader::Stock,
        #[cfg(feature = "zlib-ng")]
        ZlibReader::ZlibNg,
        ZlibReader::ZlibRs,
        ZlibReader::Miniz,
        ZlibReader::Sirocco,
        ZlibReader::Libdeflate,
    ];

    /// The codec of the implementation. The user types its name.
    fn algorithm(self) -> Algorithm {
        match self {
            ZlibReader::Stock => Algorithm::Zlib,
            #[cfg(feature = "zlib-ng")]
            ZlibReader::ZlibNg => Algorithm::ZlibNg,
            ZlibReader::ZlibRs => Algorithm::ZlibRs,
            ZlibReader::Miniz => Algorithm::Miniz,
            ZlibReader::Sirocco => Algorithm::Sirocco,
            ZlibReader::Libdeflate => Algorithm::Libdeflate,
        }
    }

    /// Makes a codec that decodes whole streams and pieces.
    pub(crate) fn new_codec(self) -> Box<dyn Codec> {
        (self.algorithm().descriptor().new)(UNUSED_LEVEL)
    }

    /// Makes a codec for payloads of unknown length: stock zlib's if the implementation has none.
    pub(crate) fn new_open_ended(self) -> Box<dyn OpenEnded> {
        match self.algorithm().descriptor().new_open_ended {
            Some(new) => new(),
            None => Box::new(Zlib::new(UNUSED_LEVEL.unsigned_abs())),
        }
    }
}

/// The implementation that decodes LZ4 blocks. Each can decode every block without a dictionary. Blocks with a
/// dictionary are always decoded by liblz4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lz4Reader {
    /// liblz4, the C library.
    #[default]
    Liblz4,
    /// lz4_flex, in its bounds-checked form.
    Lz4Flex,
}

impl Lz4Reader {
    /// Every built-in reader.
    pub const ALL: [Lz4Reader; 2] = [Lz4Reader::Liblz4, Lz4Reader::Lz4Flex];

    /// The codec of the implementation. The user types its name.
    fn algorithm(self) -> Algorithm {
        match self {
            Lz4Reader::Liblz4 => Algorithm::Lz4,
            Lz4Reader::Lz4Flex => Algorithm::Lz4Flex,
        }
    }

    /// Makes a codec that decodes lz4 bodies.
    pub(crate) fn new_codec(self) -> Box<dyn Codec> {
        (self.algorithm().descriptor().new)(UNUSED_LEVEL)
    }

    /// Decodes all of `block` into all of `payload`. `codec` is the name in errors of what contains the block.
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

/// The implementation that decodes tagged DEFLATE bodies. Each can decode every body without a dictionary. Bodies with
/// a dictionary are always decoded by stock zlib.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeflateReader {
    /// Stock zlib.
    #[default]
    Stock,
    /// zlib-rs.
    ZlibRs,
    /// libdeflate. Stock zlib decodes prefixes and payloads in pieces. In damaged streams libdeflate takes the two length codes
    /// that RFC 1951 reserves for the longest one, where the others find an error.
    Libdeflate,
}

impl DeflateReader {
    /// Every built-in reader.
    pub const ALL: [DeflateReader; 3] = [DeflateReader::Stock, DeflateReader::ZlibRs, DeflateReader::Libdeflate];

    /// The codec of the implementation. The user types its name.
    fn algorithm(self) -> Algorithm {
        match self {
            DeflateReader::Stock => Algorithm::Zlib,
            DeflateReader::ZlibRs => Algorithm::ZlibRs,
            DeflateReader::Libdeflate => Algorithm::Libdeflate,
        }
    }

    /// Makes a codec that decodes deflate bodies.
    pub(crate) fn new_codec(self) -> Box<dyn Codec> {
        match self {
            DeflateReader::Stock => Box::new(RawDeflate::new(UNUSED_LEVEL.unsigned_abs())),
            DeflateReader::ZlibRs => Box::new(RawZlibRs::new(UNUSED_LEVEL)),
            DeflateReader::Libdeflate => Box::new(RawLibdeflate::new(UNUSED_LEVEL.unsigned_abs())),
        }
    }
}

/// The implementation that decodes each format that several implementations can decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decoders {
    /// Decodes RFC 1950 streams.
    pub zlib: ZlibReader,
    /// Decodes tagged DEFLATE bodies.
    pub deflate: DeflateReader,
    /// Decodes LZ4 blocks.
    pub lz4: Lz4Reader,
}

impl From<ZlibReader> for Decoders {
    fn from(zlib: ZlibReader) -> Self {
        Decoders { zlib, ..Decoders::default() }
    }
}

impl Decoders {
    /// The decoders for a variant with `spec`. The implementation that wrote zlib streams decodes them. Stock zlib
    /// decodes those of zopfli, which has no decoder, and those in variants with other codecs. lz4_flex decodes LZ4
    /// blocks in an lz4_flex variant, and liblz4 decodes those in all others.
    pub fn for_spec(spec: &CodecSpec) -> Self {
        let zlib = ZlibReader::ALL.into_iter().find(|reader| reader.algorithm() == spec.algorithm());
        let lz4 = Lz4Reader::ALL.into_iter().find(|reader| reader.algorithm() == spec.algorithm());
        let (zlib, lz4) = (zlib.unwrap_or_default(), lz4.unwrap_or_default());
        Decoders { zlib, lz4, ..Decoders::default() }
    }

    /// One for each implementation that decodes `stored`, a chunk of a pack or a revlog: they must agree, but for damage that
    /// [`DeflateReader::Libdeflate`] takes.
    pub fn all_for(stored: &[u8]) -> Vec<Self> {
        let none = Decoders::default();
        match SharedFormat::of_chunk(stored).or(SharedFormat::of_revlog_chunk(stored)) {
            Some(SharedFormat::Zlib) => ZlibReader::ALL.map(Decoders::from).to_vec(),
            Some(SharedFormat::Deflate) => DeflateReader::ALL.map(|deflate| Decoders { deflate, ..none }).to_vec(),
            Some(SharedFormat::Lz4) => Lz4Reader::ALL.map(|lz4| Decoders { lz4, ..none }).to_vec(),
            None => vec![none],
        }
    }

    /// Makes a codec that decodes tagged bodies of this kind.
    pub(crate) fn new_codec(self, body: Body) -> Box<dyn Codec> {
        match body {
            Body::Lz4 => self.lz4.new_codec(),
            Body::Deflate => self.deflate.new_codec(),
            body => (Algorithm::reading(body).descriptor().new)(UNUSED_LEVEL),
        }
    }
}

/// The user's choice of the implementation that decodes one format. The user types it as `zlib=libdeflate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecoderChoice {
    /// Decodes RFC 1950 streams.
    Zlib(ZlibReader),
    /// Decodes tagged DEFLATE bodies.
    Deflate(DeflateReader),
    /// Decodes LZ4 blocks.
    Lz4(Lz4Reader),
}

impl DecoderChoice {
    /// The format that the choice is for.
    pub fn format(self) -> SharedFormat {
        match self {
            DecoderChoice::Zlib(_) => SharedFormat::Zlib,
            DecoderChoice::Deflate(_) => SharedFormat::Deflate,
            DecoderChoice::Lz4(_) => SharedFormat::Lz4,
        }
    }

    /// The codec whose decoder is chosen.
    pub fn algorithm(self) -> Algorithm {
        match self {
            DecoderChoice::Zlib(reader) => reader.algorithm(),
            DecoderChoice::Deflate(reader) => reader.algorithm(),
            DecoderChoice::Lz4(reader) => reader.algorithm(),
        }
    }

    /// Returns `decoders` with this choice applied.
    pub fn apply(self, decoders: Decoders) -> Decoders {
        match self {
            DecoderChoice::Zlib(zlib) => Decoders { zlib, ..decoders },
            DecoderChoice::Deflate(deflate) => Decoders { deflate, ..decoders },
            DecoderChoice::Lz4(lz4) => Decoders { lz4, ..decoders },
        }
    }

    /// Every choice for `format`.
    fn all(format: SharedFormat) -> Vec<DecoderChoice> {
        match format {
            SharedFormat::Zlib => ZlibReader::ALL.map(DecoderChoice::Zlib).to_vec(),
            SharedFormat::Deflate => DeflateReader::ALL.map(DecoderChoice::Deflate).to_vec(),
            SharedFormat::Lz4 => Lz4Reader::ALL.map(DecoderChoice::Lz4).to_vec(),
        }
    }

    fn parse(format: SharedFormat, name: &str) -> Result<Self, DecoderError> {
        let found = DecoderChoice::all(format).into_iter().find(|choice| choice.algorithm().name() == name);
        found.ok_or_else(|| DecoderError::Implementation { format, found: name.to_owned() })
    }
}

impl fmt::Display for DecoderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.format().name(), self.algorithm().name())
    }
}

impl FromStr for DecoderChoice {
    type Err = DecoderError;

    fn from_str(typed: &str) -> Result<Self, DecoderError> {
        let (format, name) = typed.split_once('=').ok_or_else(|| DecoderError::NoFormat { found: typed.to_owned() })?;
        DecoderChoice::parse(parse_format(format)?, name)
    }
}

fn parse_format(typed: &str) -> Result<SharedFormat, DecoderError> {
    let found = SharedFormat::ALL.into_iter().find(|format| format.name() == typed);
    found.ok_or_else(|| DecoderError::Format { found: typed.to_owned() })
}

/// Several choices in one argument, such as `zlib=libdeflate,zlib-rs` or `zlib=libdeflate,lz4=lz4_flex`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecoderChoices(Vec<DecoderChoice>);

impl DecoderChoices {
    /// The choices in the order in which they were typed.
    pub fn choices(&self) -> &[DecoderChoice] {
        &self.0
    }
}

impl fmt::Display for DecoderChoices {
    /// Repeats the format only where it changes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut format = None;
        for choice in &self.0 {
            let comma = if format.is_some() { "," } else { "" };
            match format.replace(choice.format()) == Some(choice.format()) {
                true => write!(f, "{comma}{}", choice.algorithm().name())?,
                false => write!(f, "{comma}{choice}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for DecoderChoices {
    type Err = DecoderError;

    fn from_str(typed: &str) -> Result<Self, DecoderError> {
        let mut format = None;
        let mut choices = Vec::new();
        for part in typed.split(',') {
            let name = match part.split_once('=') {
                Some((typed, name)) => {
                    format = Some(parse_format(typed)?);
                    name
                }
                None => part,
            };
            let format = format.ok_or_else(|| DecoderError::NoFormat { found: part.to_owned() })?;
            choices.push(DecoderChoice::parse(format, name)?);
        }
        Ok(DecoderChoices(choices))
    }
}

/// Why the text of a choice of decoders is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecoderError {
    /// The text names no format.
    #[error("expected FORMAT=IMPLEMENTATION, such as zlib=libdeflate, found {found:?}")]
    NoFormat {
        /// What was typed.
        found: String,
    },
    /// No format that several implementations decode has this name.
    #[error("expected a format with several decoders ({}), found {found:?}", formats())]
    Format {
        /// What was typed.
        found: String,
    },
    /// No implementation that decodes the format has this name.
    #[error("expected an implementation that decodes {} ({}), found {found:?}", format.description(), implementations(*format))]
    Implementation {
        /// The format.
        format: SharedFormat,
        /// What was typed.
        found: String,
    },
}

fn formats() -> String {
    one_of(SharedFormat::ALL.map(SharedFormat::name).to_vec())
}

fn implementations(format: SharedFormat) -> String {
    one_of(DecoderChoice::all(format).into_iter().map(|choice| choice.algorithm().name()).collect())
}

/// Formats names as `a, b or c`.
fn one_of(names: Vec<&str>) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_round_trip_as_text() {
        for format in SharedFormat::ALL {
            for choice in DecoderChoice::all(format) {
                assert_eq!(choice.to_string().parse(), Ok(choice));
                assert_eq!(choice.format(), format);
            }
        }
        assert_eq!("zlib=libdeflate".parse(), Ok(DecoderChoice::Zlib(ZlibReader::Libdeflate)));
        assert_eq!("lz4=lz4".parse(), Ok(DecoderChoice::Lz4(Lz4Reader::Liblz4)));
    }

    #[test]
    fn lists_repeat_the_format_only_where_it_changes() {
        let typed = "zlib=libdeflate,zlib-rs,lz4=lz4_flex,lz4";
        let choices: DecoderChoices = typed.parse().unwrap();
        assert_eq!(choices.choices().len(), 4);
        assert_eq!(choices.to_string(), typed);
        assert_eq!("zlib=zlib,zlib=miniz".parse::<DecoderChoices>().unwrap().to_string(), "zlib=zlib,miniz");
    }

    #[test]
    fn errors_list_valid_names() {
        let message = |typed: &str| typed.parse::<DecoderChoices>().unwrap_err().to_string();
        assert!(message("libdeflate").starts_with("expected FORMAT=IMPLEMENTATION"));
        assert!(message("").starts_with("expected FORMAT=IMPLEMENTATION"));
        assert_eq!(
            message("zstd=libdeflate"),
            "expected a format with several decoders (zlib, deflate or lz4), found \"zstd\""
        );
        assert_eq!(
            message("lz4=lz4_flex,liblz4"),
            "expected an implementation that decodes LZ4 blocks (lz4 or lz4_flex), found \"liblz4\""
        );
        let zlib = message("zlib=zopfli");
        for reader in ZlibReader::ALL {
            assert!(zlib.contains(reader.algorithm().name()), "{zlib}");
        }
        assert!("zlib=zlib,zlib-rs".parse::<DecoderChoice>().is_err(), "one choice is no list");
    }

    #[test]
    fn choice_changes_only_its_format() {
        let flex = Decoders { lz4: Lz4Reader::Lz4Flex, ..Decoders::default() };
        let changed = DecoderChoice::Zlib(ZlibReader::Miniz).apply(flex);
        assert_eq!(changed, Decoders { zlib: ZlibReader::Miniz, lz4: Lz4Reader::Lz4Flex, ..Decoders::default() });
    }
}
