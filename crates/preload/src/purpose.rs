//! Decides which streams go to an object store whose codec is not zlib. In doubt, none does.
//!
//! git does not say what a stream is for, but its program name, its command, the object file that it is making, and the
//! first bytes of the stream are enough to find out.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, sync::OnceLock};

use crate::{
    git_command::{self, GitCommand, PackWriter},
    objects::{self, ObjectStore, Writer},
};

/// The longest header of a loose object, in bytes: `commit`, a space, a size of 20 digits, and a NUL.
const LONGEST_HEADER: usize = 6 + 1 + 20 + 1;

/// The possible purpose of a new stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An entry of a pack, unless its first bytes are the header of a loose object.
    Pack,
    /// A loose object, or anything else, which stays zlib.
    PerhapsLoose,
}

/// The possible purpose of a stream that is being opened, and its writer. `None` if the stream is certainly zlib's.
pub(crate) fn purpose() -> Option<(Purpose, Writer)> {
    let command = git_command::this().filter(|command| command.is_git && !command.sends)?;
    let (purpose, store) = match command.writer {
        None => (Purpose::PerhapsLoose, objects::written()?),
        // pack-objects compresses deltas before it makes a file.
        Some(PackWriter::PackObjects) => (Purpose::Pack, pack_store(command)?),
        Some(PackWriter::IndexPack | PackWriter::FastImport) => (Purpose::Pack, objects::written()?),
    };
    Some((purpose, store.writer()?))
}

/// Whether `bytes` are exactly the header of a loose object (kind, size and a NUL), which git compresses in a call of
/// its own.
pub(crate) fn is_loose_header(bytes: &[u8]) -> bool {
    let kinds: [&[u8]; 4] = [b"blob ", b"tree ", b"commit ", b"tag "];
    let Some(rest) = kinds.iter().find_map(|kind| bytes.strip_prefix(*kind)) else { return false };
    let Some(digits) = rest.strip_suffix(b"\0") else { return false };
    !digits.is_empty() && bytes.len() <= LONGEST_HEADER && digits.iter().all(u8::is_ascii_digit)
}

/// The store that `pack-objects` writes its packs to. `None` if they do not go to a store's `pack` folder.
fn pack_store(command: &GitCommand) -> Option<&'static ObjectStore> {
    // By now git has changed to the folder that relative paths start from.
    static STORE: OnceLock<Option<&'static ObjectStore>> = OnceLock::new();
    *STORE.get_or_init(|| {
        let packs = command.pack_place()?.parent().filter(|folder| folder.file_name() == Some(OsStr::new("pack")))?;
        Some(ObjectStore::at(packs.parent()?.as_os_str().as_bytes()))
    })
}
