//! What texts name: the manifests of changesets, and the directories' manifests of manifests. A revlog that lost its last
//! revisions, or all, has no damaged revision; only those that name the lost ones show it.

use std::collections::{BTreeMap, HashMap};

use gix_hash::ObjectId;

use crate::{
    ObjectKind, Result,
    hg::{
        HgRepository, changeset, manifest,
        revlog::{NodeMap, Revlog, RevlogFiles},
    },
};

/// The requirement of a repository that holds only some of its files.
const NARROW: &str = "narrowhg-experimental";

/// The revision that names another: the number of its revlog, and its own.
type NamedBy = (usize, usize);

/// The manifests that texts name.
#[derive(Debug, Default)]
pub(super) struct References {
    /// By directory with a trailing slash, which is empty for the root. Each has the first revision that names it.
    named: BTreeMap<Vec<u8>, HashMap<ObjectId, NamedBy>>,
    /// Whether manifests name others. Where they do not, their lines need not be read.
    has_directories: bool,
    /// Whether directories may have no manifests, since the repository holds only some of its files.
    is_narrow: bool,
}

impl References {
    /// None yet, for a repository with or without manifests of directories.
    pub(super) fn of(repository: &HgRepository) -> Self {
        let requirements = repository.requirements();
        References {
            has_directories: requirements.contains("treemanifest"),
            is_narrow: requirements.contains(NARROW),
            ..References::default()
        }
    }

    /// Adds what `text` names, the revision `by` of `files`.
    pub(super) fn add(&mut self, files: &RevlogFiles, by: NamedBy, text: &[u8]) {
        match files.kind {
            ObjectKind::Changelog => {
                if let Some(node) = changeset::manifest(text) {
                    self.insert(Vec::new(), node, by);
                }
            }
            ObjectKind::Manifest if self.has_directories => {
                for (directory, node) in manifest::directories(text) {
                    self.insert([&files.path, directory, b"/"].concat(), node, by);
                }
            }
            _ => {}
        }
    }

    fn insert(&mut self, directory: Vec<u8>, node: ObjectId, by: NamedBy) {
        // An empty manifest has the null node, and is not stored.
        if !node.is_null() {
            let first = self.named.entry(directory).or_default().entry(node).or_insert(by);
            *first = by.min(*first);
        }
    }

    pub(super) fn merge(&mut self, other: References) {
        for (directory, nodes) in other.named {
            for (node, by) in nodes {
                self.insert(directory.clone(), node, by);
            }
        }
        self.is_narrow |= other.is_narrow;
    }

    /// Looks for every named manifest in its revlog, which may be missing as a whole.
    ///
    /// # Errors
    /// A revlog cannot be opened, or lacks a manifest: the error is that of the first revision that names one.
    pub(super) fn check(&self, repository: &HgRepository) -> Result<()> {
        let mut manifests: BTreeMap<&[u8], &RevlogFiles> = BTreeMap::new();
        let of_kind = repository.revlogs().iter().filter(|files| files.kind == ObjectKind::Manifest);
        manifests.extend(of_kind.map(|files| (files.path.as_slice(), files)));
        let mut missing: Option<(NamedBy, ObjectId, &[u8])> = None;
        for (directory, named) in &self.named {
            let stored = match manifests.get(directory.as_slice()) {
                Some(files) => Some(NodeMap::new(&Revlog::open(files)?)),
                None if self.is_narrow && !directory.is_empty() => continue,
                None => None,
            };
            let is_stored = |node: &ObjectId| stored.as_ref().is_some_and(|stored| stored.get(node).is_some());
            let first = named.iter().filter(|(node, _)| !is_stored(node)).map(|(node, by)| (*by, *node)).min();
            if let Some((by, node)) = first.filter(|(by, _)| missing.is_none_or(|(earlier, ..)| *by < earlier)) {
                missing = Some((by, node, directory));
            }
        }
        let Some(((number, revision), node, directory)) = missing else { return Ok(()) };
        let Some(naming) = repository.revlogs().get(number) else { return Ok(()) };
        let found = match (manifests.get(directory), directory) {
            (Some(files), _) => format!("{node}, which the {} lacks", files.name()),
            (None, []) => format!("{node}, but there is no manifest"),
            (None, of) => format!("{node}, but '{}' has no manifest", of.escape_ascii()),
        };
        Err(Revlog::open(naming)?.corrupt(revision, "the node of a stored manifest", found))
    }
}
