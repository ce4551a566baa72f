//! `zlib`: stock C zlib, statically linked, through flate2. The baseline of every comparison.

use std::ffi::CStr;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::rfc1950::{ZlibCodec, ZlibMachine};
use super::steps::{Deflater, Inflater, Machine, Pieces, Step, added};
use super::wrapping::{STREAM, Wrapping};
use crate::codec::{Capabilities, UNUSED_LEVEL};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, reserve_chunk};

/// The facts about `zlib`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "zlib",
    levels: Some(Levels { range: 0..=9, except: None, default: 6 }),
    // The longest distance of a DEFLATE match.
    longest_dictionary: Some(32 << 10),
    body: None,
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "stock zlib (C, linked statically)",
    version,
    language: "C",
    licence: "Zlib",
    new: |level| Box::new(Zlib::new(level.unsigned_abs())),
    new_open_ended: Some(|| Box::new(Zlib::new(UNUSED_LEVEL.unsigned_abs()))),
    new_inflater: None,
};

/// The capabilities of stock zlib.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: true, streams: true, partial_decode: true, dictionaries: true };

/// The longest dictionary, in bytes: DEFLATE's window.
const LONGEST_DICTIONARY: usize = 32 << 10;

/// The version that the linked library reports.
#[allow(unsafe_code)]
pub(crate) fn version() -> String {
    // SAFETY: the function takes nothing and returns a pointer to a static NUL-terminated string.
    let version = unsafe { CStr::from_ptr(libz_sys::zlibVersion()) };
    version.to_string_lossy().into_owned()
}

/// Stock zlib at one level.
pub(crate) type Zlib = ZlibCodec<StockZlib>;

impl Zlib {
    /// Creates a codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: u32) -> Self {
        ZlibCodec::of(StockZlib { level, dictionary: None })
    }
}

/// The level and the dictionary of stock zlib's contexts.
pub(crate) struct StockZlib {
    level: u32,
    dictionary: Option<Dictionary>,
}

impl Machine for StockZlib {
    const CODEC: &'static str = "zlib";
    const BODY: &'static str = STREAM;
    const CAPABILITIES: Capabilities = CAPABILITIES;
    type Deflater = StockDeflater;
    type Inflater = StockInflater;

    fn deflater(&self) -> Result<StockDeflater, CodecError> {
        Ok(StockDeflater::new(self.level, Wrapping::Zlib, self.dictionary.clone()))
    }

    fn inflater(&self) -> Result<StockInflater, CodecError> {
        Ok(StockInflater::new(Wrapping::Zlib, self.dictionary.clone()))
    }

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        self.dictionary = usable_dictionary(dictionary, Self::CODEC)?;
        Ok(())
    }
}

impl ZlibMachine for StockZlib {
    fn encode(
        deflater: &mut StockDeflater,
        payload: &[u8],
        _pieces: &mut Pieces,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        deflater.restart(payload.len() as u64)?;
        let mut consumed = 0;
        loop {
            let rest = payload.get(consumed..).unwrap_or_default();
            reserve_chunk(out, bound(rest.len()))?;
            let compress = &mut deflater.compress;
            let before = compress.total_in();
            let status = compress.compress_vec(rest, out, FlushCompress::Finish);
            consumed += added(before, compress.total_in());
            if status.map_err(|error| deflater.failed(&error))? == Status::StreamEnd {
                return Ok(());
            }
        }
    }
}

/// The maximum length of the stream of `payload_len` bytes: zlib's own `compressBound`, plus four bytes for the
/// Adler-32 of a dictionary.
///
/// The stream does not depend on the output room if there is at least this much. With less room, the block lengths of
/// level 0 would depend on it.
fn bound(payload_len: usize) -> usize {
    payload_len + (payload_len >> 12) + (payload_len >> 14) + (payload_len >> 25) + 13 + 4
}

/// Returns `dictionary` if DEFLATE can refer to all of it.
pub(super) fn usable_dictionary(
    dictionary: Option<&Dictionary>,
    codec: &'static str,
) -> Result<Option<Dictionary>, CodecError> {
    match dictionary.map(|dictionary| dictionary.bytes().len()) {
        None | Some(1..=LONGEST_DICTIONARY) => Ok(dictionary.cloned()),
        Some(length) => Err(CodecError::BadDictionary { codec, length }),
    }
}

/// The methods that the library of the codec `$name` lacks: the codec of stock zlib in the field `$stock` has them for
/// the same format. The codec takes no dictionaries.
macro_rules! by_stock_zlib {
    ($name:literal, $stock:ident) => {
        fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
            self.$stock.decode_prefix_from(stored, prefix)
        }

        fn encode_stream(
            &mut self,
            payload: &mut dyn Read,
            payload_len: u64,
            stored: &mut dyn Write,
        ) -> Result<u64, CodecError> {
            self.$stock.encode_stream(payload, payload_len, stored)
        }

        fn decode_stream(
            &mut self,
            stored: &mut dyn BufRead,
            payload_len: u64,
            sink: &mut PayloadSink<'_>,
        ) -> Result<u64, CodecError> {
            self.$stock.decode_stream(stored, payload_len, sink)
        }

        fn set_dictionary(&mut self, _dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
            Err(CodecError::NoDictionaries { codec: $name })
        }
    };
}
pub(super) use by_stock_zlib;

/// Stock zlib's compressing context.
pub(crate) struct StockDeflater {
    compress: Compress,
    wrapping: Wrapping,
    dictionary: Option<Dictionary>,
}

impl StockDeflater {
    pub(super) fn new(level: u32, wrapping: Wrapping, dictionary: Option<Dictionary>) -> Self {
        let compress = Compress::new(Compression::new(level), wrapping == Wrapping::Zlib);
        StockDeflater { compress, wrapping, dictionary }
    }

    fn failed(&self, error: &flate2::CompressError) -> CodecError {
        CodecError::Implementation { codec: self.wrapping.name(), message: error.to_string() }
    }
}

impl Deflater for StockDeflater {
    /// zlib has no prepared dictionaries: it hashes the dictionary again for each stream.
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.compress.reset();
        if let Some(dictionary) = &self.dictionary {
            self.compress.set_dictionary(dictionary.bytes()).map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        let compress = &mut self.compress;
        let (taken, given) = (compress.total_in(), compress.total_out());
        let flush = if finish { FlushCompress::Finish } else { FlushCompress::None };
        let status = compress.compress(input, output, flush).map_err(|error| self.failed(&error))?;
        Ok(Step {
            consumed: added(taken, self.compress.total_in()),
            produced: added(given, self.compress.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}

/// Stock zlib's decompressing context.
pub(crate) struct StockInflater {
    decompress: Decompress,
    wrapping: Wrapping,
    dictionary: Option<Dictionary>,
}

impl StockInflater {
    pub(super) fn new(wrapping: Wrapping, dictionary: Option<Dictionary>) -> Self {
        StockInflater { decompress: Decompress::new(wrapping == Wrapping::Zlib), wrapping, dictionary }
    }

    fn corrupt(&self, error: &flate2::DecompressError) -> CodecError {
        CodecError::Corrupt {
            codec: self.wrapping.name(),
            expected: "a valid stream",
            found: error.message().unwrap_or("damaged data").to_owned(),
        }
    }

    /// Sets the dictionary that the stream requests by its Adler-32, `id`.
    fn give_dictionary(&mut self, id: u32) -> Result<(), CodecError> {
        let codec = self.wrapping.name();
        let dictionary = self.dictionary.as_ref().ok_or(CodecError::DictionaryNeeded { codec, id })?;
        let given = self.decompress.set_dictionary(dictionary.bytes());
        given.map(drop).map_err(|_| CodecError::OtherDictionaryNeeded { codec, id })
    }
}

impl Inflater for StockInflater {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.decompress.reset(self.wrapping == Wrapping::Zlib);
        match &self.dictionary {
            Some(dictionary) if self.wrapping == Wrapping::None => {
                let given = self.decompress.set_dictionary(dictionary.bytes());
                given.map(drop).map_err(|error| self.corrupt(&error))
            }
            _ => Ok(()),
        }
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], whole: bool) -> Result<Step, CodecError> {
        let (taken, given) = (self.decompress.total_in(), self.decompress.total_out());
        let flush = if whole { FlushDecompress::Finish } else { FlushDecompress::None };
        let mut result = self.decompress.decompress(input, output, flush);
        if let Err(error) = &result
            && let Some(id) = error.needs_dictionary()
        {
            self.give_dictionary(id)?;
            let rest = input.get(added(taken, self.decompress.total_in())..).unwrap_or_default();
            result = self.decompress.decompress(rest, output, flush);
        }
        let status = result.map_err(|error| self.corrupt(&error))?;
        Ok(Step {
            consumed: added(taken, self.decompress.total_in()),
            produced: added(given, self.decompress.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}
