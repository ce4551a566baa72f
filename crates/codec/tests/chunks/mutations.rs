//! Many damaged streams of every codec: none causes a panic, reads or writes out of bounds, or passes for another
//! payload.

use std::io::BufReader;

use crate::common::{SLOW_SPECS, SPECS, damage, encode, lost_checksum, noise, spec, text};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use repackbench_codec::{ChunkDecoder, Decoders, DeflateReader, ZlibReader};

/// The number of damaged streams of each spec.
const MUTATIONS: usize = 10_000;

/// Bytes after the payload's room that must not change.
const GUARD: [u8; 16] = [0xa5; 16];

fn payloads() -> [Vec<u8>; 5] {
    let mixed = [text(300), noise(40), vec![7; 200], text(300)].concat();
    [text(60), text(900), b"a longer run of ".repeat(90), mixed, text(5_000)]
}

/// Decodes `stored` in every way and returns the payload if it passes for one of `length` bytes.
fn read((reader, decoder): &mut (Decoders, ChunkDecoder), stored: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut room = vec![0; length];
    room.extend_from_slice(&GUARD);
    let (payload, _) = room.split_at_mut(length);
    let decoded = decoder.decode(stored, payload).ok();
    assert!(decoded.is_none_or(|consumed| consumed <= stored.len()));
    assert_eq!(room[length..], GUARD);
    room.truncate(length);

    let mut pieces = Vec::new();
    let mut source = BufReader::with_capacity(7, stored);
    let streamed = decoder.decode_stream_from(&mut source, length as u64, &mut |piece| {
        pieces.extend_from_slice(piece);
        Ok(())
    });
    assert!(pieces.len() <= length, "more was delivered than requested");
    let streamed = streamed.ok();
    // libdeflate accepts codes that DEFLATE does not define for lengths. Stock zlib, which decodes in pieces, refuses
    // them.
    let by_libdeflate = reader.zlib == ZlibReader::Libdeflate || reader.deflate == DeflateReader::Libdeflate;
    let other_library = by_libdeflate && streamed.is_none();
    assert!(other_library || streamed == decoded.map(|consumed| consumed as u64), "two ways to read disagree");
    assert!(streamed.is_none() || pieces == room, "two ways to read disagree");

    let mut prefix = [0; 50];
    if let Ok(filled) = decoder.decode_prefix(stored, &mut prefix) {
        assert!(filled <= prefix.len());
        assert!(decoded.is_none() || prefix[..filled] == room[..filled.min(length)]);
    }
    decoded.map(|_| room)
}

fn damage_streams_of(typed: &str) {
    let mut random = SmallRng::seed_from_u64(0x5eed);
    let payloads = payloads();
    let chunks = payloads.each_ref().map(|payload| encode(typed, payload));
    let with_decoder = |reader: &Decoders| (*reader, ChunkDecoder::new(*reader));
    let mut decoders: Vec<_> = Decoders::all_for(&chunks[1]).iter().map(with_decoder).collect();
    let mut accepted = 0;
    for round in 0..MUTATIONS {
        let (original, payload) = (&chunks[round % chunks.len()], &payloads[round % chunks.len()]);
        let mut stored = original.clone();
        damage(&mut stored, &mut random);
        if stored.is_empty() {
            stored.push(0);
        }
        let reader = round % decoders.len();
        let Some(read) = read(&mut decoders[reader], &stored, payload.len()) else { continue };
        accepted += 1;
        let guarded = spec(typed).checksum() && !lost_checksum(original, &stored);
        assert!(!guarded || read == *payload, "{typed}: wrong bytes were accepted in round {round}");
    }
    // Only a checksum detects damage to a stored payload.
    let most = if spec(typed).checksum() { MUTATIONS / 2 } else { MUTATIONS };
    assert!(accepted < most, "{typed}: {accepted} damaged streams were accepted");
    // The contexts still decode undamaged chunks.
    for (stored, payload) in chunks.iter().zip(&payloads) {
        for decoder in &mut decoders {
            assert_eq!(read(decoder, stored, payload.len()).as_ref(), Some(payload), "{typed}");
        }
    }
}

#[test]
fn damaged_zlib_streams() {
    SPECS.into_iter().filter(|typed| spec(typed).is_read_by_git()).for_each(damage_streams_of);
}

#[test]
fn damaged_tagged_bodies_and_standard_frames() {
    SPECS.into_iter().filter(|typed| !spec(typed).is_read_by_git()).for_each(damage_streams_of);
}

#[test]
fn damaged_streams_of_slow_levels() {
    SLOW_SPECS.into_iter().for_each(damage_streams_of);
}
