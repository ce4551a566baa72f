//! What a caller sees in its `z_stream`, for streams that are read and streams that are written.

use std::ptr;

use libc::{c_char, c_int, c_uint, c_ulong};
use repackbench_preload_abi::ZStream;

/// The Adler-32 checksum of no bytes, which a new stream shows.
const ADLER32_OF_NOTHING: c_ulong = 1;

/// Sets what a caller sees of a stream before its first byte.
pub(crate) fn show_new(caller: &mut ZStream) {
    (caller.total_in, caller.total_out) = (0, 0);
    caller.msg = ptr::null();
    caller.adler = ADLER32_OF_NOTHING;
}

/// Marks `count` input bytes as consumed; there must be that many.
pub(crate) fn take(caller: &mut ZStream, count: c_uint) {
    caller.next_in = caller.next_in.wrapping_add(count as usize);
    caller.avail_in -= count;
    caller.total_in = caller.total_in.wrapping_add(c_ulong::from(count));
}

/// Whether the caller was compiled for a zlib whose `z_stream` has the same layout as [`ZStream`].
///
/// # Safety
/// `version` must be null or a C string.
#[inline]
pub(crate) unsafe fn has_our_layout(version: *const c_char, size: c_int) -> bool {
    // SAFETY: the caller guarantees it.
    !version.is_null() && unsafe { *version } == b'1'.cast_signed() && size == ZStream::SIZE
}
