//! The state of a written stream that may go to the object store.
//!
//! A chunk of ours begins with its payload's length. So the whole payload is collected, then encoded, then given out as
//! there is room. If anything goes wrong before the first byte is out, zlib takes over and gets what was collected as
//! if the caller had passed it. An error code would not do, because git's writers of packs check for none except
//! `Z_MEM_ERROR`.

use std::{env, ptr, slice, sync::OnceLock};

use libc::{c_int, c_uint, c_ulong, c_void};
use repackbench_preload_abi::{
    BUF_ERROR, Bytes, COLLECT_LIMIT_VARIABLE, Codecs, DATA_ERROR, FINISH, MEM_ERROR, OK, STREAM_END, STREAM_ERROR,
    ZStream, ZlibFunctions,
};

use crate::{
    caller::{show_new, take},
    codecs::codecs,
    objects::Writer,
    purpose::{self, Purpose},
    zlib::zlib,
};

/// `Z_NO_FLUSH`
const NO_FLUSH: c_int = 0;
/// `Z_BLOCK`, the largest value that `deflate` accepts.
const LAST_FLUSH: c_int = 5;

/// The default for the longest payload that is collected, in bytes. Longer payloads are left to zlib.
const MOST_COLLECTED: usize = 512 << 20;

/// The state of every stream of ours begins with the address of this static. A zlib's state begins with its stream's
/// address.
static MARK: u8 = 0;

/// The arguments of `deflateInit2_`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) level: c_int,
    pub(crate) method: c_int,
    pub(crate) window_bits: c_int,
    pub(crate) memory_level: c_int,
    pub(crate) strategy: c_int,
}

/// The state of a stream of ours.
#[repr(C)]
pub(crate) struct DeflateStream {
    /// The first field, because [`find`] reads it from any state, even a zlib's.
    mark: *const u8,
    /// The caller's stream. A stream that was moved is refused, as in zlib.
    owner: *mut ZStream,
    settings: Settings,
    purpose: Purpose,
    codecs: &'static Codecs,
    /// The codecs' handle of the payload that is being collected.
    payload: *mut c_void,
    phase: Phase,
    /// The stream of the real zlib that took over; it must not move.
    inner: ZStream,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No byte has arrived yet.
    New,
    Collecting {
        is_loose: bool,
    },
    /// The chunk is encoded, and its first `out` bytes were given out.
    Encoded {
        chunk: Bytes,
        out: usize,
    },
    /// zlib writes. It has received the first `given` bytes of what was collected.
    Zlib {
        given: usize,
    },
    /// No zlib could take over.
    Failed,
}

/// Who owns a stream that is written.
pub(crate) enum DeflateOwner<'a> {
    /// This library.
    Ours(&'a mut ZStream),
    /// The real zlib, which also refuses streams that are null or were never opened.
    Zlib,
    /// This library, but the stream was moved.
    Invalid,
}

/// Finds out who owns a stream.
///
/// # Safety
/// `stream` must be null or a valid stream, whose state is null or was set by an `Init` function and not freed by an
/// `End` function.
pub(crate) unsafe fn find<'a>(stream: *mut ZStream) -> DeflateOwner<'a> {
    // SAFETY: null or valid; the caller guarantees it.
    let Some(caller) = (unsafe { stream.as_mut() }) else { return DeflateOwner::Zlib };
    // SAFETY: the states of every zlib and of ours are longer than a pointer and begin with one.
    if caller.state.is_null() || unsafe { *caller.state.cast::<*const u8>() } != &raw const MARK {
        return DeflateOwner::Zlib;
    }
    // SAFETY: only our states begin with the mark's address; nothing else refers to the state during this call.
    let owner = unsafe { DeflateStream::of(caller) }.owner;
    if owner == stream { DeflateOwner::Ours(caller) } else { DeflateOwner::Invalid }
}

/// An upper bound for the length of a chunk for a payload of `payload_len` bytes, and for zlib's stream under any
/// settings.
pub(crate) fn bound(payload_len: c_ulong) -> c_ulong {
    /// Enough for an empty payload: `.xz` has a header, an index and a footer.
    const LEAST: c_ulong = 256;
    payload_len.saturating_add(payload_len >> 3).saturating_add(payload_len >> 6).saturating_add(LEAST)
}

/// Opens a stream of ours if it may go to the object store. Returns false if the stream is zlib's.
pub(crate) fn open(caller: &mut ZStream, settings: Settings) -> bool {
    let Some((purpose, Writer(writer))) = purpose::purpose() else { return false };
    let Some(codecs) = codecs() else { return false };
    // SAFETY: a handle from the codecs.
    let payload = unsafe { (codecs.open_payload)(writer) };
    if payload.is_null() {
        return false;
    }
    let ZStream { zalloc, zfree, opaque, .. } = *caller;
    let state = DeflateStream {
        mark: &raw const MARK,
        owner: caller,
        settings,
        purpose,
        codecs,
        payload,
        phase: Phase::New,
        inner: ZStream { zalloc, zfree, opaque, ..ZStream::zeroed() },
    };
    caller.state = Box::into_raw(Box::new(state)).cast();
    show_new(caller);
    true
}

/// `deflateInit2_` of the real zlib.
///
/// # Safety
/// `stream` must be valid.
pub(crate) unsafe fn open_zlib(functions: &ZlibFunctions, stream: *mut ZStream, settings: Settings) -> c_int {
    let Settings { level, method, window_bits, memory_level, strategy } = settings;
    let version = c"1.2.11".as_ptr();
    // SAFETY: the caller guarantees it. Every zlib accepts this version.
    unsafe {
        (functions.deflate_init2)(stream, level, method, window_bits, memory_level, strategy, version, ZStream::SIZE)
    }
}

impl DeflateStream {
    /// The state of a stream of ours.
    ///
    /// # Safety
    /// `caller` must be a stream of ours, and nothing else may refer to its state.
    pub(crate) unsafe fn of<'a>(caller: &ZStream) -> &'a mut DeflateStream {
        // SAFETY: the caller guarantees it.
        unsafe { &mut *caller.state.cast::<DeflateStream>() }
    }

    /// Whether no byte has arrived yet.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.phase, Phase::New)
    }

    /// `deflate`. Afterwards the stream may be zlib's, and its state freed.
    ///
    /// # Safety
    /// `caller` must be a stream of ours, with as much input and output room as it says.
    pub(crate) unsafe fn deflate(caller: &mut ZStream, flush: c_int) -> c_int {
        // SAFETY: the caller guarantees that the stream is ours.
        let state = unsafe { DeflateStream::of(caller) };
        if caller.next_out.is_null()
            || caller.next_in.is_null() && caller.avail_in != 0
            || !(NO_FLUSH..=LAST_FLUSH).contains(&flush)
        {
            return STREAM_ERROR;
        }
        if caller.avail_out == 0 {
            return BUF_ERROR;
        }
        // SAFETY: the caller guarantees input and output room in every arm.
        unsafe {
            if let Phase::New = state.phase {
                let is_loose = flush == NO_FLUSH && purpose::is_loose_header(input(caller));
                if !is_loose && state.purpose == Purpose::PerhapsLoose {
                    return DeflateStream::reopen_as_zlib(caller, MEM_ERROR, |functions, stream| {
                        (functions.deflate)(stream, flush)
                    });
                }
                state.phase = Phase::Collecting { is_loose };
            }
            match state.phase {
                Phase::Collecting { is_loose } => state.collect(caller, is_loose, flush),
                Phase::Encoded { .. } if flush != FINISH => STREAM_ERROR,
                Phase::Encoded { .. } if caller.avail_in != 0 => BUF_ERROR,
                Phase::Encoded { chunk, out } => state.give_out(caller, chunk, out),
                Phase::Zlib { given } => state.deflate_by_zlib(caller, given, flush),
                Phase::New | Phase::Failed => MEM_ERROR,
            }
        }
    }

    /// Collects input, and encodes the payload when it is complete.
    ///
    /// # Safety
    /// As for [`deflate`](Self::deflate).
    unsafe fn collect(&mut self, caller: &mut ZStream, is_loose: bool, flush: c_int) -> c_int {
        let bytes = caller.avail_in as usize;
        if flush == NO_FLUSH && bytes == 0 {
            return BUF_ERROR;
        }
        let all = self.collected().len.saturating_add(bytes);
        let fits = all <= most_collected();
        // SAFETY: the handle is open, and the caller guarantees the input.
        if flush == NO_FLUSH && fits && unsafe { (self.codecs.append)(self.payload, caller.next_in, bytes) } == OK {
            take(caller, caller.avail_in);
            return OK;
        }
        if flush == FINISH && fits {
            let longest = usize::try_from(bound(all as c_ulong)).unwrap_or(usize::MAX);
            // SAFETY: as above.
            let chunk = unsafe { (self.codecs.encode)(self.payload, is_loose, caller.next_in, bytes, longest) };
            if !chunk.start.is_null() {
                take(caller, caller.avail_in);
                // SAFETY: the chunk is valid until the next call with this payload's handle.
                return unsafe { self.give_out(caller, chunk, 0) };
            }
        }
        match self.take_over() {
            // SAFETY: the caller guarantees it.
            true => unsafe { self.deflate_by_zlib(caller, 0, flush) },
            false => MEM_ERROR,
        }
    }

    /// Gives out as much of the chunk as there is room for, starting at `out`.
    ///
    /// # Safety
    /// As for [`deflate`](Self::deflate); the chunk must still be valid.
    unsafe fn give_out(&mut self, caller: &mut ZStream, chunk: Bytes, out: usize) -> c_int {
        let rest = chunk.len - out;
        let count = c_uint::try_from(rest).unwrap_or(c_uint::MAX).min(caller.avail_out);
        // SAFETY: the chunk has `rest` more bytes, the caller has room for `count`, and the two do not overlap.
        unsafe { ptr::copy_nonoverlapping(chunk.start.add(out), caller.next_out, count as usize) };
        caller.next_out = caller.next_out.wrapping_add(count as usize);
        caller.avail_out -= count;
        caller.total_out = caller.total_out.wrapping_add(c_ulong::from(count));
        self.phase = Phase::Encoded { chunk, out: out + count as usize };
        if rest == count as usize { STREAM_END } else { OK }
    }

    fn collected(&self) -> Bytes {
        // SAFETY: the payload's handle is open.
        unsafe { (self.codecs.collected)(self.payload) }
    }

    /// Opens the real zlib for the rest of the stream. Returns false if that fails.
    fn take_over(&mut self) -> bool {
        let Some(zlib) = zlib() else { return false };
        // SAFETY: `inner` is all zeroes except for the caller's allocator.
        let is_open = unsafe { open_zlib(zlib.functions, &mut self.inner, self.settings) } == OK;
        self.phase = if is_open { Phase::Zlib { given: 0 } } else { Phase::Failed };
        is_open
    }

    /// Passes to zlib what was collected, as long as there is room, then the caller's input.
    ///
    /// # Safety
    /// As for [`deflate`](Self::deflate); zlib must have taken over.
    unsafe fn deflate_by_zlib(&mut self, caller: &mut ZStream, mut given: usize, flush: c_int) -> c_int {
        let Some(zlib) = zlib() else { return MEM_ERROR };
        let collected = self.collected();
        let had = collected.len > given;
        while given < collected.len {
            let count = c_uint::try_from(collected.len - given).unwrap_or(c_uint::MAX);
            (self.inner.next_in, self.inner.avail_in) = (collected.start.wrapping_add(given), count);
            // SAFETY: an open stream with collected bytes and the caller's room.
            let code = unsafe { self.on_inner(caller, |inner| (zlib.functions.deflate)(inner, NO_FLUSH)) };
            given += (count - self.inner.avail_in) as usize;
            self.phase = Phase::Zlib { given };
            if code != OK {
                return MEM_ERROR;
            }
            if caller.avail_out == 0 {
                return OK;
            }
        }
        if had {
            // SAFETY: the payload's handle is open, and zlib has consumed all of it.
            unsafe { (self.codecs.restart_payload)(self.payload) };
            self.phase = Phase::Zlib { given: 0 };
        }
        let before = caller.avail_in;
        (self.inner.next_in, self.inner.avail_in) = (caller.next_in, before);
        // SAFETY: an open stream with the caller's input and room.
        let code = unsafe { self.on_inner(caller, |inner| (zlib.functions.deflate)(inner, flush)) };
        take(caller, before - self.inner.avail_in);
        if had && code == BUF_ERROR { OK } else { code }
    }

    /// Calls zlib on `inner`, whose input is already set, with the caller's room.
    ///
    /// # Safety
    /// `call` must be sound for an open stream with that input and room.
    unsafe fn on_inner(&mut self, caller: &mut ZStream, call: impl FnOnce(*mut ZStream) -> c_int) -> c_int {
        let inner = &mut self.inner;
        (inner.next_out, inner.avail_out) = (caller.next_out, caller.avail_out);
        let code = call(inner);
        let produced = caller.avail_out - inner.avail_out;
        (caller.next_out, caller.avail_out) = (inner.next_out, inner.avail_out);
        caller.total_out = caller.total_out.wrapping_add(c_ulong::from(produced));
        (caller.msg, caller.adler, caller.data_type) = (inner.msg, inner.adler, inner.data_type);
        code
    }

    /// Frees the state of a new stream, opens the stream in the real zlib, and calls `call` with it. The result is
    /// `refused` on failure.
    ///
    /// # Safety
    /// The state must be `caller`'s and new, and must not be used afterwards. `call` must be sound for the caller's
    /// stream.
    pub(crate) unsafe fn reopen_as_zlib<T>(
        caller: &mut ZStream,
        refused: T,
        call: impl FnOnce(&ZlibFunctions, *mut ZStream) -> T,
    ) -> T {
        // SAFETY: the state came from a box in `open`.
        let state = unsafe { Box::from_raw(caller.state.cast::<DeflateStream>()) };
        caller.state = ptr::null_mut();
        // SAFETY: open, and not used again.
        unsafe { (state.codecs.close_payload)(state.payload) };
        let Some(zlib) = zlib() else { return refused };
        // SAFETY: a valid stream without a state.
        match unsafe { open_zlib(zlib.functions, caller, state.settings) } {
            OK => call(zlib.functions, caller),
            _ => refused,
        }
    }

    /// `deflateBound`; `None` if the stream must become zlib's now.
    pub(crate) fn bound(&self, payload_len: c_ulong) -> Option<c_ulong> {
        // No writer of loose objects calls deflateBound.
        let is_zlibs = self.is_new() && self.purpose == Purpose::PerhapsLoose;
        (!is_zlibs).then(|| bound(payload_len))
    }

    /// `deflatePending`: how many bytes, and how many further bits, wait for room.
    pub(crate) fn pending(&mut self) -> (c_uint, c_int) {
        let (mut bytes, mut bits) = (0, 0);
        match (self.phase, zlib()) {
            (Phase::Encoded { chunk, out }, _) => bytes = c_uint::try_from(chunk.len - out).unwrap_or(c_uint::MAX),
            (Phase::Zlib { .. }, Some(zlib)) => {
                // SAFETY: an open stream.
                unsafe { (zlib.functions.deflate_pending)(&mut self.inner, &mut bytes, &mut bits) };
            }
            _ => {}
        }
        (bytes, bits)
    }

    /// `deflateReset`
    pub(crate) fn reset(&mut self, caller: &mut ZStream) -> c_int {
        self.close_inner();
        // SAFETY: the payload's handle is open.
        unsafe { (self.codecs.restart_payload)(self.payload) };
        self.phase = Phase::New;
        show_new(caller);
        OK
    }

    /// Closes the zlib that took over, and returns its code.
    fn close_inner(&mut self) -> c_int {
        match (self.phase, zlib()) {
            (Phase::Zlib { .. }, Some(zlib)) => {
                self.phase = Phase::Failed;
                // SAFETY: open, and not used before it is opened again.
                unsafe { (zlib.functions.deflate_end)(&mut self.inner) }
            }
            _ => OK,
        }
    }

    /// `deflateEnd`
    ///
    /// # Safety
    /// The state must be `caller`'s, and must not be used afterwards.
    pub(crate) unsafe fn end(caller: &mut ZStream) -> c_int {
        // SAFETY: the state came from a box in `open`.
        let mut state = unsafe { Box::from_raw(caller.state.cast::<DeflateStream>()) };
        caller.state = ptr::null_mut();
        let code = match state.phase {
            Phase::New => OK,
            Phase::Encoded { chunk, out } if out == chunk.len => OK,
            Phase::Zlib { given } if given == state.collected().len => state.close_inner(),
            Phase::Collecting { .. } | Phase::Encoded { .. } | Phase::Zlib { .. } | Phase::Failed => {
                state.close_inner();
                DATA_ERROR
            }
        };
        // SAFETY: open, and not used again.
        unsafe { (state.codecs.close_payload)(state.payload) };
        code
    }
}

/// The longest payload that is collected, in bytes.
fn most_collected() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let named = env::var(COLLECT_LIMIT_VARIABLE).ok().and_then(|limit| limit.parse().ok());
        named.unwrap_or(MOST_COLLECTED)
    })
}

/// The caller's input.
///
/// # Safety
/// The input must be as long as the stream says, for the lifetime of the result.
unsafe fn input(caller: &ZStream) -> &[u8] {
    match caller.avail_in {
        0 => &[],
        // SAFETY: the caller guarantees it; `deflate` has checked for null.
        len => unsafe { slice::from_raw_parts(caller.next_in, len as usize) },
    }
}
