//! What a path says of the file that it leads to.

/// A file of an object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectFile<'a> {
    /// The folder of the store, as the path leads there; empty for the current one.
    pub(crate) store: &'a [u8],
    /// Whether it is one that git is making.
    pub(crate) is_new: bool,
}

/// What git calls the packs and loose objects that it is making.
const NEW_PACK: &[u8] = b"tmp_pack_";
const NEW_OBJECT: &[u8] = b"tmp_obj_";

/// The names of the folders of packs, and how long those of loose objects are.
const PACKS: &[u8] = b"pack";
const FAN_OUT: usize = 2;

/// The shortest name of a loose object: a SHA-1 in hexadecimal, without what its folder is called.
const SHORTEST_NAME: usize = 38;

impl<'a> ObjectFile<'a> {
    /// A pack, or a loose object; or one that is being made.
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

/// A path's folder, without slashes at its end, and its last name.
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
