use std::io::{self, BufReader, Write};

use super::*;
use crate::decoders::Decoders;
use crate::error::CodecError;
use crate::spec::CodecSpec;

fn spec(typed: &str) -> CodecSpec {
    typed.parse().unwrap()
}

fn encode(typed: &str, content: &[u8]) -> Vec<u8> {
    let mut out = b"before".to_vec();
    let mut encoder = FileEncoder::new(spec(typed).default_choice()).unwrap();
    let len = encoder.encode(content, &mut out).unwrap();
    assert_eq!((&out[..6], out.len()), (&b"before"[..], 6 + len));
    out.split_off(6)
}

fn decode(form: FileForm, stored: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let mut content = b"before".to_vec();
    let decoded = FileDecoder::new(form, Decoders::default()).decode(stored, limit, &mut content);
    match decoded {
        Ok(len) => {
            assert_eq!(content.len(), 6 + len);
            Ok(content.split_off(6))
        }
        Err(error) => {
            assert_eq!(content, b"before", "an error leaves the buffer unchanged");
            Err(error.to_string())
        }
    }
}

/// Encodes in pieces, even if the content is short.
fn encode_pieces(typed: &str, content: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = FileEncoder::new(spec(typed).default_choice()).unwrap();
    let len = encoder.stream(&mut &*content, content.len() as u64, &mut file).unwrap();
    assert_eq!(file.len() as u64, len, "{typed}");
    file
}

/// Decodes in pieces, from a buffer that is shorter than the file.
fn decode_pieces(form: FileForm, stored: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let mut sink = |piece: &[u8]| {
        content.extend_from_slice(piece);
        Ok(())
    };
    let mut stored = BufReader::with_capacity(7, stored);
    let decoded = FileDecoder::new(form, Decoders::default()).decode_stream(&mut stored, limit as u64, &mut sink);
    let len = decoded.map_err(|error| error.to_string())?;
    assert_eq!(content.len() as u64, len);
    Ok(content)
}

fn form(typed: &str) -> FileForm {
    FileForm::of(spec(typed).default_choice())
}

const SPECS: [&str; 14] = [
    "store",
    "zlib:9",
    "zlib:0",
    "deflate:6",
    "zlib-rs:6",
    "libdeflate:12",
    "miniz:6",
    "zstd:5",
    "bzip2:9",
    "xz:6",
    "lzo:9",
    "lz4",
    "brotli:5",
    "lzma:6",
];

/// Contents from empty to several pieces long, some of which shrink a lot, a little or not at all.
fn contents() -> Vec<Vec<u8>> {
    let mut random = 1_u32;
    let mut noise = |len: usize| -> Vec<u8> {
        (0..len)
            .map(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                random.to_be_bytes()[0]
            })
            .collect()
    };
    vec![
        Vec::new(),
        b"x".to_vec(),
        b"fn main() {}\n".repeat(20),
        noise(127),
        noise(128),
        noise(300_000),
        b"0123456789 abcdef\n".repeat(40_000),
    ]
}

#[test]
fn every_codec_round_trips() {
    for typed in SPECS {
        for content in contents() {
            for stored in [encode(typed, &content), encode_pieces(typed, &content)] {
                for decode in [decode, decode_pieces] {
                    assert_eq!(decode(form(typed), &stored, content.len()).as_ref(), Ok(&content), "{typed}");
                }
            }
        }
    }
}

#[test]
fn encode_and_encode_stream_write_the_same_short_files() {
    for typed in SPECS {
        for content in contents() {
            let mut file = Vec::new();
            let mut encoder = FileEncoder::new(spec(typed).default_choice()).unwrap();
            let len = encoder.encode_stream(&mut &*content, content.len() as u64, &mut file).unwrap();
            assert_eq!(len, file.len() as u64, "{typed}");
            assert_eq!(file, encode(typed, &content), "{typed}");
        }
    }
}

/// A writer without room.
struct Full;

impl Write for Full {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn wrong_source_lengths_and_failing_writers_are_errors() {
    let content = b"0123456789".repeat(50_000);
    for typed in SPECS {
        let mut encoder = FileEncoder::new(spec(typed).default_choice()).unwrap();
        for claimed in [content.len() as u64 - 1, content.len() as u64 + 1] {
            let error = encoder.stream(&mut &*content, claimed, &mut io::sink()).unwrap_err();
            assert!(
                matches!(error, CodecError::SourceLength { expected, .. } if expected == claimed),
                "{typed}: {error}"
            );
        }
        let error = encoder.stream(&mut &*content, content.len() as u64, &mut Full).unwrap_err();
        assert!(matches!(error, CodecError::Io { .. }), "{typed}: {error}");
        let mut file = Vec::new();
        encoder.stream(&mut &*content, content.len() as u64, &mut file).unwrap();
        assert_eq!(file, encode_pieces(typed, &content), "{typed}: the encoder has recovered");
        let mut refuse = |_: &[u8]| Err(io::Error::other("no more"));
        let mut decoder = FileDecoder::new(form(typed), Decoders::default());
        let error = decoder.decode_stream(&mut &*file, u64::MAX, &mut refuse).unwrap_err().to_string();
        assert!(error.contains("no more"), "{typed}: {error}");
        let mut len = 0;
        let mut count = |piece: &[u8]| {
            len += piece.len();
            Ok(())
        };
        decoder.decode_stream(&mut &*file, u64::MAX, &mut count).unwrap();
        assert_eq!(len, content.len(), "{typed}: the decoder has recovered");
    }
}

#[test]
fn files_start_with_the_magic_of_their_format() {
    let first = |typed: &str| encode(typed, b"fn main() {}\n")[..4].to_vec();
    assert_eq!(first("store"), b"fn m");
    for typed in ["zlib:9", "deflate:6", "zlib-rs:6", "libdeflate:6", "miniz:6"] {
        assert_eq!(first(typed), [0x1f, 0x8b, 8, 0], "{typed}");
    }
    assert_eq!(first("zstd:3"), [0x28, 0xb5, 0x2f, 0xfd]);
    assert_eq!(first("bzip2:9")[..3], *b"BZh");
    assert_eq!(first("xz:6"), [0xfd, b'7', b'z', b'X']);
    assert_eq!(first("zstd:3,frame=standard"), first("zstd:3"));
    // Derived by hand from RFC 1952 and RFC 1951: an empty block with fixed codes, CRC-32 and length 0.
    let empty = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(encode("zlib:9", b""), empty);
    assert_eq!(encode("libdeflate:9", b"")[..10], empty[..10]);
}

/// zlib's own gzip reader checks the trailer.
#[test]
fn zlib_reads_our_gzip_members() {
    for typed in ["zlib:1", "zlib-rs:6", "libdeflate:9", "miniz:3"] {
        for content in contents() {
            for stored in [encode(typed, &content), encode_pieces(typed, &content)] {
                let mut read = Vec::new();
                io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*stored), &mut read).unwrap();
                assert_eq!(read, content, "{typed}");
            }
        }
    }
}

#[test]
fn decode_rejects_content_above_the_limit() {
    let content = b"0123456789".repeat(5_000);
    for typed in SPECS {
        let stored = encode(typed, &content);
        for limit in [0, 1, content.len() - 1] {
            for decode in [decode, decode_pieces] {
                let error = decode(form(typed), &stored, limit).unwrap_err();
                assert!(error.contains(&format!("at most {limit} payload bytes")), "{typed}: {error}");
            }
        }
    }
}

#[test]
fn damaged_files_never_decode_to_other_content() {
    let content = b"static int answer = 42; /* forty-two */\n".repeat(40);
    for typed in SPECS.into_iter().filter(|typed| *typed != "store") {
        let stored = encode(typed, &content);
        let longer = [&stored[..], b"x"].concat();
        for decode in [decode, decode_pieces] {
            for len in 0..stored.len() {
                let cut = decode(form(typed), &stored[..len], 1 << 20);
                assert!(cut.is_err(), "{typed} cut to {len}");
            }
            assert!(decode(form(typed), &longer, 1 << 20).is_err(), "{typed} with a trailing byte");
        }
        let trailing = decode_pieces(form(typed), &longer, 1 << 20).unwrap_err();
        let message = format!("expected the end after {} stored bytes, found {}", stored.len(), longer.len());
        assert!(trailing.contains(&message), "{typed} with a trailing byte: {trailing}");
        for at in 0..stored.len() {
            for bit in 0..8 {
                let mut flipped = stored.clone();
                flipped[at] ^= 1 << bit;
                // Some bits have no effect, such as those of gzip's modification time.
                for decode in [decode, decode_pieces] {
                    if let Ok(decoded) = decode(form(typed), &flipped, 1 << 20) {
                        assert_eq!(decoded, content, "{typed}, bit {bit} of byte {at}");
                    }
                }
            }
        }
    }
}

#[test]
fn claimed_lengths_allocate_no_memory() {
    // The trailer of a gzip member of 20 bytes, which claims 4 GB.
    let mut member = encode("zlib:9", b"");
    let end = member.len();
    member[end - 4..].fill(0xff);
    assert!(decode(FileForm::Gzip, &member, usize::MAX).unwrap_err().contains("expected 4294967295 payload bytes"));
    // A brotli chunk that claims 2^62 bytes. Brotli has no maximum expansion.
    let mut chunk = vec![0x06];
    crate::leb128::write(1 << 62, &mut chunk);
    chunk.extend_from_slice(&encode("brotli:5", b"short, short, short, short, short")[2..]);
    assert!(decode(FileForm::Chunk, &chunk, usize::MAX).is_err());
}

#[test]
fn decode_rejects_chunks_that_files_cannot_contain() {
    for stored in [&[][..], &[0x02, 0x20, 0x00], &[0x42, 0x00], &[0x78, 0x9c], &[0x00], &[0x28, 0xb5, 0x2f, 0xfd]] {
        assert!(decode(FileForm::Chunk, stored, 1 << 20).is_err(), "{stored:?}");
    }
}

#[test]
fn leb128_len_agrees_with_write() {
    for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
        let mut written = Vec::new();
        crate::leb128::write(value, &mut written);
        assert_eq!(crate::leb128::len(value), written.len(), "{value}");
    }
}

#[test]
fn form_names_round_trip() {
    for form in FileForm::ALL {
        assert_eq!(FileForm::from_name(form.name()), Some(form));
    }
    assert_eq!(FileForm::from_name("zip"), None);
}
