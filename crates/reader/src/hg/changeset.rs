//! Parsing changesets.
//!
//! A changelog revision has a line with the manifest's node, a line with the user, and a line with the date, the time
//! zone and extras. Then come paths, one per line, an empty line and the description.

use gix_hash::ObjectId;

/// The node of the manifest; `None` if `text` is no changeset.
pub(super) fn manifest(text: &[u8]) -> Option<ObjectId> {
    let (manifest, rest) = line(text)?;
    let (_user, rest) = line(rest)?;
    line(rest)?;
    ObjectId::from_hex(manifest).ok()
}

/// The named branch; `None` for the default branch, which is not recorded.
pub(super) fn branch(text: &[u8]) -> Option<&[u8]> {
    extras(text)?.find_map(|extra| extra.strip_prefix(b"branch:"))
}

/// Whether the changeset closes its branch.
pub(super) fn closes_branch(text: &[u8]) -> bool {
    extras(text).is_some_and(|mut extras| extras.any(|extra| extra.starts_with(b"close:")))
}

/// The extras after the date: `key:value`, separated by NUL.
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
    fn reads_manifest_of_changeset() {
        let text = format!("{NODE}\nme\n0 0 branch:x\na\nb/c\n\ntext\n\nmore");
        assert_eq!(manifest(text.as_bytes()).unwrap().to_string(), NODE);
        for text in ["", "x\ny\nz\n\n", NODE, &format!("{NODE}\nme\n0 0")] {
            assert_eq!(manifest(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn reads_branch_from_extras() {
        assert_eq!(branch(b"0\nme\n0 0\n\nempty"), None);
        assert_eq!(branch(b"0\nme\n0 0 a:b\0branch:my branch\0close:1\n\n"), Some(&b"my branch"[..]));
        assert!(closes_branch(b"0\nme\n0 0 a:b\0branch:my branch\0close:1\n\n"));
        assert!(!closes_branch(b"0\nme\n0 0 branch:close:1\n\n"));
    }
}
