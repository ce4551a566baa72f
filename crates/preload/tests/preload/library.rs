//! Loads the libraries under test, built with the profile of these tests, and the zlib that they are compared with.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use repackbench_preload_abi::ZlibFunctions;

#[path = "../../../../fixtures/built.rs"]
pub(crate) mod built;

/// The path of the stand-in.
pub(crate) fn stand_in() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| built::library("repackbench_preload"))
}

/// The stand-in's functions. Its real zlib is the system's.
pub(crate) fn ours() -> &'static ZlibFunctions {
    static FUNCTIONS: OnceLock<ZlibFunctions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| load(stand_in()))
}

/// The functions of the system's zlib.
pub(crate) fn zlibs() -> &'static ZlibFunctions {
    static FUNCTIONS: OnceLock<ZlibFunctions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| load(Path::new("libz.so.1")))
}

fn open(path: &Path) -> *mut libc::c_void {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a C string; neither library runs any code of consequence when it is loaded, and both are never unloaded.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "{}: cannot be loaded", path.display());
    library
}

/// Makes an empty file with the stand-in's `open`, as a program with the stand-in preloaded does.
pub(crate) fn make_file(path: &Path) {
    type Open = unsafe extern "C" fn(*const libc::c_char, libc::c_int, libc::mode_t) -> libc::c_int;
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a loaded library, and a C string.
    let open = unsafe { libc::dlsym(open(stand_in()), c"open".as_ptr()) };
    assert!(!open.is_null());
    // SAFETY: the symbol is a function of this type.
    let made = unsafe {
        std::mem::transmute::<*mut libc::c_void, Open>(open)(name.as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o600)
    };
    assert!(made >= 0, "{}", path.display());
    // SAFETY: the descriptor is open and used nowhere else.
    unsafe { libc::close(made) };
}

fn load(path: &Path) -> ZlibFunctions {
    let library = open(path);
    // SAFETY: a loaded library whose symbols of these names are zlib's functions or replace them.
    unsafe { ZlibFunctions::find(|name| libc::dlsym(library, name.as_ptr())) }.expect("all functions")
}

/// The functions of the C library that the stand-in replaces.
const OF_THE_C_LIBRARY: [&str; 25] = [
    "__libc_start_main",
    "__open64_2",
    "__open_2",
    "__openat64_2",
    "__openat_2",
    "__pread64_chk",
    "__pread_chk",
    "__read_chk",
    "fopen",
    "fopen64",
    "link",
    "linkat",
    "mmap",
    "mmap64",
    "munmap",
    "open",
    "open64",
    "openat",
    "openat64",
    "pread",
    "pread64",
    "read",
    "rename",
    "renameat",
    "renameat2",
];

#[test]
fn libraries_export_only_what_they_replace() {
    let exported = |file: &Path| -> Vec<String> {
        let output = Command::new("nm").args(["-D", "--defined-only"]).arg(file).output().expect("nm, of binutils");
        assert!(output.status.success());
        let listing = String::from_utf8(output.stdout).unwrap();
        listing.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
    };
    let (zlibs, mut others): (Vec<String>, Vec<String>) =
        exported(stand_in()).into_iter().partition(|name| name.starts_with("inflate") || name.starts_with("deflate"));
    assert!(zlibs.len() > 20, "{zlibs:?}");
    others.sort();
    assert_eq!(others, OF_THE_C_LIBRARY);
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
        assert!(zlibs.iter().any(|name| name == imported), "{imported}");
    }
    assert_eq!(
        exported(&stand_in().with_file_name("librepackbench_preload_codecs.so")),
        ["repackbench_preload_codecs"]
    );
}
