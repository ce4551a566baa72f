//! The way to a real zlib.
//!
//! A stream that is plainly zlib's by its first byte becomes one of git's own zlib, and is so from then on, as if it had been opened there.
//! Where contexts are kept, and where a stream turns out to be zlib's by another way, a second `z_stream` in our state is the real one, and what
//! the caller sees is copied.

use std::ptr;

use libc::{c_int, c_uint, c_ulong};
use repackbench_preload_abi::{FINISH, MEM_ERROR, NEED_DICT, OK, STREAM_END, STREAM_ERROR, ZStream, ZlibFunctions};

use super::{InflateStream, LONGEST_WINDOW, Phase, advance, first_bytes::ZSTD_MAGIC, is_plain, pool, sentinel};
use crate::{codecs::codecs, objects, zlib::zlib};

/// The version that zlibs are asked for: one that each takes.
const VERSION: &std::ffi::CStr = c"1.2.11";

/// With less room than this, in bytes, the beginning of a payload is wanted: git looks at 20 bytes of a delta, and at 32 of a loose object.
const BEGINNING: usize = 32;

/// Makes a new stream one of the zlib with these functions, and begins to read.
///
/// # Safety
/// There must be as many bytes and as much room as the stream says.
pub(super) unsafe fn begin(functions: &ZlibFunctions, caller: &mut ZStream, window_bits: c_int, flush: c_int) -> c_int {
    let ZStream { total_in, total_out, .. } = *caller;
    (caller.state, caller.opaque) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: a stream without a state or an allocator.
    let code = unsafe { (functions.inflate_init2)(caller, window_bits, VERSION.as_ptr(), ZStream::SIZE) };
    if code != OK {
        sentinel::forget(caller);
        sentinel::set_new(caller, window_bits);
        return code;
    }
    sentinel::mark(caller, window_bits);
    // A caller may count for itself.
    (caller.total_in, caller.total_out) = (total_in, total_out);
    // SAFETY: as the caller vouches.
    unsafe { inflate_with_dictionaries(functions, caller, flush) }
}

/// `inflate` of a stream that is zlib's.
///
/// # Safety
/// As zlib.h has it.
pub(crate) unsafe fn inflate_by_zlib(caller: &mut ZStream, flush: c_int) -> c_int {
    let Some(zlib) = zlib() else { return STREAM_ERROR };
    // SAFETY: as the caller vouches.
    unsafe {
        match sentinel::is_marked(caller) {
            true => inflate_with_dictionaries(zlib.functions, caller, flush),
            false => (zlib.functions.inflate)(caller, flush),
        }
    }
}

/// `inflateReset`, or `inflateReset2` with other window bits, of a stream that is zlib's. If it may now carry a chunk of ours, it becomes one of
/// ours, and takes along what zlib remembers.
pub(crate) fn reset_zlib(caller: &mut ZStream, window_bits: Option<c_int>) -> c_int {
    let Some(zlib) = zlib() else { return STREAM_ERROR };
    let opened_with = sentinel::unmark(caller);
    // SAFETY: a stream of that zlib, which needs no bytes and no room.
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

/// Makes a stream that is zlib's, and was just reset, one of ours.
fn adopt(functions: &ZlibFunctions, caller: &mut ZStream, window_bits: c_int) -> c_int {
    let mut state = pool::take();
    state.close_inner();
    // SAFETY: a stream of that zlib, and one that is closed; after success the original is open.
    let code = unsafe { (functions.inflate_copy)(&mut state.inner, caller) };
    if code != OK {
        sentinel::mark(caller, window_bits);
        return MEM_ERROR;
    }
    // SAFETY: see above.
    unsafe { (functions.inflate_end)(caller) };
    sentinel::forget(caller);
    (state.is_open, state.has_window) = (true, true);
    state.belong_to(caller, window_bits);
    OK
}

/// `inflateSync` of a stream that is zlib's, which resets it.
///
/// # Safety
/// As zlib.h has it.
pub(crate) unsafe fn sync_zlib(caller: &mut ZStream) -> c_int {
    let Some(zlib) = zlib() else { return STREAM_ERROR };
    let opened_with = sentinel::unmark(caller);
    // SAFETY: as the caller vouches.
    let code = unsafe { (zlib.functions.inflate_sync)(caller) };
    if let Some(window_bits) = opened_with {
        sentinel::mark(caller, window_bits);
    }
    code
}

/// `inflateEnd` of a stream that is zlib's. A mark stays, with the allocator that zlib chose; whoever opens the stream again finds both.
///
/// # Safety
/// As zlib.h has it.
pub(crate) unsafe fn end_zlib(stream: *mut ZStream) -> c_int {
    let Some(zlib) = zlib() else { return STREAM_ERROR };
    // SAFETY: a stream of that zlib, or one that it refuses.
    unsafe { (zlib.functions.inflate_end)(stream) }
}

/// `inflate` by a zlib, which gets the dictionary that a stream asks for if it is one of the repository's.
///
/// # Safety
/// As zlib.h has it.
unsafe fn inflate_with_dictionaries(functions: &ZlibFunctions, stream: *mut ZStream, flush: c_int) -> c_int {
    // SAFETY: as the caller vouches; the stream is copied.
    let before = unsafe { ((*stream).avail_in, (*stream).total_in, (*stream).next_in) };
    // SAFETY: as the caller vouches.
    let code = unsafe { (functions.inflate)(stream, flush) };
    if code != NEED_DICT {
        return code;
    }
    let (Some(codecs), Some(tables)) = (codecs(), objects::tables_for(before.2)) else { return code };
    // SAFETY: as the caller vouches; nothing else refers to the stream until the next call.
    let seen = unsafe { &mut *stream };
    // SAFETY: what the codecs gave, and a number.
    let dictionary = unsafe { (codecs.dictionary)(tables.0, u32::try_from(seen.adler).unwrap_or_default()) };
    let Ok(length) = c_uint::try_from(dictionary.len) else { return code };
    if dictionary.start.is_null() {
        return code;
    }
    // SAFETY: an open stream, and a dictionary that lasts.
    if unsafe { (functions.inflate_set_dictionary)(stream, dictionary.start, length) } != OK {
        return code;
    }
    // zlib does not count what it takes in a call that ends with the need for a dictionary.
    seen.total_in = before.1.wrapping_add(c_ulong::from(before.0 - seen.avail_in));
    // SAFETY: as the caller vouches.
    unsafe { (functions.inflate)(stream, flush) }
}

impl InflateStream {
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    pub(super) unsafe fn begin_zlib(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let Some(zlib) = zlib() else { return STREAM_ERROR };
        // SAFETY: as the caller vouches.
        if zlib.tries_libdeflate && self.suits_libdeflate(caller, flush) && unsafe { self.inflate_at_once(caller) } {
            return STREAM_END;
        }
        let code = self.decide_for_zlib(zlib.functions);
        if code != OK {
            return code;
        }
        // SAFETY: as the caller vouches.
        unsafe { self.inflate_inner(caller, flush) }
    }

    /// Whether libdeflate might decode the stream and nobody would notice but by the time that it takes.
    fn suits_libdeflate(&self, caller: &ZStream, flush: c_int) -> bool {
        let is_new = matches!(self.phase, Phase::New);
        // It refuses no stream for its window, and stops at no block.
        let any_window = matches!(self.window_bits, 0 | LONGEST_WINDOW);
        let to_the_end = flush <= FINISH;
        // It would build its tables in vain.
        let wants_all = caller.avail_out as usize > BEGINNING;
        is_new && any_window && to_the_end && wants_all
    }

    /// Lets libdeflate decode all of a stream, if it can; false if it cannot.
    ///
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    unsafe fn inflate_at_once(&mut self, caller: &mut ZStream) -> bool {
        let Some(codecs) = codecs() else { return false };
        let (bytes, room) = (caller.avail_in as usize, caller.avail_out as usize);
        // SAFETY: the caller vouches for bytes and room.
        let step = unsafe { (codecs.libdeflate)(caller.next_in, bytes, caller.next_out, room) };
        if step.code != STREAM_END {
            return false;
        }
        advance(caller, &step);
        // SAFETY: the stream that was taken ends with its checksum, of four bytes.
        caller.adler = c_ulong::from(u32::from_be(unsafe { caller.next_in.cast::<u32>().sub(1).read_unaligned() }));
        self.phase = Phase::Ended;
        true
    }

    /// # Safety
    /// As for [`inflate`](Self::inflate).
    pub(super) unsafe fn inflate_inner(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        // SAFETY: as the caller vouches.
        unsafe { self.on_inner(caller, |functions, inner| inflate_with_dictionaries(functions, inner, flush)) }
    }

    /// Makes the stream one of the real zlib's, from its first byte on.
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
        // SAFETY: an open stream with one byte, and without room.
        unsafe { (functions.inflate)(inner, 0) }
    }

    /// Makes `inner` ready for a new stream.
    fn open_inner(&mut self, functions: &ZlibFunctions) -> c_int {
        let inner = &raw mut self.inner;
        // SAFETY: it was opened, and not closed; or has the caller's allocator and is else of zeroes.
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

    /// Calls a function of the real zlib on `inner`, with what the caller sees.
    ///
    /// # Safety
    /// `call` must be sound for a stream with the caller's bytes and room.
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

    /// Calls a function of the real zlib, to which an open question is decided in favour of zlib; `refused` if the stream is ours.
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
            // SAFETY: as the caller vouches.
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
        // SAFETY: it was opened, and is closed only here.
        unsafe { (zlib.functions.inflate_end)(&mut self.inner) }
    }
}
