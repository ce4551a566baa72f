//! Which streams go to an object store whose codec is not zlib. In doubt, none.
//!
//! git does not say what a stream is for. What can be seen is enough: the program, its command, the file of an object store that it
//! makes, and whether a stream begins as a loose object does.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, sync::OnceLock};

use crate::{
    git_command::{self, GitCommand, PackWriter},
    objects::{self, ObjectStore, Writer},
};

/// The longest header of a loose object: the longest kind's name, a size of 20 digits, a space and a NUL.
const LONGEST_HEADER: usize = 6 + 1 + 20 + 1;

/// What a new stream may be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An entry of a pack, if it is no loose object.
    Pack,
    /// A loose object, or something else that stays zlib.
    PerhapsLoose,
}

/// What the stream that is being opened may be for, and what writes it; none if it is zlib's in any case.
pub(crate) fn purpose() -> Option<(Purpose, Writer)> {
    let command = git_command::this().filter(|command| command.is_git && !command.sends)?;
    let (purpose, store) = match command.writer {
        None => (Purpose::PerhapsLoose, objects::written()?),
        // It deflates deltas before it makes a file.
        Some(PackWriter::PackObjects) => (Purpose::Pack, pack_store(command)?),
        Some(PackWriter::IndexPack | PackWriter::FastImport) => (Purpose::Pack, objects::written()?),
    };
    Some((purpose, store.writer()?))
}

/// Whether that is all of what git compresses first for a loose object: kind, size and a NUL.
pub(crate) fn is_loose_header(bytes: &[u8]) -> bool {
    let kinds: [&[u8]; 4] = [b"blob ", b"tree ", b"commit ", b"tag "];
    let Some(rest) = kinds.iter().find_map(|kind| bytes.strip_prefix(*kind)) else { return false };
    let Some(digits) = rest.strip_suffix(b"\0") else { return false };
    !digits.is_empty() && bytes.len() <= LONGEST_HEADER && digits.iter().all(u8::is_ascii_digit)
}

/// The store in whose folder of packs `pack-objects` puts its packs; none if one goes elsewhere.
fn pack_store(command: &GitCommand) -> Option<&'static ObjectStore> {
    // By now git has gone to the folder that relative paths start from.
    static STORE: OnceLock<Option<&'static ObjectStore>> = OnceLock::new();
    *STORE.get_or_init(|| {
        let packs = command.pack_place()?.parent().filter(|folder| folder.file_name() == Some(OsStr::new("pack")))?;
        Some(ObjectStore::at(packs.parent()?.as_os_str().as_bytes()))
    })
}
