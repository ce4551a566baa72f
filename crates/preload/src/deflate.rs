//! zlib's functions for writing. Each finds out who owns the stream and passes the call on.
//!
//! Every stream belongs to the real zlib unless a codec is configured for the object store that it goes to.

use libc::{c_char, c_int, c_uint, c_ulong, c_void};
use repackbench_preload_abi::{MEM_ERROR, OK, STREAM_ERROR, VERSION_ERROR, ZStream, ZlibFunctions};

use crate::{
    caller::has_our_layout,
    deflate_stream::{self, DeflateOwner, DeflateStream, Settings, find},
    guarded,
    zlib::zlib,
};

/// `Z_DEFLATED`
const DEFLATED: c_int = 8;
/// `MAX_WBITS`
const WINDOW_BITS: c_int = 15;
/// `DEF_MEM_LEVEL`
const MEMORY_LEVEL: c_int = 8;
/// `Z_DEFAULT_STRATEGY`
const STRATEGY: c_int = 0;
/// `Z_FIXED`
const LAST_STRATEGY: c_int = 4;

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateInit_(stream: *mut ZStream, level: c_int, version: *const c_char, size: c_int) -> c_int {
    // SAFETY: the caller has the same obligations as for `deflateInit2_`.
    unsafe { deflateInit2_(stream, level, DEFLATED, WINDOW_BITS, MEMORY_LEVEL, STRATEGY, version, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateInit2_(
    stream: *mut ZStream,
    level: c_int,
    method: c_int,
    window_bits: c_int,
    memory_level: c_int,
    strategy: c_int,
    version: *const c_char,
    size: c_int,
) -> c_int {
    guarded(STREAM_ERROR, || {
        let settings = Settings { level, method, window_bits, memory_level, strategy };
        // SAFETY: zlib.h requires a null or valid stream, and a version that is null or a C string.
        unsafe {
            if is_ordinary(settings)
                && has_our_layout(version, size)
                && let Some(caller) = stream.as_mut()
                && deflate_stream::open(caller, settings)
            {
                return OK;
            }
        }
        match zlib() {
            // SAFETY: the caller's arguments, unchanged.
            Some(zlib) => unsafe {
                let init = zlib.functions.deflate_init2;
                init(stream, level, method, window_bits, memory_level, strategy, version, size)
            },
            None => VERSION_ERROR,
        }
    })
}

/// Whether the settings ask for zlib's format (not gzip or raw DEFLATE), with arguments that every zlib accepts.
fn is_ordinary(settings: Settings) -> bool {
    let Settings { level, method, window_bits, memory_level, strategy } = settings;
    (-1..=9).contains(&level)
        && method == DEFLATED
        && (9..=WINDOW_BITS).contains(&window_bits)
        && (1..=9).contains(&memory_level)
        && (STRATEGY..=LAST_STRATEGY).contains(&strategy)
}

/// Calls `ours` for a stream of ours, and `zlibs` for a stream of the real zlib.
///
/// A panic becomes `Z_MEM_ERROR`, the only error that all of git checks for.
///
/// # Safety
/// As for [`find`].
unsafe fn answer(
    stream: *mut ZStream,
    ours: impl FnOnce(&mut ZStream) -> c_int,
    zlibs: impl FnOnce(&ZlibFunctions) -> c_int,
) -> c_int {
    guarded(MEM_ERROR, || {
        // SAFETY: the caller guarantees it.
        match unsafe { find(stream) } {
            DeflateOwner::Ours(caller) => ours(caller),
            DeflateOwner::Zlib => zlib().map_or(STREAM_ERROR, |zlib| zlibs(zlib.functions)),
            DeflateOwner::Invalid => STREAM_ERROR,
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflate(stream: *mut ZStream, flush: c_int) -> c_int {
    // SAFETY: what zlib.h requires of the caller is enough for both.
    unsafe { answer(stream, |caller| DeflateStream::deflate(caller, flush), |zlib| (zlib.deflate)(stream, flush)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateEnd(stream: *mut ZStream) -> c_int {
    // SAFETY: what zlib.h requires of the caller is enough for both.
    unsafe { answer(stream, |caller| DeflateStream::end(caller), |zlib| (zlib.deflate_end)(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateReset(stream: *mut ZStream) -> c_int {
    // SAFETY: zlib.h states what the caller must ensure.
    unsafe { answer(stream, |caller| DeflateStream::of(caller).reset(caller), |zlib| (zlib.deflate_reset)(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateBound(stream: *mut ZStream, source_len: c_ulong) -> c_ulong {
    // An upper bound for every stream, ours and zlib's.
    let refused = deflate_stream::bound(source_len);
    guarded(refused, || {
        // SAFETY: zlib.h states what the caller must ensure. A state that is given up to zlib is not used again here.
        unsafe {
            match find(stream) {
                DeflateOwner::Ours(caller) => DeflateStream::of(caller).bound(source_len).unwrap_or_else(|| {
                    DeflateStream::reopen_as_zlib(caller, refused, |zlib, stream| {
                        (zlib.deflate_bound)(stream, source_len)
                    })
                }),
                DeflateOwner::Zlib => zlib().map_or(refused, |zlib| (zlib.functions.deflate_bound)(stream, source_len)),
                DeflateOwner::Invalid => refused,
            }
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflatePending(stream: *mut ZStream, pending: *mut c_uint, bits: *mut c_int) -> c_int {
    // SAFETY: what zlib.h requires of the caller is enough for both; the two output pointers are null or valid.
    unsafe {
        answer(
            stream,
            |caller| {
                let (bytes_left, bits_left) = DeflateStream::of(caller).pending();
                if let Some(pending) = pending.as_mut() {
                    *pending = bytes_left;
                }
                if let Some(bits) = bits.as_mut() {
                    *bits = bits_left;
                }
                OK
            },
            |zlib| (zlib.deflate_pending)(stream, pending, bits),
        )
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateCopy(to: *mut ZStream, from: *mut ZStream) -> c_int {
    if to.is_null() {
        return STREAM_ERROR;
    }
    // SAFETY: what zlib.h requires of the caller is enough for both.
    unsafe { decided_for_zlib(from, |zlib, from| (zlib.deflate_copy)(to, from)) }
}

/// Calls a function that makes sense only for zlib's streams. A new stream becomes zlib's; a stream of ours that has
/// data is refused.
///
/// # Safety
/// As for [`find`]; `call` must be sound for the stream.
unsafe fn decided_for_zlib(stream: *mut ZStream, call: impl Fn(&ZlibFunctions, *mut ZStream) -> c_int) -> c_int {
    // SAFETY: the caller guarantees it; a state that is given up to zlib is not used again here.
    unsafe {
        answer(
            stream,
            |caller| match DeflateStream::of(caller).is_new() {
                true => DeflateStream::reopen_as_zlib(caller, MEM_ERROR, &call),
                false => STREAM_ERROR,
            },
            |zlib| call(zlib, stream),
        )
    }
}

macro_rules! for_zlib {
    ($($symbol:ident => $field:ident($($argument:ident: $type:ty),*);)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(stream: *mut ZStream, $($argument: $type),*) -> c_int {
            // SAFETY: what zlib.h requires of the caller is enough for both.
            unsafe { decided_for_zlib(stream, |zlib, stream| (zlib.$field)(stream, $($argument),*)) }
        })*
    };
}

for_zlib! {
    deflateSetHeader => deflate_set_header(header: *mut c_void);
    deflateTune => deflate_tune(good: c_int, lazy: c_int, nice: c_int, chain: c_int);
    deflateParams => deflate_params(level: c_int, strategy: c_int);
    deflatePrime => deflate_prime(bits: c_int, value: c_int);
    deflateSetDictionary => deflate_set_dictionary(dictionary: *const u8, length: c_uint);
}
