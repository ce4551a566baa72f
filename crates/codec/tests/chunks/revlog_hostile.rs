//! Damaged and hostile revlog chunks: an error that says what was expected and found, but never a panic, memory for a
//! mere claim of a length, or more bytes than the limit.

use crate::common::{SPECS, encode, payload, revlog_chunk, revlog_payload, text};
use proptest::prelude::*;
use repackbench_codec::{Decoders, RevlogDecoder, ZlibReader};

/// Decodes with every reader, and checks that errors leave the buffer unchanged and payloads are within the limit.
fn decode_in_every_way(stored: &[u8], limit: usize) -> Vec<Result<Vec<u8>, String>> {
    let read = |reader: &Decoders| {
        let decoded = revlog_payload(&mut RevlogDecoder::new(*reader), stored, limit);
        assert!(decoded.as_ref().map_or(0, Vec::len) <= limit, "more was delivered than allowed");
        decoded
    };
    Decoders::all_for(stored).iter().map(read).collect()
}

fn refusal(stored: &[u8], limit: usize) -> String {
    revlog_payload(&mut RevlogDecoder::new(ZlibReader::Stock), stored, limit).unwrap_err()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mutated_chunks_do_not_panic_and_zlib_detects_damage(
        payload in payload(),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
    ) {
        for typed in SPECS {
            let original = revlog_chunk(typed, &payload);
            let mut stored = original.clone();
            for (place, change) in &mutations {
                if let Some(place) = (!stored.is_empty()).then(|| place.index(stored.len())) {
                    stored[place] ^= change;
                }
            }
            for decoded in decode_in_every_way(&stored, payload.len() + 1_000) {
                // Two mutations can undo each other.
                let still_zlib = original.first() == Some(&b'x') && stored.first() == Some(&b'x');
                prop_assert!(!still_zlib || decoded.is_err() || decoded.as_ref() == Ok(&payload), "{}", typed);
            }
        }
    }

    #[test]
    fn truncated_chunks_are_rejected(payload in payload(), cut: prop::sample::Index) {
        for typed in SPECS {
            let stored = revlog_chunk(typed, &payload);
            // A raw chunk does not say how long it is.
            if RevlogDecoder::identify(&stored) == Some("store") {
                continue;
            }
            let cut = 1 + cut.index(stored.len() - 1);
            for decoded in decode_in_every_way(&stored[..cut], payload.len()) {
                prop_assert!(decoded.is_err(), "{}: {} of {} bytes", typed, cut, stored.len());
            }
        }
    }

    #[test]
    fn trailing_bytes_are_rejected(payload in payload(), garbage in prop::collection::vec(any::<u8>(), 1..50)) {
        for typed in SPECS {
            let mut stored = revlog_chunk(typed, &payload);
            let name = RevlogDecoder::identify(&stored);
            stored.extend_from_slice(&garbage);
            for decoded in decode_in_every_way(&stored, payload.len() + garbage.len()) {
                prop_assert!(name == Some("store") || decoded.is_err(), "{}", typed);
            }
        }
    }

    #[test]
    fn random_bytes_do_not_panic(mut rest in prop::collection::vec(any::<u8>(), 0..200), limit in 0usize..5000) {
        let _ = decode_in_every_way(&rest, limit);
        for header in [&b"x"[..], b"x\x9c", b"4", b"4\x10\0\0\0", b"(", b"(\xb5\x2f\xfd", b"(\xb5\x2f\xfd\x20\x40"] {
            let chunk = [header, &rest].concat();
            let _ = decode_in_every_way(&chunk, limit);
        }
        rest.insert(0, b'u');
        let _ = decode_in_every_way(&rest, limit);
    }

    #[test]
    fn payloads_above_the_limit_are_rejected(payload in payload(), under in 1usize..300) {
        for typed in SPECS {
            let stored = revlog_chunk(typed, &payload);
            if let Some(limit) = payload.len().checked_sub(under) {
                for decoded in decode_in_every_way(&stored, limit) {
                    let message = decoded.unwrap_err();
                    let expected = format!("expected at most {limit} payload bytes, found ");
                    prop_assert!(message.contains(&expected), "{}: {}", typed, message);
                }
            }
        }
    }
}

#[test]
fn errors_say_expected_and_found() {
    let payload = text(1_000);
    assert_eq!(refusal(b"b", 9), "revlog chunk: expected 00, u, x, (, 4 or a tag byte as its first byte, found 0x62");
    assert_eq!(refusal(b"uabc", 2), "raw revlog chunk: expected at most 2 payload bytes, found 3");
    assert_eq!(refusal(b"\0abc", 2), "raw revlog chunk: expected at most 2 payload bytes, found 4");
    assert_eq!(refusal(b"4\x01\0\0", 9), "lz4 revlog chunk: expected more stored bytes, found the end after 4");
    assert_eq!(refusal(b"(\xb5\x2f\xff\0\0\0\0", 9), "zstd frame: expected 28b52ffd, found another magic number");

    let zlib = revlog_chunk("zlib", &payload);
    let cut = zlib.len() - 1;
    assert_eq!(
        refusal(&zlib[..cut], 1_000),
        format!("zlib stream: expected more stored bytes, found the end after {cut}")
    );
    for (typed, name, found) in [
        ("zlib", "zlib stream", "more"),
        ("zlib-rs", "zlib stream", "more"),
        ("libdeflate", "zlib stream", "more"),
        ("zstd", "zstd frame", "1000"),
        ("lz4", "lz4 revlog chunk", "1000"),
        ("lz4hc", "lz4 revlog chunk", "1000"),
        ("lz4_flex", "lz4 revlog chunk", "1000"),
        ("miniz", "zlib stream", "more"),
        ("sirocco", "zlib stream", "more"),
        ("deflate", "deflate", "1000"),
        ("brotli", "brotli", "1000"),
        ("lzma", "lzma", "1000"),
        ("xz", "xz", "1000"),
        ("bzip2", "bzip2", "1000"),
    ] {
        let stored = revlog_chunk(typed, &payload);
        let mut decoder = RevlogDecoder::for_spec(&crate::common::spec(typed));
        let message = revlog_payload(&mut decoder, &stored, 999).unwrap_err();
        assert_eq!(message, format!("{name}: expected at most 999 payload bytes, found {found}"), "{typed}");
        if name == "lz4 revlog chunk" {
            continue;
        }
        let message = revlog_payload(&mut decoder, &[&stored[..], b"xy"].concat(), 1_000).unwrap_err();
        let (end, all) = (stored.len(), stored.len() + 2);
        assert_eq!(message, format!("{name}: expected the end after {end} stored bytes, found {all}"), "{typed}");
    }
}

/// Room for a tagged body that claims a gigabyte is made only as bytes arrive.
#[test]
fn claimed_length_of_a_tagged_body_allocates_no_memory() {
    for typed in ["deflate", "brotli", "lzma", "xz", "bzip2"] {
        // A payload length in three bytes, which one in five bytes replaces.
        let payload = text(20_000);
        let honest = revlog_chunk(typed, &payload);
        let lying = [&honest[..1], &[0x80, 0x80, 0x80, 0x80, 0x04], &honest[4..]].concat();
        let mut decoded = Vec::new();
        let error = RevlogDecoder::new(ZlibReader::Stock).decode(&lying, usize::MAX, &mut decoded).unwrap_err();
        let expected = format!("{typed} body: expected 1073741824 payload bytes, found 20000");
        assert_eq!(error.to_string(), expected);
        assert!(decoded.capacity() <= 1 << 20, "{typed}: {} bytes", decoded.capacity());
        // An honest claim that is implausible, because few bodies are that much shorter than their payload.
        let zeros = vec![0; 40 << 20];
        let chunk = revlog_chunk(typed, &zeros);
        assert!(revlog_payload(&mut RevlogDecoder::new(ZlibReader::Stock), &chunk, 1 << 30).as_ref() == Ok(&zeros));
    }
}

#[test]
fn impossible_lz4_length_is_rejected() {
    let mut stored = b"4\xff\xff\xff\xff".to_vec();
    stored.extend_from_slice(&[0xf0; 10]);
    let mut payload = Vec::new();
    let error = RevlogDecoder::new(ZlibReader::Stock).decode(&stored, usize::MAX, &mut payload).unwrap_err();
    assert_eq!(
        error.to_string(),
        "lz4 revlog chunk: expected a payload length that the block can hold, \
         found 4294967295 payload bytes in a block of 10"
    );
    assert_eq!(payload.capacity(), 0);
    // One byte more or less than the block holds.
    let stored = revlog_chunk("lz4", &text(300));
    assert_eq!(stored[..5], [b'4', 44, 1, 0, 0]);
    for length in [43, 45] {
        let mut lying = stored.clone();
        lying[1] = length;
        assert!(refusal(&lying, 400).starts_with("lz4 revlog chunk: expected "));
    }
}

/// Refusing 64 MiB of zeros costs no more memory than the limit.
#[test]
fn decompression_bombs_stop_at_the_limit() {
    let zeros = vec![0; 64 << 20];
    for typed in [
        "zlib:9",
        "zlib-rs:9",
        "libdeflate:12",
        "zstd:3",
        "lz4",
        "lz4hc:9",
        "deflate",
        "brotli:1",
        "lzma:1",
        "xz:1",
        "bzip2",
        "lz4_flex",
        "snappy",
        "lzo",
    ] {
        let stored = revlog_chunk(typed, &zeros);
        for limit in [0, 1, 1_000, 1 << 20, 10_000_000] {
            for reader in Decoders::all_for(&stored) {
                let mut payload = Vec::new();
                let error = RevlogDecoder::new(reader).decode(&stored, limit, &mut payload).unwrap_err();
                let message = error.to_string();
                assert!(message.contains(&format!("expected at most {limit} payload bytes")), "{typed}: {message}");
                let most = limit + limit / 10 + 1_000;
                assert!(payload.capacity() <= most, "{typed}: {} bytes for {limit}", payload.capacity());
            }
        }
    }
}

/// A frame that claims 128 MiB takes no more memory than a plausible claim.
#[test]
fn claimed_zstd_content_size_allocates_no_memory() {
    // Descriptor: 4-byte content size, single segment. Blocks: many empty raw ones, so that the claim is possible.
    let mut stored = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    stored.extend_from_slice(&(128u32 << 20).to_le_bytes());
    stored.extend_from_slice(&[0x00; 3 * 2_000]);
    stored.extend_from_slice(&[0x01, 0x00, 0x00]);
    let mut payload = Vec::new();
    let error = RevlogDecoder::new(ZlibReader::Stock).decode(&stored, usize::MAX, &mut payload).unwrap_err();
    assert_eq!(error.to_string(), "zstd frame: expected 134217728 payload bytes, found 0");
    assert!(payload.capacity() <= 2 << 20, "{} bytes", payload.capacity());
}

#[test]
fn chunks_of_git_are_not_revlog_chunks() {
    for typed in ["store", "zstd", "lz4", "lz4hc", "deflate", "store,checksum=no", "lz4,checksum=no", "lz4_flex"] {
        let stored = encode(typed, &text(500));
        assert!(refusal(&stored, 1_000).starts_with("revlog chunk: expected 00, u, x, (, 4 or a tag byte"), "{typed}");
    }
}
