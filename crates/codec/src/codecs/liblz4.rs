//! liblz4, the C library: what its two compressors share, the fast one (`lz4`) and that of high compression (`lz4hc`).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use super::block::{BlockCodec, BlockCoder};
use super::lz4_block::{self, BLOCK, WINDOW};
use crate::codec::Capabilities;
use crate::dictionary::Dictionary;
use crate::error::{CodecError, expect_payload_len};

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
pub(crate) struct Stream {
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
fn reachable(dictionary: &Dictionary) -> &[u8] {
    let bytes = dictionary.bytes();
    bytes.get(bytes.len().saturating_sub(WINDOW)..).unwrap_or_default()
}

/// A dictionary with a state that holds its positions, so that no payload pays for loading it.
pub(crate) struct PreparedDictionary {
    /// Points into `dictionary`, which therefore is kept as long.
    pub(super) stream: Stream,
    dictionary: Dictionary,
}

/// A payload and the room for its block, as the library's functions take them.
pub(crate) struct Buffers {
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
    fn new(payload: &[u8], room: &mut [u8]) -> Result<Self, CodecError> {
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

/// What the codecs of the library can do.
pub(super) const CAPABILITIES: Capabilities = Capabilities { dictionaries: true, ..super::block::CAPABILITIES };

/// One of the library's compressors at one level.
pub(crate) trait Compressor: Send {
    /// The name that a codec spec begins with.
    const NAME: &'static str;

    /// A new state of the compressor's kind.
    ///
    /// # Errors
    /// When memory is short.
    fn new_stream(&self) -> Result<Stream, CodecError>;

    /// Makes `stream` hold the positions of `bytes`, of which there are at most 64 KiB.
    ///
    /// # Safety
    /// `stream` must be a new state of this compressor, and `bytes` must not be freed before it.
    unsafe fn load(&self, stream: &mut Stream, bytes: &[u8]);

    /// Writes the block of the payload in `buffers` to the room there; returns what the library does. Keeps pointers to the payload and
    /// to the dictionary's state in `stream`, which the next call resets before use; the dictionary's state is only read.
    ///
    /// # Safety
    /// `stream` and the dictionary's state must be of this compressor, and `buffers` those of borrowed slices.
    unsafe fn compress(&self, stream: &mut Stream, dictionary: Option<&PreparedDictionary>, buffers: &Buffers)
    -> c_int;
}

/// The blocks of one of the library's compressors.
pub(crate) struct LibraryCoder<C> {
    compressor: C,
    /// Made when first used. It is never cleared between payloads: each one starts behind the last in the tables' count of
    /// positions, out of reach of every match. Clearing it would cost more than most payloads do.
    stream: Option<Stream>,
    dictionary: Option<PreparedDictionary>,
}

impl<C: Compressor> LibraryCoder<C> {
    pub(super) fn of(compressor: C) -> Self {
        LibraryCoder { compressor, stream: None, dictionary: None }
    }

    pub(super) fn into_codec(self) -> BlockCodec<Self> {
        BlockCodec::new(self)
    }
}

impl<C: Compressor> BlockCoder for LibraryCoder<C> {
    fn name(&self) -> &'static str {
        C::NAME
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
        let buffers = Buffers::new(payload, room)?;
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(self.compressor.new_stream()?),
        };
        // SAFETY: both states were made by this compressor; the slices are borrowed until the call returns.
        let returned = unsafe { self.compressor.compress(stream, self.dictionary.as_ref(), &buffers) };
        // Zero where the block did not fit or the payload was too long.
        usize::try_from(returned).ok().filter(|length| *length > 0).ok_or_else(|| failed("the block does not fit"))
    }

    fn decompress(&mut self, block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
        let dictionary = self.dictionary.as_ref().map(|prepared| &prepared.dictionary);
        decompress(block, payload, dictionary, codec)
    }

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        // It may still point into the dictionary that is given up here.
        self.stream = None;
        self.dictionary = match dictionary.filter(|dictionary| !dictionary.bytes().is_empty()) {
            Some(dictionary) => {
                let mut prepared =
                    PreparedDictionary { stream: self.compressor.new_stream()?, dictionary: dictionary.clone() };
                // SAFETY: the state is new, and kept beside the dictionary that owns the bytes.
                unsafe { self.compressor.load(&mut prepared.stream, reachable(&prepared.dictionary)) };
                Some(prepared)
            }
            None => None,
        };
        Ok(())
    }
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
        Ok(written) => expect_payload_len(codec, payload.len() as u64, written as u64),
        // The library tells about where it stopped, as a negative number.
        Err(_) => Err(lz4_block::invalid(codec, format!("an error near byte {}", written.unsigned_abs()))),
    }
}

fn failed(message: &str) -> CodecError {
    CodecError::Implementation { codec: BLOCK, message: message.to_owned() }
}
