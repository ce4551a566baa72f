//! The form of a chunk, as its first bytes say it.

use crate::opening::Opening;
use crate::opening::revlog::RevlogOpening;
use crate::spec::{CodecChoice, CodecSpec};
use crate::tag::{BaseUse, Body, Tag};

/// How a chunk holds its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoredForm {
    /// Compressed without dictionary or base.
    Plain,
    /// Compressed with a dictionary.
    Dictionary,
    /// A delta, compressed with its base's content as prefix.
    Prefix,
    /// The whole object instead of its delta, compressed with the base's content as prefix.
    Patch,
    /// Not compressed.
    Raw,
}

/// A format of compressed data that several implementations decode: see [`Decoders`](crate::Decoders).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SharedFormat {
    /// RFC 1950 streams without a preset dictionary. Only stock zlib decodes those with one.
    Zlib,
    /// Tagged DEFLATE bodies without a dictionary. Only stock zlib decodes those with one.
    Deflate,
    /// LZ4 blocks without a dictionary. Only liblz4 decodes those with one.
    Lz4,
}

impl StoredForm {
    /// The form of the chunk of a pack or loose object at the start of `stored`; `None` if no chunk can start like
    /// this.
    pub fn of_chunk(stored: &[u8]) -> Option<Self> {
        match Opening::of(stored).ok()? {
            Opening::ZlibStream { preset: Some(_) } => Some(StoredForm::Dictionary),
            Opening::ZlibStream { preset: None } | Opening::StandardZstdFrame => Some(StoredForm::Plain),
            Opening::Tagged(tag) => Some(StoredForm::of_tag(tag)),
        }
    }

    /// The form of the revlog chunk that is all of `stored`; `None` if no chunk can start like this.
    pub fn of_revlog_chunk(stored: &[u8]) -> Option<Self> {
        match RevlogOpening::of(stored).ok()? {
            RevlogOpening::Empty | RevlogOpening::RawWithoutHeader | RevlogOpening::Raw => Some(StoredForm::Raw),
            RevlogOpening::ZlibStream | RevlogOpening::ZstdFrame | RevlogOpening::Lz4 => Some(StoredForm::Plain),
            RevlogOpening::Tagged(tag) => Some(StoredForm::of_tag(tag)),
        }
    }

    fn of_tag(tag: Tag) -> Self {
        match (tag.base_use(), tag.dictionary, tag.body) {
            (BaseUse::Prefix, ..) => StoredForm::Prefix,
            (BaseUse::Patch, ..) => StoredForm::Patch,
            (BaseUse::None, Some(_), _) => StoredForm::Dictionary,
            (BaseUse::None, None, Body::Store) => StoredForm::Raw,
            (BaseUse::None, None, _) => StoredForm::Plain,
        }
    }
}

impl SharedFormat {
    /// Every format.
    pub const ALL: [SharedFormat; 3] = [SharedFormat::Zlib, SharedFormat::Deflate, SharedFormat::Lz4];

    /// The name that the user types.
    pub fn name(self) -> &'static str {
        match self {
            SharedFormat::Zlib => "zlib",
            SharedFormat::Deflate => "deflate",
            SharedFormat::Lz4 => "lz4",
        }
    }

    /// The description in messages.
    pub fn description(self) -> &'static str {
        match self {
            SharedFormat::Zlib => "zlib streams",
            SharedFormat::Deflate => "deflate bodies",
            SharedFormat::Lz4 => "LZ4 blocks",
        }
    }

    /// The format of the chunk of a pack or loose object at the start of `stored`; `None` if only one implementation
    /// decodes it.
    pub fn of_chunk(stored: &[u8]) -> Option<Self> {
        match Opening::of(stored).ok()? {
            Opening::ZlibStream { preset: None } => Some(SharedFormat::Zlib),
            Opening::Tagged(tag) if tag.dictionary.is_none() => SharedFormat::of_body(tag.body),
            _ => None,
        }
    }

    /// The format of the revlog chunk that is all of `stored`; `None` if only one implementation decodes it.
    pub fn of_revlog_chunk(stored: &[u8]) -> Option<Self> {
        match RevlogOpening::of(stored).ok()? {
            RevlogOpening::ZlibStream => Some(SharedFormat::Zlib),
            RevlogOpening::Lz4 => Some(SharedFormat::Lz4),
            RevlogOpening::Tagged(tag) if tag.dictionary.is_none() => SharedFormat::of_body(tag.body),
            _ => None,
        }
    }

    /// Whether some chunks of `spec` have this format.
    pub fn is_written_by(self, spec: &CodecSpec) -> bool {
        spec.choices().any(|choice| SharedFormat::of_choice(choice) == Some(self))
    }

    fn of_choice(choice: &CodecChoice) -> Option<Self> {
        match choice.algorithm().body() {
            _ if choice.dictionary().is_some() => None,
            None => Some(SharedFormat::Zlib),
            Some(body) => SharedFormat::of_body(body),
        }
    }

    fn of_body(body: Body) -> Option<Self> {
        match body {
            Body::Deflate => Some(SharedFormat::Deflate),
            Body::Lz4 => Some(SharedFormat::Lz4),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChunkEncoder, RevlogEncoder};

    /// A compressible text that is long enough to be compressed in a revlog.
    const TEXT: &[u8] = b"hello, hello, hello, hello, hello, hello, hello, hello, hello, hello, hello\n";

    fn chunk(spec: &str, payload: &[u8]) -> Vec<u8> {
        let mut stored = Vec::new();
        ChunkEncoder::new(&spec.parse().unwrap()).unwrap().encode(payload, &mut stored).unwrap();
        stored
    }

    fn revlog_chunk(spec: &str, payload: &[u8]) -> Vec<u8> {
        let mut stored = Vec::new();
        RevlogEncoder::new(&spec.parse().unwrap()).unwrap().encode(payload, &mut stored).unwrap();
        stored
    }

    #[test]
    fn encoded_chunks_have_the_form_of_their_spec() {
        for (spec, format) in [
            ("zlib", Some(SharedFormat::Zlib)),
            ("libdeflate", Some(SharedFormat::Zlib)),
            ("lz4hc", Some(SharedFormat::Lz4)),
            ("deflate", Some(SharedFormat::Deflate)),
            ("lz4,checksum=no", Some(SharedFormat::Lz4)),
            ("zstd", None),
            ("zstd,frame=standard", None),
            ("brotli", None),
        ] {
            let stored = chunk(spec, TEXT);
            assert_eq!(StoredForm::of_chunk(&stored), Some(StoredForm::Plain), "{spec}");
            assert_eq!(SharedFormat::of_chunk(&stored), format, "{spec}");
            let spec: CodecSpec = spec.parse().unwrap();
            for candidate in SharedFormat::ALL {
                assert_eq!(candidate.is_written_by(&spec), format == Some(candidate), "{spec}");
            }
        }
        for spec in ["store", "zstd", "lz4"] {
            assert_eq!(StoredForm::of_chunk(&chunk(spec, b"hi")), Some(StoredForm::Raw), "{spec}");
        }
    }

    #[test]
    fn encoded_revlog_chunks_have_the_form_of_their_spec() {
        for (spec, format) in [("zlib", Some(SharedFormat::Zlib)), ("lz4", Some(SharedFormat::Lz4)), ("zstd", None)] {
            let stored = revlog_chunk(spec, TEXT);
            assert_eq!(StoredForm::of_revlog_chunk(&stored), Some(StoredForm::Plain), "{spec}");
            assert_eq!(SharedFormat::of_revlog_chunk(&stored), format, "{spec}");
            for raw in [&b""[..], b"\0hi", b"hi"] {
                assert_eq!(StoredForm::of_revlog_chunk(&revlog_chunk(spec, raw)), Some(StoredForm::Raw), "{spec}");
            }
        }
        assert_eq!(StoredForm::of_revlog_chunk(&revlog_chunk("brotli", TEXT)), Some(StoredForm::Plain));
        assert_eq!(StoredForm::of_revlog_chunk(b"?"), None);
    }

    #[test]
    fn flags_of_the_tag_byte_decide_the_form() {
        for (bytes, form) in [
            (&[0x42, 0][..], Some(StoredForm::Dictionary)),
            (&[0x43, 0], Some(StoredForm::Dictionary)),
            (&[0x78, 0xbb, 0, 0, 0, 1], Some(StoredForm::Dictionary)),
            (&[0x12], Some(StoredForm::Prefix)),
            (&[0x1c], Some(StoredForm::Patch)),
            (&[0x23], Some(StoredForm::Plain)),
            (&[0x81], Some(StoredForm::Raw)),
            (&[0x00], None),
            (&[], None),
        ] {
            assert_eq!(StoredForm::of_chunk(bytes), form, "{bytes:02x?}");
        }
        assert_eq!(SharedFormat::of_chunk(&[0x43, 0]), None, "only liblz4 reads it");
        assert_eq!(SharedFormat::of_chunk(&[0x78, 0xbb, 0, 0, 0, 1]), None, "only stock zlib reads it");
        assert!(!SharedFormat::Zlib.is_written_by(&"zlib,dict=32k".parse().unwrap()));
    }
}
