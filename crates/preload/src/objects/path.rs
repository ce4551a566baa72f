//! Recognizes packs and loose objects by their paths.

/// A file of an object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectFile<'a> {
    /// The part of the path that leads to the store's folder; empty for the current folder.
    pub(crate) store: &'a [u8],
    /// Whether git is still writing it, under a temporary name.
    pub(crate) is_new: bool,
}

/// Prefixes of the names of packs and loose objects that git is writing.
const NEW_PACK: &[u8] = b"tmp_pack_";
const NEW_OBJECT: &[u8] = b"tmp_obj_";

/// The name of the folder of packs, and the length of the names of the folders of loose objects.
const PACKS: &[u8] = b"pack";
const FAN_OUT: usize = 2;

/// The lock of a reftable, and its folder. git makes it before it writes tables.
const TABLES_FOLDER: &[u8] = b"reftable";
const TABLES_LOCK: &[u8] = b"tables.list.lock";

/// The shortest name of a loose object: 40 hexadecimal digits of SHA-1, less the two that name its folder.
const SHORTEST_NAME: usize = 38;

impl<'a> ObjectFile<'a> {
    /// The pack or loose object, finished or not, at `path`.
    pub(crate) fn at(path: &'a [u8]) -> Option<Self> {
        let (folder, name) = split(path);
        let (store, folder) = split(folder);
        let is_new_pack = name.starts_with(NEW_PACK);
        if is_new_pack || name.ends_with(b".pack") {
            return (folder == PACKS).then_some(ObjectFile { store, is_new: is_new_pack });
        }
        let is_hexadecimal = |name: &[u8]| name.iter().all(u8::is_ascii_hexdigit);
        let is_new_object = name.starts_with(NEW_OBJECT);
        let is_object = is_new_object || name.len() >= SHORTEST_NAME && is_hexadecimal(name);
        let is_fan_out = folder.len() == FAN_OUT && is_hexadecimal(folder);
        (is_object && is_fan_out).then_some(ObjectFile { store, is_new: is_new_object })
    }
}

/// Whether `path` is the lock under which git writes the tables of a reftable.
pub(crate) fn is_lock_of_tables(path: &[u8]) -> bool {
    path.ends_with(TABLES_LOCK) && {
        let (folder, name) = split(path);
        name == TABLES_LOCK && split(folder).1 == TABLES_FOLDER
    }
}

/// Splits a path into its folder, without trailing slashes, and its last component.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => {
            let mut folder = &path[..at];
            while let Some(shorter) = folder.strip_suffix(b"/") {
                folder = shorter;
            }
            // The root has no name.
            (if folder.is_empty() { b"/" } else { folder }, &path[at + 1..])
        }
        None => (b"", path),
    }
}
