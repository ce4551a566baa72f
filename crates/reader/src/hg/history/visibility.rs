//! Which changesets hg hides: obsolete, archived and internal ones that nothing visible needs.
//!
//! Sources: `repoview.py`, `obsolete.py` and `phases.py` of hg 7.2.

use std::{collections::HashSet, path::Path};

use gix_hash::ObjectId;

use super::{HgHistory, revision_name::named_nodes};
use crate::{
    Place, ReaderError, Result,
    hg::{read_or_empty, revlog::Revlog},
};

/// The phase of changesets that everybody has. They are never hidden.
const PUBLIC: u8 = 0;
/// From this phase on (*archived* and *internal*), changesets are hidden even if they are not obsolete.
const ARCHIVED: u8 = 32;

/// The changesets that hg hides, by revision number.
#[derive(Debug, Default)]
pub(super) struct Hidden(Vec<bool>);

impl Hidden {
    /// Whether hg hides the changeset `revision`.
    pub(super) fn has(&self, revision: usize) -> bool {
        self.0.get(revision).copied().unwrap_or_default()
    }
}

impl HgHistory {
    /// The changesets that hg hides where no work tree has one of them checked out.
    ///
    /// # Errors
    /// `obsstore` or `phaseroots` cannot be read, or is no such file.
    pub(super) fn hidden(&self) -> Result<Hidden> {
        let store = self.hg_dir.join("store");
        let obsolete = obsolete(&store.join("obsstore"))?;
        let phases = self.phases(&store.join("phaseroots"))?;
        let mut hidden: Vec<bool> = (self.changelog.entries().iter().zip(&phases))
            .map(|(entry, phase)| *phase >= ARCHIVED || *phase != PUBLIC && obsolete.contains(&entry.node))
            .collect();
        if !hidden.contains(&true) {
            return Ok(Hidden::default());
        }
        for pinned in self.pinned()? {
            if let Some(hidden) = hidden.get_mut(pinned) {
                *hidden = false;
            }
        }
        // Children come after their parents, so one pass reveals whole chains.
        for (revision, phase) in phases.iter().enumerate().rev() {
            if *phase != PUBLIC && hidden.get(revision) == Some(&false) {
                for parent in parents(&self.changelog, revision) {
                    if let Some(hidden) = hidden.get_mut(parent) {
                        *hidden = false;
                    }
                }
            }
        }
        Ok(Hidden(hidden))
    }

    /// The phase of each changeset: the highest one of a root among it and its ancestors. The file has a line for each
    /// root, of a phase, a space and a node.
    fn phases(&self, file: &Path) -> Result<Vec<u8>> {
        let mut phases = vec![PUBLIC; self.changelog.len()];
        for (number, line) in (1..).zip(read_or_empty(file)?.split(|byte| *byte == b'\n')) {
            if line.is_empty() {
                continue;
            }
            let (phase, node) = root(line).ok_or_else(|| {
                let found = String::from_utf8_lossy(line).escape_debug().to_string();
                ReaderError::corrupt(file, Place::Line(number), "a phase and a node", found)
            })?;
            // hg ignores roots that the repository does not have.
            if let Some(own) = self.nodes.get(&node).and_then(|revision| phases.get_mut(revision)) {
                *own = phase.max(*own);
            }
        }
        for revision in 0..phases.len() {
            let inherited = parents(&self.changelog, revision).filter_map(|parent| phases.get(parent)).max().copied();
            if let (Some(own), Some(inherited)) = (phases.get_mut(revision), inherited) {
                *own = inherited.max(*own);
            }
        }
        Ok(phases)
    }

    /// Changesets that bookmarks and local tags keep visible.
    fn pinned(&self) -> Result<Vec<usize>> {
        let mut pinned = Vec::new();
        for file in ["store/bookmarks", "bookmarks", "localtags"] {
            let content = read_or_empty(&self.hg_dir.join(file))?;
            pinned.extend(named_nodes(&content).filter_map(|node| self.nodes.get(&node)));
        }
        Ok(pinned)
    }
}

/// The parents of `revision`. A damaged entry may name a later revision, which is none.
fn parents(changelog: &Revlog, revision: usize) -> impl Iterator<Item = usize> {
    let parents = changelog.entries().get(revision).map(|entry| entry.parents).into_iter().flatten();
    parents.filter_map(move |parent| usize::try_from(parent).ok().filter(|parent| *parent < revision))
}

fn root(line: &[u8]) -> Option<(u8, ObjectId)> {
    let (phase, node) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    Some((phase.parse().ok()?, ObjectId::from_hex(node.as_bytes()).ok()?))
}

/// The nodes that markers replace or prune. Versions 0 and 1 of the format are read, which is all that hg has.
fn obsolete(file: &Path) -> Result<HashSet<ObjectId>> {
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
        let (node, after) = next(rest).ok_or_else(|| {
            ReaderError::corrupt(file, Place::Offset(offset), "an obsolescence marker", "another length".to_owned())
        })?;
        // A marker with an id of SHA-256 names no changeset of a repository that is read.
        nodes.extend(ObjectId::try_from(node).ok());
        rest = after;
    }
    Ok(nodes)
}

/// The replaced node of the first marker, and what follows the marker. Version 0: the number of successors (1 byte), the
/// length of the metadata (4), flags (1), the replaced node (20), the successors (20 each), the metadata.
fn marker_v0(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (successors, rest) = bytes.split_first()?;
    let (metadata, rest) = rest.split_first_chunk::<4>()?;
    let (_flags, rest) = rest.split_first()?;
    let (node, rest) = rest.split_at_checked(20)?;
    let rest = rest.get(20 * usize::from(*successors)..)?;
    Some((node, rest.get(u32::from_be_bytes(*metadata) as usize..)?))
}

/// The same for version 1: the length of the marker (4 bytes), the date (8), the time zone (2), flags (2), the numbers of
/// successors, parents and metadata (1 each), the replaced node. Flag 2 says that ids have 32 bytes.
fn marker_v1(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = u32::from_be_bytes(*bytes.first_chunk()?) as usize;
    let (marker, rest) = bytes.split_at_checked(len)?;
    let flags = u16::from_be_bytes(*marker.get(14..)?.first_chunk()?);
    let id_len = if flags & 2 == 0 { 20 } else { 32 };
    Some((marker.get(19..19 + id_len)?, rest))
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
        let mut first_bytes: Vec<u8> = obsolete(&file)?.iter().map(|node| node.as_bytes()[0]).collect();
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
}
