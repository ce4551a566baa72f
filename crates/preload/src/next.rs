//! Functions of the C library behind ours of the same names.

use std::{
    ffi::CStr,
    sync::atomic::{AtomicPtr, Ordering},
};

use libc::c_void;

/// A function that is looked up when first called.
pub(crate) struct NextFunction {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl NextFunction {
    /// The function of this name.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        NextFunction { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address; null if the C library has none of this name.
    pub(crate) fn address(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: RTLD_NEXT and a C string are what dlsym takes.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls the function behind ours of this name with these arguments; `missing` where the C library has none.
macro_rules! call_next {
    ($name:literal: fn($($type:ty),*) -> $result:ty, ($($argument:expr),*), $missing:expr) => {{
        static FUNCTION: $crate::next::NextFunction = $crate::next::NextFunction::new($name);
        let address = FUNCTION.address();
        if address.is_null() {
            $missing
        } else {
            // The C library declares a function of this name like this.
            let function = std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn($($type),*) -> $result>(address);
            function($($argument),*)
        }
    }};
}
pub(crate) use call_next;

/// Sets the calling thread's error number.
pub(crate) fn set_errno(number: libc::c_int) {
    // SAFETY: the C library's place for it, which is the thread's own.
    unsafe { *libc::__errno_location() = number };
}

/// `failed`, with the error number that says that the C library has no such function.
pub(crate) fn unsupported<T>(failed: T) -> T {
    set_errno(libc::ENOSYS);
    failed
}
