//! Chooses the real zlib, which reads and writes zlib streams.

use std::{
    env,
    ffi::CStr,
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, Ordering},
    },
};

use libc::c_void;
use repackbench_preload_abi::{Codecs, ZLIB_VARIABLE, ZlibFunctions};

use crate::{codecs::codecs, complain, guarded};

/// The values that the environment variable may have.
const NAMES: &str = "host, stock, zlib-rs, zlib-ng or libdeflate";

/// A real zlib and how it is used.
pub(crate) struct Zlib {
    pub(crate) functions: &'static ZlibFunctions,
    /// Whether libdeflate is tried first for streams that are read.
    pub(crate) tries_libdeflate: bool,
    /// Whether contexts are kept from stream to stream. The program's own zlib opens and closes as the program asks.
    pub(crate) keeps_contexts: bool,
}

/// The zlib that the environment names, looked up on first use. Prints a message and returns `None` if it is not
/// available. Does not panic.
#[inline]
pub(crate) fn zlib() -> Option<&'static Zlib> {
    static ZLIB: OnceLock<Option<Zlib>> = OnceLock::new();
    // Every function starts with this lookup, so it is a single load.
    static FOUND: AtomicPtr<Zlib> = AtomicPtr::new(ptr::null_mut());
    #[cold]
    fn first() -> Option<&'static Zlib> {
        guarded(None, || {
            let found = ZLIB.get_or_init(find).as_ref()?;
            FOUND.store(ptr::from_ref(found).cast_mut(), Ordering::Release);
            Some(found)
        })
    }
    // SAFETY: null, or a value that is never freed or changed.
    unsafe { FOUND.load(Ordering::Acquire).as_ref() }.or_else(first)
}

fn find() -> Option<Zlib> {
    let name = env::var_os(ZLIB_VARIABLE);
    let (functions, tries_libdeflate, keeps_contexts) = match name.as_ref().map_or(Some("host"), |name| name.to_str()) {
        Some("" | "host") => (host(), false, false),
        Some("stock") => (codecs().map(|codecs| &codecs.stock), false, true),
        Some("zlib-rs") => (codecs().map(|codecs| &codecs.zlib_rs), false, true),
        Some("zlib-ng") => (codecs().and_then(zlib_ng), false, true),
        Some("libdeflate") => (host(), codecs().is_some(), true),
        _ => {
            let found = name.unwrap_or_default();
            complain(&format!("{ZLIB_VARIABLE}: expected {NAMES}, found {}", found.display()));
            (None, false, false)
        }
    };
    functions.map(|functions| Zlib { functions, tries_libdeflate, keeps_contexts })
}

/// The functions of zlib-ng, if the codecs were built with it.
fn zlib_ng(codecs: &'static Codecs) -> Option<&'static ZlibFunctions> {
    if codecs.zlib_ng.is_none() {
        complain("zlib-ng is not built in: build with --features zlib-ng, which needs cmake");
    }
    codecs.zlib_ng
}

/// The functions of the zlib that the program would use without this library.
fn host() -> Option<&'static ZlibFunctions> {
    static HOST: OnceLock<Option<ZlibFunctions>> = OnceLock::new();
    let found = HOST.get_or_init(|| {
        // SAFETY: dlsym takes RTLD_NEXT and C strings; the next symbols of these names after ours are zlib's.
        let next = unsafe { ZlibFunctions::find(|name| libc::dlsym(libc::RTLD_NEXT, name.as_ptr())) };
        next.or_else(system)
    });
    if found.is_none() {
        complain("found no zlib: the program is not linked with one, and libz.so.1 cannot be loaded");
    }
    found.as_ref()
}

/// The functions of the system's zlib, for programs that load it late, as Python does: it is then not among the
/// libraries after this one.
fn system() -> Option<ZlibFunctions> {
    // SAFETY: a C string; loading zlib runs none of its code. A zlib that the program has already loaded is found
    // again.
    let library: *mut c_void = unsafe { libc::dlopen(c"libz.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library is loaded and never unloaded; its symbols of these names are zlib's.
    unsafe { ZlibFunctions::find(|name: &CStr| libc::dlsym(library, name.as_ptr())) }
}
