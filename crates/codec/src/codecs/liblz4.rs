//! liblz4, the C library: what its fast and its high compression share.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use super::lz4_block::{self, BLOCK, WINDOW};
use crate::dictionary::Dictionary;
use crate::error::CodecError;

// `lz4_sys` declares what its wrapper uses, and dictionaries are not among that. This is the declaration of lz4.h.
unsafe extern "C" {
    fn LZ4_decompress_safe_usingDict(
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
        dictionary: *const c_char,
        dictionary_len: c_int,
    ) -> c_int;
}

/// The version of the linked library, as the library itself says.
pub(crate) fn version() -> String {
    // SAFETY: takes nothing and returns a number.
    let number = unsafe { lz4_sys::LZ4_versionNumber() };
    // lz4.h: major * 10000 + minor * 100 + release.
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// A state of the library's, of some 16 KiB (fast) or 256 KiB (high compression).
pub(super) struct Stream {
    state: NonNull<c_void>,
    free: unsafe extern "C" fn(*mut c_void) -> c_int,
}

// SAFETY: the state is a plain heap allocation without thread-local parts, owned by this value alone.
unsafe impl Send for Stream {}

impl Stream {
    /// Takes over what the library's function to create a state returned; `free` is its counterpart.
    ///
    /// # Errors
    /// When that is null: memory is short.
    ///
    /// # Safety
    /// `state` must be null, or owned by the caller alone and of the kind that `free` takes.
    pub(super) unsafe fn adopt(
        state: *mut c_void,
        free: unsafe extern "C" fn(*mut c_void) -> c_int,
    ) -> Result<Self, CodecError> {
        let state = NonNull::new(state).ok_or_else(|| failed("no state could be allocated"))?;
        Ok(Stream { state, free })
    }

    /// The state, for calls that change it.
    pub(super) fn as_mut_ptr(&mut self) -> *mut c_void {
        self.state.as_ptr()
    }

    /// The state, for calls that only read it.
    pub(super) fn as_ptr(&self) -> *const c_void {
        self.state.as_ptr()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: `adopt`'s caller promised that they belong together; freed once.
        unsafe { (self.free)(self.state.as_ptr()) };
    }
}

/// The part of a dictionary that blocks can refer to: its last 64 KiB.
pub(super) fn reachable(dictionary: &Dictionary) -> &[u8] {
    let bytes = dictionary.bytes();
    bytes.get(bytes.len().saturating_sub(WINDOW)..).unwrap_or_default()
}

/// A dictionary with a state that holds its positions, so that no payload pays for loading it.
pub(super) struct PreparedDictionary {
    /// Points into `dictionary`, which therefore is kept as long.
    pub(super) stream: Stream,
    pub(super) dictionary: Dictionary,
}

impl PreparedDictionary {
    /// Loads `dictionary` into `stream` by `load`, which gets the bytes that are of use.
    pub(super) fn new(mut stream: Stream, dictionary: &Dictionary, load: impl FnOnce(&mut Stream, &[u8])) -> Self {
        let dictionary = dictionary.clone();
        load(&mut stream, reachable(&dictionary));
        PreparedDictionary { stream, dictionary }
    }
}

/// A payload and the room for its block, as the library's functions take them.
pub(super) struct Buffers {
    pub(super) source: *const c_char,
    pub(super) source_len: c_int,
    pub(super) target: *mut c_char,
    pub(super) target_len: c_int,
}

/// Where empty payloads lie.
static EMPTY: [u8; 1] = [0];

impl Buffers {
    /// # Errors
    /// When `payload` is longer than the library takes.
    pub(super) fn new(payload: &[u8], room: &mut [u8]) -> Result<Self, CodecError> {
        // The library computes "the end less twelve bytes" and compares it with the start. An empty slice may lie at
        // address 1, where that wraps around: an empty payload is given a real address.
        let source = if payload.is_empty() { EMPTY.as_ptr() } else { payload.as_ptr() };
        Ok(Buffers {
            source: source.cast(),
            source_len: c_int::try_from(payload.len()).map_err(|_| failed("the payload is too long"))?,
            target: room.as_mut_ptr().cast(),
            // More room than a C int counts does no harm, and cannot be used.
            target_len: c_int::try_from(room.len()).unwrap_or(c_int::MAX),
        })
    }
}

/// The length of a block, as the library's functions return it.
///
/// # Errors
/// When they report that the block did not fit, or the payload was too long.
pub(super) fn block_len(returned: c_int) -> Result<usize, CodecError> {
    usize::try_from(returned).ok().filter(|length| *length > 0).ok_or_else(|| failed("the block does not fit"))
}

/// Decodes all of `block` into all of `payload`, with the dictionary that it was made with.
///
/// # Errors
/// When the block is damaged or its payload has another length; `codec` names in them what the block lies in.
pub(crate) fn decompress(
    block: &[u8],
    payload: &mut [u8],
    dictionary: Option<&Dictionary>,
    codec: &'static str,
) -> Result<(), CodecError> {
    // Empty slices have no real address, from which the library would count backwards; see `Buffers`.
    match (block, payload.is_empty()) {
        ([0], true) => return Ok(()),
        (_, true) => return Err(lz4_block::invalid(codec, "another block than that of an empty payload".to_owned())),
        ([], false) => return Err(lz4_block::invalid(codec, "no bytes".to_owned())),
        _ => {}
    }
    let too_long = || lz4_block::invalid(codec, "more bytes than a block has".to_owned());
    let block_len = c_int::try_from(block.len()).map_err(|_| too_long())?;
    let payload_len = c_int::try_from(payload.len()).map_err(|_| too_long())?;
    let dictionary = dictionary.map(reachable).unwrap_or_default();
    // SAFETY: each buffer is valid for the length passed with it, the payload for writes and the others for reads, and the
    // borrow of the payload keeps it apart from them. The library checks every read and write against these lengths.
    // A dictionary has at most 64 KiB; an empty one is not looked at.
    let written = unsafe {
        LZ4_decompress_safe_usingDict(
            block.as_ptr().cast(),
            payload.as_mut_ptr().cast(),
            block_len,
            payload_len,
            dictionary.as_ptr().cast(),
            c_int::try_from(dictionary.len()).unwrap_or_default(),
        )
    };
    match usize::try_from(written) {
        Ok(written) => lz4_block::expect_length(written, payload.len(), codec),
        // The library tells about where it stopped, as a negative number.
        Err(_) => Err(lz4_block::invalid(codec, format!("an error near byte {}", written.unsigned_abs()))),
    }
}

pub(super) fn failed(message: &str) -> CodecError {
    CodecError::Implementation { codec: BLOCK, message: message.to_owned() }
}
