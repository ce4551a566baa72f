//! Round trips of every codec, with every way to decode, whatever follows the chunk.

use crate::common::{SLOW_SPECS, SPECS, decoder, encode, encoder, noise, payload, text};
use proptest::prelude::*;
use repackbench_codec::{ChunkDecoder, ZlibReader};

/// Decodes in all three ways and compares each result with `payload`.
fn assert_reads_back(decoder: &mut ChunkDecoder, stored: &[u8], chunk_len: usize, payload: &[u8], typed: &str) {
    let mut decoded = vec![0xaa; payload.len()];
    assert_eq!(decoder.decode(stored, &mut decoded).unwrap(), chunk_len, "{typed}: stored bytes consumed");
    assert_eq!(decoded, payload, "{typed}");

    let mut streamed = Vec::new();
    let consumed = decoder
        .decode_stream(stored, payload.len() as u64, &mut |piece| {
            streamed.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    assert_eq!(consumed, chunk_len as u64, "{typed}: stored bytes consumed by the stream");
    assert_eq!(streamed, payload, "{typed}");

    for prefix_len in [0, 1, 20, payload.len() / 2, payload.len(), payload.len() + 1, payload.len() + 500] {
        let mut prefix = vec![0xaa; prefix_len];
        let filled = decoder.decode_prefix(stored, &mut prefix).unwrap();
        assert_eq!(filled, prefix_len.min(payload.len()), "{typed}: prefix of {prefix_len}");
        assert_eq!(prefix[..filled], payload[..filled], "{typed}: prefix of {prefix_len}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_codec_round_trips(payload in payload(), garbage in prop::collection::vec(any::<u8>(), 0..300)) {
        for typed in SPECS {
            let mut stored = encode(typed, &payload);
            let chunk_len = stored.len();
            stored.extend_from_slice(&garbage);
            assert_reads_back(&mut decoder(typed), &stored, chunk_len, &payload, typed);
        }
    }

    /// Contexts carry nothing from one payload to the next, even if codecs alternate or decoding fails.
    #[test]
    fn reused_contexts_do_not_affect_output(payloads in prop::collection::vec(payload(), 1..4)) {
        let mut decoder = ChunkDecoder::new(ZlibReader::Stock);
        for typed in SPECS {
            let mut reused = encoder(typed);
            for payload in &payloads {
                let mut stored = Vec::new();
                reused.encode(payload, &mut stored).unwrap();
                prop_assert_eq!(&stored, &encode(typed, payload), "{}: depends on earlier payloads", typed);
                prop_assert!(decoder.decode(&stored[..stored.len() - 1], &mut vec![0; payload.len()]).is_err());
                let mut decoded = vec![0; payload.len()];
                prop_assert_eq!(decoder.decode(&stored, &mut decoded).unwrap(), stored.len());
                prop_assert_eq!(&decoded, payload);
            }
        }
    }

    #[test]
    fn every_reader_decodes_every_zlib_stream(payload in payload()) {
        for typed in SPECS.iter().filter(|typed| crate::common::spec(typed).is_read_by_git()) {
            let stored = encode(typed, &payload);
            for reader in ZlibReader::ALL {
                assert_reads_back(&mut ChunkDecoder::new(reader), &stored, stored.len(), &payload, typed);
            }
        }
    }

    #[test]
    fn output_is_appended_and_independent_of_the_buffer(payload in payload(), before: Vec<u8>) {
        for typed in SPECS {
            let alone = encode(typed, &payload);
            let mut out = before.clone();
            out.reserve(payload.len() * 3);
            prop_assert_eq!(encoder(typed).encode(&payload, &mut out).unwrap(), alone.len());
            prop_assert_eq!(&out[..before.len()], &before);
            prop_assert_eq!(&out[before.len()..], &alone, "{}", typed);

            let mut streamed = Vec::new();
            let length = payload.len() as u64;
            let written = encoder(typed).encode_stream(&mut payload.as_slice(), length, &mut streamed).unwrap();
            prop_assert_eq!(written, alone.len() as u64);
            prop_assert_eq!(&streamed, &alone, "{}: encode_stream differs from encode", typed);
        }
    }
}

#[test]
fn payloads_that_do_not_shrink_are_stored() {
    for (typed, store) in ["zstd", "lz4", "lz4hc", "lz4_flex", "snappy", "lzo:3", "lzo:9"]
        .map(|typed| (typed, "store"))
        .into_iter()
        .chain([("zstd,checksum=no", "store,checksum=no"), ("lzo,checksum=no", "store,checksum=no")])
    {
        for payload in [Vec::new(), b"ab".to_vec(), noise(500), noise(70_000)] {
            let stored = encode(typed, &payload);
            assert_eq!(ChunkDecoder::identify(&stored), Some("store"), "{typed}: {} bytes", payload.len());
            assert_eq!(stored, encode(store, &payload));
        }
        assert!(encode(typed, &text(500)).len() < encode(store, &text(500)).len());
    }
}

#[test]
fn identify_names_the_format_of_a_chunk() {
    let names = ["zlib", "zlib-rs", "libdeflate", "store", "zstd", "lz4", "lz4hc", "zstd,frame=standard"]
        .map(|typed| ChunkDecoder::identify(&encode(typed, &text(1000))).unwrap());
    assert_eq!(names, ["zlib", "zlib", "zlib", "store", "zstd", "lz4", "lz4", "zstd (standard frame)"]);
    let names = ["lz4_flex", "snappy", "lzo:3", "lzo:9"]
        .map(|typed| ChunkDecoder::identify(&encode(typed, &text(1000))).unwrap());
    assert_eq!(names, ["lz4", "snappy", "lzo", "lzo"]);
    for typed in ["deflate", "brotli", "lzma", "xz", "bzip2"] {
        assert_eq!(ChunkDecoder::identify(&encode(typed, &text(1000))), Some(typed));
    }
    for not_a_chunk in [&[][..], &[0x00], &[0x78], &[0x78, 0x00], &[0x44], &[0x28, 0xb5, 0x2f, 0xfe]] {
        assert_eq!(ChunkDecoder::identify(not_a_chunk), None, "{not_a_chunk:x?}");
    }
}

#[test]
fn prefix_decodes_from_the_start_of_a_chunk() {
    let payload = text(2_000_000);
    for typed in [
        "zlib",
        "zlib-rs",
        "miniz",
        "sirocco",
        "zstd",
        "zstd,frame=standard",
        "deflate",
        "brotli",
        "lzma:1",
        "xz:1",
        "bzip2:1",
    ] {
        let stored = encode(typed, &payload);
        let mut prefix = [0; 100];
        let filled = decoder(typed).decode_prefix(&stored[..stored.len() / 2], &mut prefix).unwrap();
        assert_eq!((filled, &prefix[..]), (100, &payload[..100]), "{typed}");
    }
}

/// Payloads with the highest ratios, against which claimed lengths are checked.
#[test]
fn long_runs_are_not_rejected_as_hostile() {
    for payload in [vec![0; 5_000_000], b"ab".repeat(2_000_000)] {
        for typed in SPECS {
            let stored = encode(typed, &payload);
            assert_reads_back(&mut decoder(typed), &stored, stored.len(), &payload, typed);
        }
    }
}

/// The slow levels, with only a few payloads.
#[test]
fn slow_levels_round_trip() {
    for typed in SLOW_SPECS {
        let mut decoder = decoder(typed);
        let mut reused = encoder(typed);
        for payload in [Vec::new(), b"ab".to_vec(), text(700), text(40_000), noise(3_000), b"ab".repeat(70_000)] {
            let stored = encode(typed, &payload);
            assert_reads_back(&mut decoder, &stored, stored.len(), &payload, typed);
            let mut again = Vec::new();
            reused.encode(&payload, &mut again).unwrap();
            assert!(again == stored, "{typed}: depends on earlier payloads");
        }
    }
}

/// Below the container, a whole payload and one in pieces take different paths.
#[test]
fn tagged_streams_are_independent_of_payload_pieces() {
    let payload = [text(300_000), noise(200_000), text(123_456)].concat();
    for typed in ["deflate:0", "deflate:6", "brotli:0", "brotli:5", "lzma:1", "lzma:6", "xz:2", "bzip2:2"] {
        let mut codec = crate::common::spec(typed).new_codec().unwrap();
        let (mut whole, mut streamed) = (Vec::new(), Vec::new());
        codec.encode(&payload, &mut whole).unwrap();
        codec.encode_stream(&mut payload.as_slice(), payload.len() as u64, &mut streamed).unwrap();
        assert!(whole == streamed, "{typed}");
    }
}

/// zopfli's iterations take time: a long payload gets fewer.
#[test]
fn zopfli_makes_fewer_iterations_for_long_payloads() {
    let payload = text(1_000_001);
    assert!(encode("zopfli:2", &payload) == encode("zopfli:1", &payload));
    let short = &payload[..20_000];
    assert_ne!(encode("zopfli:40", short), encode("zopfli:1", short));
}

#[test]
fn encoders_and_decoders_move_between_threads() {
    let (mut encoder, mut decoder) = (encoder("zstd"), decoder("zstd"));
    let payload = text(1_000);
    let expected = encode("zstd", &payload);
    let stored = std::thread::scope(|scope| {
        let encoding = scope.spawn(|| {
            let mut stored = Vec::new();
            encoder.encode(&payload, &mut stored).map(|_| stored)
        });
        encoding.join().unwrap().unwrap()
    });
    assert_eq!(stored, expected);
    let decoded = std::thread::spawn(move || {
        let mut decoded = vec![0; 1_000];
        decoder.decode(&stored, &mut decoded).map(|_| decoded)
    });
    assert_eq!(decoded.join().unwrap().unwrap(), payload);
}
