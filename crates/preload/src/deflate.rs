//! Writing: zlib's functions, each for whoever's stream it is. All are zlib's, unless a codec was named for the object store.

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
    // SAFETY: the caller's duties are those of `deflateInit2_`.
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
        // SAFETY: null or a valid stream, as zlib.h wants it; the version null or a C string.
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

/// Whether it is a stream in zlib's format, with arguments that every zlib takes.
fn is_ordinary(settings: Settings) -> bool {
    let Settings { level, method, window_bits, memory_level, strategy } = settings;
    (-1..=9).contains(&level)
        && method == DEFLATED
        && (9..=WINDOW_BITS).contains(&window_bits)
        && (1..=9).contains(&memory_level)
        && (STRATEGY..=LAST_STRATEGY).contains(&strategy)
}

/// Answers for a stream: `ours` for one of ours, `zlibs` for all others. A panic is told as a lack of memory, the one error that all of
/// git heeds.
///
/// # Safety
/// As for [`find`].
unsafe fn answer(
    stream: *mut ZStream,
    ours: impl FnOnce(&mut ZStream) -> c_int,
    zlibs: impl FnOnce(&ZlibFunctions) -> c_int,
) -> c_int {
    guarded(MEM_ERROR, || {
        // SAFETY: as the caller vouches.
        match unsafe { find(stream) } {
            DeflateOwner::Ours(caller) => ours(caller),
            DeflateOwner::Zlib => zlib().map_or(STREAM_ERROR, |zlib| zlibs(zlib.functions)),
            DeflateOwner::Invalid => STREAM_ERROR,
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflate(stream: *mut ZStream, flush: c_int) -> c_int {
    // SAFETY: zlib.h's duties of the caller cover both.
    unsafe { answer(stream, |caller| DeflateStream::deflate(caller, flush), |zlib| (zlib.deflate)(stream, flush)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateEnd(stream: *mut ZStream) -> c_int {
    // SAFETY: zlib.h's duties of the caller cover both.
    unsafe { answer(stream, |caller| DeflateStream::end(caller), |zlib| (zlib.deflate_end)(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateReset(stream: *mut ZStream) -> c_int {
    // SAFETY: zlib.h's duties of the caller.
    unsafe { answer(stream, |caller| DeflateStream::of(caller).reset(caller), |zlib| (zlib.deflate_reset)(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateBound(stream: *mut ZStream, source_len: c_ulong) -> c_ulong {
    // More than any stream has, of zlib's or ours.
    let refused = deflate_stream::bound(source_len);
    guarded(refused, || {
        // SAFETY: zlib.h's duties of the caller; a state that becomes zlib's is not used again here.
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
    // SAFETY: zlib.h's duties of the caller cover both; what is to be written to is null or valid.
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
    // SAFETY: zlib.h's duties of the caller cover both.
    unsafe { decided_for_zlib(from, |zlib, from| (zlib.deflate_copy)(to, from)) }
}

/// Calls what makes sense for zlib's streams alone: a new one is zlib's from now on, and one of ours refused.
///
/// # Safety
/// As for [`find`]; `call` must be sound for the stream.
unsafe fn decided_for_zlib(stream: *mut ZStream, call: impl Fn(&ZlibFunctions, *mut ZStream) -> c_int) -> c_int {
    // SAFETY: as the caller vouches; a state that becomes zlib's is not used again here.
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
            // SAFETY: zlib.h's duties of the caller cover both.
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
