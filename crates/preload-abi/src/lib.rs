//! The C interface between the stand-in for zlib and the library with the codecs.
//!
//! They are two libraries because the functions of all zlibs have the same names. The stand-in exports those names and
//! contains no zlib; the codecs' library contains several zlibs and exports none of their names. This crate defines the
//! types that cross between them, all with C layout.

#![allow(clippy::missing_safety_doc, reason = "types of functions; zlib.h says what their callers must ensure")]

use libc::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

/// The version of this interface, raised with every change to it. A stand-in refuses codecs of another version.
pub const ABI_VERSION: u32 = 3;

/// The only symbol that the codecs' library exports, a [`CodecsFunction`].
pub const CODECS_SYMBOL: &std::ffi::CStr = c"repackbench_preload_codecs";

/// The environment variable that names the zlib that reads and writes zlib streams.
pub const ZLIB_VARIABLE: &str = "REPACKBENCH_ZLIB";

/// The environment variable with the path of the codecs' library, if it is not beside the stand-in.
pub const CODECS_VARIABLE: &str = "REPACKBENCH_PRELOAD_CODECS";

/// The environment variable with the codec that git writes with to the object stores of variants; it overrides their
/// configuration.
pub const CODEC_VARIABLE: &str = "REPACKBENCH_CODEC";

/// The environment variable that says what the packs that git sends contain: [`SENDS_STORED`], or zlib streams.
pub const SENDS_VARIABLE: &str = "REPACKBENCH_SENDS";

/// The value of [`SENDS_VARIABLE`] for a receiver that reads the codec of the variant: stored bytes are sent unchanged.
pub const SENDS_STORED: &str = "stored";

/// The environment variable with the longest payload that is collected to be encoded, in bytes.
pub const COLLECT_LIMIT_VARIABLE: &str = "REPACKBENCH_COLLECT_LIMIT";

/// `Z_OK`
pub const OK: c_int = 0;
/// `Z_STREAM_END`
pub const STREAM_END: c_int = 1;
/// `Z_NEED_DICT`
pub const NEED_DICT: c_int = 2;
/// `Z_STREAM_ERROR`
pub const STREAM_ERROR: c_int = -2;
/// `Z_DATA_ERROR`
pub const DATA_ERROR: c_int = -3;
/// `Z_MEM_ERROR`
pub const MEM_ERROR: c_int = -4;
/// `Z_BUF_ERROR`
pub const BUF_ERROR: c_int = -5;
/// `Z_VERSION_ERROR`
pub const VERSION_ERROR: c_int = -6;
/// `Z_FINISH`
pub const FINISH: c_int = 4;

/// zlib's `z_stream`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ZStream {
    /// The next input byte.
    pub next_in: *const u8,
    /// The number of input bytes.
    pub avail_in: c_uint,
    /// The number of input bytes consumed so far.
    pub total_in: c_ulong,
    /// Where the next output byte goes.
    pub next_out: *mut u8,
    /// The number of output bytes that there is room for.
    pub avail_out: c_uint,
    /// The number of output bytes written so far.
    pub total_out: c_ulong,
    /// The last error message, or null.
    pub msg: *const c_char,
    /// The library's own state.
    pub state: *mut c_void,
    /// Allocates memory.
    pub zalloc: Option<unsafe extern "C" fn(*mut c_void, c_uint, c_uint) -> *mut c_void>,
    /// Frees memory.
    pub zfree: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    /// Passed to `zalloc` and `zfree`.
    pub opaque: *mut c_void,
    /// A guess at the kind of data.
    pub data_type: c_int,
    /// The checksum so far.
    pub adler: c_ulong,
    /// Unused.
    pub reserved: c_ulong,
}

impl ZStream {
    /// A stream of zeroes, as C programs initialize it.
    pub const fn zeroed() -> Self {
        ZStream {
            next_in: std::ptr::null(),
            avail_in: 0,
            total_in: 0,
            next_out: std::ptr::null_mut(),
            avail_out: 0,
            total_out: 0,
            msg: std::ptr::null(),
            state: std::ptr::null_mut(),
            zalloc: None,
            zfree: None,
            opaque: std::ptr::null_mut(),
            data_type: 0,
            adler: 0,
            reserved: 0,
        }
    }

    /// Its size, as passed to the `Init` functions.
    #[allow(clippy::cast_possible_truncation, reason = "112 on 64-bit machines")]
    pub const SIZE: c_int = size_of::<ZStream>() as c_int;
}

macro_rules! zlib_functions {
    ($($(#[$doc:meta])* $field:ident = $symbol:literal : fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of one zlib.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct ZlibFunctions {
            $($(#[$doc])* pub $field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl ZlibFunctions {
            /// Looks up all functions by name with `find`. `None` if one is missing.
            ///
            /// # Safety
            /// `find` must return null, or the function of that name as zlib.h declares it.
            pub unsafe fn find(mut find: impl FnMut(&std::ffi::CStr) -> *mut c_void) -> Option<Self> {
                $(let $field = find($symbol);)*
                $(if $field.is_null() { return None; })*
                // SAFETY: none is null, and the caller guarantees that each is the function that zlib.h declares.
                unsafe { Some(ZlibFunctions { $($field: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>($field),)* }) }
            }
        }
    };
}

zlib_functions! {
    /// `inflateInit2_`
    inflate_init2 = c"inflateInit2_": fn(*mut ZStream, c_int, *const c_char, c_int) -> c_int;
    /// `inflate`
    inflate = c"inflate": fn(*mut ZStream, c_int) -> c_int;
    /// `inflateEnd`
    inflate_end = c"inflateEnd": fn(*mut ZStream) -> c_int;
    /// `inflateReset`
    inflate_reset = c"inflateReset": fn(*mut ZStream) -> c_int;
    /// `inflateReset2`
    inflate_reset2 = c"inflateReset2": fn(*mut ZStream, c_int) -> c_int;
    /// `inflateSetDictionary`
    inflate_set_dictionary = c"inflateSetDictionary": fn(*mut ZStream, *const u8, c_uint) -> c_int;
    /// `inflateGetDictionary`
    inflate_get_dictionary = c"inflateGetDictionary": fn(*mut ZStream, *mut u8, *mut c_uint) -> c_int;
    /// `inflateSync`
    inflate_sync = c"inflateSync": fn(*mut ZStream) -> c_int;
    /// `inflateCopy`
    inflate_copy = c"inflateCopy": fn(*mut ZStream, *mut ZStream) -> c_int;
    /// `inflatePrime`
    inflate_prime = c"inflatePrime": fn(*mut ZStream, c_int, c_int) -> c_int;
    /// `inflateMark`
    inflate_mark = c"inflateMark": fn(*mut ZStream) -> c_long;
    /// `inflateGetHeader`
    inflate_get_header = c"inflateGetHeader": fn(*mut ZStream, *mut c_void) -> c_int;
    /// `deflateInit2_`
    deflate_init2 = c"deflateInit2_": fn(*mut ZStream, c_int, c_int, c_int, c_int, c_int, *const c_char, c_int) -> c_int;
    /// `deflate`
    deflate = c"deflate": fn(*mut ZStream, c_int) -> c_int;
    /// `deflateEnd`
    deflate_end = c"deflateEnd": fn(*mut ZStream) -> c_int;
    /// `deflateReset`
    deflate_reset = c"deflateReset": fn(*mut ZStream) -> c_int;
    /// `deflateBound`
    deflate_bound = c"deflateBound": fn(*mut ZStream, c_ulong) -> c_ulong;
    /// `deflateSetHeader`
    deflate_set_header = c"deflateSetHeader": fn(*mut ZStream, *mut c_void) -> c_int;
    /// `deflateTune`
    deflate_tune = c"deflateTune": fn(*mut ZStream, c_int, c_int, c_int, c_int) -> c_int;
    /// `deflateParams`
    deflate_params = c"deflateParams": fn(*mut ZStream, c_int, c_int) -> c_int;
    /// `deflatePrime`
    deflate_prime = c"deflatePrime": fn(*mut ZStream, c_int, c_int) -> c_int;
    /// `deflatePending`
    deflate_pending = c"deflatePending": fn(*mut ZStream, *mut c_uint, *mut c_int) -> c_int;
    /// `deflateCopy`
    deflate_copy = c"deflateCopy": fn(*mut ZStream, *mut ZStream) -> c_int;
    /// `deflateSetDictionary`
    deflate_set_dictionary = c"deflateSetDictionary": fn(*mut ZStream, *const u8, c_uint) -> c_int;
}

/// The result of a step of decoding a stream of ours.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The number of input bytes consumed.
    pub consumed: usize,
    /// The number of output bytes written.
    pub produced: usize,
    /// [`OK`], [`STREAM_END`] or an error.
    pub code: c_int,
    /// The message of an error, which is never freed; null otherwise.
    pub message: *const c_char,
}

/// A run of bytes; the function that returns it says how long it is valid.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// The first byte; null if there is nothing.
    pub start: *const u8,
    /// The number of bytes.
    pub len: usize,
}

/// The functions of the codecs' library.
///
/// All pointers to `c_void` are opaque handles. The handle of a decoder or payload belongs to the stream that opened it
/// until the stream closes it, and is used by one thread at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Codecs {
    /// [`ABI_VERSION`]
    pub abi_version: u32,
    /// Reads the dictionaries in a folder, whose path is a C string. The handle is null if they cannot be read, and is
    /// never freed.
    pub dictionaries: unsafe extern "C" fn(*const c_char) -> *const c_void,
    /// Opens a decoder for one chunk after another with these dictionaries (null: none). Null if there is not enough
    /// memory.
    pub open: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    /// Makes a decoder ready for a new chunk.
    pub restart: unsafe extern "C" fn(*mut c_void),
    /// Goes on with a chunk: input and its length, output and its room.
    pub step: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize) -> Progress,
    /// Frees a decoder.
    pub close: unsafe extern "C" fn(*mut c_void),
    /// Decodes a whole zlib stream with libdeflate. Returns [`STREAM_END`] if the input is complete and the room is
    /// enough.
    pub libdeflate: unsafe extern "C" fn(*const u8, usize, *mut u8, usize) -> Progress,
    /// The dictionary with that Adler-32 checksum, which is never freed; `start` is null if there is none.
    pub dictionary: unsafe extern "C" fn(*const c_void, u32) -> Bytes,
    /// The functions of zlib-ng, if it is built in.
    pub zlib_ng: Option<&'static ZlibFunctions>,
    /// The functions of stock zlib.
    pub stock: ZlibFunctions,
    /// The functions of zlib-rs.
    pub zlib_rs: ZlibFunctions,
    /// Makes a writer with the codec of this C string, for a repository with a guard (true) or without one. Null if
    /// such a repository cannot be written with it. Never freed.
    pub writer: unsafe extern "C" fn(*const c_char, bool) -> *const c_void,
    /// Opens a handle that collects one payload after another for this writer. Null if there is not enough memory.
    pub open_payload: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    /// Discards what was collected and encoded.
    pub restart_payload: unsafe extern "C" fn(*mut c_void),
    /// Adds bytes to the payload. After an error, nothing was added.
    pub append: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int,
    /// What was collected, valid until the next call with the handle.
    pub collected: unsafe extern "C" fn(*mut c_void) -> Bytes,
    /// Encodes what was collected, followed by these bytes. The chunk is valid until the next call with the handle.
    ///
    /// The flag is true for a loose object, which has a level of its own. `start` is null if encoding failed or the
    /// chunk is longer than the last argument; what was collected is then as before.
    pub encode: unsafe extern "C" fn(*mut c_void, bool, *const u8, usize, usize) -> Bytes,
    /// Frees a handle.
    pub close_payload: unsafe extern "C" fn(*mut c_void),
}

/// The type of the function exported as [`CODECS_SYMBOL`].
pub type CodecsFunction = unsafe extern "C" fn() -> *const Codecs;
