//! Calls the C library's functions that this library replaces: the next definitions of the same names in the search
//! order.

use std::{
    ffi::CStr,
    sync::atomic::{AtomicPtr, Ordering},
};

use libc::c_void;

/// A function of the C library, looked up on first use.
pub(crate) struct NextFunction {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl NextFunction {
    /// The function of this name.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        NextFunction { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address; null if the C library has no function of this name.
    pub(crate) fn address(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: dlsym takes RTLD_NEXT and a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls the C library's function of this name. The result is `missing` if there is none.
macro_rules! call_next {
    ($name:literal: fn($($type:ty),*) -> $result:ty, ($($argument:expr),*), $missing:expr) => {{
        static FUNCTION: $crate::next::NextFunction = $crate::next::NextFunction::new($name);
        let address = FUNCTION.address();
        if address.is_null() {
            $missing
        } else {
            // This is how the C library declares the function of this name.
            let function = std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn($($type),*) -> $result>(address);
            function($($argument),*)
        }
    }};
}
pub(crate) use call_next;

/// Sets `errno` of the calling thread.
pub(crate) fn set_errno(number: libc::c_int) {
    // SAFETY: the C library returns a valid pointer to the thread's own errno.
    unsafe { *libc::__errno_location() = number };
}

/// Returns `failed` with `errno` set to ENOSYS: the C library has no such function.
pub(crate) fn unsupported<T>(failed: T) -> T {
    set_errno(libc::ENOSYS);
    failed
}
