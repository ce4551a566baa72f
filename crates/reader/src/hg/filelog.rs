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
}
