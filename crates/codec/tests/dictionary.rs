//! Dictionaries, at the layer beneath the container.

mod common;

use std::io::BufReader;

use common::{noise, spec, text};
use repackbench_codec::{Algorithm, Codec, CodecError, CodecSpec, Dictionary};

fn zstd() -> Box<dyn Codec> {
    spec("zstd:9").new_codec().unwrap()
}

fn body(codec: &mut dyn Codec, payload: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    codec.encode(payload, &mut stored).unwrap();
    stored
}

#[test]
fn a_dictionary_shrinks_what_resembles_it_and_is_needed_to_read_it() {
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
fn a_dictionary_holds_for_streams() {
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
fn a_damaged_dictionary_is_refused_and_the_old_one_kept() {
    let dictionary = Dictionary::new(noise(8_000));
    let payload = dictionary.bytes()[100..600].to_vec();
    let mut codec = zstd();
    codec.set_dictionary(Some(&dictionary)).unwrap();
    let before = body(codec.as_mut(), &payload);
    // The magic number of a trained dictionary, then nothing that could be its tables.
    let damaged = Dictionary::new([&[0x37, 0xa4, 0x30, 0xec][..], &noise(500)].concat());
    let error = codec.set_dictionary(Some(&damaged)).unwrap_err();
    assert_eq!(error.to_string(), "zstd: expected a usable dictionary, found 504 bytes that the codec refuses");
    assert_eq!(body(codec.as_mut(), &payload), before);
}

/// Preset dictionaries of DEFLATE, with and without the wrapping of RFC 1950.
#[test]
fn deflate_takes_raw_content() {
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
            // The stream names its dictionary, behind a header in which bit 5 says so.
            assert_eq!((stored[0], stored[1] & 0x20), (0x78, 0x20));
            let id = format!("a body that needs dictionary {:#010x}", adler32(&resemblance));
            assert_eq!(none, format!("zlib stream: expected no dictionary, found {id}"));
            assert_eq!(other, format!("zlib stream: expected the dictionary that was given, found {id}"));
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
fn codecs_say_whether_they_take_dictionaries() {
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
