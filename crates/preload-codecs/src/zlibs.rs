//! Tables of the functions of stock zlib and zlib-rs.

use std::ffi::{CStr, c_void};

use libc::{c_int, c_uint};
use repackbench_preload_abi::{ZStream, ZlibFunctions};

unsafe extern "C" {
    // Stock zlib has these functions; its bindings lack them.
    fn inflateGetDictionary(stream: *mut ZStream, dictionary: *mut u8, length: *mut c_uint) -> c_int;
    fn deflatePending(stream: *mut ZStream, pending: *mut c_uint, bits: *mut c_int) -> c_int;
}

/// A closure that finds the functions of `$library` by name. Two functions that some bindings lack are passed
/// separately.
macro_rules! functions_of {
    ($library:ident, $get_dictionary:expr, $pending:expr) => {
        functions_of!($library, $get_dictionary, $pending, [
            inflateInit2_ inflate inflateEnd inflateReset inflateReset2 inflateSetDictionary inflateSync inflateCopy
            inflatePrime inflateMark inflateGetHeader
            deflateInit2_ deflate deflateEnd deflateReset deflateBound deflateSetHeader deflateTune deflateParams
            deflatePrime deflateCopy deflateSetDictionary
        ])
    };
    ($library:ident, $get_dictionary:expr, $pending:expr, [$($name:ident)*]) => {
        |name: &CStr| -> *mut c_void {
            match name.to_str() {
                $(Ok(name) if name == stringify!($name) => $library::$name as *mut c_void,)*
                Ok("inflateGetDictionary") => $get_dictionary as *mut c_void,
                Ok("deflatePending") => $pending as *mut c_void,
                _ => std::ptr::null_mut(),
            }
        }
    };
}

/// The functions of stock zlib.
pub(crate) fn stock() -> Option<ZlibFunctions> {
    // SAFETY: each is stock zlib's function of that name, as zlib.h declares it.
    unsafe { ZlibFunctions::find(functions_of!(libz_sys, inflateGetDictionary, deflatePending)) }
}

/// The functions of zlib-rs.
pub(crate) fn zlib_rs() -> Option<ZlibFunctions> {
    use libz_rs_sys as zlib_rs;
    // SAFETY: each is zlib-rs's function of that name, which it gives the signature of zlib.h.
    unsafe { ZlibFunctions::find(functions_of!(zlib_rs, zlib_rs::inflateGetDictionary, zlib_rs::deflatePending)) }
}
