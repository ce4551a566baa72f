//! Decoders of our own chunks, as C sees them. Their contexts are dear: the stand-in keeps some for each thread.

use std::{
    ffi::CStr,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
};

use libc::{c_int, c_void};
use repackbench_codec::{CodecError, Dictionaries, PushDecoder};
use repackbench_preload_abi::{DATA_ERROR, MEM_ERROR, OK, Progress, STREAM_END, STREAM_ERROR};

use crate::dictionaries;

/// A decoder, and the dictionaries that it knows.
struct Decoder {
    decoder: PushDecoder,
    dictionaries: &'static Dictionaries,
}

/// See [`Codecs::open`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `tables` must be null, or what [`dictionaries::read`] gave.
pub(crate) unsafe extern "C" fn open(tables: *const c_void) -> *mut c_void {
    // SAFETY: as the caller vouches.
    let dictionaries = unsafe { dictionaries::behind(tables) };
    let opened = catch_unwind(|| Box::new(Decoder { decoder: PushDecoder::new(dictionaries), dictionaries }));
    opened.map_or(ptr::null_mut(), |decoder| Box::into_raw(decoder).cast())
}

/// See [`Codecs::restart`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `decoder` must be from [`open`], not closed, and in use by no other thread.
pub(crate) unsafe extern "C" fn restart(decoder: *mut c_void) {
    // SAFETY: the caller vouches for it.
    let decoder = unsafe { &mut *decoder.cast::<Decoder>() };
    decoder.decoder.restart();
}

/// See [`Codecs::step`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`restart`]; there must be as many bytes and as much room as the lengths say, and they must not overlap.
pub(crate) unsafe extern "C" fn step(
    decoder: *mut c_void,
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_len: usize,
) -> Progress {
    // SAFETY: the caller vouches for it.
    let Decoder { decoder, dictionaries } = unsafe { &mut *decoder.cast::<Decoder>() };
    // SAFETY: likewise; a null pointer is replaced where there is nothing. Room that was never written is only written to by
    // every codec, and is plain bytes.
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
            // Whatever state the panic left behind is not used again.
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
    // SAFETY: the caller vouches that it is from `open`, which gave up ownership.
    let decoder = unsafe { Box::from_raw(decoder.cast::<Decoder>()) };
    let _ = catch_unwind(AssertUnwindSafe(move || drop(decoder)));
}

fn code_of(error: &CodecError) -> c_int {
    match error {
        CodecError::NoMemory { .. } => MEM_ERROR,
        _ => DATA_ERROR,
    }
}

/// A text that lasts, as zlib's do.
fn message_of(error: &CodecError) -> &'static CStr {
    match error {
        CodecError::Checksum { .. } => c"repackbench: payload checksum does not match",
        CodecError::Tag { .. } => c"repackbench: invalid tag byte",
        CodecError::BaseNeeded { .. } => {
            c"repackbench: this chunk needs the content of its delta's base, which no zlib is told"
        }
        CodecError::NoSuchDictionary { .. } => c"repackbench: the chunk's dictionary is not there",
        CodecError::PayloadLength { .. } => c"repackbench: payload length does not match",
        CodecError::NoMemory { .. } => c"repackbench: no memory for the payload",
        _ => c"repackbench: damaged chunk",
    }
}
