//! Marks new streams and streams of the program's own zlib without allocating memory for them.
//!
//! All that has to be remembered about them fits into the caller's `z_stream`. A stream without an allocator of its own
//! has no use for `opaque`: every zlib sets it to null in that case and never reads it. Before the first byte, `state`
//! points to one of [`SENTINELS`] and `opaque` to the stream itself, so that a stream that was moved is refused, as in
//! zlib. Once the stream is zlib's, `state` is that of zlib and `opaque` points to one of [`SENTINELS`], because the
//! stream may contain a chunk of ours after a reset.

use std::ptr;

use libc::{c_int, c_void};
use repackbench_preload_abi::ZStream;

/// The targets of `state` and `opaque`, by the number of window bits. A zlib that gets such a state refuses it, because
/// the state begins with null instead of the stream's address.
static SENTINELS: [Sentinel; 16] = [[0; 4]; 16];

type Sentinel = [u64; 4];

/// The window bits that a pointer to one of [`SENTINELS`] stands for.
fn window_bits_of(pointer: *mut c_void) -> Option<c_int> {
    let offset = pointer.addr().wrapping_sub((&raw const SENTINELS).addr());
    (offset < size_of_val(&SENTINELS)).then_some((offset / size_of::<Sentinel>()) as c_int)
}

fn sentinel(window_bits: c_int) -> *mut c_void {
    debug_assert!(matches!(window_bits, 0..16));
    let sentinel = &raw const SENTINELS[(window_bits & 15) as usize];
    sentinel.cast_mut().cast()
}

/// Whether a stream can be marked: it has no allocator of its own, or had none before it became zlib's.
pub(super) fn can_be_sentinel(caller: &mut ZStream) -> bool {
    if caller.zalloc.is_some() && window_bits_of(caller.opaque).is_some() {
        clear_allocator(caller);
    }
    caller.zalloc.is_none() && caller.zfree.is_none()
}

/// Marks a stream as new.
pub(super) fn set_new(caller: &mut ZStream, window_bits: c_int) {
    caller.state = sentinel(window_bits);
    caller.opaque = ptr::from_mut(caller).cast();
}

/// The window bits of a new stream; `None` for any other stream. An error if the new stream was moved.
pub(super) fn new_window_bits(caller: &mut ZStream) -> Option<Result<c_int, Moved>> {
    let window_bits = window_bits_of(caller.state)?;
    let owner: *mut ZStream = caller;
    Some(if caller.opaque == owner.cast() { Ok(window_bits) } else { Err(Moved) })
}

/// A stream that is not at the address at which it was opened.
pub(super) struct Moved;

/// Marks a stream that is now zlib's as one that may contain a chunk of ours after a reset.
pub(super) fn mark(caller: &mut ZStream, window_bits: c_int) {
    caller.opaque = sentinel(window_bits);
}

/// Removes the mark, if there is one, and returns its window bits. A zlib calls its own functions by name, and those
/// must not find the mark.
pub(super) fn unmark(caller: &mut ZStream) -> Option<c_int> {
    let window_bits = window_bits_of(caller.opaque)?;
    caller.opaque = ptr::null_mut();
    Some(window_bits)
}

/// Whether a stream of zlib's has the mark.
pub(super) fn is_marked(caller: &ZStream) -> bool {
    window_bits_of(caller.opaque).is_some()
}

/// Removes the allocator that zlib chose for a stream whose caller brought none.
pub(super) fn clear_allocator(caller: &mut ZStream) {
    (caller.zalloc, caller.zfree, caller.opaque) = (None, None, ptr::null_mut());
}
