//! Content that hg's extension `lfs` keeps outside of revlogs, in `.hg/store/lfs/objects`.
//!
//! Source: `hg help -e lfs`. The text of such a revision is a pointer in the format of Git LFS: lines of a key and a
//! value. `oid sha256:` has the hash of the content, which is its name in the store, and a key `x-hg-NAME` has a line of
//! the metadata that hg puts before the content of a copied file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use gix_hash::{Kind, ObjectId};

use super::revlog::{Revlog, node_hasher};
use crate::{Place, ReaderError, Result, hash::IdHasher};

/// What stands around the metadata of a file revision.
const MARK: &[u8] = b"\x01\n";

/// The SHA-256 that a pointer names; `None` if it is no pointer.
fn content_id(pointer: &[u8]) -> Option<ObjectId> {
    let mut lines = pointer.split(|byte| *byte == b'\n');
    let digits = lines.find_map(|line| line.strip_prefix(b"oid sha256:"))?;
    ObjectId::from_hex(digits).ok().filter(|id| id.kind() == Kind::Sha256)
}

/// The file with the content of `pointer` in the store below `hg_dir`, which may not exist. `None` if it is no pointer.
pub(super) fn content_path(hg_dir: &Path, pointer: &[u8]) -> Option<PathBuf> {
    let digits = content_id(pointer)?.to_string();
    let (first, rest) = digits.split_at_checked(2)?;
    Some(hg_dir.join("store/lfs/objects").join(first).join(rest))
}

/// The metadata in `pointer`, as hg writes it before the content; empty for none.
fn metadata(pointer: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = pointer
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let line = line.strip_prefix(b"x-hg-")?;
            let space = line.iter().position(|byte| *byte == b' ')?;
            let (key, value) = line.split_at_checked(space)?;
            Some([key, b":", value, b"\n"].concat())
        })
        .collect();
    lines.sort();
    lines.concat()
}

/// Checks the revision `revision` of `revlog`, whose text is `pointer`: that the content in the store below `hg_dir` has
/// the hash that the pointer names, and with its metadata the node of the revision. Returns whether the content is there.
///
/// # Errors
/// The text is no pointer, or a hash is another one.
pub(super) fn check(hg_dir: &Path, revlog: &Revlog, revision: usize, pointer: &[u8]) -> Result<bool> {
    let (Some(expected), Some(path)) = (content_id(pointer), content_path(hg_dir, pointer)) else {
        return Err(revlog.corrupt(revision, "a pointer of lfs", "a text without the line oid sha256:"));
    };
    let failed = |error| ReaderError::io("read", &path, error);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    let entry = revlog.entry(revision)?;
    let [first, second] = revlog.parent_nodes(entry);
    let (mut content, mut node) = (IdHasher::new(Kind::Sha256), node_hasher(&first, &second));
    let mut start = Vec::new();
    (&file).take(MARK.len() as u64).read_to_end(&mut start).map_err(failed)?;
    let metadata = metadata(pointer);
    if !metadata.is_empty() || start == MARK {
        [MARK, metadata.as_slice(), MARK].iter().for_each(|part| node.update(part));
    }
    content.update(&start);
    node.update(&start);
    let mut buffer = vec![0; 1 << 18];
    loop {
        match (&file).read(&mut buffer) {
            Ok(0) => break,
            Ok(len) => {
                let part = buffer.get(..len).unwrap_or_default();
                content.update(part);
                node.update(part);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let found = content.finish();
    if found != expected {
        let expected = format!("content that hashes to its name {expected}");
        return Err(ReaderError::corrupt(&path, Place::Whole, expected, found.to_string()));
    }
    let found = node.finish();
    if found != entry.node {
        let expected = format!("a pointer to a text that hashes to the node {}", entry.node);
        return Err(revlog.corrupt(revision, expected, found.to_string()));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_name_content_and_metadata() {
        let digits = "ab".repeat(32);
        let pointer = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{digits}\nsize 5\nx-hg-copyrev 12\nx-hg-copy a b\nx-is-binary 0\n"
        );
        let path = content_path(Path::new("/r/.hg"), pointer.as_bytes()).unwrap();
        assert_eq!(path, Path::new("/r/.hg/store/lfs/objects/ab").join("ab".repeat(31)));
        assert_eq!(metadata(pointer.as_bytes()), b"copy: a b\ncopyrev: 12\n");
        for other in ["", "oid sha256:ab\n", "oid sha1:00\n", &format!("oid sha256:{}\n", "x".repeat(64))] {
            assert_eq!(content_path(Path::new("/r/.hg"), other.as_bytes()), None, "{other}");
        }
    }
}
