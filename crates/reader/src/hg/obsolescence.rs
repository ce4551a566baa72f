//! The obsolescence markers of a repository, which name changesets that others replace, or none.
//!
//! Source: `obsolete.py` of hg 7.2, and `parsers.c` for what is damage.

use std::{collections::HashSet, path::Path};

use gix_hash::ObjectId;

use super::read_or_empty;
use crate::{Place, ReaderError, Result};

/// The file of the markers.
pub(super) const MARKERS: &str = "store/obsstore";

/// The number of parents that stands for unknown ones.
const UNKNOWN_PARENTS: u8 = 3;

/// The nodes that the markers in `file` replace or prune. Versions 0 and 1 of the format are read, which is all that hg
/// has.
///
/// # Errors
/// [`ReaderError::Corrupt`] for damage on which hg would fail, [`ReaderError::Unsupported`] for another version,
/// [`ReaderError::Io`].
pub(super) fn read(file: &Path) -> Result<HashSet<ObjectId>> {
    let content = read_or_empty(file)?;
    let Some((version, markers)) = content.split_first() else { return Ok(HashSet::new()) };
    let next = match version {
        0 => marker_v0,
        1 => marker_v1,
        other => return Err(ReaderError::unsupported(file, format!("version {other} of obsolescence markers"))),
    };
    let (mut nodes, mut rest) = (HashSet::new(), markers);
    while !rest.is_empty() {
        let offset = (content.len() - rest.len()) as u64;
        let damaged = |expected: &str, found: &str| ReaderError::corrupt(file, Place::Offset(offset), expected, found);
        let marker = next(rest).ok_or_else(|| damaged("an obsolescence marker", "lengths that do not fit"))?;
        if marker.successors.chunks(marker.node.len()).any(|successor| successor.iter().all(|byte| *byte == 0)) {
            return Err(damaged("successors in an obsolescence marker", "the null id"));
        }
        // A marker with an id of SHA-256 names no changeset of a repository that is read.
        nodes.extend(ObjectId::try_from(marker.node).ok());
        rest = marker.rest;
    }
    Ok(nodes)
}

/// A marker at the start of bytes.
struct Marker<'b> {
    /// The replaced node.
    node: &'b [u8],
    /// The nodes that replace it, one after the other.
    successors: &'b [u8],
    /// What follows the marker.
    rest: &'b [u8],
}

/// The first marker of version 0: the number of successors (1 byte), the length of the metadata (4), flags (1), the
/// replaced node (20), the successors (20 each), the metadata. `None` for damage.
fn marker_v0(bytes: &[u8]) -> Option<Marker<'_>> {
    let (successors, rest) = bytes.split_first()?;
    let (metadata, rest) = rest.split_first_chunk::<4>()?;
    let (_flags, rest) = rest.split_first()?;
    let (node, rest) = rest.split_at_checked(20)?;
    let (successors, rest) = rest.split_at_checked(20 * usize::from(*successors))?;
    let (metadata, rest) = rest.split_at_checked(u32::from_be_bytes(*metadata) as usize)?;
    let mut pairs = metadata.split(|byte| *byte == 0);
    let is_read = pairs.all(|pair| pair.is_empty() || pair.contains(&b':'));
    is_read.then_some(Marker { node, successors, rest })
}

/// The same for version 1: the length of the marker (4 bytes), the date (8), the time zone (2), flags (2), the
/// numbers of successors, parents and metadata (1 each), the replaced node, the successors, the parents, the lengths
/// of each key and value of the metadata (1 each), the metadata. Flag 2 says that ids have 32 bytes.
fn marker_v1(bytes: &[u8]) -> Option<Marker<'_>> {
    let len = u32::from_be_bytes(*bytes.first_chunk()?) as usize;
    let (marker, rest) = bytes.split_at_checked(len)?;
    let flags = u16::from_be_bytes(*marker.get(14..)?.first_chunk()?);
    let id_len = if flags & 2 == 0 { 20 } else { 32 };
    let [successors, parents, pairs] = *marker.get(16..)?.first_chunk()?;
    let parents = if parents == UNKNOWN_PARENTS { 0 } else { parents };
    let (node, fields) = marker.get(19..)?.split_at_checked(id_len)?;
    let (successors, fields) = fields.split_at_checked(id_len * usize::from(successors))?;
    let fields = fields.get(id_len * usize::from(parents)..)?;
    let (lens, metadata) = fields.split_at_checked(2 * usize::from(pairs))?;
    let metadata_len: usize = lens.iter().copied().map(usize::from).sum();
    (metadata_len <= metadata.len()).then_some(Marker { node, successors, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A marker of version 0 with a successor and metadata.
    fn v0(node: u8) -> Vec<u8> {
        [&[1, 0, 0, 0, 3, 0][..], &[node; 20], &[9; 20], b"k:v"].concat()
    }

    /// A marker of version 1 with a successor.
    fn v1(node: u8) -> Vec<u8> {
        [&[0, 0, 0, 59][..], &[0; 8], &[0, 0], &[0, 0], &[1, 3, 0], &[node; 20], &[9; 20]].concat()
    }

    fn obsolete_of(content: &[u8]) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("obsstore");
        std::fs::write(&file, content).unwrap();
        let mut first_bytes: Vec<u8> = read(&file)?.iter().map(|node| node.as_bytes()[0]).collect();
        first_bytes.sort_unstable();
        Ok(first_bytes)
    }

    #[test]
    fn replaced_nodes_of_all_markers_are_read() {
        assert_eq!(obsolete_of(b"").unwrap(), []);
        assert_eq!(obsolete_of(&[&[0][..], &v0(1), &v0(2)].concat()).unwrap(), [1, 2]);
        assert_eq!(obsolete_of(&[&[1][..], &v1(1), &v1(2), &v1(1)].concat()).unwrap(), [1, 2]);
    }

    #[test]
    fn markers_that_end_early_are_damage() {
        for content in [[&[0][..], &v0(1), &v0(2)].concat(), [&[1][..], &v1(1), &v1(2)].concat()] {
            let whole = [1, 1 + (content.len() - 1) / 2, content.len()];
            for len in 1..=content.len() {
                let found = obsolete_of(&content[..len]);
                assert_eq!(found.is_ok(), whole.contains(&len), "{len}: {found:?}");
                assert!(found.is_ok() || matches!(found, Err(ReaderError::Corrupt { .. })), "{found:?}");
            }
        }
        // Shorter than a marker can be, and longer than the file.
        for len in [0, 19, u32::MAX] {
            let marker = [&len.to_be_bytes()[..], &v1(1)[4..]].concat();
            assert!(obsolete_of(&[&[1][..], &marker].concat()).is_err(), "{len}");
        }
        assert!(matches!(obsolete_of(&[2]), Err(ReaderError::Unsupported { .. })));
    }

    #[test]
    fn lengths_beyond_their_marker_are_damage() {
        for (what, at) in [("successors", 16), ("parents", 17), ("metadata", 18)] {
            let mut marker = v1(1);
            marker[at] = 2;
            assert!(obsolete_of(&[&[1][..], &marker].concat()).is_err(), "{what}");
        }
        // One pair of metadata: the lengths of key and value, and too few bytes for them.
        let pair = |bytes: &[u8]| {
            let mut marker = [&v1(1)[..], &[1, 2], bytes].concat();
            marker[3] = marker.len() as u8;
            marker[18] = 1;
            obsolete_of(&[&[1][..], &marker].concat())
        };
        assert!(pair(b"kv").is_err() && pair(b"kvv").is_ok());
    }

    #[test]
    fn markers_that_hg_refuses_are_damage() {
        let mut without_colon = v0(1);
        without_colon[6 + 20 + 20 + 1] = b'k';
        assert!(obsolete_of(&[&[0][..], &without_colon].concat()).is_err(), "metadata without a colon");
        for marker in [[&[0][..], &v0(1)].concat(), [&[1][..], &v1(1)].concat()] {
            let successor = marker.windows(20).rposition(|bytes| bytes == [9; 20]).unwrap();
            let mut null = marker.clone();
            null[successor..successor + 20].fill(0);
            assert!(obsolete_of(&marker).is_ok() && obsolete_of(&null).is_err(), "the null id as a successor");
        }
    }
}
