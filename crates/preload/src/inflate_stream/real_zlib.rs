//! Passes streams on to the real zlib.
//!
//! A stream whose first byte shows that it is zlib's is opened in the program's own zlib, and belongs to it from then
//! on. Where contexts are kept, and where it takes more than the first byte to decide, our state has a second
//! `z_stream` that the real zlib works on. What the caller sees is copied from it.

use std::ptr;

use libc::{c_int, c_uint, c_ulong};
use repackbench_preload_abi::{FINISH, MEM_ERROR, NEED_DICT, OK, STREAM_END, STREAM_ERROR, ZStream, ZlibFunctions};

use super::{InflateStream, LONGEST_WINDOW, Phase, advance, first_bytes::ZSTD_MAGIC, is_plain, pool, sentinel};
use crate::{codecs::codecs, objects, zlib::zlib};

/// The version that is passed to zlibs; every zlib accepts it.
const VERSION: &std::ffi::CStr = c"1.2.11";

/// With at most this much room, in bytes, the caller wants only the beginning of a payload. git reads 20 bytes of a
/// delta, and 32 of a loose object.
const BEGINNING: usize = 32;

/// Gives a new stream to the zlib with these functions, and begins to read.
///
/// # Safety
/// The input and the output room must be as long as the stream says.
pub(super) unsafe fn begin(functions: &ZlibFunctions, caller: &mut ZStream, window_bits: c_int, flush: c_int) -> c_int {
    let ZStream { total_in, total_out, .. } = *caller;
    (caller.state, caller.opaque) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: a stream without a state or an allocator.
    let code = unsafe { (functions.inflate_init2)(caller, window_bits, VERSION.as_ptr(), ZStream::SIZE) };
    if code != OK {
        sentinel::clear_allocator(caller);
        sentinel::set_new(caller, window_bits);
        return code;
    }
    sentinel::mark(caller, window_bits);
    // The caller may have set the counters itself.
    (caller.total_in, caller.total_out) = (total_in, total_out);
    // SAFETY: the caller guarantees it.
    unsafe { inflate_with_dictionaries(functions, caller, flush) }
}

/// `inflate` of a stream of zlib's.
///
/// # Safety
/// As in zlib.h.
pub(crate) unsafe fn inflate_by_zlib(caller: &mut ZStream, flush: c_int) -> c_int {
    let Some(zlib) = zlib() else { return STREAM_ERROR };
    // SAFETY: the caller guarantees it.
    unsafe {
        match sentinel::is_marked(caller) {
            true => inflate_with_dictionaries(zlib.functions, caller, flush),
            false => (zlib.functions.inflate)(caller, flush),
        }
    }
}

/// `inflateReset`, or `inflateReset2` if window bits are given, of a stream of zlib's.
///
/// If the stream may now contain a chunk of ours, it becomes a stream of ours, with zlib's context.
pub(crate) fn reset_zlib(caller: &mut ZStream, window_bits: Option<c_int>) -> c_int {
    let Some(zlib) = zlib() else { return STREAM_ERROR };
    let opened_with = sentinel::unmark(caller);
    // SAFETY: a stream of that zlib; the call uses no input and no room.
    let code = unsafe {
        match window_bits {
            Some(window_bits) => (zlib.functions.inflate_reset2)(caller, window_bits),
            None => (zlib.functions.inflate_reset)(caller),
        }
    };
    let Some(opened_with) = opened_with else { return code };
    let window_bits = window_bits.unwrap_or(opened_with);
    if code != OK {
        sentinel::mark(caller, opened_with);
        return code;
    }
    if is_plain(window_bits) { adopt(zlib.functions, caller, window_bits) } else { OK }
}

/// Turns a stream of zlib's that was just reset into a stream of ours.
fn adopt(functions: &ZlibFunctions, caller: &mut ZStream, window_bits: c_int) -> c_int {
    let mut state = pool::take();
    state.close_inner();
    // SAFETY: a stream of that zlib, and a closed one to copy it to.
    let code = unsafe { (functions.inflate_copy)(&mut state.inner, caller) };
    if code != OK {
        sentinel::mark(caller, window_bits);
        return MEM_ERROR;
    }
    // SAFETY: a stream of that zlib, which is still open after the copy.
    unsafe { (functions.inflate_end)(caller) };
    sentinel::clear_allocator(caller);
    (state.is_open, state.has_window) = (true, true);
    state.belong_to(caller, window_bits);
    OK
}

/// `inflateSync` of a stream of zlib's. zlib calls its own reset function meanwhile.
///
/// # Safety
/// As in zlib.h.
pub(crate) unsafe fn sync_zlib(caller: &mut ZStream) -> c_int {
    let Some(zlib) = zlib() else { return STREAM_ERROR };
    let opened_with = sentinel::unmark(caller);
    // SAFETY: the caller guarantees it.
    let code = unsafe { (zlib.functions.inflate_sync)(caller) };
    // After it, a reset stream is not one that was just opened: see `InflateStream::sync`.
    if let Some(window_bits) = opened_with.filter(|_| code != OK) {
        sentinel::mark(caller, window_bits);
    }
    code
}

/// `inflateEnd` of a stream of zlib's. The mark and the allocator that zlib chose stay, and are found when the stream
/// is opened again.
///
/// # Safety
/// As in zlib.h.
pub(crate) unsafe fn end_zlib(stream: *mut ZStream) -> c_int {
    let Some(zlib) = zlib() else { return STREAM_ERROR };
    // SAFETY: a stream of that zlib, or one that it refuses.
    unsafe { (zlib.functions.inflate_end)(stream) }
}

/// `inflate` by a zlib. If the stream asks for a dictionary of the repository, zlib gets it.
///
/// # Safety
/// As in zlib.h.
unsafe fn inflate_with_dictionaries(functions: &ZlibFunctions, stream: *mut ZStream, flush: c_int) -> c_int {
    // SAFETY: the caller guarantees it; the fields are copied.
    let before = unsafe { ((*stream).avail_in, (*stream).total_in, (*stream).next_in) };
    // SAFETY: the caller guarantees it.
    let code = unsafe { (functions.inflate)(stream, flush) };
    if code != NEED_DICT {
        return code;
    }
    let (Some(codecs), Some(dictionaries)) = (codecs(), objects::dictionaries_for(before.2)) else { return code };
    // SAFETY: the caller guarantees it; nothing else refers to the stream until the next call.
    let seen = unsafe { &mut *stream };
    // SAFETY: a handle from the codecs, and a number.
    let dictionary = unsafe { (codecs.dictionary)(dictionaries.0, u32::try_from(seen.adler).unwrap_or_default()) };
    let Ok(length) = c_uint::try_from(dictionary.len) else { return code };
    if dictionary.start.is_null() {
        return code;
    }
    // SAFETY: an open stream, and a dictionary that is never freed.
    if unsafe { (functions.inflate_set_dictionary)(stream, dictionary.start, length) } != OK {
        return code;
    }
    // zlib does not count the input that it takes in a call that ends with Z_NEED_DICT.
    seen.total_in = before.1.wrapping_add(c_ulong::from(before.0 - seen.avail_in));
    // SAFETY: the caller guarantees it.
    unsafe { (functions.inflate)(stream, flush) }
}

impl InflateStream {
    /// Begins to read a zlib stream.
    ///
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    pub(super) unsafe fn begin_zlib(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let Some(zlib) = zlib() else { return STREAM_ERROR };
        // SAFETY: the caller guarantees it.
        if zlib.tries_libdeflate && self.suits_libdeflate(caller, flush) && unsafe { self.inflate_at_once(caller) } {
            return STREAM_END;
        }
        let code = self.decide_for_zlib(zlib.functions);
        if code != OK {
            return code;
        }
        // SAFETY: the caller guarantees it.
        unsafe { self.inflate_inner(caller, flush) }
    }

    /// Whether libdeflate would decode the stream exactly as zlib does.
    fn suits_libdeflate(&self, caller: &ZStream, flush: c_int) -> bool {
        let is_new = matches!(self.phase, Phase::New);
        // libdeflate refuses no stream because of its window, and cannot stop at a block.
        let any_window = matches!(self.window_bits, 0 | LONGEST_WINDOW);
        let to_the_end = flush <= FINISH;
        // For the beginning of a payload, libdeflate would build its tables for nothing.
        let wants_all = caller.avail_out as usize > BEGINNING;
        is_new && any_window && to_the_end && wants_all
    }

    /// Decodes the whole stream with libdeflate. Returns false if that fails.
    ///
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    unsafe fn inflate_at_once(&mut self, caller: &mut ZStream) -> bool {
        let Some(codecs) = codecs() else { return false };
        let (bytes, room) = (caller.avail_in as usize, caller.avail_out as usize);
        // SAFETY: the caller guarantees input and output room.
        let step = unsafe { (codecs.libdeflate)(caller.next_in, bytes, caller.next_out, room) };
        if step.code != STREAM_END {
            return false;
        }
        advance(caller, &step);
        // SAFETY: the consumed stream ends with its checksum, which is four bytes long.
        caller.adler = c_ulong::from(u32::from_be(unsafe { caller.next_in.cast::<u32>().sub(1).read_unaligned() }));
        self.phase = Phase::Ended;
        true
    }

    /// Goes on with a zlib stream.
    ///
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    pub(super) unsafe fn inflate_inner(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        // SAFETY: the caller guarantees it.
        unsafe { self.on_inner(caller, |functions, inner| inflate_with_dictionaries(functions, inner, flush)) }
    }

    /// Lets the real zlib read the stream, including a byte that was already taken.
    fn decide_for_zlib(&mut self, functions: &ZlibFunctions) -> c_int {
        let is_new = matches!(self.phase, Phase::New);
        let code = self.open_inner(functions);
        if is_new || code != OK {
            return code;
        }
        let mut no_room = 0;
        let inner = &mut self.inner;
        (inner.next_in, inner.avail_in) = (ZSTD_MAGIC.as_ptr(), 1);
        (inner.next_out, inner.avail_out) = (&raw mut no_room, 0);
        // SAFETY: an open stream with one byte of input and no output room.
        unsafe { (functions.inflate)(inner, 0) }
    }

    /// Opens or resets `inner` for a new stream.
    fn open_inner(&mut self, functions: &ZlibFunctions) -> c_int {
        let inner = &raw mut self.inner;
        // SAFETY: `inner` is open; or it is all zeroes except for the caller's allocator.
        let code = unsafe {
            match (self.is_open, self.has_window) {
                (true, true) => (functions.inflate_reset)(inner),
                (true, false) => (functions.inflate_reset2)(inner, self.window_bits),
                _ => (functions.inflate_init2)(inner, self.window_bits, VERSION.as_ptr(), ZStream::SIZE),
            }
        };
        if code == OK {
            (self.phase, self.is_open, self.has_window) = (Phase::Zlib, true, true);
        }
        code
    }

    /// Calls a function of the real zlib on `inner`, copying the caller's fields there and back.
    ///
    /// # Safety
    /// `call` must be sound for a stream with the caller's input and output room.
    pub(super) unsafe fn on_inner<T: From<i8>>(
        &mut self,
        caller: &mut ZStream,
        call: impl FnOnce(&ZlibFunctions, *mut ZStream) -> T,
    ) -> T {
        let Some(zlib) = zlib() else { return T::from(-2) };
        let inner = &mut self.inner;
        (inner.next_in, inner.avail_in, inner.total_in) = (caller.next_in, caller.avail_in, caller.total_in);
        (inner.next_out, inner.avail_out, inner.total_out) = (caller.next_out, caller.avail_out, caller.total_out);
        inner.adler = caller.adler;
        let result = call(zlib.functions, inner);
        (caller.next_in, caller.avail_in, caller.total_in) = (inner.next_in, inner.avail_in, inner.total_in);
        (caller.next_out, caller.avail_out, caller.total_out) = (inner.next_out, inner.avail_out, inner.total_out);
        (caller.msg, caller.adler, caller.data_type) = (inner.msg, inner.adler, inner.data_type);
        result
    }

    /// Calls a function of the real zlib. An undecided stream becomes zlib's; for a chunk of ours the result is
    /// `Z_STREAM_ERROR`.
    ///
    /// # Safety
    /// As for [`on_inner`](Self::on_inner).
    pub(crate) unsafe fn hand_over<T: From<i8>>(
        &mut self,
        caller: &mut ZStream,
        call: impl FnOnce(&ZlibFunctions, *mut ZStream) -> T,
    ) -> T {
        let refused = T::from(-2);
        if let Phase::New | Phase::FirstByteOfMagic = self.phase {
            let Some(zlib) = zlib() else { return refused };
            if self.decide_for_zlib(zlib.functions) != OK {
                return refused;
            }
        }
        match self.phase {
            // SAFETY: the caller guarantees it.
            Phase::Zlib => unsafe { self.on_inner(caller, call) },
            _ => refused,
        }
    }

    /// Closes `inner`, if it is open.
    pub(super) fn close_inner(&mut self) -> c_int {
        if !std::mem::replace(&mut self.is_open, false) {
            return OK;
        }
        let Some(zlib) = zlib() else { return STREAM_ERROR };
        // SAFETY: `inner` is open, and is closed only here.
        unsafe { (zlib.functions.inflate_end)(&mut self.inner) }
    }
}
