//! Opening, renaming and linking files: the C library's functions, but for a variant's configuration and object files.
//!
//! They are called before this process has begun and between a fork and what follows it, so they do nothing that needs memory unless
//! a file is called `config`.

use std::ffi::CStr;

use libc::{AT_FDCWD, EACCES, FILE, O_ACCMODE, O_APPEND, O_CREAT, O_RDONLY, O_TRUNC, c_char, c_int, c_uint, mode_t};

use crate::{
    guard, guarded,
    next::{call_next, set_errno, unsupported},
    objects::{self, ObjectFile},
    repository,
};

/// What becomes of a file that is to be opened.
enum Opening {
    /// The C library opens it.
    Ordinary,
    /// This descriptor is it.
    Ours(c_int),
    /// Nobody.
    Refused,
}

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
        // What is appended takes nothing away.
        _ if flags & O_APPEND != 0 && flags & O_TRUNC == 0 => Opening::Ordinary,
        _ if guard::is_protected(folder, path) => Opening::Refused,
        _ => Opening::Ordinary,
    })
}

fn refused() -> c_int {
    set_errno(EACCES);
    -1
}

/// A descriptor that the C library gave for `path`, which starts from `folder` if it is relative.
///
/// # Safety
/// `path` must be a C string if the descriptor is one.
unsafe fn opened(descriptor: c_int, folder: c_int, path: *const c_char) -> c_int {
    if descriptor >= 0 {
        // SAFETY: as the caller vouches.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        // Where another folder lies is not known: the file is of no store.
        let is_known = folder == AT_FDCWD || path.starts_with(b"/");
        objects::opened(descriptor, if is_known { path } else { b"" });
    }
    descriptor
}

/// The folder that relative paths start from: the one that is given, or the current one.
macro_rules! folder_or_current {
    () => {
        AT_FDCWD
    };
    ($folder:ident) => {
        $folder
    };
}

/// `c_int`, for each argument of the given name.
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
            // SAFETY: the caller's duties are those of the C library's function, which gets its arguments unchanged. A mode that was
            // not given is whatever its register holds, and nobody looks at it.
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

/// The flags that stand for a mode of `fopen`.
///
/// # Safety
/// `mode` must be a C string.
unsafe fn flags_of(mode: *const c_char) -> c_int {
    // SAFETY: as the caller vouches.
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
            // SAFETY: the caller's duties are those of the C library's function: two C strings.
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

/// Sees to it that no guard is lost when one file replaces another; false if it would be.
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

/// Whether a program that sees no guard may make a link.
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

/// Functions that take two paths: `may` says whether the C library is called.
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
            // SAFETY: the caller's duties are those of the C library's function, which gets its arguments unchanged.
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
