//! Other implementations of zlib's functions.

use std::ffi::{CStr, c_void};

use libc::{c_int, c_uint};
use repackbench_preload_abi::{ZStream, ZlibFunctions};

unsafe extern "C" {
    // Part of stock zlib, and not of its bindings.
    fn inflateGetDictionary(stream: *mut ZStream, dictionary: *mut u8, length: *mut c_uint) -> c_int;
    fn deflatePending(stream: *mut ZStream, pending: *mut c_uint, bits: *mut c_int) -> c_int;
}

macro_rules! functions_of {
    ($library:ident, $get_dictionary:expr, $pending:expr) => {
        |name: &CStr| -> *mut c_void {
            match name.to_bytes() {
                b"inflateInit2_" => $library::inflateInit2_ as *mut c_void,
                b"inflate" => $library::inflate as *mut c_void,
                b"inflateEnd" => $library::inflateEnd as *mut c_void,
                b"inflateReset" => $library::inflateReset as *mut c_void,
                b"inflateReset2" => $library::inflateReset2 as *mut c_void,
                b"inflateSetDictionary" => $library::inflateSetDictionary as *mut c_void,
                b"inflateGetDictionary" => $get_dictionary as *mut c_void,
                b"inflateSync" => $library::inflateSync as *mut c_void,
                b"inflateCopy" => $library::inflateCopy as *mut c_void,
                b"inflatePrime" => $library::inflatePrime as *mut c_void,
                b"inflateMark" => $library::inflateMark as *mut c_void,
                b"inflateGetHeader" => $library::inflateGetHeader as *mut c_void,
                b"deflateInit2_" => $library::deflateInit2_ as *mut c_void,
                b"deflate" => $library::deflate as *mut c_void,
                b"deflateEnd" => $library::deflateEnd as *mut c_void,
                b"deflateReset" => $library::deflateReset as *mut c_void,
                b"deflateBound" => $library::deflateBound as *mut c_void,
                b"deflateSetHeader" => $library::deflateSetHeader as *mut c_void,
                b"deflateTune" => $library::deflateTune as *mut c_void,
                b"deflateParams" => $library::deflateParams as *mut c_void,
                b"deflatePrime" => $library::deflatePrime as *mut c_void,
                b"deflatePending" => $pending as *mut c_void,
                b"deflateCopy" => $library::deflateCopy as *mut c_void,
                b"deflateSetDictionary" => $library::deflateSetDictionary as *mut c_void,
                _ => std::ptr::null_mut(),
            }
        }
    };
}

/// Those of stock zlib.
pub(crate) fn stock() -> Option<ZlibFunctions> {
    // SAFETY: each is stock zlib's function of that name, as zlib.h declares it.
    unsafe { ZlibFunctions::find(functions_of!(libz_sys, inflateGetDictionary, deflatePending)) }
}

/// Those of zlib-rs.
pub(crate) fn zlib_rs() -> Option<ZlibFunctions> {
    use libz_rs_sys as zlib_rs;
    // SAFETY: each is zlib-rs's function of that name, which it gives the signature of zlib.h.
    unsafe { ZlibFunctions::find(functions_of!(zlib_rs, zlib_rs::inflateGetDictionary, zlib_rs::deflatePending)) }
}
