//! Refs, whatever their backend, and those of the files backend: one loose file per ref, and `packed-refs`.
//!
//! `gix-ref` decodes `packed-refs`. Loose refs are decoded here exactly as in git's `parse_loose_ref_contents`:
//! `gix-ref` requires one space after `ref:`, and accepts refs that git considers broken. This module also decides
//! which files count, because git follows symbolic links in `refs/` (and reads a link whose text is a ref name as a
//! symbolic ref), while `gix-ref` skips them.

use std::{
    collections::{BTreeMap, HashMap},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use super::{
    format::{RefStorage, RepositoryFormat},
    location::Location,
    reftable,
    tree_files::{self, TreeFile},
};
use crate::{
    bounds::read_regular_file,
    error::{Place, ReaderError, Result},
};

/// A ref and its target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The full name, `refs/heads/main` or `HEAD`.
    pub name: BString,
    /// Its direct target. Tags are not peeled.
    pub target: Target,
}

/// The target of a ref.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// An object.
    Object(ObjectId),
    /// Another ref, by full name, which need not exist.
    Symbolic(BString),
}

/// `HEAD` and all refs, sorted by name.
pub(super) fn read_all(location: &Location, format: &RepositoryFormat) -> Result<Vec<Reference>> {
    let targets = match format.ref_storage {
        RefStorage::Files => read_files(location, format.object_hash)?,
        RefStorage::Reftable => reftable::read_all(location, format.object_hash)?,
    };
    Ok(targets.into_iter().map(|(name, target)| Reference { name, target }).collect())
}

/// `HEAD` and all refs of the files backend.
fn read_files(location: &Location, hash: gix_hash::Kind) -> Result<BTreeMap<BString, Target>> {
    let mut targets = BTreeMap::new();
    read_packed(&location.common_dir.join("packed-refs"), hash, &mut targets)?;
    let head = TreeFile::inspect("HEAD".into(), location.git_dir.join("HEAD"))?;
    // Except for `HEAD`, git skips files whose name is no ref name, and symbolic links that lead to no file.
    let listed = reference_files(location)?
        .into_iter()
        .filter(|file| is_reference_name(file.name.as_bstr()) && (file.link.is_none() || file.path.is_file()));
    for file in std::iter::once(head).chain(listed) {
        let target = read_loose(&file, hash)?;
        targets.insert(file.name, target);
    }
    Ok(targets)
}

/// The replacements under `refs/replace/` in `references`.
pub(super) fn replacements(references: &[Reference], hash: gix_hash::Kind) -> HashMap<ObjectId, ObjectId> {
    let by_name: HashMap<&BStr, &Target> =
        references.iter().map(|reference| (reference.name.as_bstr(), &reference.target)).collect();
    let mut replacements = HashMap::new();
    for reference in references {
        let Some(below) = reference.name.strip_prefix(b"refs/replace/") else { continue };
        // Git takes the last part of the name, ignores folders before it, and warns if it is no id.
        let hex = below.rsplit_str("/").next().unwrap_or_default();
        let Some(replaced) = ObjectId::from_hex(hex).ok().filter(|id| id.kind() == hash) else { continue };
        if let Some(id) = resolve(&reference.target, &by_name) {
            replacements.insert(replaced, id);
        }
    }
    replacements
}

/// Follows symbolic refs, at most five steps as in git.
fn resolve(target: &Target, by_name: &HashMap<&BStr, &Target>) -> Option<ObjectId> {
    let mut target = target;
    for _ in 0..=5 {
        match target {
            Target::Object(id) => return Some(*id),
            Target::Symbolic(name) => target = by_name.get(name.as_bstr())?,
        }
    }
    None
}

/// The files of loose refs, sorted by name.
pub(super) fn reference_files(location: &Location) -> Result<Vec<TreeFile>> {
    merge(location, "refs", is_private_to_work_tree)
}

/// The files of reflogs, sorted by name.
pub(super) fn reflog_files(location: &Location) -> Result<Vec<TreeFile>> {
    merge(location, "logs", |name| {
        let name = name.strip_prefix(b"logs/").unwrap_or(name);
        !name.starts_with(b"refs/") || is_private_to_work_tree(name.as_bstr())
    })
}

/// Lists `folder` of the common directory. For a linked work tree, names that are private come from the git directory.
fn merge(location: &Location, folder: &str, is_private: impl Fn(&BStr) -> bool) -> Result<Vec<TreeFile>> {
    let mut files = tree_files::list(&location.common_dir, folder, location.bounds())?;
    if location.is_linked_work_tree() {
        files.retain(|file| !is_private(file.name.as_bstr()));
        let own = tree_files::list(&location.git_dir, folder, location.bounds())?;
        files.extend(own.into_iter().filter(|file| is_private(file.name.as_bstr())));
    }
    files.sort_unstable();
    Ok(files)
}

/// Whether each work tree has its own ref of this name.
pub(super) fn is_private_to_work_tree(name: &BStr) -> bool {
    ["refs/bisect/", "refs/worktree/", "refs/rewritten/"].iter().any(|prefix| name.starts_with_str(prefix))
}

pub(super) fn is_reference_name(name: &BStr) -> bool {
    gix_ref::FullName::try_from(name).is_ok()
}

/// Reads one loose ref.
pub(super) fn read_loose(file: &TreeFile, hash: gix_hash::Kind) -> Result<Target> {
    if let Some(link) = &file.link {
        let name = link.as_os_str().as_bytes().as_bstr();
        if name.starts_with(b"refs/") && is_reference_name(name) {
            return Ok(Target::Symbolic(name.to_owned()));
        }
    }
    let Some(content) = read_regular_file(&file.path)? else {
        return Err(ReaderError::Changed { path: file.path.clone() });
    };
    decode_loose(&content, hash).ok_or_else(|| {
        let expected = format!("'ref: <name>' or {} hexadecimal digits", hash.len_in_hex());
        ReaderError::corrupt(&file.path, Place::Whole, expected, quoted(&content))
    })
}

/// The target in the content of a loose ref; `None` if the ref is broken in git's view.
fn decode_loose(content: &[u8], hash: gix_hash::Kind) -> Option<Target> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let kept = content.iter().rposition(|byte| !is_space(byte)).map_or(0, |last| last + 1);
    // As in C, a string ends at its first NUL.
    let text = content.get(..kept)?.split(|byte| *byte == 0).next()?;
    if let Some(target) = text.strip_prefix(b"ref:") {
        let start = target.iter().position(|byte| !is_space(byte))?;
        let name = target.get(start..)?.as_bstr();
        return is_reference_name(name).then(|| Target::Symbolic(name.to_owned()));
    }
    let (hex, rest) = text.split_at_checked(hash.len_in_hex())?;
    rest.first().is_none_or(is_space).then_some(())?;
    ObjectId::from_hex(hex).ok().map(Target::Object)
}

/// Adds the refs of the file `packed-refs` at `path`.
fn read_packed(path: &Path, hash: gix_hash::Kind, targets: &mut BTreeMap<BString, Target>) -> Result<()> {
    let Some(content) = read_regular_file(path)? else { return Ok(()) };
    let damaged = |line: usize| {
        let found = content.lines().nth(line - 1).map_or_else(|| "the end".to_owned(), quoted);
        ReaderError::corrupt(path, Place::Line(line), "'<object id> <ref name>'", found)
    };
    let packed = gix_ref::packed::Iter::new(&content, hash).map_err(|_| damaged(1))?;
    // The iterator skips one header line.
    let mut line = if content.starts_with(b"#") { 2 } else { 1 };
    for reference in packed {
        let reference = reference.map_err(|_| damaged(line))?;
        line += 1 + usize::from(reference.object.is_some());
        targets.insert(reference.name.as_bstr().to_owned(), Target::Object(reference.target()));
    }
    Ok(())
}

/// The first bytes of `content`, quoted for a message.
pub(super) fn quoted(content: &[u8]) -> String {
    const SHOWN: usize = 40;
    if content.is_empty() {
        return "an empty file".to_owned();
    }
    let shown = content.get(..SHOWN).unwrap_or(content);
    let ellipsis = if shown.len() < content.len() { "..." } else { "" };
    format!("'{}{ellipsis}'", shown.escape_ascii())
}
