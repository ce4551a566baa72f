//! What a changeset says.
//!
//! A changelog revision is a line with the manifest's node, a line with the user, one with the date, the time zone and
//! extras, then a path on each line up to an empty line, then the description.

use gix_hash::ObjectId;

/// The node of the manifest; `None` if `text` is no changeset.
pub(super) fn manifest(text: &[u8]) -> Option<ObjectId> {
    let (manifest, rest) = line(text)?;
    let (_user, rest) = line(rest)?;
    line(rest)?;
    ObjectId::from_hex(manifest).ok()
}

/// The named branch; `None` for the default branch, which is not written down.
pub(super) fn branch(text: &[u8]) -> Option<&[u8]> {
    extras(text)?.find_map(|extra| extra.strip_prefix(b"branch:"))
}

/// Whether the changeset closes its branch.
pub(super) fn closes_branch(text: &[u8]) -> bool {
    extras(text).is_some_and(|mut extras| extras.any(|extra| extra.starts_with(b"close:")))
}

/// `key:value`, separated by NUL, after the date.
fn extras(text: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let (_manifest, rest) = line(text)?;
    let (_user, rest) = line(rest)?;
    let (date, _) = line(rest)?;
    Some(date.splitn(3, |byte| *byte == b' ').nth(2)?.split(|byte| *byte == 0))
}

fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', text)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "0123456789012345678901234567890123456789";

    #[test]
    fn a_changeset_starts_with_its_manifest() {
        let text = format!("{NODE}\nme\n0 0 branch:x\na\nb/c\n\ntext\n\nmore");
        assert_eq!(manifest(text.as_bytes()).unwrap().to_string(), NODE);
        for text in ["", "x\ny\nz\n\n", NODE, &format!("{NODE}\nme\n0 0")] {
            assert_eq!(manifest(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn a_branch_is_an_extra() {
        assert_eq!(branch(b"0\nme\n0 0\n\nempty"), None);
        assert_eq!(branch(b"0\nme\n0 0 a:b\0branch:my branch\0close:1\n\n"), Some(&b"my branch"[..]));
        assert!(closes_branch(b"0\nme\n0 0 a:b\0branch:my branch\0close:1\n\n"));
        assert!(!closes_branch(b"0\nme\n0 0 branch:close:1\n\n"));
    }
}
