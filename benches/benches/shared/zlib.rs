//! The functions of zlib that a program calls: those of the system's library, or those of the stand-in.

use std::{
    ffi::{CStr, CString, NulError},
    hint::black_box,
    os::unix::ffi::OsStrExt,
    path::Path,
};

use repackbench_benches::{BenchError, PayloadSample, Result, spec};
use repackbench_codec::ChunkEncoder;
use repackbench_preload_abi::{FINISH, OK, STREAM_END, ZStream, ZlibFunctions};

/// The system's zlib.
const SYSTEM: &CStr = c"libz.so.1";

/// The functions of the system's zlib.
pub(crate) fn system() -> Result<ZlibFunctions> {
    load(SYSTEM)
}

/// The functions of the stand-in for zlib, which is at `path`.
pub(crate) fn stand_in(path: &Path) -> Result<ZlibFunctions> {
    let failed = |error: NulError| BenchError::Setup(format!("{}: {error}", path.display()));
    load(&CString::new(path.as_os_str().as_bytes()).map_err(failed)?)
}

/// The functions of a library.
fn load(name: &CStr) -> Result<ZlibFunctions> {
    let failed = |why: &str| BenchError::Setup(format!("{}: {why}", name.to_string_lossy()));
    // SAFETY: the name is a C string. Neither library runs code with side effects when it is loaded, and neither is
    // unloaded.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(failed("cannot be loaded"));
    }
    // SAFETY: the library is loaded, and its symbols with these names are functions of zlib or stand in for them.
    let found = unsafe { ZlibFunctions::find(|name| libc::dlsym(handle, name.as_ptr())) };
    found.ok_or_else(|| failed("lacks functions of zlib"))
}

/// The version of the system's zlib.
pub(crate) fn version() -> Result<String> {
    let failed = || BenchError::Setup(format!("{SYSTEM:?}: cannot be loaded"));
    // SAFETY: the names are C strings, and the library is never unloaded.
    let symbol = unsafe { libc::dlsym(libc::dlopen(SYSTEM.as_ptr(), libc::RTLD_NOW), c"zlibVersion".as_ptr()) };
    if symbol.is_null() {
        return Err(failed());
    }
    // SAFETY: this is the type of zlib's function in zlib.h, and the C string that it returns is static.
    let text = unsafe {
        let version: extern "C" fn() -> *const libc::c_char = std::mem::transmute(symbol);
        CStr::from_ptr(version())
    };
    Ok(text.to_string_lossy().into_owned())
}

/// Consecutive chunks, as in a pack that git has mapped.
pub(crate) struct Chunks {
    stored: Vec<u8>,
    /// The start of each chunk and the length of its payload.
    places: Vec<(usize, usize)>,
    room: Vec<u8>,
}

impl Chunks {
    pub(crate) fn encode(typed: &str, payloads: &PayloadSample) -> Result<Self> {
        let mut encoder = ChunkEncoder::new(&spec(typed)?)?;
        let mut chunks = Chunks { stored: Vec::new(), places: Vec::with_capacity(payloads.len()), room: Vec::new() };
        for payload in payloads.iter() {
            chunks.places.push((chunks.stored.len(), payload.len()));
            encoder.encode(payload, &mut chunks.stored)?;
            // git has room for one byte more than it expects.
            chunks.room.resize(chunks.room.len().max(payload.len() + 1), 0);
        }
        Ok(chunks)
    }

    /// Reads each chunk as git reads an entry of a pack: it opens a stream, reads it in one call, and closes it.
    pub(crate) fn read(&mut self, zlib: &ZlibFunctions) -> Result<()> {
        for (start, payload_len) in &self.places {
            let stored = &self.stored[*start..];
            let room = &mut self.room[..payload_len + 1];
            let read = inflate(zlib, black_box(stored), room);
            if read != (STREAM_END, *payload_len) {
                return Err(BenchError::Setup(format!("expected {payload_len} bytes, found {read:?}")));
            }
        }
        Ok(())
    }
}

/// Returns the last code and the number of bytes written.
fn inflate(zlib: &ZlibFunctions, stored: &[u8], room: &mut [u8]) -> (i32, usize) {
    const MOST: usize = 1 << 30;
    let mut stream = ZStream::zeroed();
    // SAFETY: the stream is zeroed, then opened, gets bytes and room of these lengths, and is closed before it is
    // dropped.
    unsafe {
        let opened = (zlib.inflate_init2)(&mut stream, 15, c"1.2.11".as_ptr(), ZStream::SIZE);
        if opened != OK {
            return (opened, 0);
        }
        (stream.next_in, stream.avail_in) = (stored.as_ptr(), stored.len().min(MOST) as u32);
        (stream.next_out, stream.avail_out) = (room.as_mut_ptr(), room.len().min(MOST) as u32);
        let code = (zlib.inflate)(&mut stream, FINISH);
        (zlib.inflate_end)(&mut stream);
        (code, stream.total_out as usize)
    }
}
