//! Calls functions on a stream and records everything that the caller sees.

use std::ffi::CStr;

use repackbench_preload_abi::{ZStream, ZlibFunctions};

/// What a caller sees after a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) call: &'static str,
    pub(crate) code: i64,
    pub(crate) total_in: u64,
    pub(crate) total_out: u64,
    pub(crate) taken: usize,
    pub(crate) written: Vec<u8>,
    adler: u64,
    message: Option<String>,
}

/// A stream of a zlib or of the stand-in.
pub(crate) struct Stream {
    functions: &'static ZlibFunctions,
    // Boxed, because an open stream must not move.
    stream: Box<ZStream>,
    open: bool,
}

impl Stream {
    pub(crate) fn open(functions: &'static ZlibFunctions, window_bits: i32) -> (Self, i32) {
        let mut stream = Box::new(ZStream::zeroed());
        // SAFETY: a stream of zeroes.
        let code = unsafe { (functions.inflate_init2)(&mut *stream, window_bits, c"1.2.11".as_ptr(), ZStream::SIZE) };
        (Stream { functions, stream, open: code == 0 }, code)
    }

    pub(crate) fn opened(functions: &'static ZlibFunctions) -> Self {
        let (stream, code) = Self::open(functions, 15);
        assert_eq!(code, 0);
        stream
    }

    /// `inflate`
    pub(crate) fn inflate(&mut self, input: &[u8], room: usize, flush: i32) -> Seen {
        let mut output = vec![0xa5; room + 1];
        (self.stream.next_in, self.stream.avail_in) = (input.as_ptr(), input.len() as u32);
        (self.stream.next_out, self.stream.avail_out) = (output.as_mut_ptr(), room as u32);
        // SAFETY: the input and the room are as long as the stream says.
        let code = unsafe { (self.functions.inflate)(&mut *self.stream, flush) };
        assert_eq!(output[room], 0xa5, "written beyond the room");
        let (taken, written) = (input.len() - self.stream.avail_in as usize, room - self.stream.avail_out as usize);
        // SAFETY: the address is within the input or one past its end.
        assert_eq!(self.stream.next_in, unsafe { input.as_ptr().add(taken) });
        output.truncate(written);
        self.seen("inflate", i64::from(code), taken, output)
    }

    /// Calls another function through `call`.
    pub(crate) fn call(&mut self, name: &'static str, call: impl FnOnce(&ZlibFunctions, *mut ZStream) -> i64) -> Seen {
        (self.stream.next_in, self.stream.avail_in) = (std::ptr::null(), 0);
        let code = call(self.functions, &mut *self.stream);
        self.seen(name, code, 0, Vec::new())
    }

    /// `inflateSync`
    pub(crate) fn sync(&mut self, input: &[u8]) -> Seen {
        (self.stream.next_in, self.stream.avail_in) = (input.as_ptr(), input.len() as u32);
        // SAFETY: the input is as long as the stream says.
        let code = unsafe { (self.functions.inflate_sync)(&mut *self.stream) };
        self.seen("inflateSync", i64::from(code), input.len() - self.stream.avail_in as usize, Vec::new())
    }

    /// `inflateCopy`; the copy replaces the original.
    pub(crate) fn copy(&mut self) -> Seen {
        let mut copy = Box::new(ZStream::zeroed());
        // SAFETY: an open stream, and one to write to.
        let code = unsafe { (self.functions.inflate_copy)(&mut *copy, &mut *self.stream) };
        if code == 0 {
            // SAFETY: the original is open, and is not used again.
            assert_eq!(unsafe { (self.functions.inflate_end)(&mut *self.stream) }, 0);
            self.stream = copy;
        }
        self.seen("inflateCopy", i64::from(code), 0, Vec::new())
    }

    /// `inflateEnd`
    pub(crate) fn end(&mut self) -> Seen {
        self.open = false;
        let seen = self.call("inflateEnd", |functions, stream| {
            // SAFETY: the stream is open, or closed with a null state.
            i64::from(unsafe { (functions.inflate_end)(stream) })
        });
        assert!(self.stream.state.is_null());
        seen
    }

    fn seen(&self, call: &'static str, code: i64, taken: usize, written: Vec<u8>) -> Seen {
        let message = match self.stream.msg.is_null() {
            true => None,
            // SAFETY: a C string that is valid while the stream is open.
            false => Some(unsafe { CStr::from_ptr(self.stream.msg) }.to_string_lossy().into_owned()),
        };
        let (total_in, total_out) = (self.stream.total_in, self.stream.total_out);
        Seen { call, code, total_in, total_out, taken, written, adler: self.stream.adler, message }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.open {
            self.end();
        }
    }
}

/// Reads to the end, to an error, or until all of `stored` is consumed and nothing more comes out. Returns what every
/// call showed.
pub(crate) fn read(
    stream: &mut Stream,
    stored: &[u8],
    mut piece: impl FnMut() -> usize,
    mut room: impl FnMut() -> usize,
    flush: i32,
) -> Vec<Seen> {
    let (mut all, mut taken, mut given) = (Vec::new(), 0, 0);
    loop {
        given = given.max((taken + piece()).min(stored.len()));
        let room = room();
        let seen = stream.inflate(&stored[taken..given], room, flush);
        taken += seen.taken;
        let stuck = seen.taken == 0 && seen.written.is_empty() && given == stored.len() && room > 0;
        let goes_on = seen.code == 0 || seen.code == -5;
        all.push(seen);
        if !goes_on || stuck {
            return all;
        }
    }
}

/// The payload that came out, and the last code.
pub(crate) fn outcome(all: &[Seen]) -> (Vec<u8>, i64) {
    let payload = all.iter().flat_map(|seen| seen.written.iter().copied()).collect();
    (payload, all.last().map_or(0, |seen| seen.code))
}
