//! zlib's functions for reading. Each finds out who owns the stream and passes the call on.
//!
//! A zlib stream passes only a few comparisons that cannot panic. Everything else runs inside [`guarded`].

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
    // SAFETY: the caller has the same obligations as for `open`.
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
    // SAFETY: the caller has the same obligations as for `open`.
    unsafe { open(stream, window_bits, version, size) }
}

/// Opens a stream that may contain a chunk of ours.
///
/// # Safety
/// As in zlib.h: `stream` must be null or valid, and `version` null or a C string.
#[inline]
unsafe fn open(stream: *mut ZStream, window_bits: c_int, version: *const c_char, size: c_int) -> c_int {
    // SAFETY: the caller guarantees it.
    if !unsafe { has_our_layout(version, size) } {
        return VERSION_ERROR;
    }
    // SAFETY: the caller guarantees it.
    let Some(caller) = (unsafe { stream.as_mut() }) else { return STREAM_ERROR };
    inflate_stream::open(caller, window_bits)
}

/// Calls `ours` for a stream of ours and `zlibs` for a stream of the real zlib. An invalid stream is an error.
///
/// # Safety
/// As for [`find`].
unsafe fn answer<T: From<i8>>(
    stream: *mut ZStream,
    ours: impl FnOnce(&mut ZStream, &mut InflateStream) -> T,
    zlibs: impl FnOnce(&mut ZStream) -> T,
) -> T {
    let refused = T::from(-2);
    // SAFETY: the caller guarantees it.
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
    // SAFETY: what zlib.h requires of the caller is enough for all.
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
    // SAFETY: what zlib.h requires of the caller is enough for all; no reference to the state is used after `end`.
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

// zlib resets each stream that it opens, and calls its own functions by name. So two of three streams that come here
// have no mark of ours, and are checked for first.

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateReset(stream: *mut ZStream) -> c_int {
    // SAFETY: zlib.h states what the caller must ensure.
    unsafe {
        match is_real_zlib(stream) && (*stream).opaque.is_null() {
            true => by_zlib(|zlib| (zlib.inflate_reset)(stream)),
            false => reset(stream, None),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateReset2(stream: *mut ZStream, window_bits: c_int) -> c_int {
    // SAFETY: zlib.h states what the caller must ensure.
    unsafe {
        match is_real_zlib(stream) && (*stream).opaque.is_null() {
            true => by_zlib(|zlib| (zlib.inflate_reset2)(stream, window_bits)),
            false => reset(stream, Some(window_bits)),
        }
    }
}

/// Resets a stream, with other window bits if they are given.
///
/// # Safety
/// As for [`find`].
unsafe fn reset(stream: *mut ZStream, window_bits: Option<c_int>) -> c_int {
    let ours = |caller: &mut ZStream, state: &mut InflateStream| match window_bits {
        Some(window_bits) => state.reset(caller, window_bits),
        None => state.reset_keeping_window(caller),
    };
    // SAFETY: the caller guarantees it.
    unsafe { answer(stream, ours, |caller| inflate_stream::reset_zlib(caller, window_bits)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateSync(stream: *mut ZStream) -> c_int {
    // SAFETY: what zlib.h requires of the caller is enough for both.
    unsafe { answer(stream, |caller, state| state.sync(caller), |caller| inflate_stream::sync_zlib(caller)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inflateSetDictionary(stream: *mut ZStream, dictionary: *const u8, length: c_uint) -> c_int {
    // SAFETY: what zlib.h requires of the caller is enough for both.
    unsafe {
        answer(
            stream,
            // A stream in zlib's format first says which dictionary it needs.
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
    // SAFETY: what zlib.h requires of the caller is enough for both.
    unsafe {
        answer(from, |caller, state| state.copy(caller, to), |from| by_zlib(|zlib| (zlib.inflate_copy)(to, from)))
    }
}

macro_rules! handed_over {
    ($($symbol:ident => $field:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(stream: *mut ZStream, $($argument: $type),*) -> $result {
            // SAFETY: what zlib.h requires of the caller is enough for both.
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
