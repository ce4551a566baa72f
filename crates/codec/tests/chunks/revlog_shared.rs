//! Revlog chunks that need a dictionary or the full text of the delta's base.

use crate::common::{noise, spec, text};
use proptest::prelude::*;
use repackbench_codec::{
    AssignedDictionaries, BaseUse, ChunkKind, DeltaBase, Dictionaries, Dictionary, KindEncoders, ObjectKind,
    RevlogDecoder, RevlogEncoder, ZlibReader,
};

const FORMAT: &str = include_str!("../../../../docs/format.md");

/// Specs with a dictionary, and the first byte of the chunks that need it.
const WITH_DICTIONARY: [(&str, u8); 5] = [
    ("zstd:9,dict=4k", 0xc2),
    ("lz4,dict=4k", 0xc3),
    ("lz4hc:9,dict=4k", 0xc3),
    ("zlib:6,dict=4k", 0xcb),
    ("deflate:6,dict=4k", 0xcb),
];

/// An encoder with dictionary number 7.
fn encoder(typed: &str, dictionary: &Dictionary) -> RevlogEncoder {
    RevlogEncoder::for_choice(spec(typed).default_choice(), Some((7, dictionary))).unwrap()
}

/// A decoder with `dictionary` as number 7.
fn decoder(dictionary: &Dictionary) -> RevlogDecoder {
    let other = Dictionary::new(*b"another");
    let dictionaries = (0..7).map(|_| other.clone()).chain([dictionary.clone()]);
    RevlogDecoder::new(ZlibReader::Stock).with_dictionaries(&Dictionaries::new(dictionaries))
}

fn encode(encoder: &mut RevlogEncoder, payload: &[u8]) -> Vec<u8> {
    let mut chunk = b"before".to_vec();
    let length = encoder.encode(payload, &mut chunk).unwrap();
    assert_eq!(chunk.len(), length + 6);
    chunk.split_off(6)
}

#[test]
fn dictionary_shrinks_payloads_and_chunks_name_it() {
    let resemblance = noise(3_000);
    let dictionary = Dictionary::new(resemblance.clone());
    for (typed, tag) in WITH_DICTIONARY {
        let (mut encoder, mut decoder) = (encoder(typed, &dictionary), decoder(&dictionary));
        for payload in [&resemblance[100..140], &resemblance[500..2_500], &[&resemblance[..], &text(70_000)].concat()] {
            let chunk = encode(&mut encoder, payload);
            assert_eq!(chunk[..2], [tag, 7], "{typed}");
            assert!(chunk.len() < payload.len(), "{typed}: {} of {}", chunk.len(), payload.len());
            for limit in [payload.len(), 1 << 30] {
                let mut decoded = b"before".to_vec();
                assert_eq!(decoder.decode(&chunk, limit, &mut decoded).unwrap(), payload.len(), "{typed}");
                assert_eq!(decoded[6..], *payload, "{typed}");
            }
            let refusal = |decoder: &mut RevlogDecoder, chunk: &[u8], limit| {
                let mut decoded = b"before".to_vec();
                let error = decoder.decode(chunk, limit, &mut decoded).unwrap_err().to_string();
                assert_eq!(decoded, b"before");
                error
            };
            let short = refusal(&mut decoder, &chunk, payload.len() - 1);
            assert!(short.contains(&format!("expected at most {} payload bytes", payload.len() - 1)), "{short}");
            let mut unknown = chunk.clone();
            unknown[1] = 8;
            assert!(refusal(&mut decoder, &unknown, 1 << 20).contains("number 8"));
            assert!(refusal(&mut RevlogDecoder::new(ZlibReader::Stock), &chunk, 1 << 20).contains("number 7"));
            for cut in 1..chunk.len().min(40) {
                refusal(&mut decoder, &chunk[..cut], 1 << 20);
            }
            refusal(&mut decoder, &[chunk.as_slice(), b"?"].concat(), 1 << 20);
        }
        assert_eq!(encode(&mut encoder, b""), b"");
        let noise = noise(9_000);
        assert_eq!(encode(&mut encoder, &noise[4_000..])[0], b'u', "{typed}: payloads that do not shrink are raw");
    }
}

/// A claim of gigabytes in a few bytes is an error and allocates little memory.
#[test]
fn claimed_lengths_with_dictionary_or_base_are_not_trusted() {
    let dictionary = Dictionary::new(noise(3_000));
    let mut payload = Vec::new();
    for chunk in [
        &b"\xc3\x07\xff\xff\xff\x7f\x05hello"[..],
        b"\xcb\x07\xff\xff\xff\x7f\x03\x00",
        b"\xc2\x07\xa0\xff\xff\xff\x00\x01\x00\x00",
    ] {
        decoder(&dictionary).decode(chunk, usize::MAX, &mut payload).unwrap_err();
        assert!(payload.capacity() < 8 << 20, "{chunk:x?}: {}", payload.capacity());
    }
    let chunk = b"\x92\xa0\xff\xff\xff\x00\x01\x00\x00";
    let refused = decoder(&dictionary).decode_on_base(chunk, b"a base", usize::MAX, &mut payload).unwrap_err();
    assert!(refused.to_string().contains("expected a plausible payload length"), "{refused}");
    assert!(payload.capacity() < 8 << 20);
}

fn encode_delta(typed: &str, delta: &[u8], base: &[u8], object: &[u8]) -> Vec<u8> {
    let mut encoder = RevlogEncoder::for_choice(spec(typed).default_choice(), None).unwrap();
    assert!(encoder.uses_bases());
    let mut chunk = b"before".to_vec();
    let base = DeltaBase { content: base, object: Some(object) };
    let length = encoder.encode_delta(delta, &base, &mut chunk).unwrap();
    assert_eq!(chunk.len(), length + 6);
    chunk.split_off(6)
}

/// A text, its successor, and the hunk that turns one into the other.
fn texts(insert: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let base = noise(6_000);
    let object = [&base[..1_000], insert, &base[1_500..]].concat();
    let mut delta: Vec<u8> = [1_000_u32, 1_500, insert.len() as u32].iter().flat_map(|n| n.to_be_bytes()).collect();
    delta.extend_from_slice(insert);
    (base, object, delta)
}

#[test]
fn deltas_use_their_base_if_that_is_shorter() {
    // The base contains elsewhere what the delta inserts.
    let inserted = noise(6_000)[3_000..4_000].to_vec();
    let (base, object, delta) = texts(&inserted);
    let mut decoder = RevlogDecoder::new(ZlibReader::Stock);
    for (typed, first, expected) in [("zstd:9,prefix", 0x92, &delta), ("zstd:19,patch", 0x9c, &object)] {
        let chunk = encode_delta(typed, &delta, &base, &object);
        assert_eq!(chunk[0], first, "{typed}");
        assert!(chunk.len() < 100, "{typed}: {}", chunk.len());
        let base_use = if first == 0x92 { BaseUse::Prefix } else { BaseUse::Patch };
        assert_eq!(RevlogDecoder::base_use(&chunk), base_use);
        assert_eq!(RevlogDecoder::claimed_len_on_base(&chunk), Some(expected.len() as u64));
        let mut decoded = b"before".to_vec();
        decoder.decode_on_base(&chunk, &base, expected.len(), &mut decoded).unwrap();
        assert_eq!(decoded[6..], **expected, "{typed}");

        let without_base = decoder.decode(&chunk, 1 << 20, &mut decoded).unwrap_err().to_string();
        assert!(without_base.contains("the content of the delta's base"), "{without_base}");
        decoder.decode_on_base(&chunk, &base, expected.len() - 1, &mut decoded).unwrap_err();
        decoder.decode_on_base(&[&chunk[..], b"?"].concat(), &base, 1 << 20, &mut decoded).unwrap_err();
        assert_eq!(decoded.len(), 6 + expected.len(), "an error leaves the buffer unchanged");
    }
    let (base, object, delta) = texts(b"x");
    let chunk = encode_delta("zstd:9,patch,prefix", &delta, &base, &object);
    assert_eq!(chunk, delta, "13 bytes are not worth a frame");
    assert_eq!(RevlogDecoder::base_use(&chunk), BaseUse::None);
    let mut decoded = Vec::new();
    decoder.decode_on_base(&chunk, &base, 13, &mut decoded).unwrap();
    assert_eq!(decoded, delta, "chunks that need no base are decoded as well as those that do");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn mutated_chunks_do_not_panic(
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
        limit in 0usize..10_000,
    ) {
        let resemblance = noise(3_000);
        let dictionary = Dictionary::new(resemblance.clone());
        let (base, object, delta) = texts(&noise(6_000)[3_000..4_000]);
        let mut chunks: Vec<Vec<u8>> = WITH_DICTIONARY
            .iter()
            .map(|(typed, _)| encode(&mut encoder(typed, &dictionary), &resemblance[100..900]))
            .collect();
        chunks.extend(["zstd:9,prefix", "zstd:9,patch"].map(|typed| encode_delta(typed, &delta, &base, &object)));
        let mut decoder = decoder(&dictionary);
        for mut chunk in chunks {
            for (place, change) in &mutations {
                let place = place.index(chunk.len());
                chunk[place] ^= change;
            }
            let mut payload = Vec::new();
            let without_base = decoder.decode(&chunk, limit, &mut payload);
            let agrees = without_base.is_ok_and(|length| length == payload.len());
            prop_assert!(payload.len() <= limit && agrees || payload.is_empty());
            payload.clear();
            let on_base = decoder.decode_on_base(&chunk, &base, limit, &mut payload);
            prop_assert!(payload.len() <= limit && on_base.is_ok_and(|length| length == payload.len()) || payload.is_empty());
        }
    }
}

#[test]
fn each_kind_has_its_own_encoder() {
    let spec = spec("changelog=zstd:19,manifest=store,filelog=zstd:3,delta=lz4");
    let mut encoders = KindEncoders::<RevlogEncoder>::new(&spec, &AssignedDictionaries::default());
    let payload = text(5_000);
    let mut first_byte = |object, is_delta| {
        let mut chunk = Vec::new();
        encoders.for_kind(ChunkKind { object, is_delta }).unwrap().encode(&payload, &mut chunk).unwrap();
        chunk[0]
    };
    assert_eq!(first_byte(ObjectKind::Changelog, false), b'(');
    assert_eq!(first_byte(ObjectKind::Manifest, false), b'u');
    for object in ObjectKind::HG {
        assert_eq!(first_byte(object, true), b'4', "{object}");
    }
}

#[test]
fn requirements_are_those_of_all_engines_in_use() {
    for (typed, expected) in [
        ("zlib:9", &[][..]),
        ("store", &["exp-compression-none"]),
        ("zlib:6,manifest=store", &[]),
        ("zstd:3,manifest=store", &["revlog-compression-zstd"]),
        (
            "changelog=zstd:19,manifest=store,filelog=zstd:3,delta=lz4",
            &["exp-compression-lz4", "revlog-compression-zstd"],
        ),
        ("brotli:5,delta=lz4hc:9", &["exp-compression-brotli", "exp-compression-lz4"]),
        // No kind is left for the default.
        ("brotli:5,changelog=zlib:9,manifest=zlib:9,filelog=zlib:9,delta=zlib:9", &[]),
        ("zstd:9,dict=112k", &["revlog-compression-zstd"]),
        ("zstd:9,prefix", &["exp-repackbench-base", "revlog-compression-zstd"]),
        ("zlib:6,delta=zstd:9,patch", &["exp-repackbench-base", "revlog-compression-zstd"]),
    ] {
        assert_eq!(spec(typed).revlog_requirements(), expected, "{typed}");
    }
}

/// The rows of docs/format.md: codec spec, dictionary or base, payload, chunk.
#[test]
fn worked_examples_are_correct() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let heading = "| codec spec | beside it | payload | revlog chunk |";
    let (_, after) = FORMAT.split_once(heading).expect("docs/format.md lacks the table");
    let twice = b"hello, hello, hello, hello, hello\n".repeat(2);
    let (base, insert) = (b"The greeting is: hello, hello, and no more than that.\n", b", hello, hello, ");
    let object = [&base[..24], insert, &base[25..]].concat();
    let delta = [&[0, 0, 0, 24, 0, 0, 0, 25, 0, 0, 0, 16], &insert[..]].concat();
    let (mut expected, mut encoded) = (Vec::new(), Vec::new());
    for row in after.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [typed, beside, payload, chunk] = cells[..] else { panic!("{row}") };
        let found = match (beside, payload) {
            ("dictionary 7", "twice") => encode(&mut encoder(typed, &Dictionary::new(*b"hello, hello, ")), &twice),
            ("the base", "the delta") => encode_delta(typed, &delta, base, &object),
            _ => panic!("{row}"),
        };
        expected.push(format!("{typed}: {chunk}"));
        encoded.push(format!("{typed}: {}", hex(&found)));
    }
    assert!(expected.len() >= 5, "{expected:?}");
    assert_eq!(encoded, expected);
}
