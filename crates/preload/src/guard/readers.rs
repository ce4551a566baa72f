//! Programs that read objects through this library, and so may be shown a variant as an ordinary repository.

use std::{
    env,
    ffi::{CStr, OsStr},
    sync::OnceLock,
};

use libc::{c_char, c_int, c_void, size_t};

use crate::git_command;

/// Makes a reader of every program that has loaded a zlib.
const VARIABLE: &str = "REPACKBENCH_READER";

/// What is part of the paths of libraries that read git's objects.
const LIBRARIES: [&[u8]; 2] = [b"libgit2", b"/dulwich/"];

/// What this process has loaded.
#[derive(Default)]
struct Loaded {
    zlib: bool,
    library: bool,
}

/// Whether this process is one: a git, or what has loaded libgit2 or dulwich, if its zlib is one that this library stands in for.
/// To have a zlib is not enough: what copies the file would leave a variant without a guard.
pub(super) fn is_reader() -> bool {
    let mut loaded = Loaded::default();
    // SAFETY: the function looks at what it is shown, and writes to what it is given, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut loaded).cast()) };
    loaded.zlib && (loaded.library || git_command::is_git() || is_declared())
}

fn is_declared() -> bool {
    static IS_DECLARED: OnceLock<bool> = OnceLock::new();
    *IS_DECLARED.get_or_init(|| env::var_os(VARIABLE).as_deref() == Some(OsStr::new("1")))
}

/// # Safety
/// `loaded` must be a [`Loaded`] that nobody else uses; the rest is what the loader shows.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: size_t, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader shows each object, whose name is null or a C string.
    let name: *const c_char = unsafe { (*info).dlpi_name };
    if !name.is_null() {
        // SAFETY: as above, and as the caller vouches.
        let (path, loaded) = unsafe { (CStr::from_ptr(name).to_bytes(), &mut *loaded.cast::<Loaded>()) };
        loaded.zlib |= is_zlib(git_command::file_name(path));
        loaded.library |= LIBRARIES.iter().any(|part| path.windows(part.len()).any(|found| found == *part));
    }
    0
}

/// Whether a library is a zlib with zlib's own names of functions: `libz.so.1`, `libz-0123abcd.so.1` as Python's packages have it, and not
/// `libz-ng.so.2`.
fn is_zlib(file: &[u8]) -> bool {
    file.starts_with(b"libz.") || file.starts_with(b"libz-") && !file.starts_with(b"libz-ng")
}
