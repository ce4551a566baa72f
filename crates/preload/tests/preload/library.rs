//! The libraries under test, built as these tests were, and the zlib that they are compared with.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use repackbench_preload_abi::ZlibFunctions;

#[path = "../../../../fixtures/built.rs"]
mod built;

/// The file of the stand-in.
pub(crate) fn stand_in() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| built::library("repackbench_preload"))
}

/// The stand-in's functions, with the system's zlib behind them.
pub(crate) fn ours() -> &'static ZlibFunctions {
    static FUNCTIONS: OnceLock<ZlibFunctions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| load(stand_in()))
}

/// The functions of the system's zlib.
pub(crate) fn zlibs() -> &'static ZlibFunctions {
    static FUNCTIONS: OnceLock<ZlibFunctions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| load(Path::new("libz.so.1")))
}

fn load(path: &Path) -> ZlibFunctions {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a C string; both libraries run no code of consequence when they are loaded, and are never unloaded.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "{}: cannot be loaded", path.display());
    // SAFETY: a loaded library whose symbols of these names are zlib's or stand in for them.
    unsafe { ZlibFunctions::find(|name| libc::dlsym(library, name.as_ptr())) }.expect("all functions")
}

#[test]
fn nothing_but_zlibs_functions_is_exported() {
    let exported = |file: &Path| -> Vec<String> {
        let output = Command::new("nm").args(["-D", "--defined-only"]).arg(file).output().expect("nm, of binutils");
        assert!(output.status.success());
        let listing = String::from_utf8(output.stdout).unwrap();
        listing.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
    };
    let names = exported(stand_in());
    assert!(
        names.len() > 20 && names.iter().all(|name| name.starts_with("inflate") || name.starts_with("deflate")),
        "{names:?}"
    );
    for imported in [
        "inflateInit_",
        "inflateInit2_",
        "inflate",
        "inflateEnd",
        "inflateReset",
        "deflateInit_",
        "deflate",
        "deflateBound",
    ] {
        assert!(names.iter().any(|name| name == imported), "{imported}");
    }
    assert_eq!(
        exported(&stand_in().with_file_name("librepackbench_preload_codecs.so")),
        ["repackbench_preload_codecs"]
    );
}
