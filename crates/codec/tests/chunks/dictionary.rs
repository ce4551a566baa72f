//! Dictionaries in the layer below the container.

use std::io::BufReader;

use crate::common::{noise, spec, text};
use repackbench_codec::{
    Algorithm, AssignedDictionaries, ChunkDecoder, ChunkKind, Codec, CodecError, CodecSpec, Decoders, DeflateReader,
    Dictionaries, Dictionary, KindEncoders, Lz4Reader, ObjectKind, StoredForm, ZlibReader,
};

fn zstd() -> Box<dyn Codec> {
    spec("zstd:9").new_codec().unwrap()
}

fn body(codec: &mut dyn Codec, payload: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    codec.encode(payload, &mut stored).unwrap();
    stored
}

#[test]
fn zstd_dictionary_shrinks_and_is_needed_to_decode() {
    let resemblance = noise(8_000);
    let dictionary = Dictionary::new(resemblance.clone());
    let payload = [&resemblance[1_000..3_000], b"and something else"].concat();

    let mut encoder = zstd();
    let plain = body(encoder.as_mut(), &payload);
    encoder.set_dictionary(Some(&dictionary)).unwrap();
    let with_dictionary = body(encoder.as_mut(), &payload);
    assert!(with_dictionary.len() * 10 < plain.len(), "{} against {}", with_dictionary.len(), plain.len());

    let mut decoder = zstd();
    let mut decoded = vec![0; payload.len()];
    assert!(decoder.decode(&with_dictionary, &mut decoded).is_err(), "read without its dictionary");
    decoder.set_dictionary(Some(&Dictionary::new(text(8_000)))).unwrap();
    assert!(decoder.decode(&with_dictionary, &mut decoded).is_err(), "read with another dictionary");

    decoder.set_dictionary(Some(&dictionary)).unwrap();
    for _ in 0..3 {
        decoded.fill(0);
        assert_eq!(decoder.decode(&with_dictionary, &mut decoded).unwrap(), with_dictionary.len());
        assert_eq!(decoded, payload);
    }
    let mut prefix = [0; 100];
    assert_eq!(decoder.decode_prefix(&with_dictionary, &mut prefix).unwrap(), 100);
    assert_eq!(prefix, payload[..100]);

    encoder.set_dictionary(None).unwrap();
    assert_eq!(body(encoder.as_mut(), &payload), plain, "the dictionary was not taken away");
    decoder.set_dictionary(None).unwrap();
    assert_eq!(decoder.decode(&plain, &mut decoded).unwrap(), plain.len());
}

#[test]
fn zstd_dictionary_applies_to_streams() {
    let resemblance = noise(8_000);
    let dictionary = Dictionary::new(resemblance.clone());
    let payload = resemblance[..4_000].repeat(100);
    let mut codec = zstd();
    codec.set_dictionary(Some(&dictionary)).unwrap();
    let mut stored = Vec::new();
    codec.encode_stream(&mut payload.as_slice(), payload.len() as u64, &mut stored).unwrap();
    assert!(stored.len() < 2_000, "{} bytes", stored.len());
    let mut decoded = Vec::new();
    let consumed = codec
        .decode_stream(&mut stored.as_slice(), payload.len() as u64, &mut |piece| {
            decoded.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    assert_eq!(consumed, stored.len() as u64);
    assert_eq!(decoded, payload);
}

#[test]
fn damaged_dictionary_is_refused_and_the_old_one_kept() {
    let dictionary = Dictionary::new(noise(8_000));
    let payload = dictionary.bytes()[100..600].to_vec();
    let mut codec = zstd();
    codec.set_dictionary(Some(&dictionary)).unwrap();
    let before = body(codec.as_mut(), &payload);
    // The magic number of a trained dictionary without valid tables after it.
    let damaged = Dictionary::new([&[0x37, 0xa4, 0x30, 0xec][..], &noise(500)].concat());
    let error = codec.set_dictionary(Some(&damaged)).unwrap_err();
    assert_eq!(error.to_string(), "zstd: expected a usable dictionary, found 504 bytes that the codec refuses");
    assert_eq!(body(codec.as_mut(), &payload), before);
}

/// Preset dictionaries of DEFLATE, with and without the wrapper of RFC 1950.
#[test]
fn deflate_accepts_raw_content_as_dictionary() {
    let resemblance = noise(30_000);
    let dictionary = Dictionary::new(resemblance.clone());
    let payload = [&resemblance[20_000..20_200], b"and something else", &resemblance[5_000..6_000]].concat();
    for typed in ["zlib:6", "zlib:1", "deflate:9"] {
        let mut encoder = spec(typed).new_codec().unwrap();
        let plain = body(encoder.as_mut(), &payload);
        encoder.set_dictionary(Some(&dictionary)).unwrap();
        let stored = body(encoder.as_mut(), &payload);
        assert!(stored.len() * 10 < plain.len(), "{typed}: {} against {}", stored.len(), plain.len());
        assert_eq!(body(encoder.as_mut(), &payload), stored, "{typed}: depends on earlier payloads");
        let mut streamed = Vec::new();
        encoder.encode_stream(&mut payload.as_slice(), payload.len() as u64, &mut streamed).unwrap();
        assert_eq!(streamed, stored, "{typed}");

        let mut decoder = spec(typed).new_codec().unwrap();
        let mut decoded = vec![0; payload.len()];
        let mut refused = |decoder: &mut dyn Codec| decoder.decode(&stored, &mut decoded).unwrap_err().to_string();
        let none = refused(decoder.as_mut());
        decoder.set_dictionary(Some(&Dictionary::new(text(30_000)))).unwrap();
        let other = refused(decoder.as_mut());
        if typed.starts_with("zlib") {
            // The stream names its dictionary after a header whose bit 5 says so.
            assert_eq!((stored[0], stored[1] & 0x20), (0x78, 0x20));
            let id = format!("one that needs dictionary {:#010x}", adler32(&resemblance));
            assert_eq!(none, format!("zlib stream: expected a body without dictionary, found {id}"));
            assert_eq!(other, format!("zlib stream: expected a body for the given dictionary, found {id}"));
        } else {
            assert!(other.starts_with("deflate body: payload checksum: expected "), "{other}");
        }

        decoder.set_dictionary(Some(&dictionary)).unwrap();
        for _ in 0..3 {
            decoded.fill(0);
            assert_eq!(decoder.decode(&stored, &mut decoded).unwrap(), stored.len(), "{typed}");
            assert_eq!(decoded, payload, "{typed}");
            let mut prefix = [0; 100];
            assert_eq!(decoder.decode_prefix(&stored, &mut prefix).unwrap(), 100, "{typed}");
            assert_eq!(prefix, payload[..100], "{typed}");
            let mut pieces = Vec::new();
            let mut byte_by_byte = BufReader::with_capacity(1, stored.as_slice());
            let length = payload.len() as u64;
            let consumed = decoder.decode_stream(&mut byte_by_byte, length, &mut |piece| {
                pieces.extend_from_slice(piece);
                Ok(())
            });
            assert_eq!((consumed.unwrap(), &pieces), (stored.len() as u64, &payload), "{typed}");
        }
        decoder.set_dictionary(None).unwrap();
        assert_eq!(decoder.decode(&plain, &mut decoded).unwrap(), plain.len(), "{typed}");
        for length in [0, (32 << 10) + 1] {
            let refused = decoder.set_dictionary(Some(&Dictionary::new(text(length)))).unwrap_err();
            assert!(matches!(refused, CodecError::BadDictionary { length: found, .. } if found == length), "{typed}");
        }
        decoder.set_dictionary(Some(&Dictionary::new(text(32 << 10)))).unwrap();
    }
}

/// RFC 1950's checksum.
fn adler32(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

#[test]
fn capabilities_say_whether_a_codec_takes_dictionaries() {
    let dictionary = Dictionary::new(text(1_000));
    for algorithm in Algorithm::ALL {
        let mut codec = CodecSpec::of(algorithm).new_codec().unwrap();
        let result = codec.set_dictionary(Some(&dictionary));
        assert_eq!(result.is_ok(), codec.capabilities().dictionaries, "{}", algorithm.name());
        if let Err(error) = result {
            assert!(matches!(error, CodecError::NoDictionaries { .. }));
            assert_eq!(error.to_string(), format!("{} takes no dictionaries", algorithm.name()));
        }
    }
}

/// The codecs that take any bytes as a dictionary, and use 64 KiB of it.
const RAW_CONTENT: [&str; 7] = ["lz4", "lz4:30", "lz4hc:1", "lz4hc:2", "lz4hc:9", "lz4hc:10", "lz4hc:12"];

fn raw_content(typed: &str, dictionary: Option<&Dictionary>) -> Box<dyn Codec> {
    let mut codec = spec(typed).new_codec().unwrap();
    codec.set_dictionary(dictionary).unwrap();
    codec
}

/// Short and long payloads, some of which resemble the dictionary's start, middle or end.
fn payloads(resemblance: &[u8]) -> Vec<Vec<u8>> {
    let end = resemblance.len();
    let part = |from: usize, length: usize| resemblance[from.min(end)..(from + length).min(end)].to_vec();
    vec![
        Vec::new(),
        b"x".to_vec(),
        part(0, 20),
        part(end / 2, 50),
        part(end.saturating_sub(30), 30),
        [part(end.saturating_sub(40), 40), text(30), part(end / 3, 200)].concat(),
        [part(end / 2, 3_000), noise(100)].concat(),
        [part(end / 4, 5_000), text(3_000), part(end / 4, 5_000)].concat(),
        [text(70_000), part(end / 2, 9_000), vec![0; 70_000]].concat(),
        noise(500),
    ]
}

#[test]
fn raw_content_of_any_length_is_a_dictionary() {
    for typed in RAW_CONTENT {
        for length in [0, 1, 3, 4, 7, 8, 20, 1_000, 65_535, 65_536, 65_537, 200_000] {
            let resemblance = [noise(length / 2), text(length - length / 2)].concat();
            let dictionary = Dictionary::new(resemblance.clone());
            let (mut encoder, mut decoder) =
                (raw_content(typed, Some(&dictionary)), raw_content(typed, Some(&dictionary)));
            for payload in payloads(&resemblance) {
                let stored = body(encoder.as_mut(), &payload);
                let expected = body(raw_content(typed, Some(&dictionary)).as_mut(), &payload);
                assert!(stored == expected, "{typed}, {length}: depends on earlier payloads");
                let mut decoded = vec![0xaa; payload.len()];
                assert_eq!(decoder.decode(&stored, &mut decoded).unwrap(), stored.len(), "{typed}, {length}");
                assert!(decoded == payload, "{typed}, {length}");
            }
        }
    }
}

#[test]
fn only_the_last_64_kib_of_raw_content_are_used() {
    let long = Dictionary::new([text(9_000), noise(65_536)].concat());
    let last = Dictionary::new(noise(65_536));
    for typed in RAW_CONTENT {
        for payload in payloads(last.bytes()) {
            let stored = body(raw_content(typed, Some(&long)).as_mut(), &payload);
            assert!(stored == body(raw_content(typed, Some(&last)).as_mut(), &payload), "{typed}");
        }
    }
}

#[test]
fn raw_content_shrinks_and_is_needed_to_decode() {
    let resemblance = noise(60_000);
    let dictionary = Dictionary::new(resemblance.clone());
    let payloads = [&resemblance[100..8_000], &resemblance[30_000..30_050], &resemblance[59_000..]];
    for typed in RAW_CONTENT {
        // The fast mode remembers only 4,096 positions of a dictionary, so most short payloads find nothing.
        let found = if typed.starts_with("lz4:") {
            0
        } else if typed == "lz4" {
            1
        } else {
            payloads.len()
        };
        for payload in &payloads[..found] {
            let mut codec = raw_content(typed, None);
            let plain = body(codec.as_mut(), payload);
            codec.set_dictionary(Some(&dictionary)).unwrap();
            let stored = body(codec.as_mut(), payload);
            assert!(stored.len() < plain.len() * 2 / 3, "{typed}: {} against {}", stored.len(), plain.len());

            let mut decoded = vec![0; payload.len()];
            let others = [None, Some(Dictionary::new(text(60_000))), Some(Dictionary::new(resemblance[1..].to_vec()))];
            for other in &others {
                let refused = raw_content(typed, other.as_ref()).decode(&stored, &mut decoded);
                // The last one has the same bytes at the same distances from the end.
                let same = other.as_ref().is_some_and(|other| other.bytes().len() == 59_999);
                assert_eq!(refused.is_ok(), same, "{typed}: read with another dictionary");
            }
            let shifted = Dictionary::new([&resemblance[..], b"z"].concat());
            assert!(raw_content(typed, Some(&shifted)).decode(&stored, &mut decoded).is_err(), "{typed}");
            assert_eq!(codec.decode(&stored, &mut decoded).unwrap(), stored.len());
            assert!(decoded == *payload, "{typed}");

            codec.set_dictionary(None).unwrap();
            assert_eq!(body(codec.as_mut(), payload), plain, "{typed}: the dictionary was not taken away");
        }
    }
}

#[test]
fn damaged_bodies_with_a_dictionary_are_rejected() {
    let resemblance = text(20_000);
    let dictionary = Dictionary::new(resemblance.clone());
    let payload = [&resemblance[500..900], &noise(20), &resemblance[15_000..16_000]].concat();
    for typed in ["lz4", "lz4hc:9"] {
        let mut codec = raw_content(typed, Some(&dictionary));
        let original = body(codec.as_mut(), &payload);
        let mut changes = noise(120_000).into_iter();
        let mut change = || usize::from(changes.next().unwrap());
        for _ in 0..10_000 {
            let mut stored = original.clone();
            for _ in 0..=change() % 3 {
                let place = (change() << 8 | change()) % stored.len();
                stored[place] = change() as u8;
            }
            let mut room = vec![0x5a; payload.len() + 64];
            let result = codec.decode(&stored, &mut room[32..32 + payload.len()]);
            assert!(room[..32].iter().chain(&room[32 + payload.len()..]).all(|byte| *byte == 0x5a));
            assert!(result.is_err() || room[32..32 + payload.len()] == payload, "{typed}: wrong bytes");
        }
    }
}

/// Some implementations support no dictionaries. Others decode such chunks, whatever the choice.
#[test]
fn every_decoder_choice_decodes_chunks_with_a_dictionary() {
    let dictionary = Dictionary::new(noise(8_000));
    let dictionaries = Dictionaries::new(vec![dictionary.clone()]);
    let payload = [&dictionary.bytes()[500..1_500], b"and something else"].concat();
    let kind = ChunkKind { object: ObjectKind::Blob, is_delta: false };
    let assigned = AssignedDictionaries { dictionaries: dictionaries.clone(), by_kind: [(kind, 0)].into() };
    for typed in ["zlib:9,dict=8k", "deflate:9,dict=8k", "lz4hc:9,dict=8k"] {
        let mut stored = Vec::new();
        let mut encoders: KindEncoders = KindEncoders::new(&spec(typed), &assigned);
        encoders.for_kind(kind).unwrap().encode(&payload, &mut stored).unwrap();
        assert_eq!(StoredForm::of_chunk(&stored), Some(StoredForm::Dictionary), "{typed}");
        let zlib = ZlibReader::ALL.map(|zlib| Decoders { zlib, ..Decoders::default() });
        let deflate = DeflateReader::ALL.map(|deflate| Decoders { deflate, ..Decoders::default() });
        let lz4 = Lz4Reader::ALL.map(|lz4| Decoders { lz4, ..Decoders::default() });
        for decoders in zlib.into_iter().chain(deflate).chain(lz4) {
            let mut decoder = ChunkDecoder::new(decoders).with_dictionaries(&dictionaries);
            let mut decoded = vec![0; payload.len()];
            assert_eq!(decoder.decode(&stored, &mut decoded).unwrap(), stored.len(), "{typed}, {decoders:?}");
            assert!(decoded == payload, "{typed}, {decoders:?}");
        }
    }
}
