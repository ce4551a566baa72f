//! `zlib-rs`: a zlib in Rust.

use zlib_rs::{Deflate, DeflateFlush, Inflate, InflateError, InflateFlush, Status};

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::rfc1950::{CAPABILITIES, ZlibCodec, ZlibMachine};
use super::steps::{Deflater, Inflater, Machine, Step, added};
use super::stream::{STREAMING, StreamCodec};
use super::wrapping::{DEFLATE_BODY, STREAM};
use crate::codec::{Capabilities, UNUSED_LEVEL};
use crate::error::CodecError;

/// The facts about `zlib-rs`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "zlib-rs",
    levels: Some(Levels { range: 0..=9, except: None, default: 6 }),
    longest_dictionary: None,
    body: None,
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "zlib-rs (Rust)",
    version: || env!("REPACKBENCH_ZLIB_RS_VERSION").to_owned(),
    language: "Rust",
    licence: "Zlib",
    new: |level| Box::new(ZlibRs::new(level)),
    new_open_ended: Some(|| Box::new(ZlibRs::new(UNUSED_LEVEL))),
    new_inflater: None,
};

/// The window of zlib and git, as the base-2 logarithm of its length in bytes.
const WINDOW_BITS: u8 = 15;

/// zlib-rs at one level.
pub(crate) type ZlibRs = ZlibCodec<ZlibRsLevel>;

impl ZlibRs {
    /// Creates a codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: i32) -> Self {
        ZlibCodec::of(ZlibRsLevel(level))
    }
}

/// The level of a compressing context.
pub(crate) struct ZlibRsLevel(i32);

impl Machine for ZlibRsLevel {
    const CODEC: &'static str = "zlib-rs";
    const BODY: &'static str = STREAM;
    const CAPABILITIES: Capabilities = CAPABILITIES;
    type Deflater = Deflate;
    type Inflater = Inflate;

    fn deflater(&self) -> Result<Deflate, CodecError> {
        Ok(Deflate::new(self.0, true, WINDOW_BITS))
    }

    fn inflater(&self) -> Result<Inflate, CodecError> {
        Ok(Inflate::new(true, WINDOW_BITS))
    }
}

impl ZlibMachine for ZlibRsLevel {}

impl Inflater for Inflate {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.reset(true);
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], whole: bool) -> Result<Step, CodecError> {
        step(self, input, output, whole, STREAM)
    }
}

fn step(
    inflate: &mut Inflate,
    input: &[u8],
    output: &mut [u8],
    whole: bool,
    codec: &'static str,
) -> Result<Step, CodecError> {
    let (taken, given) = (inflate.total_in(), inflate.total_out());
    let flush = if whole { InflateFlush::Finish } else { InflateFlush::NoFlush };
    let status = inflate.decompress(input, output, flush);
    let status = status.map_err(|error| match error {
        InflateError::NeedDict { dict_id } => CodecError::DictionaryNeeded { codec, id: dict_id },
        other => CodecError::Corrupt {
            codec,
            expected: "a valid stream",
            found: inflate.error_message().unwrap_or(other.as_str()).to_owned(),
        },
    })?;
    Ok(Step {
        consumed: added(taken, inflate.total_in()),
        produced: added(given, inflate.total_out()),
        ended: status == Status::StreamEnd,
    })
}

/// zlib-rs for tagged DEFLATE bodies.
pub(crate) type RawZlibRs = StreamCodec<RawZlibRsLevel>;

impl RawZlibRs {
    /// Creates a codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: i32) -> Self {
        StreamCodec::of(RawZlibRsLevel(level))
    }
}

/// The level of a compressing context without the wrapper of RFC 1950.
pub(crate) struct RawZlibRsLevel(i32);

impl Machine for RawZlibRsLevel {
    const CODEC: &'static str = "zlib-rs";
    const BODY: &'static str = DEFLATE_BODY;
    const CAPABILITIES: Capabilities = STREAMING;
    type Deflater = Deflate;
    type Inflater = RawInflate;

    fn deflater(&self) -> Result<Deflate, CodecError> {
        Ok(Deflate::new(self.0, false, WINDOW_BITS))
    }

    fn inflater(&self) -> Result<RawInflate, CodecError> {
        Ok(RawInflate(Inflate::new(false, WINDOW_BITS)))
    }
}

/// A decompressing context without the wrapper of RFC 1950.
pub(crate) struct RawInflate(Inflate);

impl Inflater for RawInflate {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.0.reset(false);
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], whole: bool) -> Result<Step, CodecError> {
        step(&mut self.0, input, output, whole, DEFLATE_BODY)
    }
}

impl Deflater for Deflate {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.reset();
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        let (taken, given) = (self.total_in(), self.total_out());
        let flush = if finish { DeflateFlush::Finish } else { DeflateFlush::NoFlush };
        let status = self
            .compress(input, output, flush)
            .map_err(|error| CodecError::Implementation { codec: STREAM, message: error.as_str().to_owned() })?;
        Ok(Step {
            consumed: added(taken, self.total_in()),
            produced: added(given, self.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}
