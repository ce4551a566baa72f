//! The state of a stream that is read, from its opening, when its format is not known yet.
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | who owns a stream; the state of a stream that needs one |
//! | `sentinel.rs` | streams without a state of ours: new ones, and those of the real zlib |
//! | `first_bytes.rs` | recognizes the format by the first bytes |
//! | `pool.rs` | states that are kept for the next stream |
//! | `chunk.rs` | decodes chunks of ours |
//! | `real_zlib.rs` | passes streams on to the real zlib |

mod chunk;
mod first_bytes;
mod pool;
mod real_zlib;
mod sentinel;

use std::ptr;

use libc::{c_int, c_uint, c_ulong};
use repackbench_preload_abi::{
    BUF_ERROR, DATA_ERROR, FINISH, OK, Progress, STREAM_END, STREAM_ERROR, VERSION_ERROR, ZStream,
};

pub(crate) use self::real_zlib::{end_zlib, inflate_by_zlib, reset_zlib, sync_zlib};
use self::{
    chunk::Decoder,
    first_bytes::{Opening, ZSTD_MAGIC, is_plainly_zlib},
};
use crate::{
    caller::{show_new, take},
    guarded,
    zlib::zlib,
};

/// `MAX_WBITS`
const LONGEST_WINDOW: c_int = 15;

/// The state of every stream of ours begins with the address of this static. A zlib's state begins with its stream's
/// address.
static MARK: u8 = 0;

/// The state of a stream of ours.
#[repr(C)]
pub(crate) struct InflateStream {
    /// The first field, because [`find`] reads it from any state, even a zlib's.
    mark: *const u8,
    /// The caller's stream. A stream that was moved is refused, as in zlib.
    owner: *mut ZStream,
    window_bits: c_int,
    phase: Phase,
    /// Whether the state may be kept for another stream: it uses no memory from the caller's allocator.
    is_kept: bool,
    /// Whether the real zlib has opened `inner`.
    is_open: bool,
    /// Whether `inner` already has the right window bits: `window_bits`, or those from the stream's header if
    /// `window_bits` is 0.
    has_window: bool,
    /// The stream as the real zlib sees it, which must not move.
    inner: ZStream,
    /// Decodes chunks of ours; opened for the first chunk.
    decoder: Option<Decoder>,
}

#[derive(Clone, Copy)]
enum Phase {
    /// No byte has arrived yet.
    New,
    /// One byte was taken: the first byte of a standard zstd frame, which may also begin a zlib stream.
    FirstByteOfMagic,
    /// A zlib stream, read through `inner`.
    Zlib,
    /// A chunk of ours, read through `decoder`.
    Ours,
    Ended,
    Failed,
}

/// Who owns a stream that is read.
pub(crate) enum InflateOwner<'a> {
    /// Nobody yet: no byte has arrived. Holds the window bits.
    New(&'a mut ZStream, c_int),
    /// This library.
    Ours(&'a mut ZStream, &'a mut InflateStream),
    /// The real zlib.
    Zlib(&'a mut ZStream),
    /// The stream is null, was never opened, or was moved.
    Invalid,
}

/// Finds out who owns a stream.
///
/// # Safety
/// `stream` must be null or a valid stream, whose state is null or was set by an `Init` function and not freed by an
/// `End` function.
pub(crate) unsafe fn find<'a>(stream: *mut ZStream) -> InflateOwner<'a> {
    // SAFETY: null or valid; the caller guarantees it.
    let Some(caller) = (unsafe { stream.as_mut() }) else { return InflateOwner::Invalid };
    if caller.state.is_null() {
        return InflateOwner::Invalid;
    }
    match sentinel::new_window_bits(caller) {
        Some(Ok(window_bits)) => return InflateOwner::New(caller, window_bits),
        Some(Err(sentinel::Moved)) => return InflateOwner::Invalid,
        None => {}
    }
    // SAFETY: the states of every zlib and of ours are longer than a pointer and begin with one.
    let mark = unsafe { *caller.state.cast::<*const u8>() };
    if mark != &raw const MARK {
        return InflateOwner::Zlib(caller);
    }
    // SAFETY: only our states begin with the mark's address; nothing else refers to the state during this call.
    let state = unsafe { &mut *caller.state.cast::<InflateStream>() };
    if state.owner == stream { InflateOwner::Ours(caller, state) } else { InflateOwner::Invalid }
}

/// Whether a stream is certainly the real zlib's.
///
/// # Safety
/// As for [`find`].
#[inline]
pub(crate) unsafe fn is_real_zlib(stream: *const ZStream) -> bool {
    // SAFETY: null or valid; the caller guarantees it; every state begins with a pointer.
    unsafe {
        stream
            .as_ref()
            .is_some_and(|caller| !caller.state.is_null() && *caller.state.cast::<*const ZStream>() == stream)
    }
}

/// Whether `window_bits` ask for zlib's format. Only then may the stream be a chunk of ours.
pub(crate) fn is_plain(window_bits: c_int) -> bool {
    window_bits == 0 || (8..=15).contains(&window_bits)
}

/// Whether `inflateReset2` accepts `window_bits`: 0, or 8 to 15; negative for raw DEFLATE, plus 16 for gzip, plus 32
/// for either.
fn is_valid(window_bits: c_int) -> bool {
    let bits = match window_bits {
        ..0 => -window_bits.max(-LONGEST_WINDOW - 1),
        0..48 => window_bits & LONGEST_WINDOW,
        _ => window_bits,
    };
    is_plain(bits)
}

/// Opens a stream whose format is not known yet.
pub(crate) fn open(caller: &mut ZStream, window_bits: c_int) -> c_int {
    if zlib().is_none() {
        // Fail here, since every program checks this return code.
        return VERSION_ERROR;
    }
    show_new(caller);
    if sentinel::can_be_sentinel(caller) {
        sentinel::set_new(caller, window_bits);
        return OK;
    }
    guarded(STREAM_ERROR, || {
        InflateStream::with_allocator(caller, window_bits);
        OK
    })
}

/// Closes a new stream.
pub(crate) fn end_new(caller: &mut ZStream) -> c_int {
    (caller.state, caller.opaque) = (ptr::null_mut(), ptr::null_mut());
    OK
}

/// The first `inflate` of a new stream.
///
/// # Safety
/// The input and the output room must be as long as the stream says.
pub(crate) unsafe fn begin(caller: &mut ZStream, window_bits: c_int, flush: c_int) -> c_int {
    // SAFETY: there is at least one byte.
    if caller.avail_in > 0 && !caller.next_in.is_null() && is_plainly_zlib(unsafe { *caller.next_in }) {
        match zlib() {
            // SAFETY: the caller guarantees it.
            Some(zlib) if !zlib.keeps_contexts => unsafe {
                return real_zlib::begin(zlib.functions, caller, window_bits, flush);
            },
            _ => {}
        }
    }
    guarded(STREAM_ERROR, || {
        let state = InflateStream::of_new(caller, window_bits);
        // SAFETY: the caller guarantees it.
        unsafe { state.inflate(caller, flush) }
    })
}

impl InflateStream {
    /// A state that belongs to no stream yet.
    fn unused() -> Self {
        InflateStream {
            mark: &raw const MARK,
            owner: ptr::null_mut(),
            window_bits: 0,
            phase: Phase::New,
            is_kept: true,
            is_open: false,
            has_window: false,
            inner: ZStream::zeroed(),
            decoder: None,
        }
    }

    /// Gives a new stream a state from the pool.
    pub(crate) fn of_new<'a>(caller: &mut ZStream, window_bits: c_int) -> &'a mut InflateStream {
        caller.opaque = ptr::null_mut();
        pool::take().belong_to(caller, window_bits)
    }

    /// Gives a new stream a state that uses the stream's own allocator.
    fn with_allocator(caller: &mut ZStream, window_bits: c_int) {
        let ZStream { zalloc, zfree, opaque, .. } = *caller;
        let inner = ZStream { zalloc, zfree, opaque, ..ZStream::zeroed() };
        Box::new(InflateStream { is_kept: false, inner, ..InflateStream::unused() }).belong_to(caller, window_bits);
    }

    /// Makes this the state of `caller`, a new stream.
    fn belong_to(mut self: Box<Self>, caller: &mut ZStream, window_bits: c_int) -> &'static mut InflateStream {
        self.owner = caller;
        self.window_bits = window_bits;
        let state = Box::into_raw(self);
        caller.state = state.cast();
        // SAFETY: the pointer came from a box, which is not freed before `end`.
        unsafe { &mut *state }
    }

    /// `inflate`
    ///
    /// # Safety
    /// `caller` must be this state's stream, with as much input and output room as it says.
    pub(crate) unsafe fn inflate(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        if caller.next_out.is_null() || caller.next_in.is_null() && caller.avail_in != 0 {
            return STREAM_ERROR;
        }
        // SAFETY: the caller guarantees input and output room, in every arm.
        unsafe {
            match self.phase {
                Phase::New | Phase::FirstByteOfMagic => self.decide(caller, flush),
                Phase::Zlib => self.inflate_inner(caller, flush),
                Phase::Ours => self.inflate_chunk(caller, flush),
                Phase::Ended => STREAM_END,
                Phase::Failed => DATA_ERROR,
            }
        }
    }

    /// Decides by the first bytes who reads the stream, and begins to read.
    ///
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    unsafe fn decide(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        // SAFETY: there is at least one byte.
        if caller.avail_in > 0 && self.is_new() && is_plainly_zlib(unsafe { *caller.next_in }) {
            // SAFETY: the caller guarantees it.
            return unsafe { self.begin_zlib(caller, flush) };
        }
        // As many bytes as are needed to decide, with the one that was taken before.
        let mut first = [0; ZSTD_MAGIC.len()];
        let mut len = 0;
        if let Phase::FirstByteOfMagic = self.phase {
            first[0] = ZSTD_MAGIC[0];
            len = 1;
        }
        let more = (first.len() - len).min(caller.avail_in as usize);
        if more == 0 {
            return BUF_ERROR;
        }
        // SAFETY: the caller has at least `more` bytes, and the array has room for them after the first `len`.
        unsafe { ptr::copy_nonoverlapping(caller.next_in, first.as_mut_ptr().add(len), more) };
        len += more;
        match Opening::of(&first[..len]) {
            Opening::Open => {
                take(caller, 1);
                self.phase = Phase::FirstByteOfMagic;
                if flush == FINISH { BUF_ERROR } else { OK }
            }
            // SAFETY: the caller guarantees it.
            Opening::Ours => unsafe { self.begin_chunk(caller, flush) },
            // SAFETY: the caller guarantees it.
            Opening::Zlib => unsafe { self.begin_zlib(caller, flush) },
        }
    }

    /// `inflateReset2`
    pub(crate) fn reset(&mut self, caller: &mut ZStream, window_bits: c_int) -> c_int {
        if !is_valid(window_bits) {
            return STREAM_ERROR;
        }
        self.reset_decoder();
        self.has_window = false;
        if !is_plain(window_bits) {
            // Gzip and raw DEFLATE are never chunks of ours.
            (self.window_bits, self.phase) = (LONGEST_WINDOW, Phase::New);
            // SAFETY: the call uses no input and no room.
            let code =
                unsafe { self.hand_over(caller, |functions, inner| (functions.inflate_reset2)(inner, window_bits)) };
            self.window_bits = window_bits;
            return code;
        }
        self.window_bits = window_bits;
        self.phase = Phase::New;
        show_new(caller);
        OK
    }

    /// `inflateReset`
    pub(crate) fn reset_keeping_window(&mut self, caller: &mut ZStream) -> c_int {
        if !is_plain(self.window_bits) {
            // SAFETY: the call uses no input and no room.
            return unsafe { self.on_inner(caller, |functions, inner| (functions.inflate_reset)(inner)) };
        }
        self.reset_decoder();
        self.phase = Phase::New;
        show_new(caller);
        OK
    }

    /// `inflateSync`
    ///
    /// # Safety
    /// `caller` must be this state's stream, with as much input as it says.
    pub(crate) unsafe fn sync(&mut self, caller: &mut ZStream) -> c_int {
        // SAFETY: the caller guarantees it.
        let code = unsafe { self.hand_over(caller, |functions, inner| (functions.inflate_sync)(inner)) };
        if code == OK {
            // A stream whose header was skipped is raw DEFLATE for zlib, and stays so after `inflateReset`.
            (self.window_bits, self.has_window) = (-LONGEST_WINDOW, false);
        }
        code
    }

    /// Whether no byte has arrived yet.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.phase, Phase::New)
    }

    /// `inflateCopy` to a stream that is not open. A chunk of ours cannot be copied.
    ///
    /// # Safety
    /// `to` must be valid.
    pub(crate) unsafe fn copy(&mut self, from: &ZStream, to: *mut ZStream) -> c_int {
        let Some(zlib) = zlib() else { return STREAM_ERROR };
        if let Phase::Ours = self.phase {
            return STREAM_ERROR;
        }
        let InflateStream { window_bits, phase, is_kept, is_open, has_window, inner, .. } = *self;
        let mut state = Box::new(InflateStream {
            owner: to,
            window_bits,
            phase,
            is_kept,
            has_window,
            inner,
            ..InflateStream::unused()
        });
        if is_open {
            // SAFETY: an open stream, and one of ours to write to.
            let code = unsafe { (zlib.functions.inflate_copy)(&mut state.inner, &mut self.inner) };
            if code != OK {
                return code;
            }
            state.is_open = true;
        }
        let copy = ZStream { state: Box::into_raw(state).cast(), ..*from };
        // SAFETY: the caller guarantees that `to` is valid; its old content does not matter.
        unsafe { to.write(copy) };
        OK
    }

    /// `inflateEnd`
    ///
    /// # Safety
    /// The state must be `caller`'s, and must not be used afterwards.
    pub(crate) unsafe fn end(caller: &mut ZStream) -> c_int {
        // SAFETY: the state came from a box in `belong_to` or `copy`.
        let mut state = unsafe { Box::from_raw(caller.state.cast::<InflateStream>()) };
        caller.state = ptr::null_mut();
        state.reset_decoder();
        let keeps_contexts = zlib().is_some_and(|zlib| zlib.keeps_contexts);
        let code = if state.is_kept && keeps_contexts { OK } else { state.close_inner() };
        if state.is_kept {
            (state.phase, state.has_window) = (Phase::New, false);
            pool::keep(state);
        }
        code
    }
}

impl Drop for InflateStream {
    fn drop(&mut self) {
        self.close_inner();
        if let Some(decoder) = self.decoder.take() {
            decoder.close();
        }
    }
}

/// Updates the caller's counters and pointers after a step, by no more than the caller had.
fn advance(caller: &mut ZStream, step: &Progress) {
    take(caller, c_uint::try_from(step.consumed).unwrap_or(c_uint::MAX).min(caller.avail_in));
    let produced = c_uint::try_from(step.produced).unwrap_or(c_uint::MAX).min(caller.avail_out);
    caller.next_out = caller.next_out.wrapping_add(produced as usize);
    caller.avail_out -= produced;
    caller.total_out = caller.total_out.wrapping_add(c_ulong::from(produced));
}
