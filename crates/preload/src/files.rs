//! Opens, renames and links files like the C library's functions, except for a variant's configuration and object
//! files.
//!
//! Programs call these functions before `main` and between `fork` and `exec`. So they allocate no memory unless a file
//! is called `config`.

use std::ffi::CStr;

use libc::{AT_FDCWD, EACCES, FILE, O_ACCMODE, O_APPEND, O_CREAT, O_RDONLY, O_TRUNC, c_char, c_int, c_uint, mode_t};

use crate::{
    guard, guarded,
    next::{call_next, set_errno, unsupported},
    objects::{self, ObjectFile},
    repository,
};

/// How to answer a request to open a file.
enum Opening {
    /// Let the C library open it.
    Ordinary,
    /// Return this descriptor.
    Ours(c_int),
    /// Fail with EACCES.
    Refused,
}

/// Decides how to answer a request to open `path`, which starts from `folder` if it is relative.
///
/// # Safety
/// `path` must be null or a C string.
unsafe fn opening(folder: c_int, path: *const c_char, flags: c_int) -> Opening {
    if path.is_null() {
        return Opening::Ordinary;
    }
    // SAFETY: not null, so a C string.
    let path = unsafe { CStr::from_ptr(path) };
    if !guard::is_config(path) {
        let makes = flags & O_CREAT != 0 && guard::has_hidden_a_guard();
        let leaves = makes && guarded(false, || repository::is_unguarded_copy(path.to_bytes()));
        return if leaves { Opening::Refused } else { Opening::Ordinary };
    }
    guarded(Opening::Refused, || match flags & O_ACCMODE {
        O_RDONLY => guard::config_without_guard(folder, path).map_or(Opening::Ordinary, Opening::Ours),
        // Appending removes nothing, so the guard stays.
        _ if flags & O_APPEND != 0 && flags & O_TRUNC == 0 => Opening::Ordinary,
        _ if guard::is_protected(folder, path) => Opening::Refused,
        _ => Opening::Ordinary,
    })
}

fn refused() -> c_int {
    set_errno(EACCES);
    -1
}

/// Records which object store a descriptor belongs to, if any, and returns it. `path` starts from `folder` if it is
/// relative.
///
/// # Safety
/// `path` must be a C string if the descriptor is valid.
unsafe fn opened(descriptor: c_int, folder: c_int, path: *const c_char) -> c_int {
    if descriptor >= 0 {
        // SAFETY: the caller guarantees it.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        // The path of any other folder is unknown, so such a file counts as outside every store.
        let is_known = folder == AT_FDCWD || path.starts_with(b"/");
        objects::opened(descriptor, if is_known { path } else { b"" });
    }
    descriptor
}

/// The folder that relative paths start from: the given one, or the current one.
macro_rules! folder_or_current {
    () => {
        AT_FDCWD
    };
    ($folder:ident) => {
        $folder
    };
}

/// The type `c_int`, once for each argument.
macro_rules! c_int {
    ($argument:ident) => {
        c_int
    };
}

macro_rules! opens {
    ($($symbol:ident = $name:literal ($($folder:ident)?) $($mode:ident)?;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(
            $($folder: c_int,)?
            path: *const c_char,
            flags: c_int,
            $($mode: mode_t,)?
        ) -> c_int {
            // SAFETY: the caller has the same obligations as for the C library's function, which gets its arguments
            // unchanged. A mode that was not passed is whatever its register holds, and is never used.
            unsafe {
                match opening(folder_or_current!($($folder)?), path, flags) {
                    Opening::Ours(descriptor) => descriptor,
                    Opening::Refused => refused(),
                    Opening::Ordinary => opened(
                        call_next!(
                            $name: fn($(c_int!($folder),)? *const c_char, c_int $(, opens!(@mode $mode))?) -> c_int,
                            ($($folder,)? path, flags $(, $mode)?),
                            unsupported(-1)
                        ),
                        folder_or_current!($($folder)?),
                        path,
                    ),
                }
            }
        })*
    };
    (@mode $mode:ident) => { mode_t };
}

opens! {
    open = c"open" () mode;
    open64 = c"open64" () mode;
    openat = c"openat" (folder) mode;
    openat64 = c"openat64" (folder) mode;
    __open_2 = c"__open_2" ();
    __open64_2 = c"__open64_2" ();
    __openat_2 = c"__openat_2" (folder);
    __openat64_2 = c"__openat64_2" (folder);
}

/// The flags of `open` that a mode of `fopen` stands for.
///
/// # Safety
/// `mode` must be a C string.
unsafe fn flags_of(mode: *const c_char) -> c_int {
    // SAFETY: the caller guarantees it.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let updates = mode.contains(&b'+');
    match mode.first() {
        Some(b'r') if !updates => O_RDONLY,
        Some(b'r') => libc::O_RDWR,
        Some(b'a') => libc::O_WRONLY | O_APPEND,
        _ => libc::O_WRONLY | O_TRUNC | O_CREAT,
    }
}

macro_rules! opens_streams {
    ($($symbol:ident = $name:literal;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(path: *const c_char, mode: *const c_char) -> *mut FILE {
            // SAFETY: the C library's function requires the same of the caller: two C strings.
            unsafe {
                match opening(AT_FDCWD, path, flags_of(mode)) {
                    Opening::Ours(descriptor) => libc::fdopen(descriptor, mode),
                    Opening::Refused => {
                        refused();
                        std::ptr::null_mut()
                    }
                    Opening::Ordinary => call_next!(
                        $name: fn(*const c_char, *const c_char) -> *mut FILE,
                        (path, mode),
                        std::ptr::null_mut()
                    ),
                }
            }
        })*
    };
}

opens_streams! {
    fopen = c"fopen";
    fopen64 = c"fopen64";
}

/// Restores the guard in a file that is about to replace a guarded one. Returns false if that fails.
///
/// # Safety
/// Both paths must be null or C strings.
unsafe fn may_replace(from_folder: c_int, from: *const c_char, to_folder: c_int, to: *const c_char) -> bool {
    if from.is_null() || to.is_null() {
        return true;
    }
    // SAFETY: not null, so C strings.
    let (from, to) = unsafe { (CStr::from_ptr(from), CStr::from_ptr(to)) };
    !guard::may_be_guarded(to_folder, to) || guarded(false, || guard::restore_guard(from_folder, from, to_folder, to))
}

/// Whether a program from which guards are hidden may make this link.
///
/// # Safety
/// Both paths must be null or C strings.
unsafe fn may_link(from_folder: c_int, from: *const c_char, to_folder: c_int, to: *const c_char) -> bool {
    if from.is_null() || to.is_null() {
        return true;
    }
    // SAFETY: not null, so C strings.
    let (from, to) = unsafe { (CStr::from_ptr(from).to_bytes(), CStr::from_ptr(to).to_bytes()) };
    let is_known = |folder: c_int, path: &[u8]| folder == AT_FDCWD || path.starts_with(b"/");
    if !is_known(from_folder, from) || !is_known(to_folder, to) || ObjectFile::at(from).is_none() {
        return true;
    }
    guarded(true, || !(repository::links_out_of_variant(from, to) && guard::is_hidden_from_this_process()))
}

/// Functions that take two paths. The C library is called only if `may` returns true.
macro_rules! take_two_paths {
    ($($symbol:ident = $name:literal ($may:ident: $([$folder:ident])? from, $([$other:ident])? to $(, $flags:ident: $type:ty)?);)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(
            $($folder: c_int,)?
            from: *const c_char,
            $($other: c_int,)?
            to: *const c_char
            $(, $flags: $type)?
        ) -> c_int {
            // SAFETY: the caller has the same obligations as for the C library's function, which gets its arguments
            // unchanged.
            unsafe {
                match $may(folder_or_current!($($folder)?), from, folder_or_current!($($other)?), to) {
                    true => call_next!(
                        $name: fn(
                            $(c_int!($folder),)? *const c_char $(, c_int!($other))?, *const c_char $(, $type)?
                        ) -> c_int,
                        ($($folder,)? from $(, $other)?, to $(, $flags)?),
                        unsupported(-1)
                    ),
                    false => refused(),
                }
            }
        })*
    };
}

take_two_paths! {
    rename = c"rename" (may_replace: from, to);
    renameat = c"renameat" (may_replace: [from_folder] from, [to_folder] to);
    renameat2 = c"renameat2" (may_replace: [from_folder] from, [to_folder] to, flags: c_uint);
    link = c"link" (may_link: from, to);
    linkat = c"linkat" (may_link: [from_folder] from, [to_folder] to, flags: c_int);
}
