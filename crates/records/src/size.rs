//! Where the bytes of a stored repository go.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kinds of object that Git and Mercurial store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A tree.
    Tree,
    /// A file's content.
    Blob,
    /// An annotated tag.
    Tag,
    /// A list of files with their revisions: Mercurial's counterpart to trees.
    Manifest,
    /// A changeset.
    Changelog,
    /// A revision of one file.
    Filelog,
}

impl ObjectKind {
    /// All kinds, in the order of tables: Git's, then Mercurial's, with the manifest first, because it grows most under
    /// a weaker codec.
    pub const ALL: [ObjectKind; 7] = [
        ObjectKind::Commit,
        ObjectKind::Tree,
        ObjectKind::Blob,
        ObjectKind::Tag,
        ObjectKind::Manifest,
        ObjectKind::Changelog,
        ObjectKind::Filelog,
    ];

    /// Whether it is a kind of Mercurial's.
    pub fn is_mercurial(self) -> bool {
        matches!(self, ObjectKind::Manifest | ObjectKind::Changelog | ObjectKind::Filelog)
    }

    /// The names of the kind and a form, as the version-control system calls them.
    pub fn with_form(self, form: ChunkForm) -> String {
        match form {
            ChunkForm::Whole if self.is_mercurial() => format!("{}, snapshot", self.name()),
            form => format!("{}, {}", self.name(), form.name()),
        }
    }

    /// The kind's name as its version-control system spells it.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Commit => "commit",
            ObjectKind::Tree => "tree",
            ObjectKind::Blob => "blob",
            ObjectKind::Tag => "tag",
            ObjectKind::Manifest => "manifest",
            ObjectKind::Changelog => "changelog",
            ObjectKind::Filelog => "filelog",
        }
    }
}

/// Whether a chunk holds an object or a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChunkForm {
    /// The object itself.
    Whole,
    /// The difference from a base object.
    Delta,
}

impl ChunkForm {
    /// Both forms, in the order of tables.
    pub const ALL: [ChunkForm; 2] = [ChunkForm::Whole, ChunkForm::Delta];

    /// The form's name.
    pub fn name(self) -> &'static str {
        match self {
            ChunkForm::Whole => "whole",
            ChunkForm::Delta => "delta",
        }
    }
}

/// The number and the bytes of some chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChunkSizes {
    /// The number of chunks.
    pub entries: u64,
    /// Their stored bytes: pack entries without their headers, loose objects as files.
    pub stored_bytes: u64,
    /// Their payloads' bytes. A loose object's payload starts with Git's `blob 123\0` header.
    pub payload_bytes: u64,
}

impl ChunkSizes {
    /// Adds a chunk. Sums saturate at `u64::MAX`.
    pub fn add(&mut self, stored_bytes: u64, payload_bytes: u64) {
        self.merge(ChunkSizes { entries: 1, stored_bytes, payload_bytes });
    }

    /// Adds the chunks of `other`.
    pub fn merge(&mut self, other: ChunkSizes) {
        self.entries = self.entries.saturating_add(other.entries);
        self.stored_bytes = self.stored_bytes.saturating_add(other.stored_bytes);
        self.payload_bytes = self.payload_bytes.saturating_add(other.payload_bytes);
    }
}

/// One object kind's chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindSizes {
    /// Chunks that hold the object itself, including loose objects.
    pub whole: ChunkSizes,
    /// Chunks that hold a delta; the kind is that of the resulting object.
    pub delta: ChunkSizes,
}

/// All chunks of a repository by object kind and form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ObjectSizes(BTreeMap<ObjectKind, KindSizes>);

impl ObjectSizes {
    /// The chunks of one kind and form.
    pub fn get(&self, kind: ObjectKind, form: ChunkForm) -> ChunkSizes {
        let sizes = self.0.get(&kind).copied().unwrap_or_default();
        match form {
            ChunkForm::Whole => sizes.whole,
            ChunkForm::Delta => sizes.delta,
        }
    }

    /// The chunks of one kind and form, mutably.
    pub fn get_mut(&mut self, kind: ObjectKind, form: ChunkForm) -> &mut ChunkSizes {
        let sizes = self.0.entry(kind).or_default();
        match form {
            ChunkForm::Whole => &mut sizes.whole,
            ChunkForm::Delta => &mut sizes.delta,
        }
    }

    /// Every kind and form with its chunks, in the order of tables.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectKind, ChunkForm, ChunkSizes)> + '_ {
        ObjectKind::ALL.into_iter().flat_map(move |kind| ChunkForm::ALL.map(|form| (kind, form, self.get(kind, form))))
    }

    /// The number of stored commits or changesets.
    pub fn commits(&self) -> u64 {
        let of = |kind, form| self.get(kind, form).entries;
        let kinds = [ObjectKind::Commit, ObjectKind::Changelog];
        kinds.iter().flat_map(|kind| ChunkForm::ALL.map(|form| of(*kind, form))).sum()
    }

    /// The sum over all chunks.
    pub fn sum(&self) -> ChunkSizes {
        let mut sum = ChunkSizes::default();
        for (_, _, sizes) in self.iter() {
            sum.merge(sizes);
        }
        sum
    }
}

/// How a chunk stores its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoredForm {
    /// Compressed by itself.
    Plain,
    /// Compressed with a dictionary.
    Dictionary,
    /// A delta, compressed with the content of its base as prefix.
    Prefix,
    /// The whole object instead of its delta, compressed with the content of the base as prefix.
    Patch,
    /// Uncompressed, because compression is off or would not shrink it.
    Stored,
}

impl StoredForm {
    /// All forms, in the order of tables.
    pub const ALL: [StoredForm; 5] =
        [StoredForm::Plain, StoredForm::Dictionary, StoredForm::Prefix, StoredForm::Patch, StoredForm::Stored];

    /// The form's name.
    pub fn name(self) -> &'static str {
        match self {
            StoredForm::Plain => "plain",
            StoredForm::Dictionary => "dictionary",
            StoredForm::Prefix => "prefix",
            StoredForm::Patch => "patch",
            StoredForm::Stored => "stored",
        }
    }
}

/// The chunks of one form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormSizes {
    /// The number of them.
    pub chunks: u64,
    /// Their stored bytes.
    pub stored_bytes: u64,
}

/// All chunks of a repository by form: the same chunks as in [`ObjectSizes`]. Forms without chunks are omitted from
/// JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StoredForms(BTreeMap<StoredForm, FormSizes>);

impl StoredForms {
    /// The chunks of one form.
    pub fn get(&self, form: StoredForm) -> FormSizes {
        self.0.get(&form).copied().unwrap_or_default()
    }

    /// Adds a chunk. Sums saturate at `u64::MAX`.
    pub fn add(&mut self, form: StoredForm, stored_bytes: u64) {
        let sizes = self.0.entry(form).or_default();
        sizes.chunks = sizes.chunks.saturating_add(1);
        sizes.stored_bytes = sizes.stored_bytes.saturating_add(stored_bytes);
    }

    /// Whether nothing was counted, as in older records.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The names of other objects in the payloads of commits, trees and tags: ids, or numbers in their place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdBytes {
    /// The number of names. A delta counts those that it inserts, whole or in part, and not those that it copies.
    pub references: u64,
    /// Their bytes. The ids of commits and tags are hexadecimal, and have two for each byte.
    pub payload_bytes: u64,
    /// The names in packs with numbers that are full ids all the same: of objects outside of the pack.
    pub escaped: u64,
}

impl IdBytes {
    /// Adds the names of `other`. Sums saturate at `u64::MAX`.
    pub fn merge(&mut self, other: IdBytes) {
        self.references = self.references.saturating_add(other.references);
        self.payload_bytes = self.payload_bytes.saturating_add(other.payload_bytes);
        self.escaped = self.escaped.saturating_add(other.escaped);
    }
}

/// Loose objects: a part of [`ObjectSizes`], shown separately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LooseSizes {
    /// The number of them.
    pub objects: u64,
    /// The bytes of their files.
    pub stored_bytes: u64,
}

/// Where a repository's bytes on disk go.
///
/// The parts add up: the stored bytes of `objects` (loose ones included), `entry_header_bytes`, `pack_frame_bytes`,
/// `index_bytes`, `reverse_index_bytes`, `revlog_index_bytes`, `fncache_bytes`, `dictionary_bytes`, `btree_bytes`,
/// `btree_unused_bytes` and `other_bytes` make `total_bytes`. Bytes are file lengths; only `allocated_bytes` counts
/// disk blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRecord {
    /// The repository's name for people: a path or a spec.
    pub label: String,
    /// All chunks, packed and loose, by object kind and form.
    pub objects: ObjectSizes,
    /// Which part of `objects` is loose.
    pub loose: LooseSizes,
    /// The same chunks by stored form; empty in older records.
    #[serde(default, skip_serializing_if = "StoredForms::is_empty")]
    pub forms: StoredForms,
    /// The names of objects in these chunks, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<IdBytes>,
    /// Pack entry headers: type, payload length and, for deltas, the reference to the base.
    pub entry_header_bytes: u64,
    /// Headers and trailing checksums of packs.
    pub pack_frame_bytes: u64,
    /// Pack indexes (`.idx`).
    pub index_bytes: u64,
    /// Reverse indexes (`.rev`).
    pub reverse_index_bytes: u64,
    /// The entries of revlogs, 64 bytes a revision.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub revlog_index_bytes: u64,
    /// Mercurial's list of its store's files: `fncache` or `fileindex`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fncache_bytes: u64,
    /// The files of a variant's dictionaries, including their table.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dictionary_bytes: u64,
    /// Keys and page framing of a B-tree.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub btree_bytes: u64,
    /// Unused bytes in the pages of a B-tree.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub btree_unused_bytes: u64,
    /// Every other file that belongs to the stored repository: refs, reflogs, configuration and so on.
    pub other_bytes: u64,
    /// The lengths of all files that belong to the stored repository: object directories, refs, reflogs, configuration.
    /// Files that only a work tree needs, such as its index, are excluded, and so are `derived_bytes`.
    pub total_bytes: u64,
    /// Files that git makes from the objects, whatever their codec: commit-graphs, bitmaps, multi-pack-indexes. Also
    /// what interrupted commands left. A variant has none. Not one of the parts; older records count them among the
    /// other files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub derived_bytes: u64,
    /// The disk blocks allocated for these files, in bytes; 0 in older records. Not one of the parts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allocated_bytes: u64,
}

impl SizeRecord {
    /// Whether the allocated bytes differ from the lengths of the files by more than 1 %.
    pub fn is_allocated_otherwise(&self) -> bool {
        self.allocated_bytes != 0 && self.allocated_bytes.abs_diff(self.total_bytes) > self.total_bytes / 100
    }

    /// The bytes of all packs: frames, entry headers and the stored bytes of packed chunks.
    pub fn pack_bytes(&self) -> u64 {
        self.objects
            .sum()
            .stored_bytes
            .saturating_sub(self.loose.stored_bytes)
            .saturating_add(self.entry_header_bytes)
            .saturating_add(self.pack_frame_bytes)
    }

    /// The sum of the parts, which equals `total_bytes` if no file was overlooked.
    pub fn sum_of_parts(&self) -> u64 {
        let parts = [
            self.entry_header_bytes,
            self.pack_frame_bytes,
            self.index_bytes,
            self.reverse_index_bytes,
            self.revlog_index_bytes,
            self.fncache_bytes,
            self.dictionary_bytes,
            self.btree_bytes,
            self.btree_unused_bytes,
            self.other_bytes,
        ];
        parts.into_iter().fold(self.objects.sum().stored_bytes, u64::saturating_add)
    }
}

pub(crate) fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_counted_by_kind_and_form() {
        let mut objects = ObjectSizes::default();
        objects.get_mut(ObjectKind::Tree, ChunkForm::Delta).add(10, 20);
        objects.get_mut(ObjectKind::Tree, ChunkForm::Delta).add(1, 2);
        objects.get_mut(ObjectKind::Blob, ChunkForm::Whole).add(100, 300);
        assert_eq!(
            objects.get(ObjectKind::Tree, ChunkForm::Delta),
            ChunkSizes { entries: 2, stored_bytes: 11, payload_bytes: 22 }
        );
        assert_eq!(objects.get(ObjectKind::Blob, ChunkForm::Whole).payload_bytes, 300);
        assert_eq!(objects.get(ObjectKind::Blob, ChunkForm::Delta), ChunkSizes::default());
        assert_eq!(objects.sum(), ChunkSizes { entries: 3, stored_bytes: 111, payload_bytes: 322 });
        assert_eq!(objects.iter().count(), 14);
    }

    #[test]
    fn every_kind_and_form_has_its_own_counter() {
        let mut objects = ObjectSizes::default();
        let mut expected = 0;
        for (number, kind) in ObjectKind::ALL.into_iter().enumerate() {
            for (offset, form) in ChunkForm::ALL.into_iter().enumerate() {
                let stored = 1 << (2 * number + offset);
                objects.get_mut(kind, form).add(stored, 0);
                expected |= stored;
                assert_eq!(objects.get(kind, form).stored_bytes, stored, "{} {}", kind.name(), form.name());
            }
        }
        assert_eq!(objects.sum().stored_bytes, expected);
    }

    #[test]
    fn forms_without_chunks_are_omitted() {
        let mut size = SizeRecord::default();
        let json = serde_json::to_value(&size).unwrap();
        for absent in ["forms", "ids", "dictionary_bytes"] {
            assert!(json.get(absent).is_none(), "{absent}: {json}");
        }
        assert_eq!(serde_json::from_value::<SizeRecord>(json).unwrap(), size, "an older record");
        for (number, form) in (1..).zip(StoredForm::ALL) {
            size.forms.add(form, number);
            size.forms.add(form, 10 * number);
            assert_eq!(size.forms.get(form), FormSizes { chunks: 2, stored_bytes: 11 * number }, "{}", form.name());
        }
        size.dictionary_bytes = 7;
        size.ids = Some(IdBytes { references: 3, payload_bytes: 60, escaped: 0 });
        assert_eq!(size.sum_of_parts(), 7, "forms and ids are no parts of their own");
        let json = serde_json::to_value(&size).unwrap();
        assert_eq!(json["ids"]["payload_bytes"], 60);
        assert_eq!(json["forms"]["stored"]["chunks"], 2);
        assert_eq!(serde_json::from_value::<SizeRecord>(json).unwrap(), size);
    }

    #[test]
    fn pack_bytes_exclude_loose_objects() {
        let mut size = SizeRecord { entry_header_bytes: 4, pack_frame_bytes: 32, other_bytes: 7, ..Default::default() };
        size.objects.get_mut(ObjectKind::Blob, ChunkForm::Whole).add(50, 60);
        size.objects.get_mut(ObjectKind::Commit, ChunkForm::Whole).add(30, 40);
        size.loose = LooseSizes { objects: 1, stored_bytes: 30 };
        assert_eq!(size.pack_bytes(), 50 + 4 + 32);
        assert_eq!(size.sum_of_parts(), 50 + 30 + 4 + 32 + 7);
    }
}
