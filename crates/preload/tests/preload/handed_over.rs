//! Streams that become zlib's at their first byte: what they may do afterwards, and what becomes of the caller's `z_stream`.

use std::ffi::c_void;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use repackbench_codec::{ChunkEncoder, CodecSpec};
use repackbench_preload_abi::{OK, STREAM_END, STREAM_ERROR, ZStream, ZlibFunctions};

use crate::library::{ours, stand_in, zlibs};
use crate::samples::{deflated, payload};

const LENGTH: usize = 3_000;

/// A zlib stream, a chunk, and the payload of both.
fn samples() -> ([Vec<u8>; 2], Vec<u8>) {
    let payload = payload(LENGTH);
    let mut chunk = Vec::new();
    let spec: CodecSpec = "zstd:3".parse().unwrap();
    ChunkEncoder::new(&spec).unwrap().encode(&payload, &mut chunk).unwrap();
    ([deflated(&payload, 6, 15, None), chunk], payload)
}

fn open(functions: &ZlibFunctions, stream: &mut ZStream) {
    // SAFETY: a stream that is closed, or of zeroes.
    assert_eq!(unsafe { (functions.inflate_init2)(stream, 15, c"1.2.11".as_ptr(), ZStream::SIZE) }, OK);
}

/// Reads `stored` to its end, and adds what it gives to `read`.
fn read(functions: &ZlibFunctions, stream: &mut ZStream, stored: &[u8], read: &mut Vec<u8>) -> i32 {
    let mut room = vec![0; LENGTH + 1];
    (stream.next_in, stream.avail_in) = (stored.as_ptr(), stored.len() as u32);
    (stream.next_out, stream.avail_out) = (room.as_mut_ptr(), room.len() as u32);
    // SAFETY: bytes and room are as long as they say.
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
fn a_reset_stream_carries_whatever_comes() {
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

/// zlib.h lets nobody move a stream; zlib notices.
#[test]
fn a_moved_stream_is_refused() {
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
            // SAFETY: zlib's own function refuses it too.
            assert_eq!(unsafe { (ours().inflate_end)(&mut *moved) }, STREAM_ERROR);
            assert_eq!(read(ours(), &mut stream, &stored[taken..], &mut read_before), STREAM_END);
            assert!(read_before == payload);
            end(ours(), &mut stream);
        }
    }
}

#[test]
fn copies_are_streams_of_their_own() {
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
            // Each may go on with a chunk.
            assert_eq!(reset(ours(), stream), OK);
            let mut all = Vec::new();
            assert_eq!(read(ours(), stream, &stored[1], &mut all), STREAM_END);
            assert!(all == payload);
        }
        for mut stream in [first, second] {
            // A stream must be closed where it was opened.
            assert_eq!(reset(ours(), &mut stream), STREAM_ERROR);
        }
        end(ours(), &mut first);
        end(ours(), &mut second);
    }
}

#[test]
fn a_chunk_in_the_middle_is_not_copied() {
    let (stored, _) = samples();
    let [mut first, mut second] = [ZStream::zeroed(); 2];
    open(ours(), &mut first);
    assert_eq!(read(ours(), &mut first, &stored[1][..stored[1].len() / 2], &mut Vec::new()), OK);
    // SAFETY: an open stream, and one of zeroes.
    assert_eq!(unsafe { (ours().inflate_copy)(&mut second, &mut first) }, STREAM_ERROR);
    end(ours(), &mut first);
}

#[test]
fn a_closed_stream_is_opened_again_as_it_is() {
    let (stored, payload) = samples();
    let mut stream = ZStream::zeroed();
    for number in [0, 1, 0, 1, 1, 0, 0] {
        open(ours(), &mut stream);
        let mut all = Vec::new();
        assert_eq!(read(ours(), &mut stream, &stored[number], &mut all), STREAM_END);
        assert!(all == payload);
        end(ours(), &mut stream);
        // SAFETY: a closed stream, which becomes one that writes.
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
    // SAFETY: what `take` gave.
    unsafe { libc::free(memory) }
}

#[test]
fn an_allocator_of_the_callers_is_used_by_zlib() {
    let (stored, payload) = samples();
    let mut counts = Vec::new();
    for (functions, stored) in [(zlibs(), &stored[0]), (ours(), &stored[0]), (ours(), &stored[1])] {
        let before = TAKEN.load(Ordering::Relaxed);
        let mut stream = ZStream::zeroed();
        stream.zalloc = Some(take);
        stream.zfree = Some(give_back);
        stream.opaque = std::ptr::without_provenance_mut(77);
        open(functions, &mut stream);
        // In two pieces: a zlib takes a window then.
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

// SAFETY: zlib.h lets another thread use a stream when the first is done with it.
unsafe impl Send for Sent {}

#[test]
fn one_thread_opens_and_another_closes() {
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

/// Contexts are kept from stream to stream by every zlib but git's own, and show nothing of the stream before. This program runs again
/// for those that show exactly what the system's zlib shows, because the library reads its environment once. A stream that libdeflate has
/// read to the end does not know any more what rare calls ask for, so that not all random calls are made there.
#[test]
fn kept_contexts_show_nothing_of_the_stream_before() {
    stand_in();
    for (zlib, tests) in [
        ("stock", &["same_as_zlib::", "chunks::", "handed_over::copies", "fuzzed::"][..]),
        ("libdeflate", &["same_as_zlib::", "chunks::"]),
    ] {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again.env("REPACKBENCH_ZLIB", zlib).args(tests).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("same_as_zlib::split_at_every_byte ... ok"), "{zlib}: {said}");
    }
}
