//! The push decoder gives the same payloads, consumed lengths and errors in pieces as a decoder of whole chunks.

use crate::common::{SPECS, damage, encode, noise, spec, text};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use repackbench_codec::{
    BLOCK_LEN, ChunkDecoder, ChunkEncoder, CodecError, Dictionaries, Dictionary, PushDecoder, PushStep, ZlibReader,
};

fn specs() -> impl Iterator<Item = &'static str> {
    SPECS.into_iter().filter(|typed| !spec(typed).algorithm().is_zlib_family())
}

/// Feeds `stored` in pieces of at most `piece` bytes, with room for at most `room` bytes at a time. As with zlib, bytes
/// that are not taken are offered again. Returns the payload and the number of bytes taken, or `None` if the stored
/// bytes end first.
fn drive(
    decoder: &mut PushDecoder,
    stored: &[u8],
    mut piece: impl FnMut() -> usize,
    mut room: impl FnMut() -> usize,
) -> Result<Option<(Vec<u8>, usize)>, CodecError> {
    decoder.restart();
    let (mut payload, mut taken, mut given) = (Vec::new(), 0, 0);
    loop {
        given = given.max((taken + piece()).min(stored.len()));
        let mut output = vec![0xa5; room()];
        let PushStep { consumed, produced, ended } = decoder.step(&stored[taken..given], &mut output)?;
        assert!(consumed <= given - taken && produced <= output.len());
        payload.extend_from_slice(&output[..produced]);
        taken += consumed;
        if ended {
            return Ok(Some((payload, taken)));
        }
        if consumed + produced == 0 && given == stored.len() && !output.is_empty() {
            return Ok(None);
        }
    }
}

fn payloads() -> Vec<Vec<u8>> {
    let mixed = [text(300), noise(40), vec![7; 200], text(300)].concat();
    vec![
        Vec::new(),
        b"hi".to_vec(),
        text(60),
        text(900),
        mixed,
        text(5_000),
        noise(3_000),
        vec![1; 40_000],
        text(300_000),
    ]
}

#[test]
fn chunks_split_at_every_byte_decode() {
    let mut decoder = PushDecoder::new(&Dictionaries::default());
    for typed in specs() {
        for payload in payloads().iter().filter(|payload| payload.len() < 1_000) {
            let stored = encode(typed, payload);
            let followed = [&stored[..], b"what follows"].concat();
            for at in 0..=stored.len() {
                let mut pieces = [at, usize::MAX / 2].into_iter();
                let piece = || pieces.next().unwrap_or(usize::MAX / 2);
                let read = drive(&mut decoder, &followed, piece, || payload.len() + 1).unwrap();
                assert_eq!(read, Some((payload.clone(), stored.len())), "{typed} split at {at}");
            }
        }
    }
}

#[test]
fn chunks_decode_with_small_pieces_and_small_room() {
    let mut decoder = PushDecoder::new(&Dictionaries::default());
    for typed in specs() {
        for payload in payloads() {
            let stored = encode(typed, &payload);
            let followed = [&stored[..], b"what follows"].concat();
            for (piece, room) in [
                (1, 1),
                (1, 20),
                (3, usize::MAX),
                (4096, 20),
                (usize::MAX, 1),
                (usize::MAX, 8192),
                (64 << 10, 64 << 10),
            ] {
                if payload.len() > 50_000 && piece.min(room) < 20 {
                    continue;
                }
                let (piece, room) = (piece.min(followed.len()), room.min(payload.len() + 1));
                let read = drive(&mut decoder, &followed, || piece, || room).unwrap();
                assert!(
                    read == Some((payload.clone(), stored.len())),
                    "{typed}, {} bytes, {piece} {room}",
                    payload.len()
                );
            }
        }
    }
}

/// Callers stop when they run out of stored bytes. The payload must then be complete.
#[test]
fn last_byte_is_taken_only_with_the_end_of_the_payload() {
    let mut decoder = PushDecoder::new(&Dictionaries::default());
    for typed in specs() {
        for payload in payloads() {
            let stored = encode(typed, &payload);
            for room in [1, 7, 64, 1024] {
                if payload.len() > 5_000 && room < 1024 {
                    continue;
                }
                decoder.restart();
                let (mut taken, mut written) = (0, 0);
                while taken < stored.len() {
                    let mut output = vec![0; room.min(payload.len() - written)];
                    let step = decoder.step(&stored[taken..], &mut output).unwrap();
                    assert!(step.consumed + step.produced > 0 || step.ended, "{typed} makes no progress");
                    taken += step.consumed;
                    written += step.produced;
                    assert_eq!(step.ended, taken == stored.len(), "{typed}");
                }
                assert_eq!(written, payload.len(), "{typed}");
            }
        }
    }
}

#[test]
fn truncated_chunks_never_end() {
    let mut decoder = PushDecoder::new(&Dictionaries::default());
    for typed in specs() {
        let stored = encode(typed, &text(300));
        for at in 0..stored.len() {
            for room in [20, 301] {
                assert!(
                    drive(&mut decoder, &stored[..at], || at.max(1), || room).unwrap().is_none(),
                    "{typed} cut off at {at}"
                );
            }
        }
    }
}

#[test]
fn push_decoder_agrees_with_chunk_decoder_on_damage() {
    let mut random = SmallRng::seed_from_u64(0x5eed);
    let mut decoder = PushDecoder::new(&Dictionaries::default());
    let mut whole = ChunkDecoder::new(ZlibReader::Stock);
    for typed in specs() {
        let payload = text(600);
        let original = encode(typed, &payload);
        for _ in 0..400 {
            let mut stored = original.clone();
            damage(&mut stored, &mut random);
            if stored.first().is_none_or(|first| first & 0x0f == 8 && !typed.contains("standard")) {
                continue;
            }
            let (piece, room) = (random.random_range(1..stored.len() + 2), random.random_range(1..700));
            let pushed = drive(&mut decoder, &stored, || piece, || room).ok().flatten();
            let mut at_once = vec![0; pushed.as_ref().map_or(payload.len(), |(payload, _)| payload.len())];
            let read = whole.decode(&stored, &mut at_once).ok();
            let read = read.map(|consumed| (at_once, consumed));
            assert!(read == pushed, "{typed}: {stored:02x?}");
        }
    }
}

#[test]
fn foreign_frames_need_no_content_size() {
    use std::io::Write;
    let payload = text(200_000);
    let mut stored = Vec::new();
    let mut context = zstd_safe::CCtx::create();
    context.set_parameter(zstd_safe::CParameter::ContentSizeFlag(false)).unwrap();
    let mut room = vec![0; 300_000];
    let length = context.compress2(&mut room[..], &payload).unwrap();
    stored.write_all(&room[..length]).unwrap();
    let mut decoder = PushDecoder::new(&Dictionaries::default());
    for (piece, room) in [(1, 1000), (1 << 20, 1 << 20), (1000, 20)] {
        let read = drive(&mut decoder, &stored, || piece, || room).unwrap();
        assert!(read == Some((payload.clone(), length)));
    }
}

#[test]
fn dictionaries_are_used_by_number() {
    let content = text(4_000);
    let dictionaries = Dictionaries::new([Dictionary::new(noise(100)), Dictionary::new(content.clone())]);
    let mut decoder = PushDecoder::new(&dictionaries);
    let mut without = PushDecoder::new(&Dictionaries::default());
    for typed in ["zstd:3", "lz4", "lz4hc", "deflate"] {
        let mut stored = Vec::new();
        let choice = spec(typed);
        let dictionary = dictionaries.get(1).unwrap();
        let mut encoder = ChunkEncoder::for_choice(choice.default_choice(), Some((1, dictionary))).unwrap();
        encoder.encode(&content[100..1_100], &mut stored).unwrap();
        for (piece, room) in [(1, 1), (5, 20), (10_000, 10_000)] {
            let read = drive(&mut decoder, &stored, || piece, || room).unwrap();
            assert!(read == Some((content[100..1_100].to_vec(), stored.len())), "{typed}");
        }
        assert!(drive(&mut without, &stored, || 7, || 7).is_err(), "{typed}");
    }
}

#[test]
fn payloads_above_a_block_decode() {
    let payload = [text(BLOCK_LEN), text(1_000)].concat();
    let mut decoder = PushDecoder::new(&Dictionaries::default());
    for typed in ["lz4", "snappy", "zstd:1", "store"] {
        let mut stored = Vec::new();
        let mut encoder = ChunkEncoder::new(&spec(typed)).unwrap();
        encoder.encode_stream(&mut &payload[..], payload.len() as u64, &mut stored).unwrap();
        let length = stored.len();
        stored.extend_from_slice(b"what follows");
        let read = drive(&mut decoder, &stored, || 64 << 10, || 64 << 10).unwrap();
        assert!(read == Some((payload.clone(), length)), "{typed}");
    }
}

/// docs/format.md: a block has the outer body or store, is not blocked, and uses no dictionary.
#[test]
fn blocks_of_another_kind_are_rejected() {
    let payload = vec![7; BLOCK_LEN + 1];
    let mut stored = Vec::new();
    let mut encoder = ChunkEncoder::new(&spec("lz4")).unwrap();
    encoder.encode_stream(&mut &payload[..], payload.len() as u64, &mut stored).unwrap();
    let block = 1 + stored[1..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    assert_eq!((stored[0] & 0x7f, stored[block] & 0x7f), (0x23, 0x03), "a blocked chunk and its first block");
    let dictionaries = Dictionaries::new([Dictionary::new(text(100))]);
    let mut decoder = PushDecoder::new(&dictionaries);
    assert!(drive(&mut decoder, &stored, || 64 << 10, || 64 << 10).unwrap().is_some());
    for (kind, opening) in [("snappy", &[0x04][..]), ("dictionary", &[0x43, 0x00]), ("blocked", &[0x23])] {
        let flag = stored[block] & 0x80;
        let hostile = [&stored[..block], &[opening[0] | flag], &opening[1..], &stored[block + 1..]].concat();
        let error = drive(&mut decoder, &hostile, || 64 << 10, || 64 << 10).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt { .. }), "{kind}: {error}");
    }
}

#[test]
fn chunks_with_a_base_and_zlib_streams_are_rejected() {
    let mut decoder = PushDecoder::new(&Dictionaries::default());
    for stored in [&[0x12, 0x20, 0x1c][..], &[0x9c, 0x20, 0x45], &[0x78, 0x9c, 0x03], &[0, 1, 2, 3], &[0x0d; 8]] {
        assert!(drive(&mut decoder, stored, || 1, || 9).is_err(), "{stored:02x?}");
    }
}

/// zstd takes the rest of a split header for the start of another frame if there is no magic number.
#[test]
fn frames_split_within_their_header_decode() {
    let content = text(4_000);
    let dictionaries = Dictionaries::new([Dictionary::new(content.clone())]);
    let mut decoder = PushDecoder::new(&dictionaries);
    let zstd = spec("zstd:3");
    let choice = zstd.default_choice();
    let mut plain = ChunkEncoder::for_choice(choice, None).unwrap();
    let mut with_dictionary = ChunkEncoder::for_choice(choice, dictionaries.get(0).map(|found| (0, found))).unwrap();
    for length in (200..2_000).step_by(3) {
        let payload = [noise(length / 2), text(length - length / 2)].concat();
        for encoder in [&mut plain, &mut with_dictionary] {
            let mut stored = Vec::new();
            encoder.encode(&payload, &mut stored).unwrap();
            let followed = [&stored[..], &noise(5_000)].concat();
            for at in 1..12 {
                let mut pieces = [at, usize::MAX / 2].into_iter();
                let piece = || pieces.next().unwrap_or(usize::MAX / 2);
                let read = drive(&mut decoder, &followed, piece, || length + 1);
                assert!(read.is_ok_and(|read| read == Some((payload.clone(), stored.len()))), "{length} split at {at}");
            }
        }
    }
}
