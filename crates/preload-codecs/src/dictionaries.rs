//! The C functions for the dictionaries of the repositories that a process reads.

use std::{
    ffi::{CStr, OsStr},
    os::unix::ffi::OsStrExt,
    panic::catch_unwind,
    path::Path,
    ptr,
    sync::OnceLock,
};

use libc::{c_char, c_void};
use repackbench_codec::Dictionaries;
use repackbench_preload_abi::Bytes;
use repackbench_reader::dictionaries::read_dictionaries;

use crate::complain;

/// See [`Codecs::dictionaries`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `folder` must be a C string.
pub(crate) unsafe extern "C" fn read(folder: *const c_char) -> *const c_void {
    // SAFETY: the caller guarantees it.
    let folder = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(folder) }.to_bytes()));
    match catch_unwind(|| read_dictionaries(folder)) {
        Ok(Ok(dictionaries)) => ptr::from_ref(Box::leak(Box::new(dictionaries))).cast(),
        Ok(Err(error)) => {
            complain(&error.to_string());
            ptr::null()
        }
        Err(_) => ptr::null(),
    }
}

/// The dictionaries of a handle; none for null.
///
/// # Safety
/// `tables` must be null or a result of [`read`].
pub(crate) unsafe fn from_handle(tables: *const c_void) -> &'static Dictionaries {
    static NONE: OnceLock<Dictionaries> = OnceLock::new();
    // SAFETY: the caller guarantees it; the dictionaries are never freed.
    unsafe { tables.cast::<Dictionaries>().as_ref() }.unwrap_or_else(|| NONE.get_or_init(Dictionaries::default))
}

/// See [`Codecs::dictionary`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`from_handle`].
pub(crate) unsafe extern "C" fn with_adler32(tables: *const c_void, adler32: u32) -> Bytes {
    // SAFETY: the caller guarantees it.
    let dictionaries = unsafe { from_handle(tables) };
    let found = catch_unwind(|| dictionaries.by_adler32(adler32).map(|(_, dictionary)| dictionary.bytes()));
    match found {
        Ok(Some(bytes)) => Bytes { start: bytes.as_ptr(), len: bytes.len() },
        _ => Bytes { start: ptr::null(), len: 0 },
    }
}
