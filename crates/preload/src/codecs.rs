//! Loads the library that holds the codecs.

use std::{
    env,
    ffi::{CStr, CString, OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use libc::c_void;
use repackbench_preload_abi::{ABI_VERSION, CODECS_SYMBOL, CODECS_VARIABLE, Codecs, CodecsFunction};

use crate::complain;

/// The file name of that library, which is in the same folder as this one.
const FILE: &str = "librepackbench_preload_codecs.so";

/// The codecs, loaded on first use. Prints a message and returns `None` if loading fails.
pub(crate) fn codecs() -> Option<&'static Codecs> {
    static CODECS: OnceLock<Option<&'static Codecs>> = OnceLock::new();
    *CODECS.get_or_init(|| {
        let path = env::var_os(CODECS_VARIABLE).map_or_else(beside_this_library, PathBuf::from);
        load(&path).inspect_err(|why| complain(&format!("{}: {why}", path.display()))).ok()
    })
}

fn load(path: &Path) -> Result<&'static Codecs, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a C string; the library's initialisation runs only Rust's own.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(last_error());
    }
    // SAFETY: a loaded library that is never unloaded, and a C string.
    let symbol = unsafe { libc::dlsym(library, CODECS_SYMBOL.as_ptr()) };
    if symbol.is_null() {
        return Err("expected the codecs of repackbench, found another library".to_owned());
    }
    // SAFETY: every library that exports this symbol gives it this type; it returns null or a table that is never
    // freed.
    let codecs = unsafe { std::mem::transmute::<*mut c_void, CodecsFunction>(symbol)().as_ref() };
    match codecs {
        Some(codecs) if codecs.abi_version == ABI_VERSION => Ok(codecs),
        _ => Err("expected the codecs of the same build, found those of another build".to_owned()),
    }
}

/// The loader's message about its last failure.
fn last_error() -> String {
    // SAFETY: dlerror returns null or a C string that is valid until this thread calls it again.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "cannot be loaded".to_owned();
    }
    // SAFETY: checked for null above; the string is copied.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

fn beside_this_library() -> PathBuf {
    this_file().map_or_else(|| PathBuf::from(FILE), |this| Path::new(&this).with_file_name(FILE))
}

/// The path of this library's own file.
fn this_file() -> Option<OsString> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: dladdr accepts any address, and `info` is ours to write to.
    let found = unsafe { libc::dladdr(this_file as *const c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: after success the name is a C string that lives as long as the library; it is copied.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(OsString::from_vec(OsStr::from_bytes(name.to_bytes()).as_bytes().to_vec()))
}
