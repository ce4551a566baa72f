//! High compression of LZ4 blocks by liblz4, the C library: the slow half of `lz4hc`, whose blocks every LZ4 decoder reads.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use super::lz4_block::BLOCK;
use crate::error::CodecError;

// `lz4_sys` declares what its wrapper uses, and the reusable state is not among that. These are the declarations of
// liblz4's own headers, lz4.h and lz4hc.h (the one that keeps its tables from call to call is for static linking only).
unsafe extern "C" {
    fn LZ4_createStreamHC() -> *mut c_void;
    fn LZ4_freeStreamHC(state: *mut c_void) -> c_int;
    fn LZ4_compress_HC_extStateHC_fastReset(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
        level: c_int,
    ) -> c_int;
}

/// The version of the linked library, as the library itself says.
pub(crate) fn version() -> String {
    // SAFETY: takes nothing and returns a number.
    let number = unsafe { lz4_sys::LZ4_versionNumber() };
    // lz4.h: major * 10000 + minor * 100 + release.
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// An owned compression state, of some 256 KiB.
///
/// It is never cleared between payloads: each one starts 64 KiB behind the last in the tables' count of positions, out of
/// reach of every match. Clearing it would cost more than most payloads do.
struct State(NonNull<c_void>);

// SAFETY: the state is a plain heap allocation without thread-local parts, owned by this value alone.
unsafe impl Send for State {}

impl State {
    fn new() -> Result<Self, CodecError> {
        // SAFETY: takes nothing, returns null when memory is short.
        let state = unsafe { LZ4_createStreamHC() };
        NonNull::new(state).map(State).ok_or_else(|| failed("no state could be allocated"))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: allocated by the library, freed once.
        unsafe { LZ4_freeStreamHC(self.0.as_ptr()) };
    }
}

/// Where empty payloads lie.
static EMPTY: [u8; 1] = [0];

/// liblz4's high compression at one level.
pub(crate) struct HighCompressor {
    level: i32,
    state: Option<State>,
}

impl HighCompressor {
    /// A compressor at `level`, which is 1 to 12. The state is made when first used.
    pub(crate) fn new(level: i32) -> Self {
        HighCompressor { level, state: None }
    }

    /// Writes the block of `payload` to the start of `room`; returns its length.
    ///
    /// # Errors
    /// When the block does not fit, or `payload` is longer than the library takes.
    pub(crate) fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, CodecError> {
        let payload_len = c_int::try_from(payload.len()).map_err(|_| failed("the payload is too long"))?;
        // More room than a C int counts does no harm, and cannot be used.
        let room_len = c_int::try_from(room.len()).unwrap_or(c_int::MAX);
        let state = match &mut self.state {
            Some(state) => state,
            none => none.insert(State::new()?),
        };
        // The library computes "the end less twelve bytes" and compares it with the start. An empty slice may lie at
        // address 1, where that wraps around: an empty payload is given a real address.
        let source = if payload.is_empty() { EMPTY.as_ptr() } else { payload.as_ptr() };
        // SAFETY: the state was made by the library and is borrowed mutably; both buffers are valid for the lengths passed
        // with them, one for reads and one for writes, lie in real objects, and cannot overlap. The library refuses a length
        // above its maximum. It keeps pointers to the payload in the state, which the next call replaces before use.
        let written = unsafe {
            LZ4_compress_HC_extStateHC_fastReset(
                state.0.as_ptr(),
                source.cast(),
                room.as_mut_ptr().cast(),
                payload_len,
                room_len,
                self.level,
            )
        };
        usize::try_from(written).ok().filter(|written| *written > 0).ok_or_else(|| failed("the block does not fit"))
    }
}

fn failed(message: &str) -> CodecError {
    CodecError::Implementation { codec: BLOCK, message: message.to_owned() }
}
