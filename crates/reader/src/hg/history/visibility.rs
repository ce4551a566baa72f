//! Which changesets hg hides: obsolete, archived and internal ones that nothing visible needs.
//!
//! Sources: `repoview.py` and `phases.py` of hg 7.2.

use std::path::Path;

use gix_hash::ObjectId;

use super::{HgHistory, revision_name::named_nodes};
use crate::{
    Place, ReaderError, Result,
    hg::{obsolescence, read_or_empty, revlog::Revlog},
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
        let obsolete = obsolescence::read(&self.hg_dir.join(obsolescence::MARKERS))?;
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
