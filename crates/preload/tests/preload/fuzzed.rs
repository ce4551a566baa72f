//! Makes random sequences of calls on the stand-in and on zlib, and compares what the caller sees.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use repackbench_codec::ChunkDecoder;
use repackbench_preload_abi::ZlibFunctions;

use crate::calls::{Seen, Stream};
use crate::library::{ours, zlibs};
use crate::samples::{deflated, payload};

/// The number of sequences.
const SEQUENCES: u64 = 10_000;

fn sources() -> Vec<Vec<u8>> {
    let dictionary = payload(300);
    let mut sources = Vec::new();
    for (length, level, window_bits) in
        [(0, 6, 15), (50, 6, 15), (900, 1, 15), (900, 6, 10), (4_000, 9, 12), (700, 0, 15), (900, 6, -15), (900, 6, 31)]
    {
        sources.push(deflated(&payload(length), level, window_bits, None));
    }
    sources.push(deflated(&payload(800), 6, 15, Some(&dictionary)));
    sources.retain(|stored| !begins_chunk(stored));
    assert!(sources.len() > 6);
    sources
}

fn begins_chunk(stored: &[u8]) -> bool {
    let is_frame = stored.starts_with(&[0x28, 0xb5]);
    is_frame || stored.first().is_some_and(|first| first & 0x0f != 8 && ChunkDecoder::identify(&[*first, 0]).is_some())
}

/// Makes one sequence of calls. `seed` and the results of the calls determine it.
fn sequence(functions: &'static ZlibFunctions, sources: &[Vec<u8>], seed: u64) -> Vec<Seen> {
    const WINDOW_BITS: [i32; 12] = [15, 15, 15, 15, 10, 8, 0, 47, 31, -15, -8, 60];
    let mut random = SmallRng::seed_from_u64(seed);
    let (mut stream, code) = Stream::open(functions, WINDOW_BITS[random.random_range(0..11)]);
    let mut all = Vec::new();
    if code != 0 {
        return all;
    }
    let (mut source, mut at) = (&sources[random.random_range(0..sources.len())], 0);
    for _ in 0..random.random_range(1..25) {
        let longest = [[2, 40, 3_000][random.random_range(0..3)], [2, 40, 5_000][random.random_range(0..3)]];
        let [piece, room] = longest.map(|longest| random.random_range(0..longest));
        let rest = &source[at.min(source.len())..];
        let rest = &rest[..piece.min(rest.len())];
        let small = random.random_range(0..10);
        let seen = match random.random_range(0..40) {
            0..30 => stream.inflate(rest, room, [0, 0, 2, 4, 5, 6][random.random_range(0..6)]),
            30 => stream.sync(rest),
            31 => stream.copy(),
            number => stream.call(NAMES[number - 32], |functions, stream| {
                let mut length = 0;
                let dictionary = payload(300);
                // SAFETY: the stream is open, and every pointer is valid for as much as the function needs.
                i64::from(unsafe {
                    match number {
                        32 | 33 => (functions.inflate_reset)(stream),
                        34 | 35 => (functions.inflate_reset2)(stream, WINDOW_BITS[small + 2]),
                        36 => (functions.inflate_set_dictionary)(stream, dictionary.as_ptr(), 300),
                        37 => return (functions.inflate_mark)(stream),
                        38 => (functions.inflate_prime)(stream, small as i32, 5),
                        _ => {
                            let code = (functions.inflate_get_dictionary)(stream, std::ptr::null_mut(), &mut length);
                            code * 100_000 + length as i32
                        }
                    }
                })
            }),
        };
        at += seen.taken;
        // The stand-in would read the rest as a chunk of ours if it begins like one, and zlib would not.
        let restart = random.random_bool(0.8) || source.get(at..).is_none_or(begins_chunk);
        if seen.call.starts_with("inflateReset") && restart {
            (source, at) = (&sources[random.random_range(0..sources.len())], 0);
        }
        all.push(seen);
    }
    all.push(stream.end());
    all
}

const NAMES: [&str; 8] = [
    "inflateReset",
    "inflateReset",
    "inflateReset2",
    "inflateReset2",
    "inflateSetDictionary",
    "inflateMark",
    "inflatePrime",
    "inflateGetDictionary",
];

#[test]
fn random_calls_show_what_zlib_shows() {
    let sources = sources();
    let mut calls = 0;
    for seed in 0..SEQUENCES {
        let (ours, zlibs) = (sequence(ours(), &sources, seed), sequence(zlibs(), &sources, seed));
        let differs = ours.iter().zip(&zlibs).position(|(ours, zlibs)| ours != zlibs);
        if let Some(differs) = differs {
            let before: Vec<_> =
                zlibs[..differs].iter().map(|seen| (seen.call, seen.code, seen.taken, seen.written.len())).collect();
            panic!("sequence {seed}, after {before:?}:\n{:?}\n{:?}", ours[differs], zlibs[differs]);
        }
        assert_eq!(ours.len(), zlibs.len());
        calls += ours.len();
    }
    assert!(calls > 50_000);
}
