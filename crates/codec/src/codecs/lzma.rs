//! `lzma` and `xz`: LZMA2 by liblzma, raw or in the .xz container.
//!
//! A raw stream does not say how long its dictionary is: encoder and decoder use the shortest power of two that covers
//! the payload, within [`DICTIONARY_LENS`]. The container states the length, and the decoder accepts no longer one.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::RangeInclusive;

use liblzma_sys as sys;

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::steps::{Deflater, Inflater, Machine, Step};
use super::stream::{STREAMING, StreamCodec};
use crate::codec::{Capabilities, UNUSED_LEVEL};
use crate::error::CodecError;
use crate::tag::Body;

/// The facts about `lzma`.
pub(crate) static LZMA: CodecDescriptor = CodecDescriptor {
    name: "lzma",
    levels: Some(Levels { range: 0..=9, except: None, default: 6 }),
    longest_dictionary: None,
    body: Some(Body::Lzma),
    is_read_by_hg: false,
    capabilities: STREAMING,
    implementation: "liblzma (C)",
    version,
    language: "C",
    licence: "0BSD",
    new: |level| Box::new(Lzma::new(level.unsigned_abs())),
    new_open_ended: None,
    new_inflater: Some(|| Lzma::new(UNUSED_LEVEL.unsigned_abs()).new_inflater()),
};

/// The facts about `xz`.
pub(crate) static XZ: CodecDescriptor = CodecDescriptor {
    name: "xz",
    levels: Some(Levels { range: 0..=9, except: None, default: 6 }),
    longest_dictionary: None,
    body: Some(Body::Xz),
    is_read_by_hg: false,
    capabilities: STREAMING,
    implementation: "liblzma (C)",
    version,
    language: "C",
    licence: "0BSD",
    new: |level| Box::new(Xz::new(level.unsigned_abs())),
    new_open_ended: None,
    new_inflater: Some(|| Xz::new(UNUSED_LEVEL.unsigned_abs()).new_inflater()),
};

/// The name of the body of `lzma` in messages.
const RAW_BODY: &str = "lzma body";

/// The name of the body of `xz` in messages.
const XZ_BODY: &str = "xz body";

/// The lengths of dictionaries in bytes, all powers of two: from liblzma's shortest to that of its highest level.
const DICTIONARY_LENS: RangeInclusive<u32> = 4 << 10..=64 << 20;

/// The version that the linked library reports.
pub(crate) fn version() -> String {
    // SAFETY: the function takes nothing and returns a pointer to a static NUL-terminated string.
    let version = unsafe { CStr::from_ptr(sys::lzma_version_string()) };
    version.to_string_lossy().into_owned()
}

/// LZMA2 without a container, at one level.
pub(crate) type Lzma = StreamCodec<RawLzma>;

impl Lzma {
    /// Creates a codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: u32) -> Self {
        StreamCodec::of(RawLzma(level))
    }
}

/// LZMA2 in the .xz container, at one level.
pub(crate) type Xz = StreamCodec<XzContainer>;

impl Xz {
    /// Creates a codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: u32) -> Self {
        StreamCodec::of(XzContainer { level, container: Container::Xz })
    }

    /// Creates the same with the container's own check of the content, for streams that are files.
    pub(crate) fn for_files(level: u32) -> Self {
        StreamCodec::of(XzContainer { level, container: Container::XzWithCheck })
    }
}

/// The level of compressing contexts.
pub(crate) struct RawLzma(u32);

impl Machine for RawLzma {
    const CODEC: &'static str = "lzma";
    const BODY: &'static str = RAW_BODY;
    const CAPABILITIES: Capabilities = STREAMING;
    type Deflater = Compressing;
    type Inflater = Decompressing;

    fn deflater(&self) -> Result<Compressing, CodecError> {
        Compressing::new(Container::Raw, self.0)
    }

    fn inflater(&self) -> Result<Decompressing, CodecError> {
        Decompressing::new(Container::Raw)
    }
}

/// The level of compressing contexts, and their container.
pub(crate) struct XzContainer {
    level: u32,
    container: Container,
}

impl Machine for XzContainer {
    const CODEC: &'static str = "xz";
    const BODY: &'static str = XZ_BODY;
    const CAPABILITIES: Capabilities = STREAMING;
    type Deflater = Compressing;
    type Inflater = Decompressing;

    fn deflater(&self) -> Result<Compressing, CodecError> {
        Compressing::new(self.container, self.level)
    }

    fn inflater(&self) -> Result<Decompressing, CodecError> {
        Decompressing::new(self.container)
    }
}

/// The container around the LZMA2 data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    /// No container.
    Raw,
    /// The .xz file format, without a check.
    Xz,
    /// The .xz file format, with a CRC-32 of the content.
    XzWithCheck,
}

impl Container {
    fn body(self) -> &'static str {
        match self {
            Container::Raw => RAW_BODY,
            Container::Xz | Container::XzWithCheck => XZ_BODY,
        }
    }
}

/// The length of the shortest dictionary that covers the payload, or of the longest dictionary, in bytes.
fn dictionary_len(payload_len: u64) -> u32 {
    let covering = u32::try_from(payload_len).ok().and_then(u32::checked_next_power_of_two);
    covering.map_or(*DICTIONARY_LENS.end(), |length| length.clamp(*DICTIONARY_LENS.start(), *DICTIONARY_LENS.end()))
}

/// An owned context of the C library. It keeps its allocations from stream to stream while their lengths stay the
/// same.
struct Context {
    stream: sys::lzma_stream,
    body: &'static str,
}

// SAFETY: the context's memory consists of plain heap allocations without thread-local state, and only this value owns
// it. The buffer pointers in it are only read during a call, which sets them first.
unsafe impl Send for Context {}

impl Context {
    fn new(body: &'static str) -> Self {
        // SAFETY: the library's own initialiser LZMA_STREAM_INIT consists of zeros, and all fields are
        // integers or raw pointers, for which zeros are valid.
        let stream = unsafe { MaybeUninit::zeroed().assume_init() };
        Context { stream, body }
    }

    /// Calls the library once.
    fn step(&mut self, input: &[u8], output: &mut [u8], action: sys::lzma_action) -> Result<Step, CodecError> {
        (self.stream.next_in, self.stream.avail_in) = (input.as_ptr(), input.len());
        (self.stream.next_out, self.stream.avail_out) = (output.as_mut_ptr(), output.len());
        // SAFETY: `restart` initialised the context, or it is all zeros, which the library refuses. Both
        // buffers are valid for the lengths given, one for reads and one for writes, and cannot overlap.
        let result = unsafe { sys::lzma_code(&mut self.stream, action) };
        let step = Step {
            consumed: input.len().saturating_sub(self.stream.avail_in),
            produced: output.len().saturating_sub(self.stream.avail_out),
            ended: result == sys::LZMA_STREAM_END,
        };
        // The caller notices a step without progress (LZMA_BUF_ERROR).
        match result {
            sys::LZMA_OK | sys::LZMA_STREAM_END | sys::LZMA_BUF_ERROR => Ok(step),
            other => Err(self.refusal(other)),
        }
    }

    /// The error for the library's return value: damage of the stream, or a failure of the library.
    fn refusal(&self, result: sys::lzma_ret) -> CodecError {
        let codec = self.body;
        let corrupt = |expected, found: &str| CodecError::Corrupt { codec, expected, found: found.to_owned() };
        match result {
            sys::LZMA_DATA_ERROR => corrupt("a valid stream", "damaged data"),
            sys::LZMA_FORMAT_ERROR => corrupt("the .xz magic number", "another one"),
            sys::LZMA_OPTIONS_ERROR => corrupt("options that liblzma supports", "other options"),
            sys::LZMA_MEMLIMIT_ERROR => corrupt("a dictionary no longer than the payload needs", "a longer one"),
            sys::LZMA_MEM_ERROR => self.failed("no memory for a context".to_owned()),
            other => self.failed(format!("liblzma: error {other}")),
        }
    }

    fn failed(&self, message: String) -> CodecError {
        CodecError::Implementation { codec: self.body, message }
    }

    fn check(&self, result: sys::lzma_ret) -> Result<(), CodecError> {
        if result == sys::LZMA_OK { Ok(()) } else { Err(self.refusal(result)) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the library accepts a context that it initialised or that is all zeros, and this one is freed once.
        unsafe { sys::lzma_end(&mut self.stream) };
    }
}

/// The options of `level`.
fn options(level: u32) -> Result<sys::lzma_options_lzma, CodecError> {
    // SAFETY: all fields are integers or raw pointers, for which zeros are valid.
    let mut options = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: `options` is valid for writes, and the library refuses levels that it does not have.
    if unsafe { sys::lzma_lzma_preset(&mut options, level) } != 0 {
        let message = format!("liblzma has no level {level}");
        return Err(CodecError::Implementation { codec: RAW_BODY, message });
    }
    Ok(options)
}

/// The chain of filters that consists only of LZMA2 and points to `options`.
fn lzma2(options: &mut sys::lzma_options_lzma) -> [sys::lzma_filter; 2] {
    [
        sys::lzma_filter { id: sys::LZMA_FILTER_LZMA2, options: std::ptr::from_mut(options).cast() },
        sys::lzma_filter { id: sys::LZMA_VLI_UNKNOWN, options: std::ptr::null_mut() },
    ]
}

/// The compressor.
pub(crate) struct Compressing {
    container: Container,
    options: sys::lzma_options_lzma,
    context: Context,
}

// SAFETY: the one pointer in the options, to a preset dictionary, is null.
unsafe impl Send for Compressing {}

impl Compressing {
    fn new(container: Container, level: u32) -> Result<Self, CodecError> {
        Ok(Compressing { container, options: options(level)?, context: Context::new(container.body()) })
    }
}

impl Deflater for Compressing {
    fn restart(&mut self, payload_len: u64) -> Result<(), CodecError> {
        let mut options = self.options;
        options.dict_size = options.dict_size.min(dictionary_len(payload_len));
        let filters = lzma2(&mut options);
        let stream = &mut self.context.stream;
        // SAFETY: the context is all zeros or was initialised before, in which case the library first ends its stream.
        // The filters are a terminated chain, and they and their options outlive the call, which copies them.
        let result = unsafe {
            match self.container {
                Container::Raw => sys::lzma_raw_encoder(stream, filters.as_ptr()),
                Container::Xz => sys::lzma_stream_encoder(stream, filters.as_ptr(), sys::LZMA_CHECK_NONE),
                Container::XzWithCheck => sys::lzma_stream_encoder(stream, filters.as_ptr(), sys::LZMA_CHECK_CRC32),
            }
        };
        self.context.check(result)
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        self.context.step(input, output, if finish { sys::LZMA_FINISH } else { sys::LZMA_RUN })
    }
}

/// The decompressor.
pub(crate) struct Decompressing {
    container: Container,
    options: sys::lzma_options_lzma,
    context: Context,
}

// SAFETY: the one pointer in the options, to a preset dictionary, is null.
unsafe impl Send for Decompressing {}

impl Decompressing {
    fn new(container: Container) -> Result<Self, CodecError> {
        let mut options = options(sys::LZMA_PRESET_DEFAULT)?;
        options.dict_size = *DICTIONARY_LENS.start();
        Ok(Decompressing { container, options, context: Context::new(container.body()) })
    }
}

impl Inflater for Decompressing {
    fn restart(&mut self, payload_len: u64) -> Result<(), CodecError> {
        let needed = dictionary_len(payload_len);
        let mut options = self.options;
        let stream = &mut self.context.stream;
        let result = match self.container {
            Container::Raw => {
                // Never shorter than before, because the library reallocates for another length. A longer dictionary
                // accepts no more streams, because no distance may reach back past the start of the payload.
                options.dict_size = options.dict_size.max(needed);
                self.options.dict_size = options.dict_size;
                let filters = lzma2(&mut options);
                // SAFETY: as in `Compressing::restart`.
                unsafe { sys::lzma_raw_decoder(stream, filters.as_ptr()) }
            }
            Container::Xz | Container::XzWithCheck => {
                options.dict_size = needed;
                let filters = lzma2(&mut options);
                // SAFETY: the filters are a terminated chain, and they and their options outlive the call.
                let limit = unsafe { sys::lzma_raw_decoder_memusage(filters.as_ptr()) };
                // SAFETY: the context is all zeros or was initialised before, in which case the library first ends its
                // stream.
                unsafe { sys::lzma_stream_decoder(stream, limit, 0) }
            }
        };
        self.context.check(result)
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _whole: bool) -> Result<Step, CodecError> {
        self.context.step(input, output, sys::LZMA_RUN)
    }
}

#[cfg(test)]
mod tests {
    use super::dictionary_len;

    #[test]
    fn dictionary_is_the_shortest_that_covers_the_payload() {
        let lengths = [0, 4096, 4097, 1 << 20, (1 << 20) + 1, 64 << 20, (64 << 20) + 1, u64::MAX];
        let dictionaries = [4 << 10, 4 << 10, 8 << 10, 1 << 20, 2 << 20, 64 << 20, 64 << 20, 64 << 20];
        assert_eq!(lengths.map(dictionary_len), dictionaries);
    }
}
