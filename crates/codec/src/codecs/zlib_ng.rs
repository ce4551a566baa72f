//! `zlib-ng`: a faster zlib in C, through its native interface, whose symbols differ from those of stock zlib.
//!
//! Its build needs cmake, so it is optional: the feature `zlib-ng` enables it.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::mem::MaybeUninit;

use libz_ng_sys as sys;

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::rfc1950::{CAPABILITIES, ZlibCodec, ZlibMachine};
use super::steps::{Deflater, Inflater, Machine, Step};
use super::wrapping::STREAM;
use crate::codec::{Capabilities, UNUSED_LEVEL};
use crate::error::CodecError;

/// The facts about `zlib-ng`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "zlib-ng",
    levels: Some(Levels { range: 0..=9, except: None, default: 6 }),
    longest_dictionary: None,
    body: None,
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "zlib-ng (C)",
    version,
    language: "C",
    licence: "Zlib",
    new: |level| Box::new(ZlibNg::new(level)),
    new_open_ended: Some(|| Box::new(ZlibNg::new(UNUSED_LEVEL))),
    new_inflater: None,
};

/// The maximum input and output of one call, in bytes: the library counts in 32 bits.
const LONGEST_BUFFER: usize = 1 << 30;

/// The version that the linked library reports.
pub(crate) fn version() -> String {
    // SAFETY: the function takes nothing and returns a pointer to a static NUL-terminated string.
    let version = unsafe { CStr::from_ptr(sys::zlibVersion()) };
    version.to_string_lossy().into_owned()
}

/// zlib-ng at one level.
pub(crate) type ZlibNg = ZlibCodec<ZlibNgLevel>;

impl ZlibNg {
    /// Creates a codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: i32) -> Self {
        ZlibCodec::of(ZlibNgLevel(level))
    }
}

/// The level of a compressing context.
pub(crate) struct ZlibNgLevel(i32);

impl Machine for ZlibNgLevel {
    const CODEC: &'static str = "zlib-ng";
    const BODY: &'static str = STREAM;
    const CAPABILITIES: Capabilities = CAPABILITIES;
    type Deflater = Compressing;
    type Inflater = Decompressing;

    fn deflater(&self) -> Result<Compressing, CodecError> {
        let mut stream = Stream::new();
        // SAFETY: the stream is zeroed, so the library uses its own allocator, and the stream does not move.
        let result = unsafe { sys::zng_deflateInit(stream.pointer(), self.0) };
        // Created before the check, so that dropping it frees what was allocated.
        let compressing = Compressing(stream);
        if result == sys::Z_OK { Ok(compressing) } else { Err(failed("no context could be allocated")) }
    }

    fn inflater(&self) -> Result<Decompressing, CodecError> {
        let mut stream = Stream::new();
        // SAFETY: as above.
        let result = unsafe { sys::zng_inflateInit(stream.pointer()) };
        let decompressing = Decompressing(stream);
        if result == sys::Z_OK { Ok(decompressing) } else { Err(failed("no context could be allocated")) }
    }
}

impl ZlibMachine for ZlibNgLevel {}

fn failed(message: &str) -> CodecError {
    CodecError::Implementation { codec: STREAM, message: format!("zlib-ng: {message}") }
}

/// A `z_stream` at an address that does not change, because the library's own state points back to it.
///
/// It is accessed only through pointers, because its function pointers may be null, which no value of its Rust type
/// allows.
struct Stream(Box<MaybeUninit<sys::z_stream>>);

// SAFETY: the stream's memory consists of plain heap allocations without thread-local state, and only this value owns
// it. The buffer pointers in it are only read during a call, which sets them first.
unsafe impl Send for Stream {}

impl Stream {
    fn new() -> Self {
        Stream(Box::new(MaybeUninit::zeroed()))
    }

    fn pointer(&mut self) -> sys::z_streamp {
        self.0.as_mut_ptr()
    }

    /// Calls `code` once and returns what it did and its result.
    fn step(
        &mut self,
        code: unsafe extern "C" fn(sys::z_streamp, std::ffi::c_int) -> std::ffi::c_int,
        input: &[u8],
        output: &mut [u8],
        flush: std::ffi::c_int,
    ) -> (Step, std::ffi::c_int) {
        let (most_in, most_out) = (input.len().min(LONGEST_BUFFER), output.len().min(LONGEST_BUFFER));
        let stream = self.pointer();
        // SAFETY: the library initialised the stream, and its fields are plain integers and pointers. Both
        // buffers are valid for the lengths given, one for reads and one for writes, and cannot overlap. The
        // lengths fit into 32 bits.
        let (result, left_in, left_out) = unsafe {
            (*stream).next_in = input.as_ptr().cast_mut();
            (*stream).avail_in = u32::try_from(most_in).unwrap_or(0);
            (*stream).next_out = output.as_mut_ptr();
            (*stream).avail_out = u32::try_from(most_out).unwrap_or(0);
            let result = code(stream, flush);
            (result, (*stream).avail_in, (*stream).avail_out)
        };
        let step = Step {
            consumed: most_in.saturating_sub(left_in as usize),
            produced: most_out.saturating_sub(left_out as usize),
            ended: result == sys::Z_STREAM_END,
        };
        (step, result)
    }

    /// The library's message about the last call.
    fn message(&mut self) -> String {
        // SAFETY: the library sets the field to null or to a static NUL-terminated string.
        let message = unsafe {
            let message = (*self.pointer()).msg;
            if message.is_null() { c"damaged data" } else { CStr::from_ptr(message) }
        };
        message.to_string_lossy().into_owned()
    }

    /// The Adler-32 of the dictionary that the stream requests.
    fn dictionary_id(&mut self) -> u32 {
        // SAFETY: the library initialised the stream, and the field is an integer.
        unsafe { (*self.pointer()).adler }
    }
}

/// The decompressor.
pub(crate) struct Decompressing(Stream);

impl Drop for Decompressing {
    fn drop(&mut self) {
        // SAFETY: the library initialised the stream, or refused to, in which case this does nothing.
        unsafe { sys::inflateEnd(self.0.pointer()) };
    }
}

impl Inflater for Decompressing {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        // SAFETY: the library initialised the stream.
        let result = unsafe { sys::inflateReset(self.0.pointer()) };
        if result == sys::Z_OK { Ok(()) } else { Err(failed("the context could not be reset")) }
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], whole: bool) -> Result<Step, CodecError> {
        let flush = if whole { sys::Z_FINISH } else { sys::Z_NO_FLUSH };
        let (step, result) = self.0.step(sys::inflate, input, output, flush);
        match result {
            // The caller notices a step without progress.
            sys::Z_OK | sys::Z_STREAM_END | sys::Z_BUF_ERROR => Ok(step),
            sys::Z_NEED_DICT => Err(CodecError::DictionaryNeeded { codec: STREAM, id: self.0.dictionary_id() }),
            _ => Err(CodecError::Corrupt { codec: STREAM, expected: "a valid stream", found: self.0.message() }),
        }
    }
}

/// The compressor.
pub(crate) struct Compressing(Stream);

impl Drop for Compressing {
    fn drop(&mut self) {
        // SAFETY: the library initialised the stream, or refused to, in which case this does nothing.
        unsafe { sys::deflateEnd(self.0.pointer()) };
    }
}

impl Deflater for Compressing {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        // SAFETY: the library initialised the stream.
        let result = unsafe { sys::deflateReset(self.0.pointer()) };
        if result == sys::Z_OK { Ok(()) } else { Err(failed("the context could not be reset")) }
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        let flush = if finish { sys::Z_FINISH } else { sys::Z_NO_FLUSH };
        let (step, result) = self.0.step(sys::deflate, input, output, flush);
        match result {
            sys::Z_OK | sys::Z_STREAM_END | sys::Z_BUF_ERROR => Ok(step),
            _ => Err(failed(&self.0.message())),
        }
    }
}
