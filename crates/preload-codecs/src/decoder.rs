//! The C functions that decode chunks of ours. Contexts are expensive to make, so the stand-in keeps some for each
//! thread.

use std::{
    ffi::CStr,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
};

use libc::{c_int, c_void};
use repackbench_codec::{CodecError, Dictionaries, PushDecoder};
use repackbench_preload_abi::{DATA_ERROR, MEM_ERROR, OK, Progress, STREAM_END, STREAM_ERROR};

use crate::dictionaries;

/// A decoder and its dictionaries.
struct Decoder {
    decoder: PushDecoder,
    dictionaries: &'static Dictionaries,
}

/// See [`Codecs::open`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `tables` must be null or a result of [`dictionaries::read`].
pub(crate) unsafe extern "C" fn open(tables: *const c_void) -> *mut c_void {
    // SAFETY: the caller guarantees it.
    let dictionaries = unsafe { dictionaries::from_handle(tables) };
    let opened = catch_unwind(|| Box::new(Decoder { decoder: PushDecoder::new(dictionaries), dictionaries }));
    opened.map_or(ptr::null_mut(), |decoder| Box::into_raw(decoder).cast())
}

/// See [`Codecs::restart`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `decoder` must be from [`open`], not closed, and in use by no other thread.
pub(crate) unsafe extern "C" fn restart(decoder: *mut c_void) {
    // SAFETY: the caller guarantees it.
    let decoder = unsafe { &mut *decoder.cast::<Decoder>() };
    decoder.decoder.restart();
}

/// See [`Codecs::step`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`restart`]. The input and the output room must be as long as the lengths say, and must not overlap.
pub(crate) unsafe extern "C" fn step(
    decoder: *mut c_void,
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_len: usize,
) -> Progress {
    // SAFETY: the caller guarantees it.
    let Decoder { decoder, dictionaries } = unsafe { &mut *decoder.cast::<Decoder>() };
    // SAFETY: as above; an empty slice replaces a null pointer. The output may be uninitialized, but it is plain bytes
    // that the codecs only write to.
    let input = if input_len == 0 { &[][..] } else { unsafe { slice::from_raw_parts(input, input_len) } };
    // SAFETY: as above.
    let output = if output_len == 0 { &mut [][..] } else { unsafe { slice::from_raw_parts_mut(output, output_len) } };
    let failed = |code, message: &'static CStr| Progress { consumed: 0, produced: 0, code, message: message.as_ptr() };
    match catch_unwind(AssertUnwindSafe(|| decoder.step(input, output))) {
        Ok(Ok(step)) => {
            let code = if step.ended { STREAM_END } else { OK };
            Progress { consumed: step.consumed, produced: step.produced, code, message: ptr::null() }
        }
        Ok(Err(error)) => failed(code_of(&error), message_of(&error)),
        Err(_) => {
            // The decoder may be in any state after the panic, so it is not used again, not even dropped.
            std::mem::forget(std::mem::replace(decoder, PushDecoder::new(dictionaries)));
            failed(STREAM_ERROR, c"repackbench: a defect in the decoder")
        }
    }
}

/// See [`Codecs::close`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`restart`]; `decoder` must not be used afterwards.
pub(crate) unsafe extern "C" fn close(decoder: *mut c_void) {
    // SAFETY: the caller guarantees that it is from `open`, which gave up ownership.
    let decoder = unsafe { Box::from_raw(decoder.cast::<Decoder>()) };
    let _ = catch_unwind(AssertUnwindSafe(move || drop(decoder)));
}

fn code_of(error: &CodecError) -> c_int {
    match error {
        CodecError::NoMemory { .. } => MEM_ERROR,
        _ => DATA_ERROR,
    }
}

/// A message that is never freed, like zlib's.
fn message_of(error: &CodecError) -> &'static CStr {
    match error {
        CodecError::Checksum { .. } => c"repackbench: payload checksum does not match",
        CodecError::Tag { .. } => c"repackbench: invalid tag byte",
        CodecError::BaseNeeded { .. } => {
            c"repackbench: this chunk needs the content of its delta's base, which zlib does not receive"
        }
        CodecError::NoSuchDictionary { .. } => c"repackbench: the chunk's dictionary is missing",
        CodecError::PayloadLength { .. } => c"repackbench: payload length does not match",
        CodecError::NoMemory { .. } => c"repackbench: no memory for the payload",
        _ => c"repackbench: damaged chunk",
    }
}
