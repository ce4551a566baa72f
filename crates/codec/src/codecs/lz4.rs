//! `lz4`: LZ4 blocks by liblz4, the C library, in its fast mode. The level is the library's acceleration.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use super::block::BlockCodec;
use super::descriptor::{CodecDescriptor, Levels};
use super::liblz4::{self, Buffers, CAPABILITIES, Compressor, LibraryCoder, PreparedDictionary, Stream};
use crate::error::CodecError;
use crate::tag::Body;

/// The facts about `lz4`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "lz4",
    // Accelerations: liblz4 clamps them to these bounds.
    levels: Some(Levels { range: 1..=65_537, except: None, default: 1 }),
    // The longest distance of an LZ4 match.
    longest_dictionary: Some(64 << 10),
    body: Some(Body::Lz4),
    is_read_by_hg: false,
    capabilities: CAPABILITIES,
    implementation: "liblz4 (C)",
    version: liblz4::version,
    language: "C",
    licence: "BSD-2-Clause",
    new: |level| Box::new(codec(level)),
    new_open_ended: None,
    new_inflater: None,
};

// The declarations in lz4.h. The function that keeps its table from call to call is only for static linking.
unsafe extern "C" {
    fn LZ4_createStream() -> *mut c_void;
    fn LZ4_freeStream(stream: *mut c_void) -> c_int;
    fn LZ4_resetStream_fast(stream: *mut c_void);
    fn LZ4_loadDictSlow(stream: *mut c_void, dictionary: *const c_char, dictionary_len: c_int) -> c_int;
    fn LZ4_attach_dictionary(working: *mut c_void, dictionary: *const c_void);
    fn LZ4_compress_fast_extState_fastReset(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_compress_fast_continue(
        stream: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
        acceleration: c_int,
    ) -> c_int;
}

/// liblz4's fast mode at one acceleration.
pub(crate) struct Fast {
    acceleration: i32,
}

/// The coder for blocks of `lz4`.
pub(crate) type FastCoder = LibraryCoder<Fast>;

/// Creates the codec `lz4` at `acceleration`, which is 1 to 65537.
pub(crate) fn codec(acceleration: i32) -> BlockCodec<FastCoder> {
    FastCoder::new(acceleration).into_codec()
}

impl FastCoder {
    pub(crate) fn new(acceleration: i32) -> Self {
        LibraryCoder::of(Fast { acceleration })
    }
}

impl Compressor for Fast {
    const NAME: &'static str = DESCRIPTOR.name;

    fn new_stream(&self) -> Result<Stream, CodecError> {
        // SAFETY: the two functions belong together, and nothing else owns the new state.
        unsafe { Stream::adopt(LZ4_createStream(), LZ4_freeStream) }
    }

    unsafe fn load(&self, stream: &mut Stream, bytes: &[u8]) {
        let length = c_int::try_from(bytes.len()).unwrap_or_default();
        // SAFETY: the caller promises a new state of this kind that the bytes outlive.
        unsafe { LZ4_loadDictSlow(stream.as_mut_ptr(), bytes.as_ptr().cast(), length) };
    }

    unsafe fn compress(
        &self,
        stream: &mut Stream,
        dictionary: Option<&PreparedDictionary>,
        buffers: &Buffers,
    ) -> c_int {
        let Buffers { source, source_len, target, target_len } = *buffers;
        let (state, acceleration) = (stream.as_mut_ptr(), self.acceleration);
        // SAFETY, of all calls: the caller promises states of this kind, and buffers that are valid for the lengths
        // passed with them, one for reads and one for writes, and do not overlap. The library refuses a length above
        // its maximum.
        unsafe {
            match dictionary {
                None => {
                    LZ4_compress_fast_extState_fastReset(state, source, target, source_len, target_len, acceleration)
                }
                Some(dictionary) => {
                    LZ4_resetStream_fast(state);
                    LZ4_attach_dictionary(state, dictionary.stream.as_ptr());
                    LZ4_compress_fast_continue(state, source, target, source_len, target_len, acceleration)
                }
            }
        }
    }
}
