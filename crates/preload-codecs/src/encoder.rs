//! Encoders of our own chunks, as C sees them: a payload is collected, then encoded at once. Contexts are dear: each thread keeps its own.

use std::{
    cell::RefCell,
    env,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
    sync::OnceLock,
};

use libc::{c_int, c_void};
use repackbench_codec::{ChunkEncoder, CodecError, CodecSpec};
use repackbench_preload_abi::{Bytes, CODEC_VARIABLE, MEM_ERROR, OK};

/// How many places a thread keeps: git has more than one stream open only for moments.
const KEPT: usize = 4;

/// The longest buffer that is kept with a place, in bytes.
const KEPT_LEN: usize = 4 << 20;

/// Where a payload is collected, and its chunk put.
#[derive(Default)]
struct Payload {
    bytes: Vec<u8>,
    chunk: Vec<u8>,
}

/// One thread's encoders, made when first needed.
#[derive(Default)]
struct Encoders {
    packed: Option<ChunkEncoder>,
    loose: Option<ChunkEncoder>,
}

thread_local! {
    #[allow(clippy::vec_box, reason = "C holds the box's address: nothing is copied between it and the pool")]
    static POOL: RefCell<Vec<Box<Payload>>> = const { RefCell::new(Vec::new()) };
    static ENCODERS: RefCell<Encoders> = RefCell::default();
}

/// The specs of packed and of loose objects that the environment names; none, with a complaint, if that names none.
fn specs() -> Option<&'static (CodecSpec, CodecSpec)> {
    static SPECS: OnceLock<Option<(CodecSpec, CodecSpec)>> = OnceLock::new();
    let read = || {
        let typed = env::var_os(CODEC_VARIABLE)?;
        let spec = typed.to_str().and_then(|typed| typed.parse::<CodecSpec>().ok());
        match spec.filter(|spec| spec.is_uniform() && !spec.uses_bases()) {
            Some(spec) => Some((spec.clone(), spec.for_loose_objects())),
            None => {
                complain(&format!(
                    "{CODEC_VARIABLE}: expected a codec that takes nothing but the payload, found {}",
                    typed.display()
                ));
                None
            }
        }
    };
    SPECS.get_or_init(read).as_ref()
}

/// Says on stderr why zlib will write in a codec's place. Where even that fails there is nobody to tell.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "repackbench: {message}");
}

/// See [`Codecs::open_payload`](repackbench_preload_abi::Codecs).
pub(crate) unsafe extern "C" fn open() -> *mut c_void {
    let opened = catch_unwind(|| {
        specs()?;
        // A thread that is ending has no pool any more.
        let kept = POOL.try_with(|pool| pool.borrow_mut().pop()).ok().flatten();
        Some(kept.unwrap_or_default())
    });
    opened.ok().flatten().map_or(ptr::null_mut(), |payload| Box::into_raw(payload).cast())
}

/// See [`Codecs::restart_payload`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// `payload` must be from [`open`], not closed, and in use by no other thread.
pub(crate) unsafe extern "C" fn restart(payload: *mut c_void) {
    // SAFETY: the caller vouches for it.
    let payload = unsafe { &mut *payload.cast::<Payload>() };
    payload.forget();
}

/// See [`Codecs::append`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`restart`]; there must be as many bytes as the length says.
pub(crate) unsafe extern "C" fn append(payload: *mut c_void, bytes: *const u8, len: usize) -> c_int {
    // SAFETY: the caller vouches for both.
    let (payload, bytes) = unsafe { (&mut *payload.cast::<Payload>(), view(bytes, len)) };
    if payload.bytes.try_reserve(len).is_err() {
        return MEM_ERROR;
    }
    payload.bytes.extend_from_slice(bytes);
    OK
}

/// See [`Codecs::collected`](repackbench_preload_abi::Codecs).
///
/// # Safety
/// As for [`restart`].
pub(crate) unsafe extern "C" fn collected(payload: *mut c_void) -> Bytes {
    // SAFETY: the caller vouches for it.
    let payload = unsafe { &*payload.cast::<Payload>() };
    Bytes { start: payload.bytes.as_ptr(), len: payload.bytes.len() }
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
    // SAFETY: the caller vouches for both.
    let (payload, rest) = unsafe { (&mut *payload.cast::<Payload>(), view(rest, len)) };
    let before = payload.bytes.len();
    match catch_unwind(AssertUnwindSafe(|| payload.encode(is_loose, rest))) {
        Ok(Ok(())) if payload.chunk.len() <= longest => {
            return Bytes { start: payload.chunk.as_ptr(), len: payload.chunk.len() };
        }
        Ok(Ok(())) => complain("zlib writes this object, since its codec's chunk is longer than git makes room for"),
        Ok(Err(error)) => complain(&format!("zlib writes this object, since its codec failed: {error}")),
        Err(_) => {
            // Whatever state the panic left behind is not used again.
            let _ = ENCODERS.try_with(|encoders| std::mem::forget(encoders.take()));
            complain("zlib writes this object, because of a defect in the encoder");
        }
    }
    payload.bytes.truncate(before);
    Bytes { start: ptr::null(), len: 0 }
}

impl Payload {
    fn forget(&mut self) {
        for buffer in [&mut self.bytes, &mut self.chunk] {
            buffer.clear();
            buffer.shrink_to(KEPT_LEN);
        }
    }

    fn encode(&mut self, is_loose: bool, rest: &[u8]) -> Result<(), CodecError> {
        // Mostly everything arrives at once, and needs no copy.
        let whole = if self.bytes.is_empty() {
            rest
        } else {
            let wanted = rest.len() as u64;
            self.bytes.try_reserve(rest.len()).map_err(|_| CodecError::NoMemory { codec: "payload", wanted })?;
            self.bytes.extend_from_slice(rest);
            &self.bytes
        };
        self.chunk.clear();
        ENCODERS.with_borrow_mut(|encoders| {
            encoders.get(is_loose)?.encode(whole, &mut self.chunk)?;
            if cfg!(debug_assertions) {
                assert_faithful(whole, &self.chunk);
            }
            Ok(())
        })
    }
}

impl Encoders {
    fn get(&mut self, is_loose: bool) -> Result<&mut ChunkEncoder, CodecError> {
        let Some((packed, loose)) = specs() else { unreachable!("no payload is opened without a codec") };
        let (slot, spec) = if is_loose { (&mut self.loose, loose) } else { (&mut self.packed, packed) };
        match slot {
            Some(encoder) => Ok(encoder),
            None => Ok(slot.insert(ChunkEncoder::new(spec)?)),
        }
    }
}

/// Panics unless the chunk decodes to the payload. In builds for tests every chunk is decoded again.
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
    // SAFETY: the caller vouches that it is from `open`, which gave up ownership.
    let mut payload = unsafe { Box::from_raw(payload.cast::<Payload>()) };
    let _ = catch_unwind(AssertUnwindSafe(move || {
        payload.forget();
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < KEPT {
                pool.push(payload);
            }
        });
    }));
}

/// # Safety
/// There must be as many bytes as the length says, for as long as they are looked at.
unsafe fn view<'a>(bytes: *const u8, len: usize) -> &'a [u8] {
    // SAFETY: the caller vouches for it; a null pointer is replaced where there is nothing.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(bytes, len) } }
}
