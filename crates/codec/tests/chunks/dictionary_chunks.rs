//! Dictionaries in the container: chunks name them by number, zlib streams by Adler-32, and each kind of payload may
//! have its own.

use std::collections::BTreeMap;
use std::io::BufReader;

use crate::common::{damage, encode, lost_checksum, noise, payload, spec, text};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use repackbench_codec::{
    AssignedDictionaries, BLOCK_LEN, BaseUse, ChunkDecoder, ChunkEncoder, ChunkKind, CodecError, DeltaBase,
    Dictionaries, Dictionary, KindEncoders, ObjectKind, TrainingSamples, ZlibReader,
};

/// Specs of each codec that takes dictionaries, and the first byte of its chunks with one.
const SPECS: [(&str, u8); 10] = [
    ("zstd:3", 0x42),
    ("zstd:19", 0x42),
    ("zstd:5,checksum=no", 0xc2),
    ("lz4", 0x43),
    ("lz4hc:9", 0x43),
    ("lz4hc:4,checksum=no", 0xc3),
    ("deflate:6", 0x4b),
    ("deflate:1,checksum=no", 0xcb),
    ("zlib:6", 0x78),
    ("zlib:1", 0x78),
];

/// The number of damaged chunks of each codec.
const MUTATIONS: usize = 10_000;

fn content() -> Dictionary {
    Dictionary::new([noise(9_000), text(9_000)].concat())
}

/// A payload that resembles [`content`].
fn alike() -> Vec<u8> {
    let content = content();
    [&content.bytes()[8_000..8_600], &noise(20)[10..], &content.bytes()[16_000..17_200]].concat()
}

/// A dictionary with tables, like those of `zstd --train`.
fn trained() -> Dictionary {
    let mut samples = TrainingSamples::default();
    for number in 0..400u32 {
        let noise = number.wrapping_mul(2_654_435_761);
        let line = format!("tree {noise:08x}\nauthor A U Thor <author@example.org> {number}\n\nhandle {noise}\n");
        samples.push(line.as_bytes());
    }
    Dictionary::new(samples.train(4_096, 3).unwrap())
}

fn encoder(typed: &str, number: u8, dictionary: &Dictionary) -> ChunkEncoder {
    ChunkEncoder::for_choice(spec(typed).default_choice(), Some((number, dictionary))).unwrap()
}

fn encode_with(typed: &str, number: u8, dictionary: &Dictionary, payload: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    assert_eq!(encoder(typed, number, dictionary).encode(payload, &mut stored).unwrap(), stored.len());
    stored
}

fn decoder(dictionaries: impl IntoIterator<Item = Dictionary>) -> ChunkDecoder {
    ChunkDecoder::new(ZlibReader::Stock).with_dictionaries(&Dictionaries::new(dictionaries))
}

/// Decodes `stored`, with other bytes after it, in every way.
fn assert_reads_back(decoder: &mut ChunkDecoder, stored: &[u8], payload: &[u8], typed: &str) {
    let followed = [stored, &noise(50)].concat();
    let mut decoded = vec![0xaa; payload.len()];
    assert_eq!(decoder.decode(&followed, &mut decoded).unwrap(), stored.len(), "{typed}");
    assert_eq!(decoded, payload, "{typed}");
    decoded.fill(0xaa);
    assert_eq!(decoder.decode_on_base(&followed, b"a base", &mut decoded).unwrap(), stored.len(), "{typed}");
    assert_eq!(decoded, payload, "{typed}");
    let mut pieces = Vec::new();
    let mut byte_by_byte = BufReader::with_capacity(1, followed.as_slice());
    let consumed = decoder.decode_stream_from(&mut byte_by_byte, payload.len() as u64, &mut |piece| {
        pieces.extend_from_slice(piece);
        Ok(())
    });
    assert_eq!((consumed.unwrap(), &pieces[..]), (stored.len() as u64, payload), "{typed}");
    let (mut prefix, mut streamed) = ([0xaa; 40], [0xbb; 40]);
    let filled = decoder.decode_prefix(&followed, &mut prefix).unwrap();
    assert_eq!((filled, &prefix[..filled]), (payload.len().min(40), &payload[..filled]), "{typed}");
    let filled = decoder.decode_prefix_from(&mut followed.as_slice(), &mut streamed).unwrap();
    assert_eq!((filled, &streamed[..filled]), (payload.len().min(40), &payload[..filled]), "{typed}");
}

#[test]
fn chunks_name_their_dictionary_by_number() {
    let (content, payload) = (content(), alike());
    for (typed, tag) in SPECS {
        for number in [0, 7, 255] {
            let stored = encode_with(typed, number, &content, &payload);
            assert_eq!(stored[0], tag, "{typed}");
            if tag != 0x78 {
                assert_eq!(stored[1], number, "{typed}");
            }
            assert!(stored.len() * 2 < encode(typed, &payload).len(), "{typed}: {} bytes", stored.len());
            let others = (0..number).map(|other| Dictionary::new([other; 20]));
            assert_reads_back(&mut decoder(others.chain([content.clone()])), &stored, &payload, typed);
        }
    }
}

#[test]
fn frames_omit_the_identifier_of_a_trained_dictionary() {
    let (dictionary, payload) = (trained(), b"tree 01234567\nauthor A U Thor <author@example.org> 12\n\nhandle 1\n");
    let stored = encode_with("zstd:3", 0, &dictionary, payload);
    assert!(stored.len() * 10 < payload.len() * 7, "{} bytes", stored.len());
    // RFC 8878: the descriptor's lowest two bits say how long the identifier is.
    assert_eq!((stored[..2].to_vec(), stored[2] & 0x03), (vec![0x42, 0], 0));
    assert_reads_back(&mut decoder([dictionary]), &stored, payload, "zstd:3");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_codec_round_trips_with_a_dictionary(payloads in prop::collection::vec(payload(), 1..4)) {
        let content = content();
        let mut decoder = decoder([content.clone()]);
        for (typed, _) in SPECS {
            let mut reused = encoder(typed, 0, &content);
            for payload in &payloads {
                let mut stored = Vec::new();
                reused.encode(payload, &mut stored).unwrap();
                prop_assert_eq!(&stored, &encode_with(typed, 0, &content, payload), "{}", typed);
                let mut streamed = Vec::new();
                reused.encode_stream(&mut payload.as_slice(), payload.len() as u64, &mut streamed).unwrap();
                prop_assert_eq!(&streamed, &stored, "{}: encode_stream differs from encode", typed);
                assert_reads_back(&mut decoder, &stored, payload, typed);
                prop_assert!(decoder.decode(&stored[..stored.len() - 1], &mut vec![0; payload.len()]).is_err());
            }
        }
    }
}

#[test]
fn error_names_the_missing_dictionary() {
    let payload = alike();
    for (typed, tag) in SPECS {
        let stored = encode_with(typed, 5, &content(), &payload);
        let five = (0..5).map(|other| Dictionary::new([other; 20]));
        for mut decoder in [decoder(five), ChunkDecoder::new(ZlibReader::Libdeflate)] {
            let mut room = vec![0; payload.len()];
            let error = decoder.decode(&stored, &mut room).unwrap_err();
            assert!(matches!(error, CodecError::NoSuchDictionary { .. }), "{typed}: {error}");
            let adler32 = u32::from_be_bytes([stored[2], stored[3], stored[4], stored[5]]);
            let name = if tag == 0x78 { format!("one with Adler-32 {adler32:08x}") } else { "number 5".to_owned() };
            assert_eq!(error.to_string(), format!("expected a dictionary of the repository, found {name}"), "{typed}");
            assert!(decoder.decode_prefix(&stored, &mut room[..10]).is_err(), "{typed}");
            assert!(decoder.decode_stream(&stored, payload.len() as u64, &mut |_| Ok(())).is_err(), "{typed}");
        }
    }
    for tag_without_number in [0x42, 0xc2, 0x43, 0xc3, 0x4b, 0xcb] {
        let error = decoder([content()]).decode(&[tag_without_number], &mut [0; 4]).unwrap_err();
        assert!(matches!(error, CodecError::Truncated { .. }), "{tag_without_number:#04x}: {error}");
    }
}

#[test]
fn decode_rejects_the_wrong_dictionary() {
    let payload = alike();
    let mut other = content().bytes().to_vec();
    other.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    for (typed, _) in SPECS.into_iter().filter(|(typed, _)| spec(typed).checksum()) {
        let stored = encode_with(typed, 0, &content(), &payload);
        let refused = decoder([Dictionary::new(other.clone())]).decode(&stored, &mut vec![0; payload.len()]);
        assert!(refused.is_err(), "{typed}");
    }
}

#[test]
fn codecs_share_a_dictionary() {
    let (content, payload) = (content(), alike());
    let chunks = SPECS.map(|(typed, _)| (typed, encode_with(typed, 1, &content, &payload)));
    let mut decoder = decoder([Dictionary::new(noise(400)), content.clone()]);
    for _ in 0..2 {
        for (typed, stored) in &chunks {
            assert_reads_back(&mut decoder, stored, &payload, typed);
            let plain = encode(typed, &payload);
            assert_reads_back(&mut decoder, &plain, &payload, typed);
        }
    }
}

#[test]
fn zlib_streams_find_their_dictionary_by_adler32() {
    let (content, payload) = (content(), alike());
    let stored = encode_with("zlib:6", 0, &content, &payload);
    assert_eq!(stored[1] & 0x20, 0x20, "FDICT");
    assert_eq!(ChunkDecoder::identify(&stored), Some("zlib"));
    let long = Dictionary::new(text((32 << 10) + 1));
    let dictionaries = [long.clone(), Dictionary::new(noise(50)), content];
    for reader in ZlibReader::ALL {
        let mut decoder = ChunkDecoder::new(reader).with_dictionaries(&Dictionaries::new(dictionaries.clone()));
        assert_reads_back(&mut decoder, &stored, &payload, "zlib:6");
    }
    // A dictionary that is too long for DEFLATE cannot be found by its Adler-32. 1 is the Adler-32 of no bytes.
    let mut unknown = stored.clone();
    unknown[2..6].copy_from_slice(&1u32.to_be_bytes());
    let error = decoder([long]).decode(&unknown, &mut vec![0; payload.len()]).unwrap_err();
    assert!(matches!(error, CodecError::NoSuchDictionary { .. }), "{error}");
}

#[test]
fn payloads_that_do_not_shrink_are_stored_by_default() {
    let (content, dull) = (content(), vec![noise(9_600)[9_000..].to_vec(), b"\0\x01".to_vec()]);
    for payload in &dull {
        for typed in ["zstd:3", "lz4", "lz4hc:9", "deflate:6"] {
            let stored = encode_with(typed, 3, &content, payload);
            assert_eq!(stored, encode("store", payload), "{typed}: a store body needs no number");
            let unchecked = encode_with(&format!("{typed},checksum=no"), 3, &content, payload);
            assert_eq!(unchecked, encode("store,checksum=no", payload), "{typed}");
            let kept = format!("{typed},store-if-larger=no");
            let (with, without) = (encode_with(&kept, 0, &content, payload), encode(&kept, payload));
            assert_eq!(with[..2], [without[0] | 0x40, 0], "{typed}");
            assert_ne!(without[0] & 0x0f, 1, "{typed}");
            assert!(with.len() > payload.len() && without.len() > payload.len(), "{typed}");
            for stored in [with, without] {
                assert_reads_back(&mut decoder([content.clone()]), &stored, payload, typed);
            }
        }
    }
}

#[test]
fn payloads_above_a_block_use_no_dictionary() {
    let (content, payload) = (content(), vec![7; BLOCK_LEN + 100]);
    for (typed, first) in [("zstd:1", 0x02), ("lz4", 0x23), ("deflate:1", 0x0b), ("zlib:1", 0x78)] {
        let stored = encode_with(typed, 0, &content, &payload);
        assert_eq!(stored[0], first, "{typed}");
        assert!(stored == encode(typed, &payload), "{typed}");
        let mut streamed = Vec::new();
        let length = payload.len() as u64;
        encoder(typed, 0, &content).encode_stream(&mut payload.as_slice(), length, &mut streamed).unwrap();
        assert!(streamed == stored, "{typed}");
    }
}

#[test]
fn blocks_with_a_dictionary_are_rejected() {
    let payload = vec![7; BLOCK_LEN + 100];
    let mut stored = encode("lz4", &payload);
    // The first block's tag follows the tag and a length of four bytes.
    assert_eq!((stored[0], stored[5]), (0x23, 0x03));
    stored[5] = 0x43;
    let error = decoder([content()]).decode(&stored, &mut vec![0; payload.len()]).unwrap_err().to_string();
    let expected = "blocked body: expected the tag byte of a block of this chunk, found 0x43";
    assert_eq!(error, expected);
}

#[test]
fn each_kind_has_its_codec_and_its_dictionary() {
    let typed = "zstd:3,dict=4k,tree=store,blob=lz4hc:9,dict=4k,tag=deflate:6,delta=zstd:5,prefix";
    let kind = |object, is_delta| ChunkKind { object, is_delta };
    let by_kind = BTreeMap::from([
        (kind(ObjectKind::Commit, false), 1),
        (kind(ObjectKind::Blob, false), 0),
        // A part without `dict=` uses no dictionary, even if there is one.
        (kind(ObjectKind::Tag, false), 0),
        (kind(ObjectKind::Blob, true), 1),
    ]);
    let dictionaries = Dictionaries::new([content(), Dictionary::new(text(2_000))]);
    let assigned = AssignedDictionaries { dictionaries: dictionaries.clone(), by_kind };
    let mut encoders: KindEncoders = KindEncoders::new(&spec(typed), &assigned);
    let payload = alike();
    let mut decoder = ChunkDecoder::new(ZlibReader::Stock).with_dictionaries(&dictionaries);
    for _ in 0..2 {
        for (object, is_delta, first) in [
            (ObjectKind::Commit, false, &[0x42, 1][..]),
            (ObjectKind::Tree, false, &[0x01]),
            (ObjectKind::Blob, false, &[0x43, 0]),
            (ObjectKind::Tag, false, &[0x0b]),
            (ObjectKind::Changelog, false, &[0x02]),
            (ObjectKind::Commit, true, &[0x02]),
            (ObjectKind::Blob, true, &[0x02]),
        ] {
            let encoder = encoders.for_kind(kind(object, is_delta)).unwrap();
            assert_eq!(encoder.uses_bases(), is_delta, "{object}");
            let mut stored = Vec::new();
            encoder.encode(&payload, &mut stored).unwrap();
            assert_eq!(stored[..first.len()], *first, "{object}, delta: {is_delta}");
            assert_reads_back(&mut decoder, &stored, &payload, typed);
        }
    }
}

#[test]
fn encoder_uses_a_base_that_beats_the_dictionary() {
    let (content, noise) = (content(), noise(10_000));
    // Only the base contains the end of the delta.
    let delta = [&alike()[..], &noise[9_500..]].concat();
    let mut encoder = encoder("zstd:9,dict=18k,prefix", 0, &content);
    let mut decoder = decoder([content.clone()]);
    // A copy, because zstd ignores a prefix that is also the payload.
    let same = delta.clone();
    for (base, base_use, first) in [(&same[..], BaseUse::Prefix, 0x12), (&noise[..4_000], BaseUse::None, 0x42)] {
        let mut stored = Vec::new();
        encoder.encode_delta(&delta, &DeltaBase { content: base, object: None }, &mut stored).unwrap();
        assert_eq!((ChunkDecoder::base_use(&stored), stored[0]), (base_use, first));
        let mut decoded = vec![0; delta.len()];
        assert_eq!(decoder.decode_on_base(&stored, base, &mut decoded).unwrap(), stored.len());
        assert_eq!(decoded, delta);
    }
}

#[test]
fn damaged_chunks_with_a_dictionary_are_rejected() {
    const GUARD: [u8; 16] = [0xa5; 16];
    let (content, payload) = (content(), alike());
    for typed in ["zstd:9", "zstd:3,checksum=no", "lz4hc:9", "deflate:6", "zlib:6"] {
        let mut random = SmallRng::seed_from_u64(0x5eed);
        let original = encode_with(typed, 1, &content, &payload);
        let mut decoder = decoder([Dictionary::new(text(700)), content.clone()]);
        let mut accepted = 0;
        for round in 0..MUTATIONS {
            let mut stored = original.clone();
            damage(&mut stored, &mut random);
            let mut room = [&vec![0; payload.len()][..], &GUARD].concat();
            let decoded = decoder.decode(&stored, &mut room[..payload.len()]).ok();
            assert_eq!(room[payload.len()..], GUARD);
            assert!(decoded.is_none_or(|consumed| consumed <= stored.len()));
            let mut pieces = Vec::new();
            let mut source = BufReader::with_capacity(7, stored.as_slice());
            let streamed = decoder.decode_stream_from(&mut source, payload.len() as u64, &mut |piece| {
                pieces.extend_from_slice(piece);
                Ok(())
            });
            assert!(pieces.len() <= payload.len(), "more was delivered than requested");
            assert_eq!(streamed.ok(), decoded.map(|consumed| consumed as u64), "{typed}: two ways to read disagree");
            let _ = decoder.decode_prefix(&stored, &mut [0; 50]);
            if decoded.is_some() {
                accepted += 1;
                let guarded = spec(typed).checksum() && !lost_checksum(&original, &stored);
                assert!(!guarded || room[..payload.len()] == payload, "{typed}: wrong bytes in round {round}");
            }
        }
        assert!(accepted < MUTATIONS / 2, "{typed}: {accepted} damaged chunks were accepted");
        assert_reads_back(&mut decoder, &original, &payload, typed);
    }
}
