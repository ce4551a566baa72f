//! What a caller sees of a stream of ours, whichever way it goes.

use std::ptr;

use libc::{c_char, c_int, c_uint, c_ulong};
use repackbench_preload_abi::ZStream;

/// The checksum of nothing, which a new stream shows.
const ADLER32_OF_NOTHING: c_ulong = 1;

/// What a caller sees of a stream before its first byte.
pub(crate) fn show_new(caller: &mut ZStream) {
    (caller.total_in, caller.total_out) = (0, 0);
    caller.msg = ptr::null();
    caller.adler = ADLER32_OF_NOTHING;
}

/// Counts bytes as taken, no more than there were.
pub(crate) fn take(caller: &mut ZStream, count: c_uint) {
    caller.next_in = caller.next_in.wrapping_add(count as usize);
    caller.avail_in -= count;
    caller.total_in = caller.total_in.wrapping_add(c_ulong::from(count));
}

/// Whether the caller was built for a zlib whose streams are laid out as ours.
///
/// # Safety
/// `version` must be null or a C string.
#[inline]
pub(crate) unsafe fn has_our_layout(version: *const c_char, size: c_int) -> bool {
    // SAFETY: as the caller vouches.
    !version.is_null() && unsafe { *version } == b'1'.cast_signed() && size == ZStream::SIZE
}
