//! Writing: every function goes to the zlib that is used.

use libc::{c_char, c_int, c_uint, c_ulong, c_void};
use repackbench_preload_abi::{STREAM_ERROR, VERSION_ERROR, ZStream};

use crate::{guarded, zlib::zlib};

/// `Z_DEFLATED`
const DEFLATED: c_int = 8;
/// `MAX_WBITS`
const WINDOW_BITS: c_int = 15;
/// `DEF_MEM_LEVEL`
const MEMORY_LEVEL: c_int = 8;
/// `Z_DEFAULT_STRATEGY`
const STRATEGY: c_int = 0;

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
    guarded(STREAM_ERROR, || match zlib() {
        // SAFETY: the caller's arguments, unchanged.
        Some(zlib) => unsafe {
            let init = zlib.functions.deflate_init2;
            init(stream, level, method, window_bits, memory_level, strategy, version, size)
        },
        None => VERSION_ERROR,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn deflateBound(stream: *mut ZStream, source_len: c_ulong) -> c_ulong {
    /// What zlib answers without a valid stream: more than any of its streams has.
    fn without_stream(source_len: c_ulong) -> c_ulong {
        let growth = (source_len.wrapping_add(7) >> 3).wrapping_add(source_len.wrapping_add(63) >> 6);
        source_len.wrapping_add(growth).wrapping_add(5 + 6)
    }
    guarded(without_stream(source_len), || match zlib() {
        // SAFETY: the caller's arguments, unchanged.
        Some(zlib) => unsafe { (zlib.functions.deflate_bound)(stream, source_len) },
        None => without_stream(source_len),
    })
}

macro_rules! handed_over {
    ($($symbol:ident => $field:ident($($argument:ident: $type:ty),*);)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol($($argument: $type),*) -> c_int {
            guarded(STREAM_ERROR, || match zlib() {
                // SAFETY: the caller's arguments, unchanged.
                Some(zlib) => unsafe { (zlib.functions.$field)($($argument),*) },
                None => STREAM_ERROR,
            })
        })*
    };
}

handed_over! {
    deflate => deflate(stream: *mut ZStream, flush: c_int);
    deflateEnd => deflate_end(stream: *mut ZStream);
    deflateReset => deflate_reset(stream: *mut ZStream);
    deflateSetHeader => deflate_set_header(stream: *mut ZStream, header: *mut c_void);
    deflateTune => deflate_tune(stream: *mut ZStream, good: c_int, lazy: c_int, nice: c_int, chain: c_int);
    deflateParams => deflate_params(stream: *mut ZStream, level: c_int, strategy: c_int);
    deflatePrime => deflate_prime(stream: *mut ZStream, bits: c_int, value: c_int);
    deflatePending => deflate_pending(stream: *mut ZStream, pending: *mut c_uint, bits: *mut c_int);
    deflateCopy => deflate_copy(to: *mut ZStream, from: *mut ZStream);
    deflateSetDictionary => deflate_set_dictionary(stream: *mut ZStream, dictionary: *const u8, length: c_uint);
}
