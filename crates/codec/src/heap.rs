//! What the process has on the heap, whoever put it there: codecs are C libraries for the most part, and few say how
//! large their contexts are.

#![allow(unsafe_code)]

/// The bytes on the heap at one moment.
#[derive(Clone, Copy, Debug)]
pub struct HeapMark(Option<u32>);

impl HeapMark {
    /// The bytes that the process has allocated now and not yet freed.
    pub fn now() -> Self {
        HeapMark(allocated())
    }

    /// How many more bytes are allocated now than then, in all threads; `None` if it is more than 2 GiB, or if the C
    /// library does not say.
    pub fn growth(self) -> Option<u64> {
        // The counter wraps around, and so does the difference.
        let difference = allocated()?.wrapping_sub(self.0?);
        i32::try_from(difference).ok().and_then(|bytes| u64::try_from(bytes).ok())
    }
}

/// Returns freed memory to the system where the C library can. By itself glibc returns little of what lies below the
/// last block in use, and a long-lived block follows nearly every part of the work. It takes milliseconds: call it
/// between such parts.
pub fn give_back_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it locks each arena, and takes from it only pages in which no block is allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The allocated bytes modulo 2^32. `mallinfo`, rather than `mallinfo2`, is in all versions of glibc.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn allocated() -> Option<u32> {
    // SAFETY: it takes nothing, returns plain numbers, and locks each arena while it looks.
    let info = unsafe { libc::mallinfo() };
    Some(info.uordblks.cast_unsigned().wrapping_add(info.hblkhd.cast_unsigned()))
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn allocated() -> Option<u32> {
    None
}
