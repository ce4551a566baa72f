//! Payloads above one block, from sources and to sinks that move only a few bytes at a time.

use std::io::{self, BufReader, Read};

use crate::common::{decoder, encode, encoder, noise, text};
use repackbench_codec::{BLOCK_LEN, ChunkDecoder, CodecError, ZlibReader};

/// One block, then some noise, so that a blocked codec stores the second block. The block is zeros, which all codecs
/// encode and decode fast, but each of its mebibytes starts with some text of its own.
fn long_payload() -> Vec<u8> {
    let words = text(40_000);
    let mut payload = vec![0; BLOCK_LEN];
    for (number, mebibyte) in payload.chunks_mut(1 << 20).enumerate() {
        mebibyte[..32_000].copy_from_slice(&words[number * 100..][..32_000]);
    }
    payload.extend(noise(1_000_003));
    payload
}

/// Yields at most a few thousand bytes at a time, like a pipe.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit = buffer.len().min(4_001);
        self.0.read(&mut buffer[..limit])
    }
}

fn assert_streams(typed: &str, first_byte: u8, payload: &[u8]) {
    let mut stored = Vec::new();
    let written = encoder(typed).encode_stream(&mut Trickle(payload), payload.len() as u64, &mut stored).unwrap();
    assert_eq!(written, stored.len() as u64, "{typed}");
    assert_eq!(stored[0], first_byte, "{typed}");
    assert!(encode(typed, payload) == stored, "{typed}: encode differs from encode_stream");
    let chunk_len = stored.len();
    stored.extend_from_slice(&[0x78; 100]);

    let mut decoder = decoder(typed);
    let mut position = 0;
    let consumed = decoder
        .decode_stream(&stored, payload.len() as u64, &mut |piece| {
            assert!(piece.len() <= BLOCK_LEN);
            assert!(piece == &payload[position..position + piece.len()], "{typed}: wrong bytes after {position}");
            position += piece.len();
            Ok(())
        })
        .unwrap();
    assert_eq!((consumed, position), (chunk_len as u64, payload.len()), "{typed}");

    let mut decoded = vec![0; payload.len()];
    assert_eq!(decoder.decode(&stored, &mut decoded).unwrap(), chunk_len, "{typed}");
    assert!(decoded == payload, "{typed}");
    for prefix_len in [50, BLOCK_LEN, BLOCK_LEN + 50].into_iter().filter(|length| *length <= payload.len()) {
        let prefix = &mut decoded[..prefix_len];
        prefix.fill(0);
        assert_eq!(decoder.decode_prefix(&stored, prefix).unwrap(), prefix_len, "{typed}");
        assert!(prefix == &payload[..prefix_len], "{typed}: prefix of {prefix_len}");
    }
    assert!(decoder.decode_stream(&stored, payload.len() as u64 - 1, &mut |_| Ok(())).is_err(), "{typed}");
    assert_decodes_from_a_pipe(typed, &stored, chunk_len, payload);
    assert!(decoder.decode(&stored[..chunk_len - 1], &mut vec![0; payload.len()]).is_err(), "{typed}");
}

/// Decodes from a source that never has the whole chunk in its buffer, and continues after the chunk.
fn assert_decodes_from_a_pipe(typed: &str, stored: &[u8], chunk_len: usize, payload: &[u8]) {
    let mut decoder = decoder(typed);
    let mut pipe = BufReader::with_capacity(50_000, Trickle(stored));
    let mut position = 0;
    let consumed = decoder
        .decode_stream_from(&mut pipe, payload.len() as u64, &mut |piece| {
            assert!(piece == &payload[position..position + piece.len()], "{typed}: wrong bytes after {position}");
            position += piece.len();
            Ok(())
        })
        .unwrap();
    assert_eq!((consumed, position), (chunk_len as u64, payload.len()), "{typed}");
    let mut rest = Vec::new();
    pipe.read_to_end(&mut rest).unwrap();
    assert!(rest == stored[chunk_len..], "{typed}: exactly the chunk's bytes must be taken");

    for prefix_len in [50, BLOCK_LEN + 50].into_iter().filter(|length| *length <= payload.len()) {
        let mut prefix = vec![0; prefix_len];
        let mut pipe = BufReader::with_capacity(50_000, Trickle(stored));
        assert_eq!(decoder.decode_prefix_from(&mut pipe, &mut prefix).unwrap(), prefix_len, "{typed}");
        assert!(prefix == payload[..prefix_len], "{typed}: prefix of {prefix_len}");
    }

    let cut = &stored[..chunk_len - 1];
    let error = decoder.decode_stream_from(&mut BufReader::new(Trickle(cut)), payload.len() as u64, &mut |_| Ok(()));
    let found = error.unwrap_err().to_string();
    assert!(found.contains("expected more stored bytes, found the end after "), "{typed}: {found}");
}

fn assert_streams_long(specs: &[(&str, u8)]) {
    let payload = long_payload();
    for (typed, first_byte) in specs {
        assert_streams(typed, *first_byte, &payload);
    }
}

// Payloads above one block, in tests that take about the same time, so that they run in parallel.

#[test]
fn zlib_streams_above_a_block_round_trip() {
    assert_streams_long(&[("zlib:1", 0x78), ("zlib-rs:1", 0x78), ("libdeflate:1", 0x78), ("sirocco:1", 0x78)]);
}

#[test]
fn tagged_bodies_above_a_block_round_trip() {
    assert_streams_long(&[
        ("store", 0x01),
        ("zstd:1", 0x02),
        ("zstd:1,frame=standard", 0x28),
        ("deflate:1", 0x0b),
        ("brotli:1", 0x06),
    ]);
}

#[test]
fn blocked_payloads_round_trip() {
    assert_streams_long(&[
        ("lz4", 0x23),
        ("lz4,checksum=no", 0xa3),
        ("lz4hc:3", 0x23),
        ("lz4_flex", 0x23),
        ("snappy", 0x24),
        ("lzo:1", 0x25),
    ]);
}

/// The same for codecs that are too slow for a payload of that length, or similar to one of the above.
#[test]
fn payloads_of_several_pieces_round_trip() {
    let payload = [text(900_000), noise(300_001), text(400_000), vec![0; 700_000]].concat();
    for (typed, first_byte) in [
        ("miniz:6", 0x78),
        ("sirocco:9", 0x78),
        ("deflate:9,checksum=no", 0x8b),
        ("brotli:5", 0x06),
        ("lzma:0", 0x07),
        ("lzma:6", 0x07),
        ("xz:0,checksum=no", 0x89),
        ("bzip2:1", 0x0a),
        ("bzip2:9", 0x0a),
        #[cfg(feature = "zlib-ng")]
        ("zlib-ng:1", 0x78),
        #[cfg(feature = "zlib-ng")]
        ("zlib-ng:9", 0x78),
    ] {
        assert_streams(typed, first_byte, &payload);
    }
}

#[test]
fn libdeflate_leaves_long_payloads_to_stock_zlib() {
    let payload = long_payload();
    assert!(encode("libdeflate:2", &payload) == encode("zlib:2", &payload));
}

#[test]
fn zopfli_leaves_long_payloads_to_stock_zlib() {
    let payload = vec![0; BLOCK_LEN + 1];
    assert!(encode("zopfli:2", &payload) == encode("zlib:9", &payload));
}

#[test]
fn blocks_that_do_not_shrink_are_stored() {
    let payload = long_payload();
    let stored = encode("lz4", &payload);
    let first_block = encode("lz4", &payload[..BLOCK_LEN]);
    let second_block = encode("store", &payload[BLOCK_LEN..]);
    // Tag byte and a four-byte LEB128 length.
    assert!(stored[5..] == [first_block, second_block].concat());

    // A chunk of another codec, or with another checksum setting, cannot be a block of this chunk.
    for foreign in [0x02, 0x78, 0x23, 0x83] {
        let mut damaged = stored[..200].to_vec();
        damaged[5] = foreign;
        let error = ChunkDecoder::new(ZlibReader::Stock).decode_prefix(&damaged, &mut [0; 8]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("blocked body: expected the tag byte of a block of this chunk, found {foreign:#04x}")
        );
    }
}

#[test]
fn sources_of_another_length_are_rejected() {
    let payload = text(300_000);
    for typed in [
        "store",
        "zlib",
        "zlib-rs",
        "miniz",
        "sirocco",
        "libdeflate",
        "zstd",
        "lz4",
        "deflate",
        "brotli:1",
        "lzma:0",
        "xz:0",
        "bzip2:1",
        "snappy",
        "lzo",
    ] {
        let mut encoder = encoder(typed);
        let mut encode = |announced: usize| {
            encoder.encode_stream(&mut payload.as_slice(), announced as u64, &mut io::sink()).map_err(|e| e.to_string())
        };
        assert_eq!(encode(300_001).unwrap_err(), "payload source: expected 300001 bytes, found 300000", "{typed}");
        assert_eq!(encode(299_999).unwrap_err(), "payload source: expected 299999 bytes, found more", "{typed}");
        assert_eq!(encode(0).unwrap_err(), "payload source: expected 0 bytes, found more", "{typed}");
        encode(300_000).unwrap();
        let long = BLOCK_LEN + 1;
        assert_eq!(
            encode(long).unwrap_err(),
            format!("payload source: expected {long} bytes, found 300000"),
            "{typed}"
        );
    }
}

#[test]
fn failing_readers_writers_and_sinks_are_reported() {
    struct Broken;
    let broken = || io::Error::other("the pipe is broken");
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the pipe is broken"))
        }
    }
    for typed in [
        "store", "zlib", "miniz", "sirocco", "zstd", "lz4", "deflate", "brotli", "lzma", "xz", "bzip2", "snappy", "lzo",
    ] {
        let error = encoder(typed).encode_stream(&mut Broken, 10, &mut io::sink()).unwrap_err();
        assert_eq!(error.to_string(), "reading the payload: the pipe is broken");
        let mut no_room: &mut [u8] = &mut [];
        let error = encoder(typed).encode_stream(&mut &b"payload"[..], 7, &mut no_room).unwrap_err();
        assert!(matches!(error, CodecError::Io { action: "writing the stored bytes", .. }), "{typed}: {error}");
        let stored = encode(typed, b"payload");
        let error = decoder(typed).decode_stream(&stored, 7, &mut |_| Err(broken())).unwrap_err();
        assert_eq!(error.to_string(), "delivering the payload: the pipe is broken");
        let mut source = BufReader::new((&stored[..stored.len() - 1]).chain(Broken));
        let error = decoder(typed).decode_stream_from(&mut source, 7, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "reading the stored bytes: the pipe is broken", "{typed}");
    }
}
