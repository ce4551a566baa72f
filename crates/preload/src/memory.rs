//! Maps and reads files like the C library's functions, and reports to [`objects`](crate::objects) where the content is
//! in memory.

use libc::{c_int, c_void, off_t, off64_t, size_t, ssize_t};

use crate::{
    next::{call_next, unsupported},
    objects,
};

macro_rules! maps {
    ($($symbol:ident = $name:literal $offset:ty;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(
            start: *mut c_void, len: size_t, protection: c_int, flags: c_int, descriptor: c_int, offset: $offset,
        ) -> *mut c_void {
            // SAFETY: the caller has the same obligations as for the C library's function, which gets its arguments
            // unchanged.
            let mapped = unsafe {
                call_next!(
                    $name: fn(*mut c_void, size_t, c_int, c_int, c_int, $offset) -> *mut c_void,
                    (start, len, protection, flags, descriptor, offset),
                    unsupported(libc::MAP_FAILED)
                )
            };
            if mapped != libc::MAP_FAILED && descriptor >= 0 {
                objects::mapped(descriptor, mapped as usize, len);
            }
            mapped
        })*
    };
}

maps! {
    mmap = c"mmap" off_t;
    mmap64 = c"mmap64" off64_t;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(start: *mut c_void, len: size_t) -> c_int {
    // Before the call, since another thread may get the same addresses right after it.
    objects::unmapped(start as usize, len);
    // SAFETY: the caller has the same obligations as for the C library's function.
    unsafe { call_next!(c"munmap": fn(*mut c_void, size_t) -> c_int, (start, len), unsupported(-1)) }
}

macro_rules! reads {
    ($($symbol:ident = $name:literal ($($argument:ident: $type:ty),*);)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(descriptor: c_int, buffer: *mut c_void, len: size_t $(, $argument: $type)*) -> ssize_t {
            // SAFETY: as above.
            let count = unsafe {
                call_next!(
                    $name: fn(c_int, *mut c_void, size_t $(, $type)*) -> ssize_t,
                    (descriptor, buffer, len $(, $argument)*),
                    unsupported(-1)
                )
            };
            if let Ok(count @ 1..) = usize::try_from(count) {
                objects::read(descriptor, buffer as usize, count);
            }
            count
        })*
    };
}

reads! {
    read = c"read" ();
    pread = c"pread" (offset: off_t);
    pread64 = c"pread64" (offset: off64_t);
    __read_chk = c"__read_chk" (room: size_t);
    __pread_chk = c"__pread_chk" (offset: off_t, room: size_t);
    __pread64_chk = c"__pread64_chk" (offset: off64_t, room: size_t);
}
