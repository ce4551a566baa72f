//! The encodings of the attribute `working-tree-encoding`.
//!
//! git leaves the conversion to iconv, and adds the names that end in `-BOM`. The library has the encodings of the web,
//! which cannot write UTF-16 and have other characters in Latin-1. Those are implemented here; the library does the
//! rest.

use gix_filter::{encoding::Encoding, worktree};

/// The byte order mark, which gives the order of the bytes that follow.
const BYTE_ORDER_MARK: char = '\u{feff}';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Big,
    Little,
}

/// The order that iconv of the GNU C library uses if the name has none.
const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

/// An encoding that text can be converted into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEncoding {
    Utf16 {
        order: ByteOrder,
        is_marked: bool,
    },
    Utf32 {
        order: ByteOrder,
        is_marked: bool,
    },
    /// Each character is the byte with its number, up to and including this one.
    Bytes {
        last: u8,
    },
    Other(&'static Encoding),
}

impl TextEncoding {
    /// The encoding called `name`; `None` for UTF-8, the encoding of blobs, and for an unknown one, which git ignores
    /// as well.
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        if let Some(of_unicode) = name.strip_prefix(b"utf") {
            return Self::of_unicode(of_unicode.strip_prefix(b"-").unwrap_or(of_unicode));
        }
        match name.as_slice() {
            b"latin-1" | b"latin1" | b"l1" | b"iso-8859-1" | b"iso8859-1" | b"iso_8859-1" | b"iso88591" => {
                Some(TextEncoding::Bytes { last: 0xff })
            }
            b"us-ascii" | b"ascii" => Some(TextEncoding::Bytes { last: 0x7f }),
            other => {
                let encoding = worktree::encoding::for_label(other).ok()?;
                // The library writes encodings that the web only reads as UTF-8, which would be wrong here.
                (encoding.output_encoding() == encoding).then_some(TextEncoding::Other(encoding))
            }
        }
    }

    fn of_unicode(name: &[u8]) -> Option<Self> {
        use ByteOrder::{Big, Little};
        Some(match name {
            b"16" => TextEncoding::Utf16 { order: NATIVE, is_marked: true },
            b"16le" => TextEncoding::Utf16 { order: Little, is_marked: false },
            b"16be" => TextEncoding::Utf16 { order: Big, is_marked: false },
            b"16le-bom" => TextEncoding::Utf16 { order: Little, is_marked: true },
            b"16be-bom" => TextEncoding::Utf16 { order: Big, is_marked: true },
            b"32" => TextEncoding::Utf32 { order: NATIVE, is_marked: true },
            b"32le" => TextEncoding::Utf32 { order: Little, is_marked: false },
            b"32be" => TextEncoding::Utf32 { order: Big, is_marked: false },
            _ => return None,
        })
    }

    /// Writes `content` in this encoding to `encoded`. Returns `false`, with `encoded` in any state, if it is not UTF-8
    /// or has a character that the encoding lacks. git then leaves the content unchanged.
    pub(super) fn encode(self, content: &[u8], encoded: &mut Vec<u8>) -> bool {
        if let TextEncoding::Other(encoding) = self {
            return worktree::encode_to_worktree(content, encoding, encoded).is_ok();
        }
        let Ok(text) = std::str::from_utf8(content) else { return false };
        encoded.clear();
        match self {
            TextEncoding::Utf16 { order, is_marked } => {
                let mut units = [0; 2];
                for character in mark(is_marked).chain(text.chars()) {
                    for unit in character.encode_utf16(&mut units) {
                        encoded.extend(in_order(order, unit.to_be_bytes()));
                    }
                }
                true
            }
            TextEncoding::Utf32 { order, is_marked } => {
                let characters = mark(is_marked).chain(text.chars());
                encoded.extend(characters.flat_map(|c| in_order(order, u32::from(c).to_be_bytes())));
                true
            }
            TextEncoding::Bytes { last } => text.chars().all(|character| {
                let byte = u8::try_from(character).ok().filter(|byte| *byte <= last);
                encoded.extend(byte);
                byte.is_some()
            }),
            TextEncoding::Other(_) => false,
        }
    }
}

fn mark(is_marked: bool) -> impl Iterator<Item = char> {
    is_marked.then_some(BYTE_ORDER_MARK).into_iter()
}

/// The bytes of a big-endian number in `order`.
fn in_order<const LEN: usize>(order: ByteOrder, mut bytes: [u8; LEN]) -> [u8; LEN] {
    if order == ByteOrder::Little {
        bytes.reverse();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn encodes(name: &str, text: &str, expected: Option<&[u8]>) {
        let mut encoded = vec![1];
        let encoding = TextEncoding::from_name(name.as_bytes()).expect(name);
        let is_encoded = encoding.encode(text.as_bytes(), &mut encoded);
        assert_eq!(is_encoded.then_some(encoded.as_slice()), expected, "{name} of {text:?}");
    }

    #[test]
    fn unicode_has_the_requested_byte_order() {
        encodes("UTF-16LE-BOM", "a\u{1f600}", Some(b"\xff\xfea\0\x3d\xd8\x00\xde"));
        encodes("utf16be-bom", "a\u{1f600}", Some(b"\xfe\xff\0a\xd8\x3d\xde\x00"));
        encodes("UTF-16LE", "a", Some(b"a\0"));
        encodes("UTF-16BE", "a", Some(b"\0a"));
        encodes("UTF-32LE", "a", Some(b"a\0\0\0"));
        encodes("UTF-32BE", "\u{1f600}", Some(b"\x00\x01\xf6\x00"));
        let marked = TextEncoding::from_name(b"utf-32");
        assert_eq!(marked, Some(TextEncoding::Utf32 { order: NATIVE, is_marked: true }));
    }

    #[test]
    fn byte_encodings_have_the_first_characters_only() {
        encodes("ISO-8859-1", "caf\u{e9}\u{80}", Some(b"caf\xe9\x80"));
        encodes("latin-1", "\u{100}", None);
        encodes("us-ascii", "\u{7f}", Some(b"\x7f"));
        encodes("ASCII", "\u{80}", None);
    }

    #[test]
    fn other_encodings_come_from_the_library() {
        encodes("Shift_JIS", "\u{30c6}", Some(b"\x83\x65"));
        encodes("windows-1252", "\u{20ac}", Some(b"\x80"));
        encodes("windows-1252", "\u{3c0}", None);
    }

    #[test]
    fn invalid_text_is_left_unchanged() {
        let mut encoded = Vec::new();
        for name in ["UTF-16", "latin1", "Shift_JIS"] {
            assert!(!TextEncoding::from_name(name.as_bytes()).unwrap().encode(b"\xff", &mut encoded), "{name}");
        }
    }

    #[test]
    fn utf_8_and_unknown_names_convert_nothing() {
        for name in ["UTF-8", "utf8", "", "no-such-encoding", "iso-2022-kr", "UTF-7"] {
            assert_eq!(TextEncoding::from_name(name.as_bytes()), None, "{name}");
        }
    }
}
