//! Deltas compressed with the content of their base: written if that is shorter, and decoded only with that base.

use crate::common::{damage, encode, encoder, lost_checksum, noise, text};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use repackbench_codec::{BLOCK_LEN, BaseUse, ChunkDecoder, CodecError, DeltaBase, ZlibReader};

/// Each way to use a base, at levels below, at and above that of the comparison.
const SPECS: [&str; 6] = [
    "zstd:3,prefix",
    "zstd:9,patch",
    "zstd:-5,patch,prefix",
    "zstd:12,patch,prefix",
    "zstd:3,checksum=no,patch,prefix",
    "zstd:16,prefix,window=10",
];

/// The number of damaged chunks of each kind.
const MUTATIONS: usize = 10_000;

/// The first bytes of a dictionary with tables.
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

fn decoder() -> ChunkDecoder {
    ChunkDecoder::new(ZlibReader::Stock)
}

fn encode_delta(typed: &str, delta: &[u8], base: &[u8], object: Option<&[u8]>) -> Vec<u8> {
    let mut stored = Vec::new();
    let length = encoder(typed).encode_delta(delta, &DeltaBase { content: base, object }, &mut stored).unwrap();
    assert_eq!(length, stored.len());
    stored
}

/// The payload of the chunk `stored`: the object for a patch, otherwise the delta.
fn payload_of<'a>(stored: &[u8], delta: &'a [u8], object: &'a [u8]) -> &'a [u8] {
    if ChunkDecoder::base_use(stored) == BaseUse::Patch { object } else { delta }
}

/// A base, a similar object, and a payload that plays the delta between the two.
#[derive(Debug)]
struct Pair {
    base: Vec<u8>,
    object: Vec<u8>,
    delta: Vec<u8>,
}

impl Pair {
    /// The delta holds the new content, some of which is elsewhere in the base.
    fn new() -> Self {
        let base = [text(3_000), noise(2_000)].concat();
        let object = [&base[..2_500], b"something new", &base[3_200..]].concat();
        let delta = [&[0x88, 0x27, 0x90][..], b"something new", &base[3_100..3_400], &[0x91, 7]].concat();
        Pair { base, object, delta }
    }

    fn encode(&self, typed: &str) -> Vec<u8> {
        encode_delta(typed, &self.delta, &self.base, Some(&self.object))
    }
}

fn pair() -> impl Strategy<Value = Pair> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), crate::common::payload()), 0..4);
    (crate::common::payload(), edits).prop_map(|(base, edits)| {
        let (mut object, mut delta) = (base.clone(), vec![0x80]);
        for (place, new) in edits {
            let place = place.index(object.len() + 1);
            object.splice(place..place, new.iter().copied());
            delta.extend_from_slice(&new);
            // Some new content may be in the base.
            delta.extend_from_slice(&base[base.len() / 3..base.len() / 2]);
        }
        Pair { base, object, delta }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn deltas_with_a_base_round_trip(pairs in prop::collection::vec(pair(), 1..4), garbage: Vec<u8>) {
        for typed in SPECS {
            let (mut reused, mut decoder) = (encoder(typed), decoder());
            for pair in &pairs {
                let stored = pair.encode(typed);
                let plain = encode(typed, &pair.delta);
                prop_assert!(stored.len() <= plain.len(), "{typed}: the base made it longer");
                if ChunkDecoder::base_use(&stored) == BaseUse::None {
                    prop_assert_eq!(&stored, &plain, "{}", typed);
                }
                let mut again = b"before".to_vec();
                let base = DeltaBase { content: &pair.base, object: Some(&pair.object) };
                reused.encode_delta(&pair.delta, &base, &mut again).unwrap();
                prop_assert_eq!(&again[6..], &stored, "{}: depends on earlier payloads", typed);

                let payload = payload_of(&stored, &pair.delta, &pair.object);
                let followed = [&stored[..], &garbage].concat();
                let mut decoded = vec![0xaa; payload.len()];
                let consumed = decoder.decode_on_base(&followed, &pair.base, &mut decoded).unwrap();
                prop_assert_eq!(consumed, stored.len());
                prop_assert_eq!(&decoded[..], payload, "{}", typed);
            }
        }
    }
}

#[test]
fn encoder_takes_the_shortest_allowed_way() {
    let pair = Pair::new();
    let taken = |typed: &str| (ChunkDecoder::base_use(&pair.encode(typed)), pair.encode(typed)[0]);
    assert_eq!(taken("zstd:9"), (BaseUse::None, 0x01));
    assert_eq!(taken("zstd:9,prefix"), (BaseUse::Prefix, 0x12));
    assert_eq!(taken("zstd:9,patch"), (BaseUse::Patch, 0x1c));
    assert_eq!(taken("zstd:9,checksum=no,prefix"), (BaseUse::Prefix, 0x92));
    assert_eq!(taken("zstd:9,checksum=no,patch"), (BaseUse::Patch, 0x9c));
    let shortest = pair.encode("zstd:9,prefix").len().min(pair.encode("zstd:9,patch").len());
    assert_eq!(pair.encode("zstd:9,patch,prefix").len(), shortest);

    // An object that is not available, or does not help, does not replace the delta.
    assert_eq!(encode_delta("zstd:9,patch", &pair.delta, &pair.base, None), encode("zstd:9", &pair.delta));
    let unlike = noise(9_000);
    assert_eq!(encode_delta("zstd:9,patch", &pair.delta, &pair.base, Some(&unlike)), encode("zstd:9", &pair.delta));
}

#[test]
fn encoder_ignores_a_base_that_does_not_help() {
    let unlike = noise(5_000);
    for typed in SPECS {
        for delta in [Vec::new(), b"ab".to_vec(), vec![0x91, 0x10, 0x20], noise(9_500)[9_000..].to_vec()] {
            let stored = encode_delta(typed, &delta, &unlike, Some(&text(9_000)));
            assert_eq!(stored, encode(typed, &delta), "{typed}: {} bytes", delta.len());
        }
    }
    // A codec that uses no bases ignores one.
    for typed in ["zlib", "lz4", "zstd:3"] {
        assert!(!encoder(typed).uses_bases());
        assert_eq!(Pair::new().encode(typed), encode(typed, &Pair::new().delta), "{typed}");
    }
}

#[test]
fn decoders_without_the_base_report_it_missing() {
    for (typed, body) in [("zstd:9,prefix", "zstd"), ("zstd:9,patch", "zstd patch")] {
        let pair = Pair::new();
        let stored = pair.encode(typed);
        let length = payload_of(&stored, &pair.delta, &pair.object).len();
        let mut decoder = decoder();
        let refusals = [
            decoder.decode(&stored, &mut vec![0; length]).map(drop),
            decoder.decode_prefix(&stored, &mut [0; 10]).map(drop),
            decoder.decode_prefix_from(&mut stored.as_slice(), &mut [0; 10]).map(drop),
            decoder.decode_stream(&stored, length as u64, &mut |_| Ok(())).map(drop),
            decoder.decode_stream_from(&mut stored.as_slice(), length as u64, &mut |_| Ok(())).map(drop),
        ];
        for refusal in refusals {
            let error = refusal.unwrap_err();
            assert!(matches!(error, CodecError::BaseNeeded { .. }), "{error}");
            let expected = format!("{body}: expected the content of the delta's base, found none");
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(ChunkDecoder::identify(&stored), Some(body));
        // The decoder still works, even for chunks that need no base.
        let mut decoded = vec![0; length];
        decoder.decode_on_base(&stored, &pair.base, &mut decoded).unwrap();
        let plain = encode("lz4", &pair.delta);
        let mut decoded = vec![0; pair.delta.len()];
        assert_eq!(decoder.decode_on_base(&plain, &pair.base, &mut decoded).unwrap(), plain.len());
        assert_eq!(decoded, pair.delta);
    }
}

#[test]
fn decode_rejects_the_wrong_base() {
    for typed in ["zstd:9,prefix", "zstd:9,patch"] {
        let pair = Pair::new();
        let stored = pair.encode(typed);
        let mut room = vec![0; payload_of(&stored, &pair.delta, &pair.object).len()];
        let mut refusal = |base: &[u8]| decoder().decode_on_base(&stored, base, &mut room).unwrap_err();
        let mut other: Vec<u8> = pair.base.iter().map(|byte| byte.wrapping_add(1)).collect();
        assert!(matches!(refusal(&other), CodecError::Checksum { .. }), "{}", refusal(&other));
        other = pair.base.clone();
        other[3_300] ^= 1;
        assert!(matches!(refusal(&other), CodecError::Checksum { .. }), "one bit: {}", refusal(&other));
        // Distances count from the end of the base.
        refusal(&[&pair.base[..], b"z"].concat());
        refusal(&pair.base[..1_000]);
        refusal(&[]);
    }
}

#[test]
fn base_that_looks_like_a_dictionary_is_not_a_prefix() {
    let pair = Pair::new();
    let base = [&DICTIONARY_MAGIC[..], &pair.base].concat();
    for typed in SPECS {
        let stored = encode_delta(typed, &pair.delta, &base, Some(&base));
        assert_eq!(stored, encode(typed, &pair.delta), "{typed}");
    }
    let stored = pair.encode("zstd:9,prefix");
    let error = decoder().decode_on_base(&stored, &base, &mut vec![0; pair.delta.len()]).unwrap_err();
    assert!(matches!(error, CodecError::BadBase { .. }));
    assert_eq!(
        error.to_string(),
        "zstd frame: expected a base that does not start like a dictionary, found one that does"
    );
    // Elsewhere in the base, those bytes have no special meaning.
    let base = [&pair.base[..], &DICTIONARY_MAGIC].concat();
    let stored = encode_delta("zstd:9,prefix", &pair.delta, &base, None);
    assert_eq!(ChunkDecoder::base_use(&stored), BaseUse::Prefix);
}

#[test]
fn empty_base_is_not_a_prefix() {
    let pair = Pair::new();
    for typed in SPECS {
        assert_eq!(encode_delta(typed, &pair.delta, &[], Some(b"object")), encode(typed, &pair.delta), "{typed}");
    }
}

#[test]
fn payloads_and_bases_above_a_block_are_not_combined() {
    let pair = Pair::new();
    let long = vec![7; BLOCK_LEN + 1];
    for typed in ["zstd:1,prefix", "zstd:1,patch"] {
        let stored = encode_delta(typed, &pair.delta, &long, Some(&pair.object));
        assert_eq!(stored, encode(typed, &pair.delta), "{typed}: a long base");
    }
    let stored = encode_delta("zstd:1,patch", &pair.delta, &pair.base, Some(&long));
    assert_eq!(stored, encode("zstd:1", &pair.delta), "a long object");
    let stored = encode_delta("zstd:1,prefix", &long, &pair.base, None);
    assert_eq!(ChunkDecoder::base_use(&stored), BaseUse::None, "a long delta");
}

#[test]
fn claimed_length_is_known_without_the_base() {
    let pair = Pair::new();
    for typed in ["zstd:9,prefix", "zstd:9,patch", "zstd:9,checksum=no,patch"] {
        let stored = pair.encode(typed);
        let expected = payload_of(&stored, &pair.delta, &pair.object).len() as u64;
        assert_eq!(ChunkDecoder::claimed_len_on_base(&stored), Some(expected), "{typed}");
        assert_eq!(ChunkDecoder::claimed_len_on_base(&stored[..2]), None, "{typed}: cut off");
        let mut longer = vec![0; expected as usize + 1];
        let error = decoder().decode_on_base(&stored, &pair.base, &mut longer).unwrap_err();
        assert!(matches!(error, CodecError::PayloadLength { .. }), "{typed}: {error}");
    }
    for typed in ["zstd:9", "lz4", "zlib", "store"] {
        let stored = encode(typed, &pair.delta);
        assert_eq!(ChunkDecoder::claimed_len_on_base(&stored), None, "{typed}");
        assert_eq!(ChunkDecoder::base_use(&stored), BaseUse::None, "{typed}");
    }
    assert_eq!(ChunkDecoder::claimed_len_on_base(&[]), None);
    assert_eq!(ChunkDecoder::base_use(&[]), BaseUse::None);
}

#[test]
fn damaged_chunks_with_a_base_never_decode_to_wrong_bytes() {
    const GUARD: [u8; 16] = [0xa5; 16];
    for typed in ["zstd:9,prefix", "zstd:9,patch", "zstd:1,checksum=no,patch,prefix"] {
        let mut random = SmallRng::seed_from_u64(0x5eed);
        let pair = Pair::new();
        let original = pair.encode(typed);
        assert_ne!(ChunkDecoder::base_use(&original), BaseUse::None, "{typed}");
        let payload = payload_of(&original, &pair.delta, &pair.object);
        let mut decoder = decoder();
        let mut accepted = 0;
        for round in 0..MUTATIONS {
            let mut stored = original.clone();
            damage(&mut stored, &mut random);
            let _ = (ChunkDecoder::base_use(&stored), ChunkDecoder::claimed_len_on_base(&stored));
            let mut room = [&vec![0; payload.len()][..], &GUARD].concat();
            let result = decoder.decode_on_base(&stored, &pair.base, &mut room[..payload.len()]);
            assert_eq!(room[payload.len()..], GUARD);
            let Ok(consumed) = result else { continue };
            assert!(consumed <= stored.len());
            accepted += 1;
            let guarded = !typed.contains("checksum=no") && !lost_checksum(&original, &stored);
            assert!(!guarded || room[..payload.len()] == *payload, "{typed}: wrong bytes in round {round}");
        }
        assert!(accepted < MUTATIONS / 2, "{typed}: {accepted} damaged chunks were accepted");
        let mut decoded = vec![0; payload.len()];
        assert_eq!(decoder.decode_on_base(&original, &pair.base, &mut decoded).unwrap(), original.len());
        assert!(decoded == payload, "{typed}: a context did not recover");
    }
}
