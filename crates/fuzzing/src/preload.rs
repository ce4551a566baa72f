//! The stand-in for zlib: sequences of calls on a stream.
//!
//! The library is loaded as the tests of its crate load it, because its functions have the names of zlib's.

#![allow(unsafe_code, reason = "calls C functions")]

use libc::c_int;
use repackbench_codec::ChunkDecoder;

use self::calls::{Seen, Stream};
use self::library::{ours, zlibs};
use crate::input::Input;

#[allow(dead_code, reason = "the tests of the library use more")]
#[path = "../../preload/tests/preload/calls.rs"]
mod calls;
mod library;

/// The window bits that zlib knows, and some that it does not.
const WINDOW_BITS: [c_int; 12] = [15, 15, 15, 15, 10, 8, 0, 47, 31, -15, -8, 60];

/// The most bits that a call of `inflatePrime` adds. Of a whole byte, zlib may give back more input than it was given.
const MOST_BITS: c_int = 7;

/// Kinds of calls: see [`call`].
const MARK: u8 = 13;
const PRIME: u8 = 14;

/// The longest input or output room of a call in bytes.
const LONGEST: usize = 2_000;

/// Calls on a stream: a byte for the window bits, a part with four bytes for each call, and what the stream reads.
///
/// The stand-in must never write beyond its room, and must show what zlib shows unless the stream may be one of ours.
pub fn calls(data: &[u8]) {
    let mut input = Input::new(data);
    let window_bits = WINDOW_BITS[usize::from(input.byte()) % WINDOW_BITS.len()];
    let (calls, stored) = (input.part(), input.rest());
    let seen = sequence(Library::Ours, window_bits, calls, stored);
    if seen.may_be_ours {
        return;
    }
    let zlibs = sequence(Library::Zlibs, window_bits, calls, stored);
    for (number, (ours, zlibs)) in seen.all.iter().zip(&zlibs.all).enumerate() {
        assert_eq!(ours, zlibs, "call {number}");
    }
    assert_eq!(seen.all.len(), zlibs.all.len());
}

#[derive(Clone, Copy)]
enum Library {
    Ours,
    Zlibs,
}

#[derive(Default)]
struct Sequence {
    all: Vec<Seen>,
    /// Whether a stream began like a chunk of ours.
    may_be_ours: bool,
}

fn sequence(library: Library, window_bits: c_int, calls: &[u8], stored: &[u8]) -> Sequence {
    let functions = match library {
        Library::Ours => ours(),
        Library::Zlibs => zlibs(),
    };
    let mut done = Sequence { may_be_ours: begins_chunk(stored), all: Vec::new() };
    let (mut stream, code) = Stream::open(functions, window_bits);
    if code != 0 {
        return done;
    }
    let mut at = 0;
    let mut has_primed = false;
    let mut calls = Input::new(calls);
    while !calls.is_empty() {
        let [mut kind, piece, room, argument] = [(); 4].map(|()| calls.byte());
        // Bits of several calls would add up.
        if kind % 16 == PRIME && std::mem::replace(&mut has_primed, true) {
            kind = MARK;
        }
        // Small and large ones alike.
        let [piece, room] = [piece, room].map(|byte| (usize::from(byte).pow(2) / 32).min(LONGEST));
        let rest = &stored[at..];
        let rest = &rest[..piece.min(rest.len())];
        let seen = call(&mut stream, kind, rest, room, argument);
        at += seen.taken;
        done.may_be_ours |= seen.call.starts_with("inflateReset") && begins_chunk(&stored[at..]);
        done.all.push(seen);
    }
    done.all.push(stream.end());
    done
}

/// Makes the call that `kind` chooses.
fn call(stream: &mut Stream, kind: u8, rest: &[u8], room: usize, argument: u8) -> Seen {
    let number = c_int::from(argument);
    let window_bits = WINDOW_BITS[usize::from(argument) % WINDOW_BITS.len()];
    let dictionary = rest;
    // SAFETY: in each of them, the stream is open, and every pointer is valid for as much as the function needs.
    match kind % 16 {
        8 => stream.sync(rest),
        9 => stream.copy(),
        10 => stream.call("inflateReset", |zlib, stream| unsafe { (zlib.inflate_reset)(stream).into() }),
        11 => stream.call("inflateReset2", |zlib, stream| unsafe { (zlib.inflate_reset2)(stream, window_bits).into() }),
        12 => stream.call("inflateSetDictionary", |zlib, stream| unsafe {
            (zlib.inflate_set_dictionary)(stream, dictionary.as_ptr(), dictionary.len() as u32).into()
        }),
        MARK => stream.call("inflateMark", |zlib, stream| unsafe { (zlib.inflate_mark)(stream) }),
        PRIME => stream.call("inflatePrime", |zlib, stream| unsafe {
            (zlib.inflate_prime)(stream, number % (MOST_BITS + 2) - 1, number >> 3).into()
        }),
        15 => stream.call("inflateGetDictionary", |zlib, stream| {
            let mut length = 0;
            let code = unsafe { (zlib.inflate_get_dictionary)(stream, std::ptr::null_mut(), &mut length) };
            i64::from(code) * 100_000 + i64::from(length)
        }),
        _ => stream.inflate(rest, room, [0, 0, 2, 4, 5, 6][usize::from(argument) % 6]),
    }
}

/// Whether the stand-in may take the stream for one of ours.
fn begins_chunk(stored: &[u8]) -> bool {
    match *stored {
        [] => false,
        [0x28] | [0x28, 0xb5, ..] => true,
        [first, ..] => first & 0x0f != 8 && ChunkDecoder::identify(&[first, 0]).is_some(),
    }
}
