//! The C functions that encode chunks of ours. A payload is collected, then encoded at once. Contexts are expensive to
//! make, so each thread keeps its own.

use std::{
    cell::RefCell,
    ffi::CStr,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
};

use libc::{c_char, c_int, c_void};
use repackbench_codec::{ChunkEncoder, CodecError, CodecSpec};
use repackbench_preload_abi::{Bytes, MEM_ERROR, OK};

use crate::complain;

/// How many sets of buffers a thread keeps. git rarely has more than one stream open, and then only briefly.
const KEPT: usize = 4;

/// The largest buffer that is kept, in bytes.
const KEPT_LEN: usize = 4 << 20;

/// A payload that is being collected, and its chunk.
struct Payload {
    writer: &'static Writer,
    buffers: Buffers,
}

#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    chunk: Vec<u8>,
}

/// One thread's encoders for one writer, made on first use.
struct Encoders {
    writer: &'static Writer,
    packed: Option<ChunkEncoder>,
    loose: Option<ChunkEncoder>,
}

thread_local! {
    static POOL: RefCell<Vec<Buffers>> = const { RefCell::new(Vec::new()) };
    /// Usually of one writer only: that of the repository that git works on.
    static ENCODERS: RefCell<Vec<Encoders>> = const { RefCell::new(Vec::new()) };
}

/// Writes to one object store: the specs of packed and of loose objects.
struct Writer {
    packed: CodecSpec,
    loose: CodecSpec,
}

impl Writer {
    /// `None` if `typed` is no spec that objects can be written with, which is reported on stderr, or if git would meet
    /// chunks that it cannot read in a repository without a guard.
    fn of(typed: &str, is_guarded: bool) -> Option<Self> {
        match typed.parse::<CodecSpec>().ok().filter(|spec| spec.is_uniform() && !spec.uses_bases()) {
            Some(spec) if is_guarded || spec.is_read_by_git() => {
                let loose = spec.for_loose_objects();
                Some(Writer { packed: spec, loose })
            }
            Some(_) => None,
            None => {
                complain(&format!("expected a codec that needs only the payload, found {typed}"));
                None
            }
        }
    }
}

/// See [`Codecs::writer`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `typed` must be a C string.
pub(crate) unsafe extern "C" fn writer(typed: *const c_char, is_guarded: bool) -> *const c_void {
    // SAFETY: the caller guarantees it.
    let typed = unsafe { CStr::from_ptr(typed) }.to_string_lossy();
    let made = catch_unwind(|| Writer::of(&typed, is_guarded));
    made.ok().flatten().map_or(ptr::null(), |writer| ptr::from_ref(Box::leak(Box::new(writer))).cast())
}

/// See [`Codecs::open_payload`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `writer` must be a result of [`writer`] that is not null.
pub(crate) unsafe extern "C" fn open(writer: *const c_void) -> *mut c_void {
    // SAFETY: the caller guarantees it; writers are never freed.
    let writer = unsafe { &*writer.cast::<Writer>() };
    let opened = catch_unwind(|| {
        // A thread that is ending no longer has a pool.
        let kept = POOL.try_with(|pool| pool.borrow_mut().pop()).ok().flatten();
        let buffers = kept.unwrap_or_default();
        Box::new(Payload { writer, buffers })
    });
    opened.map_or(ptr::null_mut(), |payload| Box::into_raw(payload).cast())
}

/// See [`Codecs::restart_payload`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `payload` must be from [`open`], not closed, and in use by no other thread.
pub(crate) unsafe extern "C" fn restart(payload: *mut c_void) {
    // SAFETY: the caller guarantees it.
    let payload = unsafe { &mut *payload.cast::<Payload>() };
    payload.buffers.clear();
}

/// See [`Codecs::append`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`restart`]; the input must be as long as the length says.
pub(crate) unsafe extern "C" fn append(payload: *mut c_void, bytes: *const u8, len: usize) -> c_int {
    // SAFETY: the caller guarantees both.
    let (payload, bytes) = unsafe { (&mut *payload.cast::<Payload>(), view(bytes, len)) };
    let collected = &mut payload.buffers.bytes;
    if collected.try_reserve(len).is_err() {
        return MEM_ERROR;
    }
    collected.extend_from_slice(bytes);
    OK
}

/// See [`Codecs::collected`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`restart`].
pub(crate) unsafe extern "C" fn collected(payload: *mut c_void) -> Bytes {
    // SAFETY: the caller guarantees it.
    let collected = unsafe { &(*payload.cast::<Payload>()).buffers.bytes };
    Bytes { start: collected.as_ptr(), len: collected.len() }
}

/// See [`Codecs::encode`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`append`].
pub(crate) unsafe extern "C" fn encode(
    payload: *mut c_void,
    is_loose: bool,
    rest: *const u8,
    len: usize,
    longest: usize,
) -> Bytes {
    // SAFETY: the caller guarantees both.
    let (payload, rest) = unsafe { (&mut *payload.cast::<Payload>(), view(rest, len)) };
    let before = payload.buffers.bytes.len();
    match catch_unwind(AssertUnwindSafe(|| payload.encode(is_loose, rest))) {
        Ok(Ok(())) if payload.buffers.chunk.len() <= longest => {
            let chunk = &payload.buffers.chunk;
            return Bytes { start: chunk.as_ptr(), len: chunk.len() };
        }
        Ok(Ok(())) => {
            complain("zlib writes this object, because the codec's chunk is longer than the room that git provides");
        }
        Ok(Err(error)) => complain(&format!("zlib writes this object, because the codec failed: {error}")),
        Err(_) => {
            // The encoders may be in any state after the panic, so they are not used again, not even dropped.
            let _ = ENCODERS.try_with(|encoders| std::mem::forget(encoders.take()));
            complain("zlib writes this object, because of a defect in the encoder");
        }
    }
    payload.buffers.bytes.truncate(before);
    Bytes { start: ptr::null(), len: 0 }
}

impl Buffers {
    /// Empties both buffers, and gives back the memory of large ones.
    fn clear(&mut self) {
        for buffer in [&mut self.bytes, &mut self.chunk] {
            buffer.clear();
            buffer.shrink_to(KEPT_LEN);
        }
    }
}

impl Payload {
    fn encode(&mut self, is_loose: bool, rest: &[u8]) -> Result<(), CodecError> {
        let Buffers { bytes, chunk } = &mut self.buffers;
        // Usually the whole payload arrives at once, and needs no copy.
        let whole = if bytes.is_empty() {
            rest
        } else {
            let wanted = rest.len() as u64;
            bytes.try_reserve(rest.len()).map_err(|_| CodecError::NoMemory { codec: "payload", wanted })?;
            bytes.extend_from_slice(rest);
            bytes
        };
        chunk.clear();
        ENCODERS.with_borrow_mut(|all| {
            Encoders::of(all, self.writer).get(is_loose)?.encode(whole, chunk)?;
            if cfg!(debug_assertions) {
                assert_faithful(whole, chunk);
            }
            Ok(())
        })
    }
}

impl Encoders {
    /// The encoders of `writer`, added to `all` if they are missing.
    fn of<'a>(all: &'a mut Vec<Encoders>, writer: &'static Writer) -> &'a mut Encoders {
        let known = all.iter().position(|encoders| ptr::eq(encoders.writer, writer));
        let at = known.unwrap_or_else(|| {
            all.push(Encoders { writer, packed: None, loose: None });
            all.len() - 1
        });
        &mut all[at]
    }

    fn get(&mut self, is_loose: bool) -> Result<&mut ChunkEncoder, CodecError> {
        let Writer { packed, loose } = self.writer;
        let (slot, spec) = if is_loose { (&mut self.loose, loose) } else { (&mut self.packed, packed) };
        match slot {
            Some(encoder) => Ok(encoder),
            None => Ok(slot.insert(ChunkEncoder::new(spec)?)),
        }
    }
}

/// Panics unless the chunk decodes to the payload. Debug builds decode every chunk again.
fn assert_faithful(payload: &[u8], chunk: &[u8]) {
    let mut decoder = repackbench_codec::ChunkDecoder::new(repackbench_codec::ZlibReader::Stock);
    let mut again = vec![0; payload.len()];
    let consumed = decoder.decode(chunk, &mut again);
    assert!(consumed.is_ok_and(|consumed| consumed == chunk.len()) && again == payload, "an unfaithful chunk");
}

/// See [`Codecs::close_payload`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`restart`]; `payload` must not be used afterwards.
pub(crate) unsafe extern "C" fn close(payload: *mut c_void) {
    // SAFETY: the caller guarantees that it is from `open`, which gave up ownership.
    let payload = unsafe { Box::from_raw(payload.cast::<Payload>()) };
    let _ = catch_unwind(AssertUnwindSafe(move || {
        let mut buffers = payload.buffers;
        buffers.clear();
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < KEPT {
                pool.push(buffers);
            }
        });
    }));
}

/// The slice of these bytes.
///
/// # Safety
/// There must be `len` bytes, valid for the lifetime of the slice.
unsafe fn view<'a>(bytes: *const u8, len: usize) -> &'a [u8] {
    // SAFETY: the caller guarantees it; an empty slice replaces a null pointer.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(bytes, len) } }
}
