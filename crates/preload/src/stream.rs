//! One stream that was opened to be read, from the moment when nobody knows what it is.

use std::ptr;

use libc::{c_int, c_uint, c_ulong, c_void};
use repackbench_preload_abi::{
    BUF_ERROR, Codecs, DATA_ERROR, FINISH, MEM_ERROR, NEED_DICT, OK, Progress, STREAM_END, STREAM_ERROR, ZStream,
    ZlibFunctions,
};

use crate::{codecs::codecs, zlib::zlib};

/// The tag bytes of format version 1, without the flag that says that there is no checksum.
const TAGS: [u8; 18] =
    [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x09, 0x0a, 0x0b, 0x12, 0x1c, 0x23, 0x24, 0x25, 0x42, 0x43, 0x4b];

/// The flag that says so.
const NO_CHECKSUM: u8 = 0x80;

/// What standard zstd frames begin with.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// `MAX_WBITS`
const LONGEST_WINDOW: c_int = 15;

/// The checksum of nothing, which a new stream shows.
const ADLER32_OF_NOTHING: c_ulong = 1;

/// Whose address begins the state of every stream of ours. A zlib's state begins with its stream's address.
static MARK: u8 = 0;

/// The state behind a stream.
#[repr(C)]
pub(crate) struct Stream {
    /// First, so that [`find`] can read it of any zlib's state.
    mark: *const u8,
    /// The caller's stream. A stream that was moved is refused, as zlib does it.
    owner: *mut ZStream,
    window_bits: c_int,
    phase: Phase,
    /// The stream as the real zlib sees it, which must not move.
    inner: ZStream,
    /// The real zlib has opened it.
    is_open: bool,
    /// `inner` has the window bits already, or those that it took from a stream's header where there are none.
    has_window: bool,
}

#[derive(Clone, Copy)]
enum Phase {
    /// Nothing arrived yet.
    New,
    /// The first byte of a standard zstd frame was taken, which may also begin a zlib stream.
    FirstByteOfMagic,
    /// `inner` is used.
    Zlib,
    /// A chunk of ours.
    Ours(Decoder),
    Ended,
    Failed,
}

/// A decoder of the codecs' library.
#[derive(Clone, Copy)]
struct Decoder {
    codecs: &'static Codecs,
    decoder: *mut c_void,
}

/// Whose a stream is.
pub(crate) enum Whose<'a> {
    /// One of ours.
    Ours(&'a mut ZStream, &'a mut Stream),
    /// A zlib's.
    Zlibs,
    /// Nobody's: null, never opened, or moved.
    Nobodys,
}

/// Finds out whose a stream is.
///
/// # Safety
/// `stream` must be null or a valid stream, whose state is null or what an `Init` function set and no `End` function freed.
pub(crate) unsafe fn find<'a>(stream: *mut ZStream) -> Whose<'a> {
    // SAFETY: null or valid, as the caller vouches.
    let Some(caller) = (unsafe { stream.as_mut() }) else { return Whose::Nobodys };
    if caller.state.is_null() {
        return Whose::Nobodys;
    }
    // SAFETY: every zlib's state, and ours, is longer than a pointer, and begins with one.
    let mark = unsafe { *caller.state.cast::<*const u8>() };
    if mark != &raw const MARK {
        return Whose::Zlibs;
    }
    // SAFETY: only our states begin with the mark's address; nothing else refers to it during this call.
    let state = unsafe { &mut *caller.state.cast::<Stream>() };
    if state.owner == stream { Whose::Ours(caller, state) } else { Whose::Nobodys }
}

/// Whether a stream of so many window bits is in zlib's format, in place of which chunks of ours may come.
pub(crate) fn is_plain(window_bits: c_int) -> bool {
    window_bits == 0 || (8..=15).contains(&window_bits)
}

/// Whether `inflateReset2` takes so many window bits: none, or 8 to 15, negative for raw DEFLATE, 16 more for gzip, 32 more for either.
fn is_valid(window_bits: c_int) -> bool {
    let bits = match window_bits {
        ..0 => -window_bits.max(-LONGEST_WINDOW - 1),
        0..48 => window_bits & LONGEST_WINDOW,
        _ => window_bits,
    };
    is_plain(bits)
}

/// For each byte whether it is a tag byte: this is asked of every stream.
static IS_TAG: [bool; 256] = {
    let mut table = [false; 256];
    let mut number = 0;
    while number < TAGS.len() {
        table[TAGS[number] as usize] = true;
        table[(TAGS[number] | NO_CHECKSUM) as usize] = true;
        number += 1;
    }
    table
};

/// Whether nothing but a zlib stream can begin so.
fn is_plainly_zlib(first: u8) -> bool {
    first != ZSTD_MAGIC[0] && !IS_TAG[usize::from(first)]
}

/// What a stream's first bytes say about it.
enum Opening {
    Zlib,
    Ours,
    /// The only byte may begin either.
    Open,
}

impl Opening {
    fn of(bytes: &[u8]) -> Self {
        match bytes {
            [first, ..] if IS_TAG[usize::from(*first)] => Opening::Ours,
            [first] if *first == ZSTD_MAGIC[0] => Opening::Open,
            // Two bytes of the magic number already are no zlib stream: they would be a multiple of 31.
            [_, _, ..] if ZSTD_MAGIC.starts_with(&bytes[..bytes.len().min(ZSTD_MAGIC.len())]) => Opening::Ours,
            _ => Opening::Zlib,
        }
    }
}

/// The state of a new stream, which `caller` gets.
pub(crate) fn open(caller: &mut ZStream, window_bits: c_int) {
    let owner: *mut ZStream = caller;
    let ZStream { zalloc, zfree, opaque, .. } = *caller;
    let inner = ZStream { zalloc, zfree, opaque, ..ZStream::zeroed() };
    let state = Stream {
        mark: &raw const MARK,
        owner,
        window_bits,
        phase: Phase::New,
        inner,
        is_open: false,
        has_window: false,
    };
    caller.state = Box::into_raw(Box::new(state)).cast();
    show_new(caller);
}

/// What a caller sees of a stream before its first byte.
fn show_new(caller: &mut ZStream) {
    (caller.total_in, caller.total_out) = (0, 0);
    caller.msg = ptr::null();
    caller.adler = ADLER32_OF_NOTHING;
}

impl Stream {
    /// `inflate`
    ///
    /// # Safety
    /// `caller` must be this stream's, with as many bytes and as much room as it says.
    pub(crate) unsafe fn inflate(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        if caller.next_out.is_null() || caller.next_in.is_null() && caller.avail_in != 0 {
            return STREAM_ERROR;
        }
        // SAFETY: the caller vouches for bytes and room, in every arm.
        unsafe {
            match self.phase {
                Phase::New | Phase::FirstByteOfMagic => self.decide(caller, flush),
                Phase::Zlib => self.inflate_by_zlib(caller, flush),
                Phase::Ours(decoder) => self.inflate_ours(decoder, caller, flush),
                Phase::Ended => STREAM_END,
                Phase::Failed => DATA_ERROR,
            }
        }
    }

    /// Looks at the first bytes.
    ///
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    unsafe fn decide(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        // SAFETY: it is there.
        if caller.avail_in > 0 && self.is_new() && is_plainly_zlib(unsafe { *caller.next_in }) {
            // SAFETY: as the caller vouches.
            return unsafe { self.begin_zlib(caller, flush) };
        }
        // As many as tell everything apart, with the one that was taken before.
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
        // SAFETY: the caller has at least `more` bytes, and the array room for them behind the first `len`.
        unsafe { ptr::copy_nonoverlapping(caller.next_in, first.as_mut_ptr().add(len), more) };
        len += more;
        match Opening::of(&first[..len]) {
            Opening::Open => {
                take(caller, 1);
                self.phase = Phase::FirstByteOfMagic;
                if flush == FINISH { BUF_ERROR } else { OK }
            }
            // SAFETY: as the caller vouches.
            Opening::Ours => unsafe { self.begin_ours(caller, flush) },
            // SAFETY: as the caller vouches.
            Opening::Zlib => unsafe { self.begin_zlib(caller, flush) },
        }
    }

    /// # Safety
    /// As for [`inflate`](Self::inflate).
    unsafe fn begin_ours(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let Some(codecs) = codecs() else {
            caller.msg = c"repackbench: the library with the codecs cannot be loaded".as_ptr();
            self.phase = Phase::Failed;
            return DATA_ERROR;
        };
        // SAFETY: takes nothing.
        let decoder = Decoder { codecs, decoder: unsafe { (codecs.open)() } };
        if decoder.decoder.is_null() {
            return MEM_ERROR;
        }
        if let Phase::FirstByteOfMagic = self.phase {
            // SAFETY: a new decoder, one byte, and no room.
            unsafe { (codecs.step)(decoder.decoder, ZSTD_MAGIC.as_ptr(), 1, ptr::null_mut(), 0) };
        }
        self.phase = Phase::Ours(decoder);
        // SAFETY: as the caller vouches.
        unsafe { self.inflate_ours(decoder, caller, flush) }
    }

    /// # Safety
    /// As for [`inflate`](Self::inflate); `decoder` must be this stream's.
    unsafe fn inflate_ours(&mut self, decoder: Decoder, caller: &mut ZStream, flush: c_int) -> c_int {
        let (bytes, room) = (caller.avail_in as usize, caller.avail_out as usize);
        // SAFETY: the decoder is open, and the caller vouches for bytes and room.
        let step = unsafe { (decoder.codecs.step)(decoder.decoder, caller.next_in, bytes, caller.next_out, room) };
        advance(caller, &step);
        match step.code {
            OK if flush == FINISH || step.consumed == 0 && step.produced == 0 => BUF_ERROR,
            OK => OK,
            code => {
                self.close_decoder();
                self.phase = if code == STREAM_END { Phase::Ended } else { Phase::Failed };
                caller.msg = step.message;
                code
            }
        }
    }

    /// # Safety
    /// As for [`inflate`](Self::inflate).
    unsafe fn begin_zlib(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let Some(zlib) = zlib() else { return STREAM_ERROR };
        let is_new = matches!(self.phase, Phase::New);
        // libdeflate refuses no stream for its window.
        let any_window = matches!(self.window_bits, 0 | LONGEST_WINDOW);
        // SAFETY: as the caller vouches.
        if zlib.tries_libdeflate && is_new && any_window && unsafe { self.inflate_at_once(caller) } {
            return STREAM_END;
        }
        let code = self.decide_for_zlib(zlib.functions);
        if code != OK {
            return code;
        }
        // SAFETY: as the caller vouches.
        unsafe { self.inflate_by_zlib(caller, flush) }
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
        self.phase = Phase::Ended;
        true
    }

    /// # Safety
    /// As for [`inflate`](Self::inflate).
    unsafe fn inflate_by_zlib(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let ZStream { avail_in, total_in, .. } = *caller;
        // SAFETY: as the caller vouches.
        let code = unsafe { self.on_inner(caller, |functions, inner| (functions.inflate)(inner, flush)) };
        if code != NEED_DICT || !has_dictionaries() {
            return code;
        }
        let Some(codecs) = codecs() else { return code };
        // SAFETY: takes a number.
        let dictionary = unsafe { (codecs.dictionary)(u32::try_from(caller.adler).unwrap_or_default()) };
        let Ok(length) = c_uint::try_from(dictionary.len) else { return code };
        if dictionary.start.is_null() {
            return code;
        }
        // SAFETY: the dictionary lasts; else as the caller vouches.
        unsafe {
            let set = self.on_inner(caller, |functions, inner| {
                (functions.inflate_set_dictionary)(inner, dictionary.start, length)
            });
            if set != OK {
                return code;
            }
            // zlib does not count what it takes in a call that ends with the need for a dictionary.
            caller.total_in = total_in.wrapping_add(c_ulong::from(avail_in - caller.avail_in));
            self.on_inner(caller, |functions, inner| (functions.inflate)(inner, flush))
        }
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
        // SAFETY: it was opened, and not closed; or has the caller's allocator and is else of zeroes. The version is one that every
        // zlib takes.
        let code = unsafe {
            match (self.is_open, self.has_window) {
                (true, true) => (functions.inflate_reset)(inner),
                (true, false) => (functions.inflate_reset2)(inner, self.window_bits),
                _ => (functions.inflate_init2)(inner, self.window_bits, c"1.2.11".as_ptr(), ZStream::SIZE),
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
    unsafe fn on_inner<T: From<i8>>(
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

    /// `inflateReset2`
    pub(crate) fn reset(&mut self, caller: &mut ZStream, window_bits: c_int) -> c_int {
        if !is_valid(window_bits) {
            return STREAM_ERROR;
        }
        self.close_decoder();
        self.has_window = false;
        if !is_plain(window_bits) {
            // Never one of ours.
            (self.window_bits, self.phase) = (LONGEST_WINDOW, Phase::New);
            // SAFETY: needs no bytes and no room.
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
    pub(crate) fn reset_alike(&mut self, caller: &mut ZStream) -> c_int {
        if !is_plain(self.window_bits) {
            // SAFETY: needs no bytes and no room.
            return unsafe { self.on_inner(caller, |functions, inner| (functions.inflate_reset)(inner)) };
        }
        self.close_decoder();
        self.phase = Phase::New;
        show_new(caller);
        OK
    }

    /// Whether nothing arrived yet.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.phase, Phase::New)
    }

    /// `inflateCopy`, to a stream that has nothing yet. Chunks of ours cannot be copied.
    ///
    /// # Safety
    /// `to` must be valid.
    pub(crate) unsafe fn copy(&mut self, from: &ZStream, to: *mut ZStream) -> c_int {
        let Some(zlib) = zlib() else { return STREAM_ERROR };
        if let Phase::Ours(_) = self.phase {
            return STREAM_ERROR;
        }
        let Stream { mark, window_bits, phase, is_open, has_window, inner, .. } = *self;
        let mut state = Box::new(Stream { mark, owner: to, window_bits, phase, inner, is_open, has_window });
        if is_open {
            // SAFETY: an open stream and one that is ours to be written.
            let code = unsafe { (zlib.functions.inflate_copy)(&mut state.inner, &mut self.inner) };
            if code != OK {
                return code;
            }
        }
        let copy = ZStream { state: Box::into_raw(state).cast(), ..*from };
        // SAFETY: valid, as the caller vouches; what was there has no meaning.
        unsafe { to.write(copy) };
        OK
    }

    fn close_decoder(&mut self) {
        if let Phase::Ours(Decoder { codecs, decoder }) = self.phase {
            // SAFETY: open, and forgotten with the phase.
            unsafe { (codecs.close)(decoder) };
            self.phase = Phase::New;
        }
    }

    /// `inflateEnd`
    ///
    /// # Safety
    /// The state must be `caller`'s, and is gone afterwards.
    pub(crate) unsafe fn end(caller: &mut ZStream) -> c_int {
        // SAFETY: the state came from a box in `open` or `copy`.
        let mut state = unsafe { Box::from_raw(caller.state.cast::<Stream>()) };
        caller.state = ptr::null_mut();
        state.close_decoder();
        match zlib() {
            // SAFETY: it was opened, and is closed only here.
            Some(zlib) if state.is_open => unsafe { (zlib.functions.inflate_end)(&mut state.inner) },
            _ => OK,
        }
    }
}

/// Whether the environment names dictionaries, without which no zlib stream of ours has any.
fn has_dictionaries() -> bool {
    use std::sync::OnceLock;
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| std::env::var_os(repackbench_preload_abi::DICTIONARIES_VARIABLE).is_some())
}

/// Counts bytes as taken.
fn take(caller: &mut ZStream, count: c_uint) {
    caller.next_in = caller.next_in.wrapping_add(count as usize);
    caller.avail_in -= count;
    caller.total_in = caller.total_in.wrapping_add(c_ulong::from(count));
}

/// Counts what a step took and wrote, which is at most what the caller had.
fn advance(caller: &mut ZStream, step: &Progress) {
    take(caller, c_uint::try_from(step.consumed).unwrap_or(c_uint::MAX).min(caller.avail_in));
    let produced = c_uint::try_from(step.produced).unwrap_or(c_uint::MAX).min(caller.avail_out);
    caller.next_out = caller.next_out.wrapping_add(produced as usize);
    caller.avail_out -= produced;
    caller.total_out = caller.total_out.wrapping_add(c_ulong::from(produced));
}
