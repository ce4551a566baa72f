//! What the zlib stand-in and the library with its codecs say to each other.
//!
//! They are two libraries because each zlib's functions have the same names: the stand-in exports those names and holds no zlib, and
//! its codecs hold several and export none of them. Here is what crosses between them, all of it C's.

#![allow(clippy::missing_safety_doc, reason = "types of functions; zlib.h says what their callers owe")]

use libc::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

/// Changes when anything here does: a stand-in refuses codecs of another build.
pub const ABI_VERSION: u32 = 3;

/// The one symbol that the library with the codecs exports, a [`CodecsFunction`].
pub const CODECS_SYMBOL: &std::ffi::CStr = c"repackbench_preload_codecs";

/// Names the zlib that reads and writes zlib streams.
pub const ZLIB_VARIABLE: &str = "REPACKBENCH_ZLIB";

/// The file of the library with the codecs, if it is not beside the stand-in.
pub const CODECS_VARIABLE: &str = "REPACKBENCH_PRELOAD_CODECS";

/// The codec of what git writes to the object stores of variants, whatever their configuration says.
pub const CODEC_VARIABLE: &str = "REPACKBENCH_CODEC";

/// The environment variable that says how long a payload may be that is collected to be encoded, in bytes.
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
    /// The next byte to take.
    pub next_in: *const u8,
    /// How many there are.
    pub avail_in: c_uint,
    /// How many were taken.
    pub total_in: c_ulong,
    /// Where the next byte goes.
    pub next_out: *mut u8,
    /// How many there is room for.
    pub avail_out: c_uint,
    /// How many were written.
    pub total_out: c_ulong,
    /// The last error's text, or null.
    pub msg: *const c_char,
    /// What the library keeps.
    pub state: *mut c_void,
    /// Takes memory.
    pub zalloc: Option<unsafe extern "C" fn(*mut c_void, c_uint, c_uint) -> *mut c_void>,
    /// Gives it back.
    pub zfree: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    /// What the two are called with.
    pub opaque: *mut c_void,
    /// A guess at the data.
    pub data_type: c_int,
    /// The checksum so far.
    pub adler: c_ulong,
    /// Nothing.
    pub reserved: c_ulong,
}

impl ZStream {
    /// One of zeroes, as C programs begin with.
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

    /// Its length, as the `Init` functions are told.
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
            /// Those that `find` finds by their names; none if one is missing.
            ///
            /// # Safety
            /// What `find` returns must be null, or the function of that name as zlib.h declares it.
            pub unsafe fn find(mut find: impl FnMut(&std::ffi::CStr) -> *mut c_void) -> Option<Self> {
                $(let $field = find($symbol);)*
                $(if $field.is_null() { return None; })*
                // SAFETY: none is null, and the caller vouches that each is the function that zlib.h declares.
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

/// What a step of one of our own streams did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes taken.
    pub consumed: usize,
    /// Bytes written.
    pub produced: usize,
    /// [`OK`], [`STREAM_END`] or an error.
    pub code: c_int,
    /// With an error, its text, which lasts as long as the process.
    pub message: *const c_char,
}

/// Bytes that last as long as the process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// The first; null where there are none.
    pub start: *const u8,
    /// How many.
    pub len: usize,
}

/// What the codecs do for the stand-in. Decoders are opaque; one belongs to the stream that opened it until that closes it, and is
/// used by one thread at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Codecs {
    /// [`ABI_VERSION`]
    pub abi_version: u32,
    /// The dictionaries in a folder, whose path is a C string; null where they cannot be read. They last as long as the process.
    pub dictionaries: unsafe extern "C" fn(*const c_char) -> *const c_void,
    /// A decoder for one chunk after the other that knows these dictionaries, or none if null; null where there is no memory for it.
    pub open: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    /// Forgets what a decoder was about.
    pub restart: unsafe extern "C" fn(*mut c_void),
    /// Goes on with a chunk: bytes and how many, room and how much.
    pub step: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize) -> Progress,
    /// Gives a decoder back.
    pub close: unsafe extern "C" fn(*mut c_void),
    /// Decodes a whole zlib stream with libdeflate if all of it is there and the room suffices; [`STREAM_END`] then.
    pub libdeflate: unsafe extern "C" fn(*const u8, usize, *mut u8, usize) -> Progress,
    /// The one of these dictionaries that has that Adler-32; without a start if there is none.
    pub dictionary: unsafe extern "C" fn(*const c_void, u32) -> Bytes,
    /// The functions of zlib-ng, if it is built in.
    pub zlib_ng: Option<&'static ZlibFunctions>,
    /// The functions of stock zlib.
    pub stock: ZlibFunctions,
    /// The functions of zlib-rs.
    pub zlib_rs: ZlibFunctions,
    /// What writes with a codec, a C string, into a repository with a guard or without one; null where that cannot be. It lasts as
    /// long as the process.
    pub writer: unsafe extern "C" fn(*const c_char, bool) -> *const c_void,
    /// A place to collect one payload after the other that this writes; null where there is no memory for it.
    pub open_payload: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    /// Forgets what was collected and encoded.
    pub restart_payload: unsafe extern "C" fn(*mut c_void),
    /// Adds bytes: [`OK`], or an error, and then nothing was added.
    pub append: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int,
    /// What was collected, until the next call.
    pub collected: unsafe extern "C" fn(*mut c_void) -> Bytes,
    /// The chunk of what was collected and of these bytes behind it, until the next call; true for a loose object, whose level is its
    /// own. Without a start if that failed or the chunk is longer than the last argument; what was collected is then as before.
    pub encode: unsafe extern "C" fn(*mut c_void, bool, *const u8, usize, usize) -> Bytes,
    /// Gives a place back.
    pub close_payload: unsafe extern "C" fn(*mut c_void),
}

/// The function behind [`CODECS_SYMBOL`].
pub type CodecsFunction = unsafe extern "C" fn() -> *const Codecs;
