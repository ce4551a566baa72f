//! The metadata before the content of file revisions.
//!
//! A revision of a copied or renamed file starts with `\x01\n`, lines of `key: value`, and `\x01\n` again. A revision
//! whose content itself starts with `\x01\n` has empty metadata, so that the content is not mistaken for metadata.

/// The start and the end of metadata.
const MARKER: &[u8] = b"\x01\n";

/// Length in bytes of the metadata at the start of `text`, the full text of a file revision; 0 if there is none.
pub fn metadata_len(text: &[u8]) -> usize {
    let Some(rest) = text.strip_prefix(MARKER) else { return 0 };
    match memchr::memmem::find(rest, MARKER) {
        Some(len) => MARKER.len() + len + MARKER.len(),
        None => 0,
    }
}

/// Whether `text` says that the content was removed: it has the key `censored` in its metadata.
pub(super) fn is_tombstone(text: &[u8]) -> bool {
    let metadata = text.get(..metadata_len(text)).unwrap_or_default();
    metadata.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"censored: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_ends_with_its_second_marker() {
        assert_eq!(metadata_len(b"plain\x01\n"), 0);
        assert_eq!(metadata_len(b"\x01\n\x01\ncontent"), 4);
        assert_eq!(metadata_len(b"\x01\ncopy: a\ncopyrev: 00\n\x01\n\x01\ncontent"), 24);
        assert_eq!(metadata_len(b"\x01\nno end"), 0);
        assert_eq!(metadata_len(b""), 0);
    }

    #[test]
    fn tombstones_say_so_in_their_metadata() {
        assert!(is_tombstone(b"\x01\ncensored: withdrawn\n\x01\n"));
        assert!(is_tombstone(b"\x01\na: b\ncensored: \n\x01\nrest"));
        for other in [&b"censored: a\n"[..], b"\x01\n\x01\ncensored: a\n", b"\x01\ncensored: no end", b""] {
            assert!(!is_tombstone(other), "{other:?}");
        }
    }
}
