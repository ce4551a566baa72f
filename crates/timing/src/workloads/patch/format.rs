//! Patches in git's form, as `git diff --full-index` prints (see "Generating patch text with -p" in git-diff(1)) and
//! `git apply` reads.

use gix_hash::{ObjectId, oid};
use repackbench_reader::{FileVersion, traits::FileMode};

use super::{
    hunks::put_hunks,
    lines::{LineDiff, part},
    quote::put_quoted,
};

/// The number of bytes of a file that git searches for a NUL byte, which text does not have (FIRST_FEW_BYTES in its
/// xdiff-interface.c).
const SEARCHED_FOR_NUL: usize = 8000;

/// The limit of comparing line by line, in bytes: git's default for `core.bigFileThreshold`.
const MAX_TEXT_LEN: usize = 512 << 20;

/// The name of a version that does not exist.
const NO_FILE: &[u8] = b"/dev/null";

/// The rules of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// The rules of `git log -p`: the ids of contents are shown, and a NUL byte makes content binary if it is among the
    /// first 8000 bytes.
    Git,
    /// The rules of `hg log -p --git`: the ids of contents, which are not Git's, are not shown, and a NUL byte anywhere
    /// makes content binary.
    Hg,
}

impl Style {
    fn is_binary(self, content: &[u8]) -> bool {
        let searched = match self {
            Style::Git => part(content, 0..content.len().min(SEARCHED_FOR_NUL)),
            Style::Hg => content,
        };
        content.len() > MAX_TEXT_LEN || memchr::memchr(0, searched).is_some()
    }
}

/// One version of a file with its content.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileContent<'a> {
    pub(super) version: FileVersion,
    pub(super) content: &'a [u8],
}

/// The older and the newer version of a file, one of which may not exist. Both are files, both symbolic links, or both
/// submodules.
pub(super) type Versions<'a> = [Option<FileContent<'a>>; 2];

/// Writes patches, reusing its buffers.
#[derive(Debug, Default)]
pub(super) struct PatchWriter {
    diff: LineDiff,
    patch: Vec<u8>,
    names: [Vec<u8>; 2],
}

impl PatchWriter {
    /// Starts a new patch.
    pub(super) fn clear(&mut self) {
        self.patch.clear();
    }

    /// The text of the current patch.
    pub(super) fn patch(&self) -> &[u8] {
        &self.patch
    }

    /// Adds the patch from the older to the newer version of `path`, if they differ.
    pub(super) fn add(&mut self, path: &[u8], versions: &Versions<'_>, style: Style) {
        let (is_edited, has_other_mode) = match versions {
            [Some(old), Some(new)] => {
                (old.version.id != new.version.id && old.content != new.content, old.version.mode != new.version.mode)
            }
            _ => (true, false),
        };
        if !is_edited && !has_other_mode {
            return;
        }
        for (name, prefix) in self.names.iter_mut().zip([b"a/", b"b/"]) {
            name.clear();
            put_quoted(name, prefix, path);
        }
        let [old_name, new_name] = &self.names;
        put(&mut self.patch, &[b"diff --git ", old_name, b" ", new_name, b"\n"]);
        put_modes(&mut self.patch, versions);
        if is_edited {
            if style == Style::Git {
                put_ids(&mut self.patch, versions);
            }
            self.add_edits(versions, style);
        }
    }

    fn add_edits(&mut self, versions: &Versions<'_>, style: Style) {
        let PatchWriter { diff, patch, names: [old_name, new_name] } = self;
        let [old, new] = versions.map(|version| version.map(|version| version.content).unwrap_or_default());
        let [is_old, is_new] = versions.map(|version| version.is_some());
        let old_label = if is_old { old_name } else { NO_FILE };
        let new_label = if is_new { new_name } else { NO_FILE };
        if style.is_binary(old) || style.is_binary(new) {
            put(patch, &[b"Binary files ", old_label, b" and ", new_label, b" differ\n"]);
        } else if !old.is_empty() || !new.is_empty() {
            // A tab marks the end of a name with spaces.
            let end = |label: &[u8]| if label.contains(&b' ') { b"\t\n".as_slice() } else { b"\n" };
            put(patch, &[b"--- ", old_label, end(old_label), b"+++ ", new_label, end(new_label)]);
            diff.compare(old, new);
            put_hunks(patch, diff, old, new);
        }
    }
}

fn put(patch: &mut Vec<u8>, pieces: &[&[u8]]) {
    for piece in pieces {
        patch.extend_from_slice(piece);
    }
}

/// The lines for a new or deleted file, or for a changed mode.
fn put_modes(patch: &mut Vec<u8>, versions: &Versions<'_>) {
    let mode = |version: &FileContent<'_>| octal(version.version.mode);
    match versions {
        [Some(old), Some(new)] if old.version.mode != new.version.mode => {
            put(patch, &[b"old mode ", mode(old), b"\nnew mode ", mode(new), b"\n"]);
        }
        [Some(old), None] => put(patch, &[b"deleted file mode ", mode(old), b"\n"]),
        [None, Some(new)] => put(patch, &[b"new file mode ", mode(new), b"\n"]),
        _ => {}
    }
}

/// The line with the ids of the contents. A version that does not exist has an id of zeros. An unchanged mode is part
/// of this line.
fn put_ids(patch: &mut Vec<u8>, versions: &Versions<'_>) {
    let ids = versions.map(|version| version.map(|version| version.version.id));
    let Some(hash) = ids.iter().flatten().next().map(|id| id.kind()) else { return };
    let [old, new] = ids.map(|id| id.unwrap_or_else(|| ObjectId::null(hash)));
    patch.extend_from_slice(b"index ");
    put_id(patch, &old);
    patch.extend_from_slice(b"..");
    put_id(patch, &new);
    if let [Some(old), Some(new)] = versions
        && old.version.mode == new.version.mode
    {
        put(patch, &[b" ", octal(old.version.mode)]);
    }
    patch.push(b'\n');
}

fn put_id(patch: &mut Vec<u8>, id: &oid) {
    let mut digits = [0; gix_hash::Kind::longest().len_in_hex()];
    let len = id.hex_to_buf(&mut digits).len();
    patch.extend_from_slice(part(&digits, 0..len));
}

/// A mode in git's form for patches.
fn octal(mode: FileMode) -> &'static [u8] {
    match mode {
        FileMode::Regular => b"100644",
        FileMode::Executable => b"100755",
        FileMode::Symlink => b"120000",
        FileMode::Gitlink => b"160000",
    }
}
