//! The kinds of payloads, in the terms of the two version-control systems. A spec may choose a codec for each kind.

use std::fmt;

/// The kind of a stored object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A Git commit.
    Commit,
    /// A Git tree.
    Tree,
    /// A Git blob.
    Blob,
    /// A Git annotated tag.
    Tag,
    /// A Mercurial changeset.
    Changelog,
    /// A Mercurial manifest, of all files or of one directory.
    Manifest,
    /// A revision of a file in Mercurial.
    Filelog,
}

impl ObjectKind {
    /// Git's four kinds, in the order in which tables list them.
    pub const GIT: [ObjectKind; 4] = [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Blob, ObjectKind::Tag];

    /// Mercurial's three kinds, in the order in which tables list them.
    pub const HG: [ObjectKind; 3] = [ObjectKind::Changelog, ObjectKind::Manifest, ObjectKind::Filelog];

    /// The name that the version-control system uses.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Commit => "commit",
            ObjectKind::Tree => "tree",
            ObjectKind::Blob => "blob",
            ObjectKind::Tag => "tag",
            ObjectKind::Changelog => "changelog",
            ObjectKind::Manifest => "manifest",
            ObjectKind::Filelog => "filelog",
        }
    }

    /// Git's kind with this name.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        ObjectKind::GIT.into_iter().find(|kind| kind.name().as_bytes() == name)
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ChunkKind {
    /// `blob` or `blob-delta`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.object.name())?;
        if self.is_delta { f.write_str("-delta") } else { Ok(()) }
    }
}

/// The kind of a chunk's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkKind {
    /// The kind of the object that the chunk stands for.
    pub object: ObjectKind,
    /// Whether the payload is a delta against another object.
    pub is_delta: bool,
}

impl ChunkKind {
    /// The kind that is displayed as `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let (object, is_delta) = match name.strip_suffix("-delta") {
            Some(object) => (object, true),
            None => (name, false),
        };
        let object = ObjectKind::GIT.into_iter().chain(ObjectKind::HG).find(|kind| kind.name() == object)?;
        Some(ChunkKind { object, is_delta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_round_trip_as_text() {
        for object in ObjectKind::GIT.into_iter().chain(ObjectKind::HG) {
            for is_delta in [false, true] {
                let kind = ChunkKind { object, is_delta };
                assert_eq!(ChunkKind::from_name(&kind.to_string()), Some(kind));
            }
        }
        assert_eq!(ChunkKind::from_name("delta"), None);
    }
}
