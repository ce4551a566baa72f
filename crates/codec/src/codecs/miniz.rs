//! `miniz`: miniz_oxide, a DEFLATE in safe Rust.

use miniz_oxide::deflate::core::{CompressionStrategy, CompressorOxide};
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{decompress, inflate_flags};
use miniz_oxide::inflate::stream::{InflateState, ZeroReset, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus, StreamResult};

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::rfc1950::{CAPABILITIES, ZlibCodec, ZlibMachine};
use super::steps::{Deflater, Inflater, Machine, Step};
use super::wrapping::STREAM;
use crate::codec::{Capabilities, UNUSED_LEVEL};
use crate::error::{CodecError, FoundLength};

/// The facts about `miniz`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "miniz",
    levels: Some(Levels { range: 0..=10, except: None, default: 6 }),
    longest_dictionary: None,
    body: None,
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "miniz_oxide (Rust)",
    version: || env!("REPACKBENCH_MINIZ_OXIDE_VERSION").to_owned(),
    language: "Rust",
    licence: "MIT OR Zlib OR Apache-2.0",
    new: |level| Box::new(Miniz::new(level)),
    new_open_ended: Some(|| Box::new(Miniz::new(UNUSED_LEVEL))),
    new_inflater: None,
};

/// The window of zlib and git, as the base-2 logarithm of its length in bytes.
const WINDOW_BITS: u8 = 15;

/// The flags for decompressing into a buffer that holds the whole payload.
const WHOLE: u32 = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
    | inflate_flags::TINFL_FLAG_COMPUTE_ADLER32
    | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;

/// miniz_oxide at one level.
pub(crate) type Miniz = ZlibCodec<MinizLevel>;

impl Miniz {
    /// Creates a codec at `level`, which is 0 to 10. Contexts are made when first used.
    pub(crate) fn new(level: i32) -> Self {
        ZlibCodec::of(MinizLevel(u8::try_from(level).unwrap_or(u8::MAX)))
    }
}

/// The level of a compressing context. miniz_oxide treats levels above its highest as the highest.
pub(crate) struct MinizLevel(u8);

impl Machine for MinizLevel {
    const CODEC: &'static str = "miniz";
    const BODY: &'static str = STREAM;
    const CAPABILITIES: Capabilities = CAPABILITIES;
    type Deflater = Box<CompressorOxide>;
    type Inflater = Box<InflateState>;

    fn deflater(&self) -> Result<Box<CompressorOxide>, CodecError> {
        let strategy = CompressionStrategy::Default;
        Ok(Box::new(CompressorOxide::with_params(DataFormat::Zlib, self.0, strategy, WINDOW_BITS)))
    }

    fn inflater(&self) -> Result<Box<InflateState>, CodecError> {
        Ok(InflateState::new_boxed(DataFormat::Zlib))
    }
}

impl ZlibMachine for MinizLevel {
    /// Decodes directly into `payload`, whereas steps would go through a window of their own.
    fn decode(inflater: &mut Box<InflateState>, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let expected = payload.len() as u64;
        let wrong_length = |found| Err(CodecError::PayloadLength { codec: STREAM, expected, found });
        let machine = inflater.decompressor();
        machine.init();
        let (status, consumed, produced) = decompress(machine, stored, payload, 0, WHOLE);
        match status {
            TINFLStatus::Done if produced as u64 == expected => Ok(consumed),
            TINFLStatus::Done => wrong_length(FoundLength::Exactly(produced as u64)),
            TINFLStatus::HasMoreOutput => wrong_length(FoundLength::More),
            TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => {
                Err(CodecError::Truncated { codec: STREAM, available: stored.len() as u64 })
            }
            TINFLStatus::Adler32Mismatch => Err(corrupt("an incorrect Adler-32")),
            _ => Err(corrupt("damaged data")),
        }
    }
}

fn corrupt(found: &str) -> CodecError {
    CodecError::Corrupt { codec: STREAM, expected: "a valid stream", found: found.to_owned() }
}

/// What a call of miniz_oxide did. The caller notices a step without progress.
fn step(result: &StreamResult) -> Result<Step, MZError> {
    let ended = match result.status {
        Ok(status) => status == MZStatus::StreamEnd,
        Err(MZError::Buf) => false,
        Err(error) => return Err(error),
    };
    Ok(Step { consumed: result.bytes_consumed, produced: result.bytes_written, ended })
}

impl Inflater for Box<InflateState> {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        // Clear the window too: a damaged stream must not find the last payload there.
        self.reset_as(ZeroReset);
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _whole: bool) -> Result<Step, CodecError> {
        step(&inflate(self, input, output, MZFlush::None)).map_err(|_| corrupt("damaged data"))
    }
}

impl Deflater for Box<CompressorOxide> {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.reset();
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        let flush = if finish { MZFlush::Finish } else { MZFlush::None };
        step(&deflate(self, input, output, flush))
            .map_err(|error| CodecError::Implementation { codec: STREAM, message: format!("miniz_oxide: {error:?}") })
    }
}
