//! The `fileindex`, which replaces the `fncache`: the list of tracked files that have a revlog in the store.
//!
//! Source: `hg help internals.file-index`. The file `fileindex` has these fields:
//!
//! | field | width |
//! |---|---|
//! | format: `fileindex-v1` | 12 |
//! | lengths of the list of paths, of its index and of the search tree, in bytes | 4 each, big-endian |
//! | identifiers of the three files that hold these, the ends of the files' names | 8 each |
//!
//! Each path in the list ends with NUL.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use super::read_or_empty;
use crate::{Place, ReaderError, Result};

const FORMAT: &[u8] = b"fileindex-v1";

/// The beginnings of the names of the three files, in the order of their lengths.
const FILES: [&[u8]; 3] = [b"fileindex-list.", b"fileindex-meta.", b"fileindex-tree."];

/// Length of an identifier in bytes.
const ID_LEN: usize = 8;

/// The paths in the file index of `store`, each followed by NUL. Empty if there is no index, or an empty one.
///
/// # Errors
/// [`ReaderError::Corrupt`] if it has another format, or if one of its files is shorter than it records.
/// [`ReaderError::Io`] if a file is missing or cannot be read.
pub(super) fn listed_paths(store: &Path) -> Result<Vec<u8>> {
    let path = store.join("fileindex");
    let docket = read_or_empty(&path)?;
    if docket.is_empty() {
        return Ok(docket);
    }
    let corrupt = || ReaderError::corrupt(&path, Place::Offset(0), "a file index of version 1", "something else");
    let fields = docket.strip_prefix(FORMAT).ok_or_else(corrupt)?;
    let (lengths, ids) = fields
        .split_at_checked(FILES.len() * size_of::<u32>())
        .filter(|(_, ids)| ids.len() >= FILES.len() * ID_LEN)
        .ok_or_else(corrupt)?;
    let (lengths, _) = lengths.as_chunks();
    let files = FILES.iter().zip(lengths).zip(ids.chunks_exact(ID_LEN));
    let mut list = None;
    for ((name, len), id) in files {
        let len = u32::from_be_bytes(*len);
        let file = store.join(OsStr::from_bytes(&[name, id].concat()));
        // An empty file need not exist.
        let found = if len == 0 { 0 } else { length(&file)? };
        if found < u64::from(len) {
            let expected = format!("{len} bytes, as fileindex says");
            return Err(ReaderError::corrupt(&file, Place::Whole, expected, found.to_string()));
        }
        list.get_or_insert((file, len));
    }
    match list {
        Some((_, 0)) => Ok(Vec::new()),
        Some((file, len)) => {
            let mut paths = fs::read(&file).map_err(|e| ReaderError::io("read", &file, e))?;
            paths.truncate(len as usize);
            Ok(paths)
        }
        None => Err(corrupt()),
    }
}

fn length(file: &Path) -> Result<u64> {
    fs::metadata(file).map(|metadata| metadata.len()).map_err(|e| ReaderError::io("inspect", file, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `fileindex` for files of these lengths.
    fn docket(lengths: [u32; 3]) -> Vec<u8> {
        [FORMAT, &lengths.map(u32::to_be_bytes).concat(), b"11111111", b"22222222", b"33333333"].concat()
    }

    #[test]
    fn list_is_read_up_to_its_recorded_length() {
        let store = tempfile::tempdir().unwrap();
        let put = |name: &str, content: &[u8]| fs::write(store.path().join(name), content).unwrap();
        assert_eq!(listed_paths(store.path()).unwrap(), b"");
        put("fileindex", &docket([4, 2, 1]));
        assert!(matches!(listed_paths(store.path()), Err(ReaderError::Io { .. })));
        put("fileindex-list.11111111", b"a\0b\0not yet\0");
        put("fileindex-meta.22222222", b"mm");
        put("fileindex-tree.33333333", b"");
        let error = listed_paths(store.path()).unwrap_err().to_string();
        assert!(error.contains("fileindex-tree.33333333") && error.contains("1 bytes"), "{error}");
        put("fileindex-tree.33333333", b"t");
        assert_eq!(listed_paths(store.path()).unwrap(), b"a\0b\0");
        put("fileindex", &docket([0, 0, 0]));
        assert_eq!(listed_paths(store.path()).unwrap(), b"");
        for bad in [&b"fileindex-v2"[..], FORMAT, &docket([4, 2, 1])[..23], &docket([4, 2, 1])[..47]] {
            put("fileindex", bad);
            assert!(matches!(listed_paths(store.path()), Err(ReaderError::Corrupt { .. })), "{bad:?}");
        }
    }
}
