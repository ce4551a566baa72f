//! Adapts zlib-ng to zlib's interface.
//!
//! zlib-ng is built with its native interface, whose names differ from every other zlib's. Its stream has the layout of
//! zlib's except for the checksum, which has 32 bits and is where zlib has padding. So the checksum is copied before
//! and after each call.

use std::ffi::{CStr, c_void};
use std::mem::offset_of;

use libc::{c_char, c_int, c_long, c_uint, c_ulong};
use libz_ng_sys as sys;
use repackbench_preload_abi::{ZStream, ZlibFunctions};

unsafe extern "C" {
    // zlib-ng has these functions; its bindings lack them.
    #[link_name = "zng_inflateGetDictionary"]
    fn inflate_get_dictionary(stream: sys::z_streamp, dictionary: *mut u8, length: *mut c_uint) -> c_int;
    #[link_name = "zng_deflatePending"]
    fn deflate_pending(stream: sys::z_streamp, pending: *mut c_uint, bits: *mut c_int) -> c_int;
}

macro_rules! same_place {
    ($($field:ident),*) => {
        $(const _: () = assert!(offset_of!(sys::z_stream, $field) == offset_of!(ZStream, $field));)*
    };
}

same_place!(next_in, avail_in, total_in, next_out, avail_out, total_out, msg, state, zalloc, zfree, opaque, data_type);

// zlib-ng's checksum is in zlib's padding, and zlib's checksum is in a field that zlib-ng does not use.
const _: () = assert!(offset_of!(sys::z_stream, adler) + size_of::<u32>() == offset_of!(ZStream, adler));
const _: () = assert!(offset_of!(sys::z_stream, reserved) == offset_of!(ZStream, adler));
const _: () = assert!(size_of::<sys::z_stream>() <= size_of::<ZStream>());

/// Calls zlib-ng on a stream of zlib's layout.
///
/// # Safety
/// `stream` must be null or valid, and `call` sound for it.
unsafe fn with_native_layout<T>(stream: *mut ZStream, call: impl FnOnce(sys::z_streamp) -> T) -> T {
    let native: sys::z_streamp = stream.cast();
    if stream.is_null() {
        return call(native);
    }
    // SAFETY: valid; the caller guarantees it, and as long as zlib-ng's; both checksums lie within. Reached through
    // pointers alone.
    unsafe {
        #[allow(clippy::cast_possible_truncation, reason = "a checksum of 32 bits")]
        (&raw mut (*native).adler).write((*stream).adler as u32);
        let result = call(native);
        (&raw mut (*stream).adler).write(c_ulong::from((&raw const (*native).adler).read()));
        result
    }
}

macro_rules! adapted {
    ($($symbol:literal $name:ident = $function:path, ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(unsafe extern "C" fn $name(stream: *mut ZStream, $($argument: $type),*) -> $result {
            // SAFETY: zlib.h states what the caller must ensure.
            unsafe { with_native_layout(stream, |stream| $function(stream, $($argument),*)) }
        })*

        fn find(name: &CStr) -> *mut c_void {
            match name.to_bytes() {
                $($symbol => $name as *mut c_void,)*
                b"inflateInit2_" => inflate_init2 as *mut c_void,
                b"deflateInit2_" => deflate_init2 as *mut c_void,
                b"inflateCopy" => inflate_copy as *mut c_void,
                b"deflateCopy" => deflate_copy as *mut c_void,
                _ => std::ptr::null_mut(),
            }
        }
    };
}

adapted! {
    b"inflate" inflate = sys::inflate, (flush: c_int) -> c_int;
    b"inflateEnd" inflate_end = sys::inflateEnd, () -> c_int;
    b"inflateReset" inflate_reset = sys::inflateReset, () -> c_int;
    b"inflateReset2" inflate_reset2 = sys::inflateReset2, (window_bits: c_int) -> c_int;
    b"inflateSetDictionary" inflate_set_dictionary = sys::inflateSetDictionary, (dictionary: *const u8, length: c_uint) -> c_int;
    b"inflateGetDictionary" its_dictionary = inflate_get_dictionary, (dictionary: *mut u8, length: *mut c_uint) -> c_int;
    b"inflateSync" inflate_sync = sys::inflateSync, () -> c_int;
    b"inflatePrime" inflate_prime = sys::inflatePrime, (bits: c_int, value: c_int) -> c_int;
    b"inflateMark" inflate_mark = sys::inflateMark, () -> c_long;
    b"inflateGetHeader" inflate_get_header = sys::inflateGetHeader, (header: sys::gz_headerp) -> c_int;
    b"deflate" deflate = sys::deflate, (flush: c_int) -> c_int;
    b"deflateEnd" deflate_end = sys::deflateEnd, () -> c_int;
    b"deflateReset" deflate_reset = sys::deflateReset, () -> c_int;
    b"deflateBound" deflate_bound = sys::deflateBound, (source_len: c_ulong) -> c_ulong;
    b"deflateSetHeader" deflate_set_header = sys::deflateSetHeader, (header: sys::gz_headerp) -> c_int;
    b"deflateTune" deflate_tune = sys::deflateTune, (good: c_int, lazy: c_int, nice: c_int, chain: c_int) -> c_int;
    b"deflateParams" deflate_params = sys::deflateParams, (level: c_int, strategy: c_int) -> c_int;
    b"deflatePrime" deflate_prime = sys::deflatePrime, (bits: c_int, value: c_int) -> c_int;
    b"deflatePending" its_pending = deflate_pending, (pending: *mut c_uint, bits: *mut c_int) -> c_int;
    b"deflateSetDictionary" deflate_set_dictionary = sys::deflateSetDictionary, (dictionary: *const u8, length: c_uint) -> c_int;
}

unsafe extern "C" fn inflate_init2(stream: *mut ZStream, window_bits: c_int, _: *const c_char, _: c_int) -> c_int {
    // SAFETY: zlib.h states what the caller must ensure; the native interface takes no version.
    unsafe { with_native_layout(stream, |stream| sys::zng_inflateInit2(stream, window_bits)) }
}

unsafe extern "C" fn deflate_init2(
    stream: *mut ZStream,
    level: c_int,
    method: c_int,
    window_bits: c_int,
    memory_level: c_int,
    strategy: c_int,
    _: *const c_char,
    _: c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        with_native_layout(stream, |stream| {
            sys::zng_deflateInit2(stream, level, method, window_bits, memory_level, strategy)
        })
    }
}

/// Copies a stream with `copy`; both streams have zlib's layout.
///
/// # Safety
/// Both must be null or valid, and `copy` sound for them.
unsafe fn copy_by(
    copy: unsafe extern "C" fn(sys::z_streamp, sys::z_streamp) -> c_int,
    to: *mut ZStream,
    from: *mut ZStream,
) -> c_int {
    // SAFETY: the caller guarantees it. What is copied has zlib-ng's checksum, and zlib's beside it.
    unsafe { with_native_layout(from, |from| copy(to.cast(), from)) }
}

unsafe extern "C" fn inflate_copy(to: *mut ZStream, from: *mut ZStream) -> c_int {
    // SAFETY: zlib.h states what the caller must ensure.
    unsafe { copy_by(sys::inflateCopy, to, from) }
}

unsafe extern "C" fn deflate_copy(to: *mut ZStream, from: *mut ZStream) -> c_int {
    // SAFETY: zlib.h states what the caller must ensure.
    unsafe { copy_by(sys::deflateCopy, to, from) }
}

/// The functions of zlib-ng, which are never freed.
pub(crate) fn functions() -> Option<&'static ZlibFunctions> {
    static FUNCTIONS: std::sync::OnceLock<Option<ZlibFunctions>> = std::sync::OnceLock::new();
    // SAFETY: each does what zlib-ng's function of that name does, for a stream as zlib.h declares it.
    FUNCTIONS.get_or_init(|| unsafe { ZlibFunctions::find(find) }).as_ref()
}

#[cfg(test)]
mod tests {
    use repackbench_preload_abi::{FINISH, OK, STREAM_END};

    use super::*;

    const VERSION: *const c_char = c"1.2.11".as_ptr();

    /// Reads a stream that zlib-ng wrote with stock zlib and with zlib-ng, in pieces. The caller must see the same in
    /// both.
    #[test]
    fn streams_show_what_stock_zlib_shows() {
        let payload: Vec<u8> = (0..9_000u32).map(|at| (at * at / 70) as u8).collect();
        let (ng, stock) = (functions().unwrap(), crate::zlibs::stock().unwrap());
        let stored = written(ng, &payload);
        for (piece, room) in [(1, 7), (100, 9_001), (9_001, 20), (9_001, 9_001)] {
            let [ng, stock] = [ng, &stock].map(|functions| read(functions, &stored, piece, room));
            assert!(ng.0 == payload && ng == stock, "{piece} {room}");
        }
    }

    fn written(functions: &ZlibFunctions, payload: &[u8]) -> Vec<u8> {
        let mut stream = ZStream::zeroed();
        // SAFETY: a stream of zeroes, then an open one with bytes and room of these lengths.
        unsafe {
            assert_eq!((functions.deflate_init2)(&mut stream, 6, 8, 15, 8, 0, VERSION, ZStream::SIZE), OK);
            assert_eq!(stream.adler, 1);
            let mut stored = vec![0; (functions.deflate_bound)(&mut stream, payload.len() as c_ulong) as usize];
            (stream.next_in, stream.avail_in) = (payload.as_ptr(), payload.len() as u32);
            (stream.next_out, stream.avail_out) = (stored.as_mut_ptr(), stored.len() as u32);
            assert_eq!((functions.deflate)(&mut stream, FINISH), STREAM_END);
            stored.truncate(stream.total_out as usize);
            assert_eq!(stored[stored.len() - 4..], (stream.adler as u32).to_be_bytes());
            assert_eq!((functions.deflate_end)(&mut stream), OK);
            stored
        }
    }

    /// Returns the payload, the checksum and both totals. The stream is reset first, and its second half is read
    /// through a copy.
    fn read(functions: &ZlibFunctions, stored: &[u8], piece: usize, room: usize) -> (Vec<u8>, c_ulong, [c_ulong; 2]) {
        let [mut first, mut copy] = [ZStream::zeroed(); 2];
        let (mut payload, mut code, mut at) = (Vec::new(), OK, 0);
        // SAFETY: a stream of zeroes, then open ones with bytes and room of these lengths.
        unsafe {
            assert_eq!((functions.inflate_init2)(&mut first, 15, VERSION, ZStream::SIZE), OK);
            assert_eq!((functions.inflate_reset2)(&mut first, 0), OK);
            while code == OK {
                if at > stored.len() / 2 && copy.state.is_null() {
                    assert_eq!((functions.inflate_copy)(&mut copy, &mut first), OK);
                }
                let stream = if copy.state.is_null() { &mut first } else { &mut copy };
                let (bytes, mut written) = (&stored[at..stored.len().min(at + piece)], vec![0; room]);
                (stream.next_in, stream.avail_in) = (bytes.as_ptr(), bytes.len() as u32);
                (stream.next_out, stream.avail_out) = (written.as_mut_ptr(), room as u32);
                code = (functions.inflate)(stream, 0);
                at += bytes.len() - stream.avail_in as usize;
                payload.extend(&written[..room - stream.avail_out as usize]);
            }
            assert_eq!(code, STREAM_END);
            let last = if copy.state.is_null() { &first } else { &copy };
            let seen = (payload, last.adler, [last.total_in, last.total_out]);
            assert_eq!((functions.inflate_end)(&mut first), OK);
            if !copy.state.is_null() {
                assert_eq!((functions.inflate_end)(&mut copy), OK);
            }
            seen
        }
    }
}
