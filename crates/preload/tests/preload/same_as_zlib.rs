//! Reads zlib streams through the stand-in and through zlib: the caller sees the same.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::calls::{Stream, outcome, read};
use crate::library::{ours, zlibs};
use crate::samples::{deflated, payload};

/// Reads through both in the same way and fails the test if anything differs. Returns the payload and the last code.
fn compare(
    stored: &[u8],
    window_bits: i32,
    piece: impl Fn() -> usize,
    room: impl Fn() -> usize,
    flush: i32,
    about: &str,
) -> (Vec<u8>, i64) {
    let [ours, zlibs] = [ours(), zlibs()].map(|functions| {
        let (mut stream, code) = Stream::open(functions, window_bits);
        let mut all = if code == 0 { read(&mut stream, stored, &piece, &room, flush) } else { Vec::new() };
        all.push(stream.end());
        (code, all)
    });
    assert_eq!(ours, zlibs, "{about}");
    outcome(&ours.1[..ours.1.len() - 1])
}

/// Streams in zlib's format with several levels and windows, each with its payload. With 10 window bits they begin like
/// a zstd frame.
fn streams() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut streams = Vec::new();
    for length in [0, 1, 60, 700, 5_000] {
        for (level, window_bits) in [(0, 15), (1, 15), (6, 15), (9, 15), (6, 10), (6, 9)] {
            let payload = payload(length);
            streams.push((deflated(&payload, level, window_bits, None), payload));
        }
    }
    streams
}

#[test]
fn zlib_streams_can_be_split_at_every_byte() {
    for (stored, payload) in streams() {
        let followed = [&stored[..], b"what follows"].concat();
        for at in 0..=stored.len() {
            for flush in [0, 4] {
                let [ours, zlibs] = [ours(), zlibs()].map(|functions| {
                    let mut stream = Stream::opened(functions);
                    let mut pieces = [at].into_iter();
                    read(
                        &mut stream,
                        &followed,
                        || pieces.next().unwrap_or(usize::MAX / 2),
                        || payload.len() + 1,
                        flush,
                    )
                });
                assert_eq!(ours, zlibs, "{} bytes split at {at}", payload.len());
                assert_eq!(outcome(&ours), (payload.clone(), 1));
            }
        }
    }
}

#[test]
fn zlib_streams_are_read_in_small_pieces() {
    for (stored, payload) in streams() {
        for (piece, room) in [(1, 1), (1, 20), (7, 3), (usize::MAX / 2, 1), (usize::MAX / 2, 20), (1, 8192), (64, 64)] {
            for flush in [0, 2, 4, 5, 6] {
                let read = compare(&stored, 15, || piece, || room, flush, &format!("{piece} {room} {flush}"));
                // Flush 5 and 6 stop at boundaries of DEFLATE blocks.
                assert!(read == (payload.clone(), 1) || flush > 4, "{piece} {room} {flush}");
            }
        }
    }
}

#[test]
fn gzip_and_raw_streams_go_to_zlib() {
    let payload = payload(3_000);
    for (written, read_as) in
        [(31, 31), (31, 47), (15, 47), (-15, -15), (-9, -9), (15, 0), (15, 31), (31, 15), (15, 8), (15, 16), (15, 7)]
    {
        let stored = deflated(&payload, 6, written, None);
        for (piece, room) in [(1, 1_000), (500, 77), (usize::MAX / 2, 4_000)] {
            compare(&stored, read_as, || piece, || room, 0, &format!("{written} {read_as}"));
        }
    }
}

#[test]
fn truncated_and_damaged_streams_fail_alike() {
    let mut random = SmallRng::seed_from_u64(0x5eed);
    for (stored, payload) in streams() {
        for _ in 0..60 {
            let mut damaged = stored.clone();
            let place = random.random_range(0..damaged.len());
            match random.random_range(0..4) {
                0 => damaged.truncate(place),
                1 => drop(damaged.remove(place)),
                _ => damaged[place] ^= 1 << random.random_range(0..8),
            }
            // With another first byte it may be a chunk of ours.
            if damaged.first() != stored.first() || damaged.starts_with(&[0x28, 0xb5]) {
                continue;
            }
            let (piece, room) = (random.random_range(1..damaged.len() + 2), random.random_range(1..payload.len() + 9));
            for flush in [0, 4] {
                compare(&damaged, 15, || piece, || room, flush, &format!("{damaged:02x?}"));
            }
        }
    }
}

#[test]
fn invalid_first_bytes_fail_alike() {
    for first in 0..=u8::MAX {
        let is_chunk =
            repackbench_codec::ChunkDecoder::identify(&[first, 0x20, 0, 0, 0]).is_some() && first & 0x0f != 8;
        if !is_chunk {
            compare(&[first, 0x9c, 3, 0, 0, 0, 0, 1], 15, || 9, || 9, 0, &format!("{first:02x}"));
        }
    }
}

#[test]
fn preset_dictionaries_are_requested() {
    let (dictionary, payload) = (payload(500), payload(900));
    let stored = deflated(&payload, 6, 15, Some(&dictionary));
    let [ours, zlibs] = [ours(), zlibs()].map(|functions| {
        let mut stream = Stream::opened(functions);
        let mut all = read(&mut stream, &stored, || 4, || 1_000, 0);
        let at: usize = all.iter().map(|seen| seen.taken).sum();
        for bytes in [&b"another"[..], &dictionary] {
            all.push(stream.call("inflateSetDictionary", |functions, stream| {
                // SAFETY: an open stream, and a dictionary of that length.
                i64::from(unsafe { (functions.inflate_set_dictionary)(stream, bytes.as_ptr(), bytes.len() as u32) })
            }));
        }
        all.extend(read(&mut stream, &stored[at..], || 100, || 1_000, 4));
        all
    });
    assert_eq!(ours, zlibs);
    assert_eq!(outcome(&ours), (payload, 1));
}

#[test]
fn streams_whose_header_was_skipped_are_raw_after_resets_too() {
    const MARKER: [u8; 4] = [0, 0, 0xff, 0xff];
    let (dictionary, payload) = (payload(300), payload(700));
    let [raw, plain] = [-15, 15].map(|window_bits| deflated(&payload, 6, window_bits, None));
    // With the first bytes, the stream is one that zlib has opened, or one that may still be a chunk.
    for (before, is_reset) in [(&b""[..], false), (b"", true), (&[0x78], true), (&plain[..20], true)] {
        let [ours, zlibs] = [ours(), zlibs()].map(|functions| {
            let mut stream = Stream::opened(functions);
            let mut all = vec![stream.inflate(before, 9, 0)];
            all.push(stream.sync(&MARKER[..2]));
            all.push(stream.sync(&MARKER[2..]));
            if is_reset {
                all.push(stream.call("inflateReset", |functions, stream| {
                    // SAFETY: an open stream.
                    i64::from(unsafe { (functions.inflate_reset)(stream) })
                }));
            }
            all.push(stream.call("inflateSetDictionary", |functions, stream| {
                let (start, length) = (dictionary.as_ptr(), dictionary.len() as u32);
                // SAFETY: an open stream, and a dictionary of that length.
                i64::from(unsafe { (functions.inflate_set_dictionary)(stream, start, length) })
            }));
            let stored = if before.len() < 20 { &raw } else { &plain };
            all.extend(read(&mut stream, stored, || 50, || 1_000, 0));
            all
        });
        assert_eq!(ours, zlibs, "{before:02x?}, {is_reset}");
        assert_eq!(outcome(&ours), (payload.clone(), 1), "{before:02x?}, {is_reset}");
        // The state that the stream leaves to the next one is as good as new.
        compare(&plain, 15, || 9, || 1_000, 0, "after it");
    }
}

#[test]
fn misuse_fails_alike() {
    for functions in [ours(), zlibs()] {
        let null = std::ptr::null_mut();
        // SAFETY: zlib's functions check for a null stream, and check version and length.
        unsafe {
            assert_eq!((functions.inflate)(null, 0), -2);
            assert_eq!((functions.inflate_end)(null), -2);
            assert_eq!((functions.inflate_reset)(null), -2);
            assert_eq!((functions.inflate_copy)(null, null), -2);
            assert_eq!((functions.inflate_init2)(null, 15, c"1.2.11".as_ptr(), 112), -2);
            let mut stream = repackbench_preload_abi::ZStream::zeroed();
            assert_eq!((functions.inflate)(&mut stream, 0), -2, "never opened");
            assert_eq!((functions.inflate_init2)(&mut stream, 15, c"2.0".as_ptr(), 112), -6);
            assert_eq!((functions.inflate_init2)(&mut stream, 15, c"1.2.11".as_ptr(), 111), -6);
            assert_eq!((functions.inflate_init2)(&mut stream, 15, std::ptr::null(), 112), -6);
            assert_eq!((functions.inflate_init2)(&mut stream, 15, c"1.2.11".as_ptr(), 112), 0);
            let mut moved = stream;
            assert_eq!((functions.inflate)(&mut moved, 0), -2, "moved");
            assert_eq!((functions.inflate_end)(&mut stream), 0);
            assert_eq!((functions.inflate_end)(&mut stream), -2, "closed before");
        }
    }
}
