//! Damaged and hostile chunks: an error that says what was expected and found, but never a panic, wrong bytes, or
//! memory for a mere claim of a length.

use std::io::BufReader;

use crate::common::{SPECS, decoder, encode, noise, payload, spec, text};
use proptest::prelude::*;
use repackbench_codec::{BLOCK_LEN, ChunkDecoder, Decoders, ZlibReader};

/// Decodes in every way, to find panics.
fn decode_in_every_way(stored: &[u8], payload_len: usize) {
    for reader in Decoders::all_for(stored) {
        let mut decoder = ChunkDecoder::new(reader);
        let _ = decoder.decode(stored, &mut vec![0; payload_len]);
        let mut delivered = 0;
        let streamed = decoder.decode_stream(stored, payload_len as u64, &mut |piece| {
            delivered += piece.len();
            Ok(())
        });
        assert!(delivered <= payload_len, "more was delivered than requested");
        assert!(streamed.is_err() || delivered == payload_len, "a short payload was taken for a whole one");
        // The result is the same for a source that yields one byte at a time.
        let mut byte_by_byte = BufReader::with_capacity(1, stored);
        let from_source = decoder.decode_stream_from(&mut byte_by_byte, payload_len as u64, &mut |_| Ok(()));
        assert_eq!(from_source.ok(), streamed.ok());
        let _ = decoder.decode_prefix_from(&mut BufReader::with_capacity(1, stored), &mut [0; 40]);
        let mut prefix = [0; 40];
        if let Ok(filled) = decoder.decode_prefix(stored, &mut prefix) {
            assert!(filled <= prefix.len());
        }
        let _ = ChunkDecoder::identify(stored);
    }
}

fn refusal(typed: &str, stored: &[u8], payload_len: usize) -> String {
    decoder(typed).decode(stored, &mut vec![0; payload_len]).unwrap_err().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mutated_chunks_never_decode_to_wrong_bytes(
        payload in payload(),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
    ) {
        for typed in SPECS.iter().filter(|typed| spec(typed).checksum()) {
            let original = encode(typed, &payload);
            let mut stored = original.clone();
            for (place, change) in &mutations {
                let place = place.index(stored.len());
                stored[place] ^= change;
            }
            // Two mutations can also make the chunk one without a checksum: in the tag byte, or in the descriptor of
            // a standard frame, which another program may have written.
            let unchecked_tag = stored[0] != original[0] && stored[0] & 0x80 != 0;
            let unchecked_frame = stored.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && stored[4] & 0x04 == 0;
            let lost_checksum = unchecked_tag || unchecked_frame;
            for reader in Decoders::all_for(&stored) {
                let mut decoded = vec![0; payload.len()];
                let result = ChunkDecoder::new(reader).decode(&stored, &mut decoded);
                prop_assert!(result.is_err() || decoded == payload || lost_checksum, "{typed}: wrong bytes");
            }
            decode_in_every_way(&stored, payload.len());
        }
    }

    #[test]
    fn truncated_chunks_are_rejected(payload in payload(), cut: prop::sample::Index) {
        for typed in SPECS {
            let stored = encode(typed, &payload);
            let stored = &stored[..cut.index(stored.len())];
            for reader in Decoders::all_for(stored) {
                let result = ChunkDecoder::new(reader).decode(stored, &mut vec![0; payload.len()]);
                prop_assert!(result.is_err(), "{typed}");
            }
            decode_in_every_way(stored, payload.len());
        }
    }

    #[test]
    fn random_bytes_do_not_panic(first: u8, mut rest in prop::collection::vec(any::<u8>(), 0..200), length in 0usize..5000) {
        rest.insert(0, first);
        decode_in_every_way(&rest, length);
        for tag in [
            0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x09, 0x0a, 0x0b, 0x23, 0x24, 0x25, 0x78, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x89, 0x8a, 0x8b, 0xa3, 0xa4, 0xa5,
        ] {
            rest[0] = tag;
            decode_in_every_way(&rest, length);
        }
        rest.splice(0..0, [0x28, 0xb5, 0x2f, 0xfd]);
        decode_in_every_way(&rest, length);
    }

    #[test]
    fn payloads_of_unexpected_length_are_rejected(payload in payload(), difference in 1usize..300) {
        for typed in SPECS {
            let stored = encode(typed, &payload);
            for length in [payload.len() + difference, payload.len().saturating_sub(difference)] {
                if length == payload.len() {
                    continue;
                }
                for reader in Decoders::all_for(&stored) {
                    let mut decoder = ChunkDecoder::new(reader);
                    let message = decoder.decode(&stored, &mut vec![0; length]).unwrap_err().to_string();
                    prop_assert!(message.contains(&format!("expected {length} payload bytes")), "{typed}: {message}");
                    prop_assert!(decoder.decode_stream(&stored, length as u64, &mut |_| Ok(())).is_err(), "{typed}");
                }
            }
        }
    }
}

#[test]
fn errors_say_expected_and_found() {
    let payload = text(120);
    for typed in ["zlib", "zlib-rs", "miniz", "sirocco", "libdeflate", "zopfli"] {
        let stored = encode(typed, &payload);
        assert_eq!(refusal(typed, &stored, 122), "zlib stream: expected 122 payload bytes, found 120");
        assert_eq!(refusal(typed, &stored, 118), "zlib stream: expected 118 payload bytes, found more");
    }
    let stored = encode("zlib", &payload);
    let cut = stored.len() - 1;
    assert_eq!(
        refusal("zlib", &stored[..cut], 120),
        format!("zlib stream: expected more stored bytes, found the end after {cut}")
    );
    assert_eq!(refusal("zstd", &encode("zstd", &payload), 7), "zstd frame: expected 7 payload bytes, found 120");
    for (typed, body) in [("lz4", "lz4"), ("lz4_flex", "lz4"), ("snappy", "snappy"), ("lzo", "lzo")] {
        let message = format!("{body} body: expected 7 payload bytes, found 120");
        assert_eq!(refusal(typed, &encode(typed, &payload), 7), message);
    }
    assert_eq!(refusal("store", &encode("store", &payload), 7), "store body: expected 7 payload bytes, found 120");
    for typed in ["deflate", "brotli", "lzma", "xz", "bzip2"] {
        let stored = encode(typed, &text(3_000));
        let expect = |length, found: &str| {
            let expected = format!("{typed} body: expected {length} payload bytes, found {found}");
            assert_eq!(refusal(typed, &stored, length), expected);
        };
        expect(7, "3000");
        expect(3_001, "3000");
        let cut = stored.len() - 5;
        let truncated = format!("{typed} body: expected more stored bytes, found the end after {}", cut - 1);
        assert_eq!(refusal(typed, &stored[..cut], 3_000), truncated);
        // A payload length that differs from the stream's: 3000 is b8 17.
        for (claim, length, found) in [([0xb7, 0x17], 2_999, "more"), ([0xb9, 0x17], 3_001, "3000")] {
            let mut lying = stored.clone();
            assert_eq!(lying[1..3], [0xb8, 0x17]);
            lying[1..3].copy_from_slice(&claim);
            let expected = format!("{typed} body: expected {length} payload bytes, found {found}");
            assert_eq!(refusal(typed, &lying, length), expected);
            let mut prefix = vec![0; 4_000];
            let prefixed = decoder(typed).decode_prefix(&lying, &mut prefix).map_err(|error| error.to_string());
            assert_eq!(prefixed, if found == "more" { Ok(length) } else { Err(expected) }, "{typed}");
        }
    }
    assert_eq!(refusal("zlib", &[], 7), "chunk: expected a tag byte or a zlib header, found no bytes");
}

#[test]
fn checksum_error_shows_both_checksums() {
    let payload = text(400);
    for (typed, body) in [
        ("zstd", "zstd frame"),
        ("lz4", "lz4 body"),
        ("lz4_flex", "lz4 body"),
        ("snappy", "snappy body"),
        ("lzo", "lzo body"),
        ("store", "store body"),
        ("deflate", "deflate body"),
        ("brotli", "brotli body"),
        ("lzma", "lzma body"),
        ("xz", "xz body"),
        ("bzip2", "bzip2 body"),
    ] {
        let mut stored = encode(typed, &payload);
        let right = u32::from_le_bytes(*stored.last_chunk().unwrap());
        let last = stored.len() - 1;
        stored[last] ^= 0xff;
        let wrong = right ^ 0xff00_0000;
        assert_eq!(
            refusal(typed, &stored, 400),
            format!("{body}: payload checksum: expected {wrong:08x}, found {right:08x}")
        );
    }
    let mut stored = encode("zlib", &payload);
    let last = stored.len() - 1;
    stored[last] ^= 0xff;
    assert_eq!(refusal("zlib", &stored, 400), "zlib stream: expected a valid stream, found incorrect data check");
}

#[test]
fn frame_without_the_required_checksum_is_rejected() {
    let mut stored = encode("zstd", &text(400));
    stored[1] &= !0x04;
    assert_eq!(refusal("zstd", &stored, 400), "zstd frame: expected a checksum, found no checksum");
}

#[test]
fn impossible_lengths_are_rejected() {
    let mut body = vec![0x03];
    body.extend_from_slice(&[0xff, 0xff, 0xff, 0x1f]); // 64 MiB - 1, in a block of one byte
    body.extend_from_slice(&[0x01, 0x00, 0, 0, 0, 0]);
    let message = decoder("lz4").decode_prefix(&body, &mut [0; 10]).unwrap_err().to_string();
    assert_eq!(
        message,
        "lz4 body: expected a payload length that the block can hold, found 67108863 payload bytes in a block of 1"
    );
    // Descriptor: 8-byte content size, single segment, checksum.
    let mut frame = vec![0x02, 0xe4];
    frame.extend_from_slice(&(1u64 << 26).to_le_bytes());
    frame.extend_from_slice(&noise(100));
    let message = decoder("zstd").decode_prefix(&frame, &mut [0; 10]).unwrap_err().to_string();
    assert_eq!(
        message,
        "zstd frame: expected a content size that the stored bytes can hold, \
         found 67108864 payload bytes claimed by 109 stored bytes"
    );
    // The same for a source, which cannot say how long it is; and a block of 4 GiB - 1 bytes, none of which exist.
    let message = |body: &[u8]| {
        decoder("lz4").decode_stream_from(&mut BufReader::new(body), 255, &mut |_| Ok(())).unwrap_err().to_string()
    };
    assert_eq!(
        message(&[0x03, 0xff, 0x01, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        "lz4 body: expected a block short enough for 64 MiB of payload, found 4294967295 bytes"
    );
    assert_eq!(
        message(&[0x03, 0xff, 0x01, 0x80, 0x80, 0x80, 0x20]),
        "lz4 body: expected more stored bytes, found the end after 6"
    );
    let mut blocks = vec![0x23];
    blocks.extend_from_slice(&[0x80, 0x80, 0x80, 0x20]); // exactly one block
    assert_eq!(
        refusal("lz4", &blocks, BLOCK_LEN),
        "blocked body: expected a payload longer than one block, found 67108864 payload bytes"
    );
}

#[test]
fn frame_that_needs_a_dictionary_is_rejected() {
    // Descriptor: one-byte dictionary id, single segment, checksum.
    let frame = [0x02, 0x25, 0x2a, 0x05, 0x29, 0x00, 0x00, 1, 2, 3, 4, 5, 0, 0, 0, 0];
    assert_eq!(
        refusal("zstd", &frame, 5),
        "zstd frame: expected a body without dictionary, found one that needs dictionary 0x0000002a"
    );
}

#[test]
fn window_above_the_limit_is_rejected() {
    // A descriptor with a window descriptor and without content size and checksum, a window of 2 GiB, and one empty
    // last block.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00];
    let mut decoder = ChunkDecoder::new(ZlibReader::Stock);
    let message = "zstd frame: expected a window of at most 128 MiB, found 2147483648 bytes";
    assert_eq!(decoder.decode_prefix(&frame, &mut [0; 10]).unwrap_err().to_string(), message);
    assert_eq!(decoder.decode_stream(&frame, 0, &mut |_| Ok(())).unwrap_err().to_string(), message);
    assert_eq!(decoder.decode(&frame, &mut []).unwrap_err().to_string(), message);
    // The same frame with a window of 128 MiB is valid, as of another program, and empty.
    let mut allowed = frame;
    allowed[5] = (27 - 10) << 3;
    assert_eq!(decoder.decode_stream(&allowed, 0, &mut |_| Ok(())).unwrap(), 9);
    assert_eq!(decoder.decode(&allowed, &mut []).unwrap(), 9);
}

#[test]
fn zlib_stream_that_needs_a_dictionary_is_rejected() {
    // A header with FDICT set, and the Adler-32 of the dictionary.
    let stream = [0x78, 0xbb, 0x01, 0x02, 0x03, 0x04, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01];
    let namers = ZlibReader::ALL.into_iter().filter(|reader| match reader {
        // These do not report it.
        ZlibReader::Miniz | ZlibReader::Sirocco | ZlibReader::Libdeflate => false,
        _ => true,
    });
    for reader in namers {
        let error = ChunkDecoder::new(reader).decode(&stream, &mut [0; 4]).unwrap_err();
        assert_eq!(error.to_string(), "expected a dictionary of the repository, found one with Adler-32 01020304");
    }
    for reader in ZlibReader::ALL {
        assert!(ChunkDecoder::new(reader).decode(&stream, &mut [0; 4]).is_err(), "{reader:?}");
    }
}
