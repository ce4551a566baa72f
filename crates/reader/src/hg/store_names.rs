//! The names of files in a Mercurial store, and the tracked files for these names.
//!
//! The filelog of `Dir/A.txt` is at `data/_dir/_a.txt.i`: capitals, and characters that some file system does not
//! support, are escaped. Names that would become too long are truncated and hashed instead, under `dh/`. Only the
//! `fncache`, which lists every name unescaped, leads from them back to the tracked file.
//!
//! Source: `hg help internals.requirements` (`fncache`, `dotencode`), and the names that hg itself creates.

use std::collections::HashMap;

use sha1::{Digest, Sha1};

/// The longest name in bytes that is not hashed.
const LONGEST_NAME: usize = 120;

/// Number of bytes of each directory's name that a hashed name keeps.
const DIRECTORY_PREFIX: usize = 8;

/// Limit on the total length of the directories in a hashed name, in bytes.
const LONGEST_DIRECTORIES: usize = 8 * (DIRECTORY_PREFIX + 1) - 4;

/// Directories with these endings are marked, so that a directory cannot have the same name as a revlog.
const MARKED_ENDINGS: [&[u8]; 3] = [b".hg", b".i", b".d"];

/// The escapes that a store uses, by requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameEncoding {
    /// Only `store`: escapes capitals and special characters.
    Plain,
    /// With `fncache` (or `fileindex-v1`): also escapes reserved names, and hashes long names. With `dotencode`, also
    /// escapes leading dots and spaces.
    Hybrid {
        /// Whether `dotencode` is required.
        dots: bool,
    },
}

impl NameEncoding {
    /// The name in the store for `path`, such as `data/Dir/A.txt.i`.
    pub fn encode(self, path: &[u8]) -> Vec<u8> {
        let marked = mark_directories(path);
        let NameEncoding::Hybrid { dots } = self else { return escape(&marked) };
        let name = escape_components(&escape(&marked), dots);
        if name.len() > LONGEST_NAME { hash_name(&marked, dots) } else { name }
    }
}

/// The path for `name`, a name in the store that is not hashed; `None` if no path has this name.
pub fn decode(name: &[u8]) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(name.len());
    let mut rest = name;
    loop {
        match *rest {
            [] => break,
            [b'_', b'_', ref tail @ ..] => {
                path.push(b'_');
                rest = tail;
            }
            [b'_', letter @ b'a'..=b'z', ref tail @ ..] => {
                path.push(letter.to_ascii_uppercase());
                rest = tail;
            }
            [b'~', high, low, ref tail @ ..] => {
                path.push(hex_digit(high)? << 4 | hex_digit(low)?);
                rest = tail;
            }
            [b'_' | b'~' | b'A'..=b'Z', ..] => return None,
            [byte, ref tail @ ..] => {
                path.push(byte);
                rest = tail;
            }
        }
    }
    Some(unmark_directories(&path))
}

fn hex_digit(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    (!digit.is_ascii_uppercase()).then_some(u8::try_from(value).ok()?)
}

/// The paths for hashed names, from the lines of an `fncache`.
pub fn hashed_names(fncache: &[u8], encoding: NameEncoding) -> HashMap<Vec<u8>, Vec<u8>> {
    let paths = fncache.split(|byte| *byte == b'\n').filter(|path| path.len() > LONGEST_NAME / 4);
    paths
        .map(|path| (encoding.encode_unmarked(path), path.to_owned()))
        .filter(|(name, _)| name.starts_with(b"dh/"))
        .map(|(name, path)| (name, unmark_directories(&path)))
        .collect()
}

/// The paths of filelogs for hashed names, from tracked paths that end with NUL, as in a file index.
pub fn hashed_tracked_paths(list: &[u8], encoding: NameEncoding) -> HashMap<Vec<u8>, Vec<u8>> {
    let paths = list.split(|byte| *byte == 0).map(|path| [b"data/", path, b".i"].concat());
    paths.map(|path| (encoding.encode(&path), path)).filter(|(name, _)| name.starts_with(b"dh/")).collect()
}

impl NameEncoding {
    /// As [`encode`](NameEncoding::encode), for a path whose directories are already marked, as in an `fncache`.
    fn encode_unmarked(self, marked: &[u8]) -> Vec<u8> {
        self.encode(&unmark_directories(marked))
    }
}

fn mark_directories(path: &[u8]) -> Vec<u8> {
    let mut marked = Vec::with_capacity(path.len());
    for_each_component(path, |component, is_directory| {
        marked.extend_from_slice(component);
        if is_directory {
            if MARKED_ENDINGS.iter().any(|ending| component.ends_with(ending)) {
                marked.extend_from_slice(b".hg");
            }
            marked.push(b'/');
        }
    });
    marked
}

/// Removes the marks of directories from a path in an `fncache`.
pub(super) fn unmark_directories(path: &[u8]) -> Vec<u8> {
    let mut unmarked = Vec::with_capacity(path.len());
    for_each_component(path, |component, is_directory| {
        let original = component
            .strip_suffix(b".hg")
            .filter(|original| is_directory && MARKED_ENDINGS.iter().any(|ending| original.ends_with(ending)));
        unmarked.extend_from_slice(original.unwrap_or(component));
        if is_directory {
            unmarked.push(b'/');
        }
    });
    unmarked
}

/// Calls `visit` with each component of `path` and whether it is a directory.
fn for_each_component(path: &[u8], mut visit: impl FnMut(&[u8], bool)) {
    let mut components = path.split(|byte| *byte == b'/').peekable();
    while let Some(component) = components.next() {
        visit(component, components.peek().is_some());
    }
}

/// Whether some file system does not support `byte` in a name.
fn is_special(byte: u8) -> bool {
    !(32..126).contains(&byte) || b"\\:*?\"<>|".contains(&byte)
}

fn push_hex(name: &mut Vec<u8>, byte: u8) {
    name.extend_from_slice(format!("~{byte:02x}").as_bytes());
}

/// Escapes capitals, underscores and special characters.
fn escape(path: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(path.len() + path.len() / 4);
    for byte in path.iter().copied() {
        match byte {
            b'A'..=b'Z' | b'_' => name.extend_from_slice(&[b'_', byte.to_ascii_lowercase()]),
            _ if is_special(byte) => push_hex(&mut name, byte),
            _ => name.push(byte),
        }
    }
    name
}

/// Converts capitals to lower case and escapes special characters. This is not reversible and only used for hashed
/// names.
fn escape_lowered(path: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(path.len());
    for byte in path.iter().copied() {
        if is_special(byte) {
            push_hex(&mut name, byte);
        } else {
            name.push(byte.to_ascii_lowercase());
        }
    }
    name
}

/// Escapes names that Windows reserves: device names, and trailing dots and spaces. With `dots`, also leading ones.
fn escape_components(path: &[u8], dots: bool) -> Vec<u8> {
    let components: Vec<Vec<u8>> = path.split(|byte| *byte == b'/').map(|c| escape_component(c, dots)).collect();
    components.join(&b'/')
}

fn escape_component(component: &[u8], dots: bool) -> Vec<u8> {
    let mut name = Vec::with_capacity(component.len() + 4);
    match *component {
        [first @ (b'.' | b' '), ref rest @ ..] if dots => {
            push_hex(&mut name, first);
            name.extend_from_slice(rest);
        }
        [first, second, third, ref rest @ ..] if is_device(component) => {
            name.extend_from_slice(&[first, second]);
            push_hex(&mut name, third);
            name.extend_from_slice(rest);
        }
        _ => name.extend_from_slice(component),
    }
    if let Some(last @ (b'.' | b' ')) = name.last().copied() {
        name.pop();
        push_hex(&mut name, last);
    }
    name
}

/// Whether `component` is a device name on Windows, with or without an ending.
fn is_device(component: &[u8]) -> bool {
    let stem = component.split(|byte| *byte == b'.').next().unwrap_or_default();
    match *stem {
        [a, b, c] => matches!(&[a, b, c], b"aux" | b"con" | b"prn" | b"nul"),
        [a, b, c, b'1'..=b'9'] => matches!(&[a, b, c], b"com" | b"lpt"),
        _ => false,
    }
}

/// The hashed name of a path whose directories are marked.
fn hash_name(marked: &[u8], dots: bool) -> Vec<u8> {
    let digest = gix_hash::ObjectId::Sha1(Sha1::digest(marked).into()).to_string();
    // Both `data/` and `meta/` become `dh/`.
    let below = marked.get(5..).unwrap_or_default();
    let escaped = escape_components(&escape_lowered(below), dots);
    let (directories, base) = match memchr::memrchr(b'/', &escaped) {
        Some(at) => (escaped.get(..at).unwrap_or_default(), escaped.get(at + 1..).unwrap_or_default()),
        None => (&[][..], escaped.as_slice()),
    };
    let mut start = b"dh/".to_vec();
    if let Some(directories) = shortened(directories) {
        start.extend_from_slice(&directories);
        start.push(b'/');
    }
    let ending = extension(base);
    let left = LONGEST_NAME.saturating_sub(start.len() + digest.len() + ending.len());
    start.extend_from_slice(base.get(..left).unwrap_or(base));
    start.extend_from_slice(digest.as_bytes());
    start.extend_from_slice(ending);
    start
}

/// As many directories as fit, each truncated; `None` if there are no directories.
fn shortened(directories: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    for directory in directories.split(|byte| *byte == b'/').filter(|directory| !directory.is_empty()) {
        let mut directory = directory.get(..DIRECTORY_PREFIX).unwrap_or(directory).to_vec();
        if let Some(last @ (b'.' | b' ')) = directory.last_mut() {
            *last = b'_';
        }
        if !kept.is_empty() {
            if kept.len() + 1 + directory.len() > LONGEST_DIRECTORIES {
                break;
            }
            kept.push(b'/');
        }
        kept.extend_from_slice(&directory);
    }
    (!kept.is_empty()).then_some(kept)
}

/// The extension of a file name with its dot. As in Python's `splitext`, leading dots begin no extension.
fn extension(base: &[u8]) -> &[u8] {
    let first = base.iter().position(|byte| *byte != b'.').unwrap_or(base.len());
    match memchr::memrchr(b'.', base) {
        Some(at) if at > first => base.get(at..).unwrap_or_default(),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DOTS: NameEncoding = NameEncoding::Hybrid { dots: true };
    const NO_DOTS: NameEncoding = NameEncoding::Hybrid { dots: false };

    fn encode(encoding: NameEncoding, path: &str) -> String {
        String::from_utf8(encoding.encode(path.as_bytes())).unwrap()
    }

    /// The names of these paths in hg 7.2 (`mercurial.store._pathencode`, `_plainhybridencode`, `encodefilename`).
    #[test]
    fn names_match_hg() {
        for (path, name) in [
            ("data/plain.txt.i", "data/plain.txt.i"),
            ("data/Dir/A_b.i", "data/_dir/_a__b.i"),
            ("data/what?~\u{7f}.i", "data/what~3f~7e~7f.i"),
            ("data/x.i/y.d/z.hg/f.i", "data/x.i.hg/y.d.hg/z.hg.hg/f.i"),
            ("data/aux.txt/com1/lpt0/auxi.i", "data/au~78.txt/co~6d1/lpt0/auxi.i"),
            ("data/.dot/ space/end./f.i", "data/~2edot/~20space/end~2e/f.i"),
        ] {
            assert_eq!(encode(DOTS, path), name);
        }
        assert_eq!(encode(NO_DOTS, "data/.dot/aux/end .i"), "data/.dot/au~78/end .i");
        assert_eq!(encode(NameEncoding::Plain, "data/.dot/AUX/end./f.i"), "data/.dot/_a_u_x/end./f.i");
    }

    proptest! {
        #[test]
        fn names_round_trip_to_paths(path in "(data|meta)(/[ -~\\x80-\\xff]{1,9}){1,5}\\.i") {
            let path = path.as_bytes();
            for encoding in [DOTS, NO_DOTS, NameEncoding::Plain] {
                let name = encoding.encode(path);
                if name.starts_with(b"dh/") {
                    let fncache = mark_directories(path);
                    let names = hashed_names(&fncache, encoding);
                    prop_assert_eq!(names.get(&name).map(Vec::as_slice), Some(path));
                } else {
                    let decoded = decode(&name);
                    prop_assert_eq!(decoded.as_deref(), Some(path));
                }
            }
        }
    }

    #[test]
    fn decode_rejects_invalid_names() {
        for name in ["data/A.i", "data/_", "data/_-", "data/~", "data/~4", "data/~zz", "data/~2E"] {
            assert_eq!(decode(name.as_bytes()), None, "{name}");
        }
    }
}
