//! Reading: zlib's functions, each for whoever's stream it is.
//!
//! What every zlib stream passes through is a few comparisons that cannot panic. All else is guarded.

use libc::{c_char, c_int, c_long, c_uint, c_void};
use repackbench_preload_abi::{STREAM_ERROR, VERSION_ERROR, ZStream, ZlibFunctions};

use crate::{
    caller::has_our_layout,
    guarded,
    inflate_stream::{self, InflateOwner, InflateStream, find, is_plain, is_real_zlib},
    zlib::zlib,
};

/// `DEF_WBITS`
const WINDOW_BITS: c_int = 15;

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateInit_(stream: *mut ZStream, version: *const c_char, size: c_int) -> c_int {
    // SAFETY: the caller's duties are those of `open`.
    unsafe { open(stream, WINDOW_BITS, version, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateInit2_(
    stream: *mut ZStream,
    window_bits: c_int,
    version: *const c_char,
    size: c_int,
) -> c_int {
    if !is_plain(window_bits) {
        // SAFETY: the caller's arguments, unchanged.
        return zlib().map_or(VERSION_ERROR, |zlib| unsafe {
            (zlib.functions.inflate_init2)(stream, window_bits, version, size)
        });
    }
    // SAFETY: the caller's duties are those of `open`.
    unsafe { open(stream, window_bits, version, size) }
}

/// Opens a stream in which chunks of ours may come.
///
/// # Safety
/// As zlib.h wants it: `stream` null or valid, and `version` null or a C string.
#[inline]
unsafe fn open(stream: *mut ZStream, window_bits: c_int, version: *const c_char, size: c_int) -> c_int {
    // SAFETY: as the caller vouches.
    if !unsafe { has_our_layout(version, size) } {
        return VERSION_ERROR;
    }
    // SAFETY: as the caller vouches.
    let Some(caller) = (unsafe { stream.as_mut() }) else { return STREAM_ERROR };
    inflate_stream::open(caller, window_bits)
}

/// Answers for a stream: `ours` for one of ours, `zlibs` for a zlib's, an error for another.
///
/// # Safety
/// As for [`find`].
unsafe fn answer<T: From<i8>>(
    stream: *mut ZStream,
    ours: impl FnOnce(&mut ZStream, &mut InflateStream) -> T,
    zlibs: impl FnOnce(&mut ZStream) -> T,
) -> T {
    let refused = T::from(-2);
    // SAFETY: as the caller vouches.
    match unsafe { find(stream) } {
        InflateOwner::New(caller, window_bits) => guarded(refused, || {
            let state = InflateStream::of_new(caller, window_bits);
            ours(caller, state)
        }),
        InflateOwner::Ours(caller, state) => guarded(refused, || ours(caller, state)),
        InflateOwner::Zlib(caller) => zlibs(caller),
        InflateOwner::Invalid => refused,
    }
}

/// Calls a function of the real zlib.
fn by_zlib<T: From<i8>>(call: impl FnOnce(&ZlibFunctions) -> T) -> T {
    zlib().map_or(T::from(-2), |zlib| call(zlib.functions))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflate(stream: *mut ZStream, flush: c_int) -> c_int {
    // SAFETY: zlib.h's duties of the caller cover all.
    unsafe {
        match find(stream) {
            InflateOwner::New(caller, window_bits) => inflate_stream::begin(caller, window_bits, flush),
            InflateOwner::Ours(caller, state) => guarded(STREAM_ERROR, || state.inflate(caller, flush)),
            InflateOwner::Zlib(caller) => inflate_stream::inflate_by_zlib(caller, flush),
            InflateOwner::Invalid => STREAM_ERROR,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateEnd(stream: *mut ZStream) -> c_int {
    // SAFETY: zlib.h's duties of the caller cover all; no reference to the state is used after `end`.
    unsafe {
        if is_real_zlib(stream) {
            return inflate_stream::end_zlib(stream);
        }
        match find(stream) {
            InflateOwner::New(caller, _) => inflate_stream::end_new(caller),
            InflateOwner::Ours(caller, _) => guarded(STREAM_ERROR, || InflateStream::end(caller)),
            InflateOwner::Zlib(caller) => inflate_stream::end_zlib(caller),
            InflateOwner::Invalid => STREAM_ERROR,
        }
    }
}

// zlib resets each stream that it opens, and calls its own functions by name: two of three streams that come here bear no mark of ours.

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateReset(stream: *mut ZStream) -> c_int {
    // SAFETY: zlib.h's duties of the caller.
    unsafe {
        match is_real_zlib(stream) && (*stream).opaque.is_null() {
            true => by_zlib(|zlib| (zlib.inflate_reset)(stream)),
            false => reset(stream, None),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateReset2(stream: *mut ZStream, window_bits: c_int) -> c_int {
    // SAFETY: zlib.h's duties of the caller.
    unsafe {
        match is_real_zlib(stream) && (*stream).opaque.is_null() {
            true => by_zlib(|zlib| (zlib.inflate_reset2)(stream, window_bits)),
            false => reset(stream, Some(window_bits)),
        }
    }
}

/// Prepares a stream for another, with other window bits or with those that it has.
///
/// # Safety
/// As for [`find`].
unsafe fn reset(stream: *mut ZStream, window_bits: Option<c_int>) -> c_int {
    let ours = |caller: &mut ZStream, state: &mut InflateStream| match window_bits {
        Some(window_bits) => state.reset(caller, window_bits),
        None => state.reset_keeping_window(caller),
    };
    // SAFETY: as the caller vouches.
    unsafe { answer(stream, ours, |caller| inflate_stream::reset_zlib(caller, window_bits)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateSync(stream: *mut ZStream) -> c_int {
    // SAFETY: zlib.h's duties of the caller cover both.
    unsafe {
        answer(
            stream,
            |caller, state| state.hand_over(caller, |zlib, inner| (zlib.inflate_sync)(inner)),
            |caller| inflate_stream::sync_zlib(caller),
        )
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateSetDictionary(stream: *mut ZStream, dictionary: *const u8, length: c_uint) -> c_int {
    // SAFETY: zlib.h's duties of the caller cover both.
    unsafe {
        answer(
            stream,
            // A stream in zlib's format says first that it needs one.
            |caller, state| match state.is_new() {
                true => STREAM_ERROR,
                false => {
                    state.hand_over(caller, |zlib, inner| (zlib.inflate_set_dictionary)(inner, dictionary, length))
                }
            },
            |caller| by_zlib(|zlib| (zlib.inflate_set_dictionary)(caller, dictionary, length)),
        )
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateCopy(to: *mut ZStream, from: *mut ZStream) -> c_int {
    if to.is_null() {
        return STREAM_ERROR;
    }
    // SAFETY: zlib.h's duties of the caller cover both.
    unsafe {
        answer(from, |caller, state| state.copy(caller, to), |from| by_zlib(|zlib| (zlib.inflate_copy)(to, from)))
    }
}

macro_rules! handed_over {
    ($($symbol:ident => $field:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(stream: *mut ZStream, $($argument: $type),*) -> $result {
            // SAFETY: zlib.h's duties of the caller cover both.
            unsafe {
                answer(
                    stream,
                    |caller, state| state.hand_over(caller, |zlib, inner| (zlib.$field)(inner, $($argument),*)),
                    |caller| by_zlib(|zlib| (zlib.$field)(caller, $($argument),*)),
                )
            }
        })*
    };
}

handed_over! {
    inflateGetDictionary => inflate_get_dictionary(dictionary: *mut u8, length: *mut c_uint) -> c_int;
    inflatePrime => inflate_prime(bits: c_int, value: c_int) -> c_int;
    inflateMark => inflate_mark() -> c_long;
    inflateGetHeader => inflate_get_header(header: *mut c_void) -> c_int;
}
