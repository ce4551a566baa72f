//! What texts name: the manifests of changesets, and the files and directories of manifests. A revlog that lost its last
//! revisions, or all, has no damaged revision; only those that name the lost ones show it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{DefaultHasher, Hasher as _},
};

use gix_hash::ObjectId;

use crate::{
    ObjectKind, Result,
    hg::{
        HgRepository, changeset,
        manifest::{self, BadLine},
        revlog::{NodeMap, Revlog, RevlogFiles},
    },
};

/// The revision that names another: the number of its revlog, and its own.
type NamedBy = (usize, usize);

/// The manifests and file revisions that texts name, and the file revisions that are stored.
#[derive(Debug, Default)]
pub(super) struct References {
    /// By directory with a trailing slash, which is empty for the root. Each has the first revision that names it.
    named: BTreeMap<Vec<u8>, HashMap<ObjectId, NamedBy>>,
    /// Whether manifests name others. Where they do not, their lines need not be read.
    has_directories: bool,
    /// Hashes of the paths and nodes of named file revisions, and of stored ones: there are as many as revisions.
    named_files: HashSet<u64>,
    stored_files: HashSet<u64>,
    new_lines: NewLines,
}

/// The lines of a manifest that the revision before it does not have.
#[derive(Debug, Default)]
pub(super) struct NewLines {
    /// The number of the revlog, and the text of the revision.
    before: Option<(usize, Vec<u8>)>,
}

impl NewLines {
    /// Calls `visit` with the path and node of each file that `text`, of the revlog of this number, names and the revision
    /// seen before it does not. They end at a damaged line.
    pub(super) fn each_file(&mut self, number: usize, text: &[u8], mut visit: impl FnMut(&[u8], ObjectId)) {
        let (of, before) = self.before.get_or_insert_with(|| (number, Vec::new()));
        if *of != number {
            before.clear();
            *of = number;
        }
        let _: std::result::Result<(), BadLine> = manifest::differences(before, text, |_, new| {
            if let Some(line) = new.filter(|line| line.mode.is_some()) {
                visit(line.path, line.node);
            }
            Ok(())
        });
        before.clear();
        before.extend_from_slice(text);
    }
}

/// What a file revision is known by in a set.
pub(super) fn file_key(folder: &[u8], path: &[u8], node: &ObjectId) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&[folder, path, node.as_bytes()].concat());
    hasher.finish()
}

impl References {
    /// None yet, for a repository with or without manifests of directories.
    pub(super) fn of(repository: &HgRepository) -> Self {
        References { has_directories: repository.requirements().contains("treemanifest"), ..References::default() }
    }

    /// Adds what `text` names, the revision `by` of `files`.
    pub(super) fn add(&mut self, files: &RevlogFiles, by: NamedBy, text: &[u8]) {
        match files.kind {
            ObjectKind::Changelog => {
                if let Some(node) = changeset::manifest(text) {
                    self.insert(Vec::new(), node, by);
                }
            }
            ObjectKind::Manifest => {
                let named = &mut self.named_files;
                self.new_lines.each_file(by.0, text, |path, node| {
                    named.insert(file_key(&files.path, path, &node));
                });
                let directories = self.has_directories.then(|| manifest::directories(text));
                for (directory, node) in directories.into_iter().flatten() {
                    self.insert([&files.path, directory, b"/"].concat(), node, by);
                }
            }
            _ => {}
        }
    }

    /// Adds a stored revision of `files`.
    pub(super) fn add_stored(&mut self, files: &RevlogFiles, node: &ObjectId) {
        if files.kind == ObjectKind::Filelog {
            self.stored_files.insert(file_key(b"", &files.path, node));
        }
    }

    /// The [keys](file_key) of file revisions that are named and not stored.
    pub(super) fn missing_files(&self) -> HashSet<u64> {
        self.named_files.difference(&self.stored_files).copied().collect()
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
        self.named_files.extend(other.named_files);
        self.stored_files.extend(other.stored_files);
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
            let files = manifests.get(directory.as_slice());
            let stored = files.map(|files| Revlog::open(files)).transpose()?.map(|revlog| NodeMap::new(&revlog));
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
