//! File revisions: the metadata in front of their content.
//!
//! A file revision that was copied or renamed starts with `\x01\n`, lines of `key: value`, and `\x01\n` again; one whose
//! content itself starts with `\x01\n` has an empty header, so that the content cannot be taken for one.

/// What metadata begins and ends with.
const MARKER: &[u8] = b"\x01\n";

/// The length of the metadata in front of `text`, a file revision's full text; 0 if there is none.
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
