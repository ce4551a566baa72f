//! `lz4hc`: LZ4 blocks by liblz4, the C library, in its high compression modes. Every LZ4 decoder reads them.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use super::block::BlockCodec;
use super::descriptor::{CodecDescriptor, Levels};
use super::liblz4::{self, Buffers, CAPABILITIES, Compressor, LibraryCoder, PreparedDictionary, Stream};
use crate::error::CodecError;
use crate::tag::Body;

/// The facts about `lz4hc`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "lz4hc",
    levels: Some(Levels { range: 1..=12, except: None, default: 9 }),
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

// The declarations in lz4hc.h. The function that keeps its tables from call to call is only for static linking.
unsafe extern "C" {
    fn LZ4_createStreamHC() -> *mut c_void;
    fn LZ4_freeStreamHC(state: *mut c_void) -> c_int;
    fn LZ4_resetStreamHC_fast(state: *mut c_void, level: c_int);
    fn LZ4_loadDictHC(state: *mut c_void, dictionary: *const c_char, dictionary_len: c_int) -> c_int;
    fn LZ4_attach_HC_dictionary(working: *mut c_void, dictionary: *const c_void);
    fn LZ4_compress_HC_extStateHC_fastReset(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
        level: c_int,
    ) -> c_int;
    fn LZ4_compress_HC_continue(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
    ) -> c_int;
}

/// liblz4's high compression at one level.
pub(crate) struct High {
    level: i32,
}

/// The coder for blocks of `lz4hc`.
pub(crate) type HighCoder = LibraryCoder<High>;

/// Creates the codec `lz4hc` at `level`, which is 1 to 12.
pub(crate) fn codec(level: i32) -> BlockCodec<HighCoder> {
    HighCoder::new(level).into_codec()
}

impl HighCoder {
    pub(crate) fn new(level: i32) -> Self {
        LibraryCoder::of(High { level })
    }
}

impl Compressor for High {
    const NAME: &'static str = DESCRIPTOR.name;

    fn new_stream(&self) -> Result<Stream, CodecError> {
        // SAFETY: the two functions belong together, and nothing else owns the new state.
        unsafe { Stream::adopt(LZ4_createStreamHC(), LZ4_freeStreamHC) }
    }

    unsafe fn load(&self, stream: &mut Stream, bytes: &[u8]) {
        let length = c_int::try_from(bytes.len()).unwrap_or_default();
        // SAFETY: the caller promises a new state of this kind that the bytes outlive. The state first gets the level,
        // which decides which tables it fills.
        unsafe {
            LZ4_resetStreamHC_fast(stream.as_mut_ptr(), self.level);
            LZ4_loadDictHC(stream.as_mut_ptr(), bytes.as_ptr().cast(), length);
        }
    }

    unsafe fn compress(
        &self,
        stream: &mut Stream,
        dictionary: Option<&PreparedDictionary>,
        buffers: &Buffers,
    ) -> c_int {
        let Buffers { source, source_len, target, target_len } = *buffers;
        let state = stream.as_mut_ptr();
        // SAFETY, of all calls: the caller promises states of this kind, and buffers that are valid for the lengths
        // passed with them, one for reads and one for writes, and do not overlap. The library refuses a length above
        // its maximum.
        unsafe {
            match dictionary {
                None => LZ4_compress_HC_extStateHC_fastReset(state, source, target, source_len, target_len, self.level),
                Some(dictionary) => {
                    LZ4_resetStreamHC_fast(state, self.level);
                    LZ4_attach_HC_dictionary(state, dictionary.stream.as_ptr());
                    LZ4_compress_HC_continue(state, source, target, source_len, target_len)
                }
            }
        }
    }
}
