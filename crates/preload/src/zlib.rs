//! The zlib that reads and writes zlib streams.

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

/// The names that the environment may give.
const NAMES: &str = "host, stock, zlib-rs, zlib-ng or libdeflate";

/// Which zlib is used.
pub(crate) struct Zlib {
    pub(crate) functions: &'static ZlibFunctions,
    /// libdeflate is tried first on what is to be read.
    pub(crate) tries_libdeflate: bool,
    /// Contexts are kept from stream to stream: but for git's own zlib, which does what git tells it.
    pub(crate) keeps_contexts: bool,
}

/// The zlib that the environment names, found when first asked for; none, with a complaint, if there is none such. Does not panic.
#[inline]
pub(crate) fn zlib() -> Option<&'static Zlib> {
    static ZLIB: OnceLock<Option<Zlib>> = OnceLock::new();
    // Every function asks for it.
    static FOUND: AtomicPtr<Zlib> = AtomicPtr::new(ptr::null_mut());
    #[cold]
    fn first() -> Option<&'static Zlib> {
        guarded(None, || {
            let found = ZLIB.get_or_init(find).as_ref()?;
            FOUND.store(ptr::from_ref(found).cast_mut(), Ordering::Release);
            Some(found)
        })
    }
    // SAFETY: null, or one that lasts and nobody writes to.
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

/// zlib-ng, if the codecs were built with it.
fn zlib_ng(codecs: &'static Codecs) -> Option<&'static ZlibFunctions> {
    if codecs.zlib_ng.is_none() {
        complain("zlib-ng is not built in: build with --features zlib-ng, which needs cmake");
    }
    codecs.zlib_ng
}

/// The zlib that the program would use without us.
fn host() -> Option<&'static ZlibFunctions> {
    static HOST: OnceLock<Option<ZlibFunctions>> = OnceLock::new();
    let found = HOST.get_or_init(|| {
        // SAFETY: RTLD_NEXT and C strings are what dlsym takes; symbols of these names behind ours are zlib's.
        let behind_us = unsafe { ZlibFunctions::find(|name| libc::dlsym(libc::RTLD_NEXT, name.as_ptr())) };
        behind_us.or_else(of_the_system)
    });
    if found.is_none() {
        complain(
            "found no zlib beside this library: the program is not linked with one, and libz.so.1 cannot be loaded",
        );
    }
    found.as_ref()
}

/// The system's zlib: for programs that load it late, as Python does, so that it is not among the libraries behind us.
fn of_the_system() -> Option<ZlibFunctions> {
    // SAFETY: a C string; loading zlib runs no code of it. One that the program has loaded is found again.
    let library: *mut c_void = unsafe { libc::dlopen(c"libz.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library is loaded and stays so; its symbols of these names are zlib's.
    unsafe { ZlibFunctions::find(|name: &CStr| libc::dlsym(library, name.as_ptr())) }
}
