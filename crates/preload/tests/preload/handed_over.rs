//! Tests streams that become zlib's at their first byte: later calls, and the contents of the caller's `z_stream`.

use std::ffi::c_void;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use repackbench_codec::{ChunkEncoder, CodecSpec};
use repackbench_preload_abi::{OK, STREAM_END, STREAM_ERROR, ZStream, ZlibFunctions};

use crate::library::{ours, stand_in, zlibs};
use crate::samples::{deflated, payload};

const LENGTH: usize = 3_000;

/// A zlib stream and a chunk, and the payload of both.
fn samples() -> ([Vec<u8>; 2], Vec<u8>) {
    let payload = payload(LENGTH);
    let mut chunk = Vec::new();
    let spec: CodecSpec = "zstd:3".parse().unwrap();
    ChunkEncoder::new(&spec).unwrap().encode(&payload, &mut chunk).unwrap();
    ([deflated(&payload, 6, 15, None), chunk], payload)
}

fn open(functions: &ZlibFunctions, stream: &mut ZStream) {
    // SAFETY: a stream that is closed or all zeroes.
    assert_eq!(unsafe { (functions.inflate_init2)(stream, 15, c"1.2.11".as_ptr(), ZStream::SIZE) }, OK);
}

/// Reads `stored` to its end, and appends the payload to `read`.
fn read(functions: &ZlibFunctions, stream: &mut ZStream, stored: &[u8], read: &mut Vec<u8>) -> i32 {
    let mut room = vec![0; LENGTH + 1];
    (stream.next_in, stream.avail_in) = (stored.as_ptr(), stored.len() as u32);
    (stream.next_out, stream.avail_out) = (room.as_mut_ptr(), room.len() as u32);
    // SAFETY: the input and the room are as long as the stream says.
    let code = unsafe { (functions.inflate)(stream, 0) };
    read.extend(&room[..room.len() - stream.avail_out as usize]);
    code
}

fn end(functions: &ZlibFunctions, stream: &mut ZStream) {
    // SAFETY: an open stream.
    assert_eq!(unsafe { (functions.inflate_end)(stream) }, OK);
    assert!(stream.state.is_null());
}

fn reset(functions: &ZlibFunctions, stream: &mut ZStream) -> i32 {
    // SAFETY: a stream that is open, moved or closed.
    unsafe { (functions.inflate_reset)(stream) }
}

#[test]
fn reset_stream_reads_zlib_or_chunk() {
    let (stored, payload) = samples();
    let mut stream = ZStream::zeroed();
    open(ours(), &mut stream);
    for number in [0, 1, 0, 0, 1, 1, 0] {
        for whole in [false, true] {
            let stored = &stored[number];
            let stored = if whole { stored } else { &stored[..stored.len() / 2] };
            let mut payload_read = Vec::new();
            let code = read(ours(), &mut stream, stored, &mut payload_read);
            assert!(!whole || (code == STREAM_END && payload_read == payload), "{number} {code}");
            assert_eq!(reset(ours(), &mut stream), OK);
            assert_eq!((stream.total_in, stream.total_out, stream.adler), (0, 0, 1));
        }
    }
    end(ours(), &mut stream);
}

/// zlib.h forbids moving a stream, and zlib checks it.
#[test]
fn moved_stream_is_refused() {
    let (stored, payload) = samples();
    for stored in stored {
        for taken in [0, 40] {
            let mut stream = ZStream::zeroed();
            open(ours(), &mut stream);
            let mut read_before = Vec::new();
            if taken > 0 {
                assert_eq!(read(ours(), &mut stream, &stored[..taken], &mut read_before), OK);
            }
            let mut moved = Box::new(stream);
            assert_eq!(read(ours(), &mut moved, &stored[taken..], &mut Vec::new()), STREAM_ERROR);
            assert_eq!(reset(ours(), &mut moved), STREAM_ERROR);
            // SAFETY: zlib's own function refuses such a stream, too.
            assert_eq!(unsafe { (ours().inflate_end)(&mut *moved) }, STREAM_ERROR);
            assert_eq!(read(ours(), &mut stream, &stored[taken..], &mut read_before), STREAM_END);
            assert!(read_before == payload);
            end(ours(), &mut stream);
        }
    }
}

#[test]
fn copies_are_independent_streams() {
    let (stored, payload) = samples();
    for taken in [0, 1, 40, stored[0].len() / 2] {
        let [mut first, mut second] = [ZStream::zeroed(); 2];
        open(ours(), &mut first);
        let mut read_before = Vec::new();
        if taken > 0 {
            read(ours(), &mut first, &stored[0][..taken], &mut read_before);
        }
        // SAFETY: an open stream, and one of zeroes.
        assert_eq!(unsafe { (ours().inflate_copy)(&mut second, &mut first) }, OK);
        for stream in [&mut first, &mut second] {
            let mut all = read_before.clone();
            assert_eq!(read(ours(), stream, &stored[0][taken..], &mut all), STREAM_END);
            assert!(all == payload);
            // Each copy can go on with a chunk.
            assert_eq!(reset(ours(), stream), OK);
            let mut all = Vec::new();
            assert_eq!(read(ours(), stream, &stored[1], &mut all), STREAM_END);
            assert!(all == payload);
        }
        for mut stream in [first, second] {
            // A stream must be closed at the address at which it was opened.
            assert_eq!(reset(ours(), &mut stream), STREAM_ERROR);
        }
        end(ours(), &mut first);
        end(ours(), &mut second);
    }
}

#[test]
fn half_read_chunk_cannot_be_copied() {
    let (stored, _) = samples();
    let [mut first, mut second] = [ZStream::zeroed(); 2];
    open(ours(), &mut first);
    assert_eq!(read(ours(), &mut first, &stored[1][..stored[1].len() / 2], &mut Vec::new()), OK);
    // SAFETY: an open stream, and one of zeroes.
    assert_eq!(unsafe { (ours().inflate_copy)(&mut second, &mut first) }, STREAM_ERROR);
    end(ours(), &mut first);
}

#[test]
fn closed_stream_can_be_opened_again() {
    let (stored, payload) = samples();
    let mut stream = ZStream::zeroed();
    for number in [0, 1, 0, 1, 1, 0, 0] {
        open(ours(), &mut stream);
        let mut all = Vec::new();
        assert_eq!(read(ours(), &mut stream, &stored[number], &mut all), STREAM_END);
        assert!(all == payload);
        end(ours(), &mut stream);
        // SAFETY: a closed stream, which is opened for writing.
        unsafe {
            let init = ours().deflate_init2;
            assert_eq!(init(&mut stream, 6, 8, 15, 8, 0, c"1.2.11".as_ptr(), ZStream::SIZE), OK);
            assert_eq!((ours().deflate_end)(&mut stream), OK);
        }
    }
}

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn take(opaque: *mut c_void, items: u32, size: u32) -> *mut c_void {
    assert_eq!(opaque.addr(), 77, "the caller's own");
    TAKEN.fetch_add(1, Ordering::Relaxed);
    // SAFETY: two numbers.
    unsafe { libc::calloc(items as usize, size as usize) }
}

unsafe extern "C" fn give_back(opaque: *mut c_void, memory: *mut c_void) {
    assert_eq!(opaque.addr(), 77, "the caller's own");
    GIVEN_BACK.fetch_add(1, Ordering::Relaxed);
    // SAFETY: memory from `take`.
    unsafe { libc::free(memory) }
}

#[test]
fn zlib_uses_the_allocator_of_the_caller() {
    let (stored, payload) = samples();
    let mut counts = Vec::new();
    for (functions, stored) in [(zlibs(), &stored[0]), (ours(), &stored[0]), (ours(), &stored[1])] {
        let before = TAKEN.load(Ordering::Relaxed);
        let mut stream = ZStream::zeroed();
        stream.zalloc = Some(take);
        stream.zfree = Some(give_back);
        stream.opaque = std::ptr::without_provenance_mut(77);
        open(functions, &mut stream);
        // In two pieces, so that zlib allocates a window.
        let mut all = Vec::new();
        assert_eq!(read(functions, &mut stream, &stored[..40], &mut all), OK);
        assert_eq!(read(functions, &mut stream, &stored[40..], &mut all), STREAM_END);
        assert!(all == payload);
        assert_eq!(stream.opaque.addr(), 77);
        end(functions, &mut stream);
        assert_eq!(TAKEN.load(Ordering::Relaxed), GIVEN_BACK.load(Ordering::Relaxed));
        counts.push(TAKEN.load(Ordering::Relaxed) - before);
    }
    assert!(counts[0] > 0 && counts[1] == counts[0] && counts[2] == 0, "{counts:?}");
}

struct Sent(Box<ZStream>);

// SAFETY: zlib.h allows another thread to use a stream after the first is done with it.
unsafe impl Send for Sent {}

#[test]
fn streams_can_move_between_threads() {
    let (stored, payload) = samples();
    let mut streams = Vec::new();
    for number in 0..40 {
        let mut stream = Box::new(ZStream::zeroed());
        open(ours(), &mut stream);
        let mut all = Vec::new();
        read(ours(), &mut stream, &stored[number % 2][..60], &mut all);
        streams.push((number, Sent(stream), all));
    }
    for _ in 0..2 {
        let half = streams.split_off(streams.len() / 2);
        let (stored, payload) = (stored.clone(), payload.clone());
        let work = move || {
            for (number, sent, mut all) in half {
                let mut stream = sent;
                assert_eq!(read(ours(), &mut stream.0, &stored[number % 2][60..], &mut all), STREAM_END);
                assert!(all == payload);
                end(ours(), &mut stream.0);
            }
        };
        std::thread::spawn(work).join().unwrap();
    }
    for (_, mut sent, _) in streams {
        end(ours(), &mut sent.0);
    }
}

/// Every zlib except the program's own keeps contexts from stream to stream, which must show nothing of the previous
/// stream.
///
/// The library reads its environment once, so this program runs again for each zlib that shows exactly what the
/// system's zlib shows. After libdeflate has read a stream to the end, some rare calls can no longer be answered, so
/// the random calls are left out there.
#[test]
fn kept_contexts_show_nothing_of_the_previous_stream() {
    stand_in();
    for (zlib, tests) in [
        ("stock", &["same_as_zlib::", "chunks::", "handed_over::copies_are", "fuzzed::"][..]),
        ("libdeflate", &["same_as_zlib::", "chunks::"]),
    ] {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again.env("REPACKBENCH_ZLIB", zlib).args(tests).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let ran = said.contains("same_as_zlib::zlib_streams_can_be_split_at_every_byte ... ok");
        assert!(output.status.success() && ran, "{zlib}: {said}");
    }
}
