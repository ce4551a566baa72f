//! Loads the stand-in for zlib, and the system's zlib to compare it with.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use repackbench_preload_abi::ZlibFunctions;

#[path = "../../../../fixtures/built.rs"]
mod built;

/// The stand-in's functions. Its real zlib is the system's.
pub(super) fn ours() -> &'static ZlibFunctions {
    static FUNCTIONS: OnceLock<ZlibFunctions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| load(&built::library("repackbench_preload")))
}

/// The functions of the system's zlib.
pub(super) fn zlibs() -> &'static ZlibFunctions {
    static FUNCTIONS: OnceLock<ZlibFunctions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| load(Path::new("libz.so.1")))
}

fn load(path: &Path) -> ZlibFunctions {
    let name = CString::new(path.as_os_str().as_bytes()).expect("a path without NUL");
    // SAFETY: a C string; neither library runs any code of consequence when it is loaded, and both are never unloaded.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "{}: cannot be loaded", path.display());
    // SAFETY: a loaded library whose symbols of these names are zlib's functions or replace them.
    unsafe { ZlibFunctions::find(|name| libc::dlsym(library, name.as_ptr())) }.expect("all functions")
}
