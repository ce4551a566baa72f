//! Recognizes programs that read objects through this library: a variant may look like an ordinary repository to them.

use std::{
    env,
    ffi::{CStr, OsStr},
    sync::OnceLock,
};

use libc::{c_char, c_int, c_void, size_t};

use crate::git_command;

/// With the value `1`, every program that has loaded a zlib counts as a reader.
const VARIABLE: &str = "REPACKBENCH_READER";

/// Parts of the paths of libraries that read Git objects.
const LIBRARIES: [&[u8]; 2] = [b"libgit2", b"/dulwich/"];

/// Which relevant libraries this process has loaded.
#[derive(Default)]
struct Loaded {
    zlib: bool,
    library: bool,
}

/// Whether this process is such a program: git, or a program that has loaded libgit2 or dulwich, with a zlib that this
/// library replaces.
///
/// Having a zlib is not enough: a program that only copies `config` would make a variant without a guard.
pub(super) fn is_reader() -> bool {
    let mut loaded = Loaded::default();
    // SAFETY: the function reads what the loader shows it and writes only to `loaded`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut loaded).cast()) };
    loaded.zlib && (loaded.library || git_command::is_git() || is_declared())
}

fn is_declared() -> bool {
    static IS_DECLARED: OnceLock<bool> = OnceLock::new();
    *IS_DECLARED.get_or_init(|| env::var_os(VARIABLE).as_deref() == Some(OsStr::new("1")))
}

/// Notes one loaded object in `loaded`.
///
/// # Safety
/// `loaded` must point to a [`Loaded`] that nothing else uses; the other arguments come from the loader.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: size_t, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid object, whose name is null or a C string.
    let name: *const c_char = unsafe { (*info).dlpi_name };
    if !name.is_null() {
        // SAFETY: as above; the caller guarantees the rest.
        let (path, loaded) = unsafe { (CStr::from_ptr(name).to_bytes(), &mut *loaded.cast::<Loaded>()) };
        loaded.zlib |= is_zlib(git_command::file_name(path));
        loaded.library |= LIBRARIES.iter().any(|part| path.windows(part.len()).any(|found| found == *part));
    }
    0
}

/// Whether a library is a zlib that exports zlib's own function names: `libz.so.1`, or `libz-0123abcd.so.1` as in
/// Python packages, but not `libz-ng.so.2`.
fn is_zlib(file: &[u8]) -> bool {
    file.starts_with(b"libz.") || file.starts_with(b"libz-") && !file.starts_with(b"libz-ng")
}
