//! `lz4`: LZ4 blocks by liblz4, the C library, in its fast mode. The level is the library's acceleration.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use super::block::{BlockCodec, BlockCoder};
use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::liblz4::{self, Buffers, PreparedDictionary, Stream};
use super::lz4_block;
use crate::codec::Capabilities;
use crate::dictionary::Dictionary;
use crate::error::CodecError;
use crate::tag::Body;

/// The facts of `lz4`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "lz4",
    // Accelerations: the bounds within which liblz4 keeps one.
    levels: Some(Levels { range: 1..=65_537, except: None, default: 1 }),
    // As far as an LZ4 block reaches back.
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

// The declarations of lz4.h (the function that keeps its table from call to call is for static linking only).
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

/// What lz4 and lz4hc can do.
pub(crate) const CAPABILITIES: Capabilities = Capabilities { dictionaries: true, ..super::block::CAPABILITIES };

/// liblz4's fast mode at one acceleration.
pub(crate) struct FastCoder {
    acceleration: i32,
    /// Made when first used. Its table is never cleared between payloads: each one starts behind the last in the count of
    /// positions, out of reach of every match.
    state: Option<Stream>,
    dictionary: Option<PreparedDictionary>,
}

/// The codec `lz4` at `acceleration`, which is 1 to 65537.
pub(crate) fn codec(acceleration: i32) -> BlockCodec<FastCoder> {
    BlockCodec::new(FastCoder::new(acceleration))
}

fn new_stream() -> Result<Stream, CodecError> {
    // SAFETY: the library's own pair of functions; nobody else has the new state.
    unsafe { Stream::adopt(LZ4_createStream(), LZ4_freeStream) }
}

fn load(stream: &mut Stream, bytes: &[u8]) {
    let length = c_int::try_from(bytes.len()).unwrap_or_default();
    // SAFETY: the state is a fresh one of this kind; the bytes are valid for `length`, at most 64 KiB, and the dictionary
    // that they belong to is kept beside the state.
    unsafe { LZ4_loadDictSlow(stream.as_mut_ptr(), bytes.as_ptr().cast(), length) };
}

impl FastCoder {
    pub(crate) fn new(acceleration: i32) -> Self {
        FastCoder { acceleration, state: None, dictionary: None }
    }
}

impl BlockCoder for FastCoder {
    fn name(&self) -> &'static str {
        DESCRIPTOR.name
    }

    fn body(&self) -> &'static str {
        lz4_block::BODY
    }

    fn takes_dictionaries(&self) -> bool {
        CAPABILITIES.dictionaries
    }

    fn max_expansion(&self) -> u64 {
        lz4_block::MAX_EXPANSION
    }

    fn bound(&self, payload_len: usize) -> usize {
        lz4_block::bound(payload_len)
    }

    fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, CodecError> {
        let Buffers { source, source_len, target, target_len } = Buffers::new(payload, room)?;
        let state = match &mut self.state {
            Some(state) => state.as_mut_ptr(),
            none => none.insert(new_stream()?).as_mut_ptr(),
        };
        // SAFETY, of all calls: the state was made by the library and is borrowed mutably; both buffers are valid for the
        // lengths passed with them, one for reads and one for writes, lie in real objects, and cannot overlap. The
        // library refuses a length above its maximum. It keeps pointers to the payload and to the dictionary's state in its
        // own, which the next call resets before use; the dictionary's state is only read.
        let returned = unsafe {
            match &self.dictionary {
                None => LZ4_compress_fast_extState_fastReset(
                    state,
                    source,
                    target,
                    source_len,
                    target_len,
                    self.acceleration,
                ),
                Some(dictionary) => {
                    LZ4_resetStream_fast(state);
                    LZ4_attach_dictionary(state, dictionary.stream.as_ptr());
                    LZ4_compress_fast_continue(state, source, target, source_len, target_len, self.acceleration)
                }
            }
        };
        liblz4::block_len(returned)
    }

    fn decompress(&mut self, block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
        let dictionary = self.dictionary.as_ref().map(|prepared| &prepared.dictionary);
        liblz4::decompress(block, payload, dictionary, codec)
    }

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        let usable = dictionary.filter(|dictionary| !dictionary.bytes().is_empty());
        // It may still point into the dictionary that is given up here.
        self.state = None;
        self.dictionary = match usable {
            Some(dictionary) => Some(PreparedDictionary::new(new_stream()?, dictionary, load)),
            None => None,
        };
        Ok(())
    }
}
