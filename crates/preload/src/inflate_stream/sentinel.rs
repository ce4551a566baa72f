//! Streams of which nothing is known yet, and those that went to git's own zlib: neither takes memory of ours.
//!
//! What we have to remember of them fits into the caller's `z_stream`. A stream without an allocator of its own has no use for
//! `opaque`, which every zlib sets to null in that case and looks at no more. Before the first byte `state` is one of [`SENTINELS`],
//! and `opaque` the stream's own address: a stream that was moved is refused, as zlib does it. Once the stream is zlib's, `state` is
//! that zlib's, as if we were not there, and `opaque` is one of [`SENTINELS`]: after a reset the stream may carry a chunk of ours.

use std::ptr;

use libc::{c_int, c_void};
use repackbench_preload_abi::ZStream;

/// What `state` and `opaque` point to, by the number of window bits. A zlib that is handed such a state finds that it begins with
/// null, not with the stream's address, and refuses it.
static SENTINELS: [Place; 16] = [[0; 4]; 16];

type Place = [u64; 4];

/// The window bits that a pointer to one of [`SENTINELS`] stands for.
fn window_bits_of(pointer: *mut c_void) -> Option<c_int> {
    let offset = pointer.addr().wrapping_sub((&raw const SENTINELS).addr());
    (offset < size_of_val(&SENTINELS)).then_some((offset / size_of::<Place>()) as c_int)
}

fn sentinel(window_bits: c_int) -> *mut c_void {
    debug_assert!(matches!(window_bits, 0..16));
    let place = &raw const SENTINELS[(window_bits & 15) as usize];
    place.cast_mut().cast()
}

/// Whether a stream has no allocator of its own, or had none before it became zlib's.
pub(super) fn can_be_sentinel(caller: &mut ZStream) -> bool {
    if caller.zalloc.is_some() && window_bits_of(caller.opaque).is_some() {
        forget(caller);
    }
    caller.zalloc.is_none() && caller.zfree.is_none()
}

/// Makes a stream new.
pub(super) fn set_new(caller: &mut ZStream, window_bits: c_int) {
    caller.state = sentinel(window_bits);
    caller.opaque = ptr::from_mut(caller).cast();
}

/// The window bits of a new stream; none if it is anything else. An error if it was moved.
pub(super) fn new_window_bits(caller: &mut ZStream) -> Option<Result<c_int, Moved>> {
    let window_bits = window_bits_of(caller.state)?;
    let owner: *mut ZStream = caller;
    Some(if caller.opaque == owner.cast() { Ok(window_bits) } else { Err(Moved) })
}

/// The stream is not where it was opened.
pub(super) struct Moved;

/// Remembers that a stream, which is now zlib's, was opened so that it may carry chunks of ours.
pub(super) fn mark(caller: &mut ZStream, window_bits: c_int) {
    caller.opaque = sentinel(window_bits);
}

/// Takes the mark away, if there is one: its window bits. A zlib calls its own functions by name, and must not find it meanwhile.
pub(super) fn unmark(caller: &mut ZStream) -> Option<c_int> {
    let window_bits = window_bits_of(caller.opaque)?;
    caller.opaque = ptr::null_mut();
    Some(window_bits)
}

/// Whether a stream is zlib's, and was opened so that it may carry chunks of ours.
pub(super) fn is_marked(caller: &ZStream) -> bool {
    window_bits_of(caller.opaque).is_some()
}

/// Leaves of a stream what its caller brought.
pub(super) fn forget(caller: &mut ZStream) {
    (caller.zalloc, caller.zfree, caller.opaque) = (None, None, ptr::null_mut());
}
