//! The loose objects of all object directories, by name.
//!
//! A loose object is at `<object directory>/<two hex digits>/<the other digits>`, in lower case. Other files there
//! (`tmp_obj_*`, editors' leftovers) are ignored, as in git.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use gix_hash::ObjectId;

use crate::{
    bounds::Bounds,
    error::{ReaderError, Result},
};

/// One loose object: its id and the object directory that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LooseObject {
    /// The id from the file's name. The content is not read here.
    pub id: ObjectId,
    /// The position of its directory in [`super::GitRepository::object_dirs`].
    pub object_dir: u32,
}

/// The loose objects of a repository, sorted by id, once each.
#[derive(Debug, Clone)]
pub struct LooseObjects {
    objects: Vec<LooseObject>,
    object_dirs: Vec<PathBuf>,
}

impl LooseObjects {
    /// Lists the loose objects of `object_dirs`. `own` are the bounds of the first directory.
    pub(super) fn list(object_dirs: &[PathBuf], own: Bounds<'_>, hash: gix_hash::Kind) -> Result<Self> {
        let mut objects = Vec::new();
        for (position, path) in object_dirs.iter().enumerate() {
            let object_dir = u32::try_from(position).map_err(|_| {
                ReaderError::unsupported(path, format!("an object directory beyond the first {}", u32::MAX))
            })?;
            let bounds = if position == 0 { own } else { Bounds::of(path) };
            for first_byte in 0..=u8::MAX {
                visit_fan_out(path, bounds, first_byte, hash, |id| objects.push(LooseObject { id, object_dir }))?;
            }
        }
        objects.sort_unstable();
        objects.dedup_by_key(|object| object.id);
        Ok(LooseObjects { objects, object_dirs: object_dirs.to_owned() })
    }

    /// Number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The objects, sorted by id.
    #[must_use]
    pub fn as_slice(&self) -> &[LooseObject] {
        &self.objects
    }

    /// The position of `id` in this listing.
    #[must_use]
    pub fn position(&self, id: &gix_hash::oid) -> Option<usize> {
        self.objects.binary_search_by(|object| object.id.as_ref().cmp(id)).ok()
    }

    /// The object at `position`, or `None` past the end.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<LooseObject> {
        self.objects.get(position).copied()
    }

    /// The file of the object at `position`, or `None` past the end.
    #[must_use]
    pub fn path(&self, position: usize) -> Option<PathBuf> {
        let object = self.get(position)?;
        let object_dir = self.object_dirs.get(usize::try_from(object.object_dir).ok()?)?;
        let hex = object.id.to_hex().to_string();
        let (fan_out, rest) = hex.split_at_checked(2)?;
        Some(object_dir.join(fan_out).join(rest))
    }
}

/// Calls `visit` with the id of every loose object below `object_dir` that begins with `first_byte`, in no particular
/// order.
pub(super) fn visit_fan_out(
    object_dir: &Path,
    bounds: Bounds<'_>,
    first_byte: u8,
    hash: gix_hash::Kind,
    mut visit: impl FnMut(ObjectId),
) -> Result<()> {
    let folder = object_dir.join(format!("{first_byte:02x}"));
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(ReaderError::io("list", folder, error)),
    };
    let mut hex = format!("{first_byte:02x}");
    for entry in entries {
        let entry = entry.map_err(|error| ReaderError::io("list", &folder, error))?;
        let kind = entry.file_type().map_err(|error| ReaderError::io("inspect", entry.path(), error))?;
        if !kind.is_file() {
            bounds.check_listed(&entry.path(), kind)?;
        }
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_lower_hex(name)) else { continue };
        hex.truncate(2);
        hex.push_str(name);
        if hex.len() == hash.len_in_hex()
            && let Ok(id) = ObjectId::from_hex(hex.as_bytes())
        {
            visit(id);
        }
    }
    Ok(())
}

fn is_lower_hex(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
