//! Revlog chunks round-trip, have the headers that hg expects, and are raw exactly when hg leaves payloads raw.

use std::collections::HashMap;

use crate::common::{SPECS, noise, payload, revlog_chunk, revlog_payload, spec, text};
use proptest::prelude::*;
use repackbench_codec::{Algorithm, CodecSpec, Decoders, RevlogDecoder, RevlogEncoder, RevlogEngine, ZlibReader};
use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, InBuffer, OutBuffer};

const READERS: [ZlibReader; ZlibReader::ALL.len()] = ZlibReader::ALL;

/// Decodes with several limits, from the payload's exact length on.
fn assert_reads_back(decoder: &mut RevlogDecoder, stored: &[u8], payload: &[u8], typed: &str) {
    for limit in [payload.len(), payload.len() * 9 + 7, 1 << 30] {
        let decoded = revlog_payload(decoder, stored, limit);
        assert!(decoded.as_deref() == Ok(payload), "{typed}: {} bytes, limit {limit}", payload.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_codec_and_reader_round_trips(payload in payload()) {
        for typed in SPECS {
            let stored = revlog_chunk(typed, &payload);
            prop_assert!(stored.len() <= payload.len() + 1, "{}: grew by more than its header", typed);
            prop_assert!(RevlogDecoder::identify(&stored).is_some(), "{}", typed);
            for reader in Decoders::all_for(&stored) {
                assert_reads_back(&mut RevlogDecoder::new(reader), &stored, &payload, typed);
            }
        }
    }

    /// Contexts carry nothing from one payload to the next, even if decoding fails in between. The buffers keep what
    /// they hold.
    #[test]
    fn reused_contexts_and_buffers_do_not_affect_output(payloads in prop::collection::vec(payload(), 1..5)) {
        let mut decoders = READERS.map(RevlogDecoder::new);
        for typed in SPECS {
            let mut encoder = RevlogEncoder::new(&spec(typed)).unwrap();
            let (mut stored, mut expected_stored) = (b"before".to_vec(), b"before".to_vec());
            let mut decoded = READERS.map(|_| b"before".to_vec());
            let mut expected = b"before".to_vec();
            for payload in &payloads {
                let start = stored.len();
                prop_assert_eq!(encoder.encode(payload, &mut stored).unwrap(), stored.len() - start);
                expected_stored.extend(revlog_chunk(typed, payload));
                prop_assert_eq!(&stored, &expected_stored, "{}: depends on earlier payloads", typed);
                expected.extend_from_slice(payload);
                for (decoder, decoded) in decoders.iter_mut().zip(&mut decoded) {
                    let chunk = &stored[start..];
                    if payload.len() > 1 {
                        prop_assert!(decoder.decode(chunk, payload.len() - 1, decoded).is_err());
                    }
                    prop_assert_eq!(decoder.decode(chunk, payload.len(), decoded).unwrap(), payload.len());
                    prop_assert_eq!(&*decoded, &expected, "{}", typed);
                }
            }
        }
    }

    /// These options of a spec are for Git's container, and have no effect in revlogs.
    #[test]
    fn container_options_have_no_effect(payload in payload()) {
        for (plain, others) in [
            ("store", &["store,checksum=no"][..]),
            ("zlib:6", &["zlib:6,loose=2"]),
            ("zstd:3", &["zstd:3,checksum=no", "zstd:3,frame=standard", "zstd:3,loose=9"]),
            ("lz4", &["lz4,checksum=no"]),
            ("lz4hc:9", &["lz4hc:9,checksum=no"]),
            ("lz4_flex", &["lz4_flex,checksum=no"]),
            ("brotli:1", &["brotli:1,checksum=no", "brotli:1,loose=0"]),
        ] {
            for other in others {
                prop_assert_eq!(revlog_chunk(plain, &payload), revlog_chunk(other, &payload), "{}", other);
            }
        }
    }
}

/// Lengths around those at which the code path changes, and a few greater ones.
const LENGTHS: [usize; 13] =
    [1, 43, 44, 49, 50, 127, 1_000, 70_000, 999_999, 1_000_000, 1_000_001, (1 << 20) + 1, 3_500_000];

#[test]
fn payloads_of_every_length_and_texture_round_trip() {
    let mut decoders = HashMap::new();
    let textures = |length| [text(length), noise(length), vec![0; length], b"ab".repeat(length / 2 + 1)];
    let payloads: Vec<Vec<u8>> = LENGTHS.into_iter().flat_map(textures).collect();
    for typed in [
        "store",
        "zlib:1",
        "zlib-rs:6",
        "libdeflate:6",
        "zstd:3",
        "zstd:-7",
        "lz4",
        "lz4hc:3",
        "deflate",
        "brotli:1",
        "lzma:0",
        "xz:0",
        "bzip2:1",
        "lz4_flex",
        "snappy",
        "lzo",
        "lzo:9",
    ] {
        for payload in &payloads {
            let stored = revlog_chunk(typed, payload);
            for reader in Decoders::all_for(&stored) {
                let decoder = decoders.entry(reader).or_insert_with(|| RevlogDecoder::new(reader));
                assert_reads_back(decoder, &stored, payload, typed);
            }
        }
    }
}

#[test]
fn payloads_are_raw_exactly_when_hg_leaves_them_raw() {
    let first_compressed = |typed: &str| (1..200).find(|length| revlog_chunk(typed, &vec![b'a'; *length])[0] != b'u');
    for typed in ["zlib:1", "zlib:6", "zlib-rs:6", "libdeflate:6"] {
        assert_eq!(first_compressed(typed), Some(44), "{typed}");
    }
    assert_eq!(first_compressed("zstd:3"), Some(50));
    // Five bytes of header and length come before the block.
    for (typed, shortest) in [("lz4", (16, 15)), ("lz4hc:9", (16, 15)), ("lz4_flex", (17, 16))] {
        let chunk = first_compressed(typed).map(|length| (length, revlog_chunk(typed, &vec![b'a'; length]).len()));
        assert_eq!(chunk, Some(shortest), "{typed}");
    }
    assert_eq!(first_compressed("store"), None);
}

#[test]
fn compressed_chunks_are_shorter_than_their_payloads() {
    for typed in SPECS {
        // Text followed by more and more noise, so that somewhere the two lengths are equal.
        for noisy in 0..120 {
            let payload = [text(60), noise(noisy)].concat();
            let stored = revlog_chunk(typed, &payload);
            let raw = RevlogDecoder::identify(&stored) == Some("store");
            assert!(if raw { stored.len() == payload.len() + 1 } else { stored.len() < payload.len() }, "{typed}");
        }
    }
}

#[test]
fn zlib_chunks_are_the_same_streams_as_in_git() {
    for typed in ["zlib:1", "zlib:6", "zlib:9", "zlib-rs:6", "libdeflate:6"] {
        for payload in [&b"ab".repeat(22), &text(5_000), &text(2_500_000)] {
            assert!(revlog_chunk(typed, payload) == crate::common::encode(typed, payload), "{typed}");
        }
    }
}

#[test]
fn zstd_frames_carry_only_their_content_size() {
    for length in [50, 255, 256, 70_000, 1_500_000] {
        let stored = revlog_chunk("zstd:3", &b"hello".repeat(length)[..length]);
        assert_eq!(stored[..4], [0x28, 0xb5, 0x2f, 0xfd]);
        // RFC 8878: no reserved bit, no checksum, no dictionary id; a single segment, or a content size flag.
        assert_eq!(stored[4] & 0x0f, 0, "{length}");
        assert!(stored[4] & 0x20 != 0 || stored[4] >> 6 != 0, "{length}: no content size");
        let reported = zstd_safe::get_frame_content_size(&stored).unwrap();
        assert_eq!(reported, Some(length as u64));
    }
}

/// A frame as hg writes it for long payloads: in pieces, without a content size.
fn streamed_frame(payload: &[u8], checksum: bool) -> Vec<u8> {
    let mut encoder = CCtx::create();
    encoder.set_parameter(zstd_safe::CParameter::ChecksumFlag(checksum)).unwrap();
    let mut stored = vec![0; zstd_safe::compress_bound(payload.len()) + 1_000];
    let mut output = OutBuffer::around(stored.as_mut_slice());
    for piece in payload.chunks(128 << 10) {
        let mut input = InBuffer::around(piece);
        while input.pos() < piece.len() {
            encoder.compress_stream2(&mut output, &mut input, ZSTD_EndDirective::ZSTD_e_continue).unwrap();
        }
    }
    let mut end = InBuffer::around(&[]);
    while encoder.compress_stream2(&mut output, &mut end, ZSTD_EndDirective::ZSTD_e_end).unwrap() > 0 {}
    let written = output.pos();
    stored.truncate(written);
    stored
}

#[test]
fn zstd_frames_without_content_size_decode() {
    let mut decoder = RevlogDecoder::new(ZlibReader::Stock);
    for length in [1, 1_000, 1_000_001, 5_000_000] {
        for payload in [text(length), noise(length), vec![0; length], [noise(300), vec![7; length]].concat()] {
            for checksum in [false, true] {
                let stored = streamed_frame(&payload, checksum);
                assert_eq!(zstd_safe::get_frame_content_size(&stored).unwrap(), None);
                assert_reads_back(&mut decoder, &stored, &payload, "streamed frame");
                let limit = payload.len() - 1;
                let message = revlog_payload(&mut decoder, &stored, limit).unwrap_err();
                assert_eq!(message, format!("zstd frame: expected at most {limit} payload bytes, found more"));
            }
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// One chunk with each header, written by other programs: Python's zlib, hg 7.2's zstd (with and without content size),
/// liblz4's `lz4` command (the block inside its frame).
#[test]
fn chunks_of_other_programs_decode_for_each_header() {
    let line = b"hello, hello, hello, hello, hello\n";
    let twice = line.repeat(2);
    let mut decoder = RevlogDecoder::new(ZlibReader::Stock);
    let mut decoded = |stored: &[u8]| revlog_payload(&mut decoder, stored, 100).unwrap();
    assert_eq!(decoded(b""), b"");
    assert_eq!(decoded(b"\0"), b"\0");
    assert_eq!(decoded(b"\0rest"), b"\0rest");
    assert_eq!(decoded(b"u"), b"");
    assert_eq!(decoded(b"uxyz"), b"xyz");
    assert_eq!(decoded(b"u\0"), b"\0");
    assert_eq!(decoded(&bytes("78 9c cb 48 cd c9 c9 d7 51 c8 c0 49 71 01 00 d0 43 0b 9f")), line);
    assert_eq!(
        decoded(&bytes("28 b5 2f fd 20 44 9d 00 00 48 68 65 6c 6c 6f 2c 20 0a 0a 03 00 20 03 9f f6 95 5d 8c")),
        twice
    );
    assert_eq!(
        decoded(&bytes("28 b5 2f fd 00 58 9d 00 00 48 68 65 6c 6c 6f 2c 20 0a 0a 03 00 20 03 9f f6 95 5d 8c")),
        twice
    );
    assert_eq!(decoded(&bytes("34 22 00 00 00 7f 68 65 6c 6c 6f 2c 20 07 00 03 50 65 6c 6c 6f 0a")), line);
}

#[test]
fn identify_names_the_codec_of_a_chunk() {
    let identify = |typed: &str| RevlogDecoder::identify(&revlog_chunk(typed, &text(1_000)));
    for (typed, name) in [
        ("store", "store"),
        ("zlib", "zlib"),
        ("zlib-rs", "zlib"),
        ("libdeflate", "zlib"),
        ("zstd", "zstd"),
        ("lz4", "lz4"),
        ("lz4hc", "lz4"),
        ("lz4_flex", "lz4"),
        ("miniz", "zlib"),
        ("sirocco", "zlib"),
        ("zopfli:1", "zlib"),
        ("deflate", "deflate"),
        ("brotli", "brotli"),
        ("lzma", "lzma"),
        ("xz", "xz"),
        ("bzip2", "bzip2"),
    ] {
        assert_eq!(identify(typed), Some(name), "{typed}");
    }
    for raw in [&b""[..], b"\0", b"\0x", b"u", b"ux"] {
        assert_eq!(RevlogDecoder::identify(raw), Some("store"), "{raw:x?}");
    }
    for not_a_chunk in
        [&b"x"[..], b"x\0", b"(", b"(\xb5\x2f\xfe", b"a", b"\x01", b"\x81", b"\x82", b"\x83", b"\x06", b"\xa6", b"2"]
    {
        assert_eq!(RevlogDecoder::identify(not_a_chunk), None, "{not_a_chunk:x?}");
    }
}

#[test]
fn each_codec_maps_to_its_engine_and_requirement() {
    let expected = [
        ("store", RevlogEngine::None, Some("exp-compression-none")),
        ("zlib", RevlogEngine::Zlib, None),
        ("zlib-rs", RevlogEngine::Zlib, None),
        ("libdeflate", RevlogEngine::Zlib, None),
        ("zstd", RevlogEngine::Zstd, Some("revlog-compression-zstd")),
        ("lz4", RevlogEngine::Lz4, Some("exp-compression-lz4")),
        ("lz4hc", RevlogEngine::Lz4, Some("exp-compression-lz4")),
        ("lz4_flex", RevlogEngine::Lz4, Some("exp-compression-lz4")),
        ("snappy", RevlogEngine::Tagged(Algorithm::Snappy), Some("exp-compression-snappy")),
        ("lzo", RevlogEngine::Tagged(Algorithm::Lzo), Some("exp-compression-lzo")),
        ("miniz", RevlogEngine::Zlib, None),
        ("sirocco", RevlogEngine::Zlib, None),
        ("zopfli", RevlogEngine::Zlib, None),
        #[cfg(feature = "zlib-ng")]
        ("zlib-ng", RevlogEngine::Zlib, None),
        ("deflate", RevlogEngine::Tagged(Algorithm::Deflate), Some("exp-compression-deflate")),
        ("brotli", RevlogEngine::Tagged(Algorithm::Brotli), Some("exp-compression-brotli")),
        ("lzma", RevlogEngine::Tagged(Algorithm::Lzma), Some("exp-compression-lzma")),
        ("xz", RevlogEngine::Tagged(Algorithm::Xz), Some("exp-compression-xz")),
        ("bzip2", RevlogEngine::Tagged(Algorithm::Bzip2), Some("exp-compression-bzip2")),
    ];
    assert_eq!(expected.len(), Algorithm::ALL.len());
    for (name, engine, requirement) in expected {
        let found = CodecSpec::of(Algorithm::from_name(name).unwrap()).revlog_engine();
        assert_eq!((found, found.requirement()), (engine, requirement), "{name}");
    }
}

/// The codecs without a header of Mercurial's.
const TAGGED: [&str; 6] = ["deflate:6", "brotli:5", "lzma:6", "xz:1", "bzip2:9", "brotli:1"];

#[test]
fn tagged_chunks_equal_those_in_git_without_checksum() {
    for typed in TAGGED {
        for payload in [text(1_000), text(200_000), vec![0; 3_000_000]] {
            let chunk = revlog_chunk(typed, &payload);
            assert!(chunk == crate::common::encode(&format!("{typed},checksum=no"), &payload), "{typed}");
            assert!(chunk[0] >= 0x84, "{typed}");
        }
        assert_eq!(revlog_chunk(typed, b"short"), b"ushort");
        assert_eq!(revlog_chunk(typed, b""), b"");
        let noise = noise(5_000);
        assert!(revlog_chunk(typed, &noise)[1..] == noise, "{typed}");
    }
}

#[test]
fn encoders_and_decoders_move_between_threads() {
    fn assert_send<T: Send>() {}
    assert_send::<RevlogEncoder>();
    assert_send::<RevlogDecoder>();
}
