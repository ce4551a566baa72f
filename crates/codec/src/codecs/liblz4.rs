//! liblz4, the C library: what its fast compressor (`lz4`) and its high compressor (`lz4hc`) share.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use super::block::{BlockCodec, BlockCoder};
use super::lz4_block::{self, BLOCK, WINDOW};
use crate::codec::Capabilities;
use crate::dictionary::Dictionary;
use crate::error::{CodecError, expect_payload_len};

// `lz4_sys` declares only what its wrapper uses, which does not include dictionaries. This is the declaration in lz4.h.
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

/// The version that the linked library reports.
pub(crate) fn version() -> String {
    // SAFETY: the function takes nothing and returns a number.
    let number = unsafe { lz4_sys::LZ4_versionNumber() };
    // lz4.h: major * 10000 + minor * 100 + release.
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// A state of the library, of about 16 KiB (fast) or 256 KiB (high compression).
pub(crate) struct Stream {
    state: NonNull<c_void>,
    free: unsafe extern "C" fn(*mut c_void) -> c_int,
}

// SAFETY: the state is a plain heap allocation without thread-local parts, and only this value owns it.
unsafe impl Send for Stream {}

impl Stream {
    /// Takes ownership of a state that the library created and `free` frees.
    ///
    /// # Errors
    /// When `state` is null because memory is short.
    ///
    /// # Safety
    /// `state` must be null, or a state that `free` takes and that only the caller owns.
    pub(super) unsafe fn adopt(
        state: *mut c_void,
        free: unsafe extern "C" fn(*mut c_void) -> c_int,
    ) -> Result<Self, CodecError> {
        let state = NonNull::new(state).ok_or_else(|| failed("no state could be allocated"))?;
        Ok(Stream { state, free })
    }

    /// The state, for calls that modify it.
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
        // SAFETY: the caller of `adopt` promised that the two belong together, and the state is freed once.
        unsafe { (self.free)(self.state.as_ptr()) };
    }
}

/// The part of a dictionary that blocks can refer to: its last 64 KiB.
fn reachable(dictionary: &Dictionary) -> &[u8] {
    let bytes = dictionary.bytes();
    bytes.get(bytes.len().saturating_sub(WINDOW)..).unwrap_or_default()
}

/// A dictionary with a state that holds its positions, so that it is loaded only once.
pub(crate) struct PreparedDictionary {
    /// Points into `dictionary`, which therefore has to live as long.
    pub(super) stream: Stream,
    dictionary: Dictionary,
}

/// A payload and the room for its block, in the types of the library's functions.
pub(crate) struct Buffers {
    pub(super) source: *const c_char,
    pub(super) source_len: c_int,
    pub(super) target: *mut c_char,
    pub(super) target_len: c_int,
}

/// The address of empty payloads.
static EMPTY: [u8; 1] = [0];

impl Buffers {
    /// # Errors
    /// When `payload` is longer than the library takes.
    fn new(payload: &[u8], room: &mut [u8]) -> Result<Self, CodecError> {
        // The library computes "the end minus twelve bytes" and compares it with the start. An empty slice may have the
        // address 1, where that wraps around, so an empty payload gets a real address.
        let source = if payload.is_empty() { EMPTY.as_ptr() } else { payload.as_ptr() };
        Ok(Buffers {
            source: source.cast(),
            source_len: c_int::try_from(payload.len()).map_err(|_| failed("the payload is too long"))?,
            target: room.as_mut_ptr().cast(),
            // Room beyond the maximum of a C int cannot be used, and does no harm.
            target_len: c_int::try_from(room.len()).unwrap_or(c_int::MAX),
        })
    }
}

/// The capabilities of the library's codecs.
pub(super) const CAPABILITIES: Capabilities = Capabilities { dictionaries: true, ..super::block::CAPABILITIES };

/// One of the library's compressors at one level.
pub(crate) trait Compressor: Send {
    /// The name at the start of a codec spec.
    const NAME: &'static str;

    /// Creates a state of the compressor's kind.
    ///
    /// # Errors
    /// When memory is short.
    fn new_stream(&self) -> Result<Stream, CodecError>;

    /// Loads the positions of `bytes`, which are at most 64 KiB, into `stream`.
    ///
    /// # Safety
    /// `stream` must be a new state of this compressor, and `bytes` must not be freed before it.
    unsafe fn load(&self, stream: &mut Stream, bytes: &[u8]);

    /// Writes the block of the payload in `buffers` to the room there and returns the library's return value. The
    /// library keeps pointers to the payload and to the dictionary's state in `stream`, and resets them in the next
    /// call. It only reads the dictionary's state.
    ///
    /// # Safety
    /// `stream` and the dictionary's state must be of this compressor, and `buffers` those of borrowed slices.
    unsafe fn compress(&self, stream: &mut Stream, dictionary: Option<&PreparedDictionary>, buffers: &Buffers)
    -> c_int;
}

/// The coder for blocks of one of the library's compressors.
pub(crate) struct LibraryCoder<C> {
    compressor: C,
    /// Made when first used, and never cleared between payloads: the positions of each payload come after those of the
    /// last, so far away that no match reaches back. Clearing it would cost more than most payloads do.
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
        // SAFETY: this compressor made both states, and the slices are borrowed until the call returns.
        let returned = unsafe { self.compressor.compress(stream, self.dictionary.as_ref(), &buffers) };
        // The library returns zero if the block does not fit or the payload is too long.
        usize::try_from(returned).ok().filter(|length| *length > 0).ok_or_else(|| failed("the block does not fit"))
    }

    fn decompress(&mut self, block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
        let dictionary = self.dictionary.as_ref().map(|prepared| &prepared.dictionary);
        decompress(block, payload, dictionary, codec)
    }

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        // It may still point into the dictionary that is dropped here.
        self.stream = None;
        self.dictionary = match dictionary.filter(|dictionary| !dictionary.bytes().is_empty()) {
            Some(dictionary) => {
                let mut prepared =
                    PreparedDictionary { stream: self.compressor.new_stream()?, dictionary: dictionary.clone() };
                // SAFETY: the state is new, and `prepared` also holds the dictionary that owns the bytes.
                unsafe { self.compressor.load(&mut prepared.stream, reachable(&prepared.dictionary)) };
                Some(prepared)
            }
            None => None,
        };
        Ok(())
    }
}

/// Decodes all of `block` into all of `payload`, with the dictionary that the block was made with.
///
/// # Errors
/// When the block is damaged or its payload has another length. `codec` is the name in errors of what contains the
/// block.
pub(crate) fn decompress(
    block: &[u8],
    payload: &mut [u8],
    dictionary: Option<&Dictionary>,
    codec: &'static str,
) -> Result<(), CodecError> {
    // Empty slices have no real address from which the library could count backwards: see `Buffers`.
    match (block, payload.is_empty()) {
        ([0], true) => return Ok(()),
        (_, true) => return Err(lz4_block::invalid(codec, "a block other than that of an empty payload".to_owned())),
        ([], false) => return Err(lz4_block::invalid(codec, "no bytes".to_owned())),
        _ => {}
    }
    let too_long = || lz4_block::invalid(codec, "more bytes than a block can have".to_owned());
    let block_len = c_int::try_from(block.len()).map_err(|_| too_long())?;
    let payload_len = c_int::try_from(payload.len()).map_err(|_| too_long())?;
    let dictionary = dictionary.map(reachable).unwrap_or_default();
    // SAFETY: each buffer is valid for the length passed with it, the payload for writes and the others for reads, and
    // the mutable borrow of the payload rules out an overlap. The library checks every read and write against these
    // lengths. A dictionary has at most 64 KiB, and the library does not read an empty one.
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
        // The library returns approximately where it stopped, as a negative number.
        Err(_) => Err(lz4_block::invalid(codec, format!("an error near byte {}", written.unsigned_abs()))),
    }
}

fn failed(message: &str) -> CodecError {
    CodecError::Implementation { codec: BLOCK, message: message.to_owned() }
}
