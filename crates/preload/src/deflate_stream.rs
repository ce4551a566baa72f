//! One stream that may go to the object store, from the moment when it is opened to be written.
//!
//! A chunk of ours begins with its payload's length, so all of the payload is collected, then encoded, then given out as there is room.
//! Whatever goes wrong before its first byte is out, zlib takes over: what was collected is given to it as if by the caller. An error
//! is no way out, since git's writers of packs look at none but that memory ran out.

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
/// `Z_BLOCK`, the last that may be asked of a stream that is written.
const LAST_FLUSH: c_int = 5;

/// The longest payload that is collected, in bytes, unless the environment says otherwise; a longer one is zlib's.
const MOST_COLLECTED: usize = 512 << 20;

/// DeflateOwner address begins the state of every stream of ours. A zlib's state begins with its stream's address.
static MARK: u8 = 0;

/// What `deflateInit2_` was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) level: c_int,
    pub(crate) method: c_int,
    pub(crate) window_bits: c_int,
    pub(crate) memory_level: c_int,
    pub(crate) strategy: c_int,
}

/// The state behind a stream.
#[repr(C)]
pub(crate) struct DeflateStream {
    /// First, so that [`find`] can read it of any zlib's state.
    mark: *const u8,
    /// The caller's stream. A stream that was moved is refused, as zlib does it.
    owner: *mut ZStream,
    settings: Settings,
    purpose: Purpose,
    codecs: &'static Codecs,
    /// Where the codecs collect the payload.
    payload: *mut c_void,
    phase: Phase,
    /// The stream of the real zlib that took over; it must not move.
    inner: ZStream,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing arrived yet.
    New,
    Collecting {
        is_loose: bool,
    },
    /// The chunk, and how much of it is out.
    Encoded {
        chunk: Bytes,
        out: usize,
    },
    /// zlib writes; so much of what was collected was given to it.
    Zlib {
        given: usize,
    },
    /// No zlib could take over.
    Failed,
}

/// DeflateOwner a stream is.
pub(crate) enum DeflateOwner<'a> {
    /// One of ours.
    Ours(&'a mut ZStream),
    /// A zlib's, or nobody's, which that zlib finds out.
    Zlib,
    /// One of ours that was moved.
    Invalid,
}

/// Finds out whose a stream is.
///
/// # Safety
/// `stream` must be null or a valid stream, whose state is null or what an `Init` function set and no `End` function freed.
pub(crate) unsafe fn find<'a>(stream: *mut ZStream) -> DeflateOwner<'a> {
    // SAFETY: null or valid, as the caller vouches.
    let Some(caller) = (unsafe { stream.as_mut() }) else { return DeflateOwner::Zlib };
    // SAFETY: every zlib's state, and ours, is longer than a pointer, and begins with one.
    if caller.state.is_null() || unsafe { *caller.state.cast::<*const u8>() } != &raw const MARK {
        return DeflateOwner::Zlib;
    }
    // SAFETY: only our states begin with the mark's address; nothing else refers to it during this call.
    let owner = unsafe { DeflateStream::of(caller) }.owner;
    if owner == stream { DeflateOwner::Ours(caller) } else { DeflateOwner::Invalid }
}

/// No chunk that is given out for a payload of so many bytes is longer, nor is zlib's stream for it under any settings.
pub(crate) fn bound(payload_len: c_ulong) -> c_ulong {
    /// What even an empty payload may take: `.xz` has header, index and footer.
    const LEAST: c_ulong = 256;
    payload_len.saturating_add(payload_len >> 3).saturating_add(payload_len >> 6).saturating_add(LEAST)
}

/// Makes a new stream one of ours, if it may go to the object store; false if it is zlib's.
pub(crate) fn open(caller: &mut ZStream, settings: Settings) -> bool {
    let Some((purpose, Writer(writer))) = purpose::purpose() else { return false };
    let Some(codecs) = codecs() else { return false };
    // SAFETY: what the codecs gave.
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
    // SAFETY: as the caller vouches. The version is one that every zlib takes.
    unsafe {
        (functions.deflate_init2)(stream, level, method, window_bits, memory_level, strategy, version, ZStream::SIZE)
    }
}

impl DeflateStream {
    /// The state of a stream of ours.
    ///
    /// # Safety
    /// `caller` must be one, and nothing else refer to its state.
    pub(crate) unsafe fn of<'a>(caller: &ZStream) -> &'a mut DeflateStream {
        // SAFETY: as the caller vouches.
        unsafe { &mut *caller.state.cast::<DeflateStream>() }
    }

    /// Whether nothing arrived yet.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.phase, Phase::New)
    }

    /// `deflate`; the caller's stream may be wholly zlib's afterwards, and this state gone.
    ///
    /// # Safety
    /// The state must be `caller`'s, with as many bytes and as much room as that says.
    pub(crate) unsafe fn deflate(caller: &mut ZStream, flush: c_int) -> c_int {
        // SAFETY: ours, as the caller vouches.
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
        // SAFETY: the caller vouches for bytes and room, in every arm.
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

    /// # Safety
    /// As for [`deflate`](Self::deflate).
    unsafe fn collect(&mut self, caller: &mut ZStream, is_loose: bool, flush: c_int) -> c_int {
        let bytes = caller.avail_in as usize;
        if flush == NO_FLUSH && bytes == 0 {
            return BUF_ERROR;
        }
        let all = self.collected().len.saturating_add(bytes);
        let fits = all <= most_collected();
        // SAFETY: the place is open, and the caller vouches for the bytes.
        if flush == NO_FLUSH && fits && unsafe { (self.codecs.append)(self.payload, caller.next_in, bytes) } == OK {
            take(caller, caller.avail_in);
            return OK;
        }
        if flush == FINISH && fits {
            let longest = usize::try_from(bound(all as c_ulong)).unwrap_or(usize::MAX);
            // SAFETY: likewise.
            let chunk = unsafe { (self.codecs.encode)(self.payload, is_loose, caller.next_in, bytes, longest) };
            if !chunk.start.is_null() {
                take(caller, caller.avail_in);
                // SAFETY: the chunk is there until the next call about this payload.
                return unsafe { self.give_out(caller, chunk, 0) };
            }
        }
        match self.take_over() {
            // SAFETY: as the caller vouches.
            true => unsafe { self.deflate_by_zlib(caller, 0, flush) },
            false => MEM_ERROR,
        }
    }

    /// Gives out as much of the chunk as there is room for, from `out` on.
    ///
    /// # Safety
    /// As for [`deflate`](Self::deflate); the chunk must be there.
    unsafe fn give_out(&mut self, caller: &mut ZStream, chunk: Bytes, out: usize) -> c_int {
        let rest = chunk.len - out;
        let count = c_uint::try_from(rest).unwrap_or(c_uint::MAX).min(caller.avail_out);
        // SAFETY: the chunk has `rest` more bytes and the caller room for `count`; they are different memory.
        unsafe { ptr::copy_nonoverlapping(chunk.start.add(out), caller.next_out, count as usize) };
        caller.next_out = caller.next_out.wrapping_add(count as usize);
        caller.avail_out -= count;
        caller.total_out = caller.total_out.wrapping_add(c_ulong::from(count));
        self.phase = Phase::Encoded { chunk, out: out + count as usize };
        if rest == count as usize { STREAM_END } else { OK }
    }

    fn collected(&self) -> Bytes {
        // SAFETY: the place is open.
        unsafe { (self.codecs.collected)(self.payload) }
    }

    /// Opens a real zlib for what was collected and what will follow; false if there is none.
    fn take_over(&mut self) -> bool {
        let Some(zlib) = zlib() else { return false };
        // SAFETY: it has the caller's allocator, and is else of zeroes.
        let is_open = unsafe { open_zlib(zlib.functions, &mut self.inner, self.settings) } == OK;
        self.phase = if is_open { Phase::Zlib { given: 0 } } else { Phase::Failed };
        is_open
    }

    /// Gives zlib what was collected, as far as there is room, then what the caller has.
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
            // SAFETY: an open stream with bytes that were collected and the caller's room.
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
            // SAFETY: the place is open; all of it was taken.
            unsafe { (self.codecs.restart_payload)(self.payload) };
            self.phase = Phase::Zlib { given: 0 };
        }
        let before = caller.avail_in;
        (self.inner.next_in, self.inner.avail_in) = (caller.next_in, before);
        // SAFETY: an open stream with the caller's bytes and room.
        let code = unsafe { self.on_inner(caller, |inner| (zlib.functions.deflate)(inner, flush)) };
        take(caller, before - self.inner.avail_in);
        if had && code == BUF_ERROR { OK } else { code }
    }

    /// Calls zlib on `inner`, whose bytes are set, with the caller's room.
    ///
    /// # Safety
    /// `call` must be sound for an open stream with those bytes and that room.
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

    /// Makes the caller's new stream wholly zlib's, and lets `call` go on with it; `refused` if that cannot be.
    ///
    /// # Safety
    /// The state must be `caller`'s and new; it is gone afterwards. `call` must be sound for the caller's stream.
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

    /// What `deflateBound` says; none if the stream has to be zlib's now.
    pub(crate) fn bound(&self, payload_len: c_ulong) -> Option<c_ulong> {
        // No writer of loose objects asks for it.
        let is_zlibs = self.is_new() && self.purpose == Purpose::PerhapsLoose;
        (!is_zlibs).then(|| bound(payload_len))
    }

    /// How many bytes wait for room, and how many bits more.
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
        // SAFETY: the place is open.
        unsafe { (self.codecs.restart_payload)(self.payload) };
        self.phase = Phase::New;
        show_new(caller);
        OK
    }

    /// Closes the zlib that took over; what it says.
    fn close_inner(&mut self) -> c_int {
        match (self.phase, zlib()) {
            (Phase::Zlib { .. }, Some(zlib)) => {
                self.phase = Phase::Failed;
                // SAFETY: open, and not used again before it is opened anew.
                unsafe { (zlib.functions.deflate_end)(&mut self.inner) }
            }
            _ => OK,
        }
    }

    /// `deflateEnd`
    ///
    /// # Safety
    /// The state must be `caller`'s, and is gone afterwards.
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

/// What the caller has.
///
/// # Safety
/// There must be as many bytes as the stream says, for as long as they are looked at.
unsafe fn input(caller: &ZStream) -> &[u8] {
    match caller.avail_in {
        0 => &[],
        // SAFETY: as the caller vouches; not null, which was asked before.
        len => unsafe { slice::from_raw_parts(caller.next_in, len as usize) },
    }
}
