//! Reads chunks of ours: they behave as streams do, and yield their payload.

use repackbench_codec::{ChunkEncoder, CodecSpec, catalogue};

use crate::calls::{Stream, outcome, read};
use crate::library::ours;
use crate::samples::{deflated, payload};

/// Specs of every codec that stock git does not read.
const SPECS: [&str; 16] = [
    "store",
    "store,checksum=no",
    "zstd:3",
    "zstd:19,checksum=no",
    "zstd:3,frame=standard",
    "lz4",
    "lz4hc,checksum=no",
    "lz4_flex",
    "snappy",
    "lzo",
    "deflate:6",
    "brotli:5",
    "brotli,checksum=no",
    "lzma:1",
    "xz:1",
    "bzip2",
];

fn chunk(typed: &str, payload: &[u8]) -> Vec<u8> {
    let spec: CodecSpec = typed.parse().unwrap();
    let mut stored = Vec::new();
    ChunkEncoder::new(&spec).unwrap().encode(payload, &mut stored).unwrap();
    stored
}

#[test]
fn specs_cover_every_codec() {
    let covered = SPECS.map(|typed| typed.parse::<CodecSpec>().unwrap().algorithm());
    for codec in catalogue() {
        let is_covered = codec.read_by_git || covered.contains(&codec.algorithm);
        assert!(is_covered, "{}: no spec of it is in SPECS", codec.name);
    }
}

#[test]
fn chunks_can_be_split_at_every_byte() {
    for typed in SPECS {
        let payload = payload(400);
        let stored = chunk(typed, &payload);
        let followed = [&stored[..], b"what follows"].concat();
        for at in 0..=stored.len() {
            let mut stream = Stream::opened(ours());
            let mut pieces = [at].into_iter();
            let all = read(&mut stream, &followed, || pieces.next().unwrap_or(usize::MAX / 2), || 401, 0);
            assert_eq!(outcome(&all), (payload.clone(), 1), "{typed} split at {at}");
            let last = all.last().unwrap();
            assert_eq!((last.total_in, last.total_out), (stored.len() as u64, 400), "{typed}");
            assert_eq!(stream.inflate(b"more", 9, 4).code, 1, "the end stays the end");
        }
    }
}

#[test]
fn chunks_are_read_in_small_pieces_with_any_flush() {
    for typed in SPECS {
        for length in [0, 1, 30, 5_000, 100_000] {
            let payload = payload(length);
            let stored = chunk(typed, &payload);
            for (piece, room) in [(1, 1), (4096, 20), (usize::MAX / 2, 1), (64 << 10, 64 << 10)] {
                if length > 5_000 && room < 20 {
                    continue;
                }
                for flush in [0, 4] {
                    let mut stream = Stream::opened(ours());
                    let all = read(&mut stream, &stored, || piece, || room, flush);
                    assert!(outcome(&all) == (payload.clone(), 1), "{typed}, {length} bytes, {piece} {room} {flush}");
                    let (_, before) = all.split_last().unwrap();
                    // zlib.h: a Z_FINISH that does not finish returns Z_BUF_ERROR, and so does a call without progress.
                    let stuck = |seen: &crate::calls::Seen| seen.taken == 0 && seen.written.is_empty();
                    assert!(
                        before.iter().all(|seen| seen.code == if flush == 4 || stuck(seen) { -5 } else { 0 }),
                        "{typed}"
                    );
                }
            }
        }
    }
}

#[test]
fn truncated_and_damaged_chunks_never_yield_wrong_data() {
    for typed in SPECS {
        let payload = payload(400);
        let stored = chunk(typed, &payload);
        for at in 0..stored.len() {
            let mut stream = Stream::opened(ours());
            let all = read(&mut stream, &stored[..at], || 1_000, || 401, 4);
            assert_eq!(all.last().unwrap().code, -5, "{typed} cut off at {at}");
            if typed.contains("checksum=no") || at == 0 {
                continue;
            }
            for bit in 0..8 {
                let mut damaged = stored.clone();
                damaged[at] ^= 1 << bit;
                let all = read(&mut Stream::opened(ours()), &damaged, || 1_000, || 401, 4);
                let (read, code) = outcome(&all);
                // In a standard frame, this bit is the flag for the checksum.
                let unchecked = typed.contains("standard") && at == 4 && bit == 2;
                assert!(code != 1 || read == payload || unchecked, "{typed}: bit {bit} of byte {at}");
            }
        }
    }
}

#[test]
fn reset_works_between_all_kinds_of_streams() {
    let payload = payload(2_000);
    let kinds = [
        deflated(&payload, 6, 15, None),
        chunk("zstd:3", &payload),
        chunk("lz4", &payload),
        chunk("zstd,frame=standard", &payload),
        deflated(&payload, 6, 10, None),
    ];
    for first in &kinds {
        for half in [false, true] {
            for second in &kinds {
                let mut stream = Stream::opened(ours());
                let stored = if half { &first[..first.len() / 2] } else { first };
                read(&mut stream, stored, || 50, || 2_001, 0);
                // SAFETY: an open stream.
                let reset = stream
                    .call("inflateReset", |functions, stream| unsafe { i64::from((functions.inflate_reset)(stream)) });
                assert_eq!((reset.code, reset.total_in, reset.total_out), (0, 0, 0));
                assert!(outcome(&read(&mut stream, second, || 50, || 2_001, 0)) == (payload.clone(), 1));
            }
        }
    }
}

#[test]
fn chunk_that_needs_a_base_reports_it() {
    let mut stream = Stream::opened(ours());
    let seen = stream.inflate(&[0x92, 0x20, 0x1c, 0x9d, 0, 0, 0x68], 100, 0);
    assert_eq!(seen.code, -3);
    assert!(format!("{seen:?}").contains("base"), "{seen:?}");
}

#[test]
fn threads_do_not_share_streams() {
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                for round in 0..200 {
                    let typed = SPECS[(number + round) % SPECS.len()];
                    let payload = payload(100 + 37 * round);
                    let stored = chunk(typed, &payload);
                    // Two streams at a time, one of which stays half read.
                    let mut other = Stream::opened(ours());
                    read(&mut other, &stored[..stored.len() / 2], || 64, || 64, 0);
                    let all = read(&mut Stream::opened(ours()), &stored, || 64, || 100, 0);
                    assert!(outcome(&all) == (payload, 1), "{typed}");
                }
            });
        }
    });
}
