//! Codecs whose bodies carry a block: mutations, empty payloads, and other implementations of LZ4 and LZO.

use std::io::BufReader;

use crate::common::{encode, noise, payload, spec, text};
use proptest::prelude::*;
use repackbench_codec::{ChunkDecoder, Codec, CodecError, Decoders, Lz4Reader, ZlibReader};

/// One spec for each way to write a block.
const SPECS: [&str; 15] = [
    "lz4",
    "lz4:8",
    "lz4:65537",
    "lz4hc:1",
    "lz4hc:2",
    "lz4hc:9",
    "lz4hc:12",
    "lz4_flex",
    "snappy",
    "lzo:1",
    "lzo:3",
    "lzo:6",
    "lzo:7",
    "lzo:8",
    "lzo:9",
];

/// A spec of each format, with each implementation that decodes it.
const FORMATS: [(&str, Lz4Reader); 4] = [
    ("lz4hc:9", Lz4Reader::Liblz4),
    ("lz4hc:9", Lz4Reader::Lz4Flex),
    ("snappy", Lz4Reader::Liblz4),
    ("lzo:8", Lz4Reader::Liblz4),
];

/// The number of damaged chunks of each format, with the checksum and without.
const MUTATIONS: u32 = 12_000;

fn decoder(lz4: Lz4Reader) -> ChunkDecoder {
    ChunkDecoder::new(Decoders { lz4, ..ZlibReader::Stock.into() })
}

/// The codec below the container, which never stores payloads.
fn codec(typed: &str) -> Box<dyn Codec> {
    spec(typed).new_codec().unwrap()
}

fn body(typed: &str, payload: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    assert_eq!(codec(typed).encode(payload, &mut stored).unwrap(), stored.len());
    stored
}

/// The block of a body, which is between the two lengths and the checksum.
fn block(body: &[u8]) -> &[u8] {
    let lengths = body.iter().enumerate().filter(|(_, byte)| **byte < 0x80).nth(1).unwrap().0 + 1;
    &body[lengths..body.len() - 4]
}

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Changes, inserts, removes or repeats a few bytes of `stored` after its tag byte.
    fn damage(&mut self, stored: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let place = 1 + self.below(stored.len() - 1);
            let interesting = [0x00, 0x01, 0x10, 0x11, 0x20, 0x40, 0x7f, 0x80, 0xf0, 0xff][self.below(10)];
            match self.below(6) {
                0 => stored[place] = interesting,
                1 => stored[place] ^= 1 << self.below(8),
                2 => stored[place] = self.below(256) as u8,
                3 => stored.insert(place, interesting),
                4 if stored.len() > 2 => drop(stored.remove(place)),
                _ => {
                    let piece = stored[place..(place + 6).min(stored.len())].to_vec();
                    stored.splice(place..place, piece);
                }
            }
        }
    }
}

/// Decodes in every way and returns the payload if it was accepted.
fn decode_in_every_way(decoder: &mut ChunkDecoder, stored: &[u8], payload_len: usize) -> Option<Vec<u8>> {
    // Guards on both sides detect writes out of bounds that stay within the allocation.
    let mut room = vec![0x5a; payload_len + 64];
    let decoded = decoder.decode(stored, &mut room[32..32 + payload_len]);
    assert!(room[..32].iter().chain(&room[32 + payload_len..]).all(|byte| *byte == 0x5a), "wrote out of bounds");
    let mut streamed = Vec::new();
    let mut source = BufReader::with_capacity(7, stored);
    let consumed = decoder.decode_stream_from(&mut source, payload_len as u64, &mut |piece| {
        streamed.extend_from_slice(piece);
        Ok(())
    });
    assert_eq!(
        consumed.ok(),
        decoded.as_ref().ok().map(|consumed| *consumed as u64),
        "one way accepts what another refuses"
    );
    let _ = decoder.decode_prefix(stored, &mut [0; 20]);
    let consumed = decoded.ok()?;
    assert!(consumed <= stored.len(), "read out of bounds");
    assert_eq!(streamed, &room[32..32 + payload_len], "two ways to read differ");
    Some(streamed)
}

#[test]
fn damaged_bodies_never_decode_to_wrong_bytes() {
    let payloads = [
        b"hello, hello, hello, hello, hello\n".to_vec(),
        text(700),
        b"ab".repeat(400),
        [noise(300), vec![0; 3_000], text(900)].concat(),
        [text(3_000), noise(40), text(2_000)].concat(),
    ];
    for (typed, reader) in FORMATS {
        for checksum in [true, false] {
            let typed = if checksum { typed.to_owned() } else { format!("{typed},checksum=no") };
            let (mut random, mut decoder) = (Random(7), decoder(reader));
            let chunks = payloads.each_ref().map(|payload| encode(&typed, payload));
            assert!(chunks.iter().all(|chunk| ChunkDecoder::identify(chunk) != Some("store")), "{typed}");
            let (mut accepted, mut refused) = (0, 0);
            for round in 0..MUTATIONS {
                let at = round as usize % payloads.len();
                let (payload, mut stored) = (&payloads[at], chunks[at].clone());
                random.damage(&mut stored);
                match decode_in_every_way(&mut decoder, &stored, payload.len()) {
                    Some(found) => {
                        assert!(!checksum || found == *payload, "{typed}: wrong bytes were accepted");
                        accepted += 1;
                    }
                    None => refused += 1,
                }
                // A damaged chunk leaves no trace in the decoder.
                if round % 500 == 0 {
                    let found = decode_in_every_way(&mut decoder, &chunks[at], payload.len());
                    assert!(found.as_ref() == Some(payload), "{typed}");
                }
            }
            assert!(refused > MUTATIONS / 4, "{typed}: {refused} of {MUTATIONS} refused");
            assert!(checksum || accepted > 0, "{typed}: the test damages only the lengths");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Includes payloads that the container would store.
    #[test]
    fn every_payload_round_trips(payload in payload()) {
        for typed in SPECS {
            let stored = body(typed, &payload);
            let mut decoded = vec![0xaa; payload.len()];
            prop_assert_eq!(codec(typed).decode(&stored, &mut decoded).unwrap(), stored.len());
            prop_assert!(decoded == payload, "{}", typed);
        }
    }

    #[test]
    fn every_lz4_reader_decodes_every_lz4_writer(payload in payload()) {
        for typed in SPECS.iter().filter(|typed| typed.starts_with("lz4")) {
            let stored = encode(typed, &payload);
            for reader in [Lz4Reader::Liblz4, Lz4Reader::Lz4Flex] {
                let mut decoded = vec![0xaa; payload.len()];
                prop_assert_eq!(decoder(reader).decode(&stored, &mut decoded).unwrap(), stored.len());
                prop_assert!(decoded == payload, "{} by {:?}", typed, reader);
            }
        }
    }

    #[test]
    fn lzo_is_compatible_with_lzokay(payload in payload()) {
        assert_lzo_is_compatible(&payload);
    }
}

fn assert_lzo_is_compatible(payload: &[u8]) {
    for typed in SPECS.iter().filter(|typed| typed.starts_with("lzo")) {
        let stored = body(typed, payload);
        assert!(block(&stored).ends_with(&[0x11, 0x00, 0x00]), "{typed}: no end marker");
        let mut decoded = vec![0xaa; payload.len()];
        // lzokay requires at least one literal.
        if payload.is_empty() {
            assert_eq!(block(&stored), [0x11, 0x00, 0x00]);
        } else {
            let written = lzokay::decompress::decompress(block(&stored), &mut decoded);
            assert_eq!(written, Ok(payload.len()), "{typed}");
            assert!(decoded == payload, "{typed}");
        }
    }
    let theirs = lzokay::compress::compress(payload).unwrap();
    // Even its own decoder refuses its stream of an empty payload.
    if !payload.is_empty() {
        let mut decoded = vec![0xaa; payload.len()];
        codec("lzo,checksum=no").decode(&lzo_body(payload.len(), &theirs), &mut decoded).unwrap();
        assert!(decoded == payload, "{} bytes of another writer", payload.len());
    }
}

fn leb128(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A body without checksum.
fn lzo_body(payload_len: usize, block: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    leb128(payload_len, &mut body);
    leb128(block.len(), &mut body);
    body.extend_from_slice(block);
    body
}

/// Lengths and distances on both sides of every limit of the format.
#[test]
fn lzo_round_trips_instructions_of_every_form() {
    for distance in [3, 1_024, 2_047, 2_048, 2_049, 3_072, 3_073, 16_383, 16_384, 16_385, 32_768, 49_151, 49_152] {
        for length in [3, 4, 8, 9, 10, 33, 34, 264, 265, 288, 289, 700] {
            for literals in [0, 1, 3, 4, 18, 19, 273, 274] {
                let mut payload = noise(distance + 2_000);
                payload.truncate(distance.max(length));
                let start = payload.len() - distance;
                let copied: Vec<u8> = payload[start..].iter().copied().cycle().take(length).collect();
                payload.extend_from_slice(&copied);
                payload.extend_from_slice(&noise(literals));
                payload.extend_from_slice(&copied);
                assert_lzo_is_compatible(&payload);
            }
        }
    }
    for first in (0..=300).chain([1_000, 100_000]) {
        assert_lzo_is_compatible(&noise(first));
        assert_lzo_is_compatible(&[noise(first), vec![7; first]].concat());
    }
}

#[test]
fn lzo_decoder_follows_the_format_exactly() {
    let decode = |block: &[u8], payload_len: usize| {
        let mut payload = vec![0; payload_len];
        let decoded = codec("lzo,checksum=no").decode(&lzo_body(payload_len, block), &mut payload);
        decoded.map(|_| payload).map_err(|error| error.to_string())
    };
    let invalid = |found: &str| Err(format!("lzo body: expected a valid block, found {found}"));
    assert_eq!(decode(&[0x11, 0, 0], 0), Ok(vec![]));
    assert_eq!(decode(&[0x12, b'a', 0x11, 0, 0], 1), Ok(b"a".to_vec()));
    // Four literals, a match of three bytes at distance 1 and a literal; then the second form of a short match.
    assert_eq!(decode(&[0x15, 1, 2, 3, 4, 0x41, 0, 9, 0x11, 0, 0], 8), Ok(vec![1, 2, 3, 4, 4, 4, 4, 9]));
    assert_eq!(decode(&[0x14, 1, 2, 3, 0x08, 0, 0x11, 0, 0], 5), Ok(vec![1, 2, 3, 1, 2]));
    assert_eq!(decode(&[0x11, 0], 0), invalid("the end before the end marker"));
    assert_eq!(decode(&[0x12, b'a', 0x11, 0, 0, 0], 1), invalid("bytes after the end marker"));
    assert_eq!(decode(&[0x12, b'a', 0x12, 0, 0], 1), invalid("an unknown instruction"));
    assert_eq!(decode(&[0x12, b'a', 0x11, 1, 0], 1), invalid("an unknown instruction"));
    assert_eq!(decode(&[0x12, b'a', 0x40, 1, 0x11, 0, 0], 4), invalid("a match that starts before the payload"));
    assert_eq!(
        decode(&[0x13, b'a', b'b', 0x11, 0, 0], 3),
        Err("lzo body: expected 3 payload bytes, found 2".to_owned())
    );
    assert_eq!(
        decode(&[0x13, b'a', b'b', 0x11, 0, 0], 1),
        Err("lzo body: expected 1 payload bytes, found more".to_owned())
    );
    assert_eq!(
        decode(&[0x11, 0, 0], 766),
        Err("lzo body: expected a payload length that the block can hold, found 766 payload bytes in a block of 3"
            .to_owned())
    );
}

#[test]
fn snappy_block_length_must_agree_with_the_body() {
    let mut body = body("snappy", &text(200));
    assert_eq!(body[..2], [0xc8, 0x01]);
    assert_eq!(block(&body)[..2], [0xc8, 0x01]);
    let at = body.len() - 4 - block(&body).len();
    body[at] = 0xc7;
    let error = codec("snappy").decode(&body, &mut [0; 200]).unwrap_err();
    assert_eq!(error.to_string(), "snappy body: expected 200 payload bytes, found 199");
}

/// The slice of an empty payload may have a dangling address.
#[test]
fn empty_payloads_round_trip() {
    let (nothing, mut nowhere): ([u8; 0], Vec<u8>) = ([], Vec::new());
    for typed in SPECS {
        let stored = body(typed, &nothing);
        assert_eq!(stored[0], 0, "{typed}");
        assert_eq!(stored, body(typed, Vec::new().as_slice()), "{typed}");
        assert_eq!(codec(typed).decode(&stored, nowhere.as_mut_slice()).unwrap(), stored.len(), "{typed}");
        assert_eq!(
            codec(typed).decode_stream(&mut stored.as_slice(), 0, &mut |_| Ok(())).unwrap(),
            stored.len() as u64
        );
        assert_eq!(codec(typed).decode_prefix(&stored, &mut [0; 9]).unwrap(), 0, "{typed}");
        // The block of a payload that is not empty, and no block.
        for foreign in [&[0, 2, 0, 0, 0x99, 0xe9, 0xd8, 0x51][..], &[0, 0, 0x99, 0xe9, 0xd8, 0x51]] {
            assert!(codec(typed).decode(foreign, nowhere.as_mut_slice()).is_err(), "{typed}");
        }
        let mut room = [0; 3];
        assert!(codec(typed).decode(&[3, 0, 0, 0, 0, 0], &mut room).is_err(), "{typed}");
    }
}

#[test]
fn higher_levels_compress_better() {
    let payload = [text(60_000), noise(2_000), text(60_000)].concat();
    let lengths = |specs: &[&str]| specs.iter().map(|typed| body(typed, &payload).len()).collect::<Vec<_>>();
    let lz4 = lengths(&["lz4:1000", "lz4:20", "lz4:5", "lz4"]);
    assert!(lz4.is_sorted_by(|one, next| one > next), "{lz4:?}");
    let lzo = lengths(&["lzo:1", "lzo:2", "lzo:7", "lzo:8", "lzo:9"]);
    assert!(lzo.is_sorted_by(|one, next| one > next), "{lzo:?}");
    for same in ["lzo:3", "lzo:4", "lzo:5", "lzo:6"] {
        assert_eq!(body(same, &payload), body("lzo:2", &payload), "{same}");
    }
}

#[test]
fn block_codecs_without_dictionaries_refuse_them() {
    for typed in ["lz4_flex", "snappy", "lzo"] {
        let error = codec(typed).set_dictionary(None).unwrap_err();
        assert!(matches!(error, CodecError::NoDictionaries { .. }), "{typed}");
    }
}
