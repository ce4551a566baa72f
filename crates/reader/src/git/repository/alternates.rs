//! The object directories that `info/alternates` chains together.
//!
//! Each line of `<object directory>/info/alternates` names another object directory: absolute, or relative to the one
//! that names it. Empty lines and lines that begin with `#` are skipped; a path in double quotes is unescaped as in C.
//! Git follows the files depth first, up to five levels below the first, and skips missing directories with a message.
//! This module does the same and lists the missing ones: without them a repository may lack any of its objects.

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{
    bounds::read_regular_file,
    error::{ReaderError, Result},
};

/// The deepest level of alternates files that are read. The repository's own `info/alternates` is level 0.
const MAX_DEPTH: usize = 5;

/// An object directory that an alternates file names but that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingAlternate {
    /// The alternates file.
    pub file: PathBuf,
    /// The directory that it names.
    pub named: PathBuf,
    /// Why the directory cannot be read.
    pub found: String,
}

/// The object directories of a repository.
pub(super) struct ObjectDirs {
    /// The repository's own as it was given, then every one that it reaches, in git's search order, without duplicates
    /// and with symbolic links resolved.
    pub(super) dirs: Vec<PathBuf>,
    /// The directories that cannot be read.
    pub(super) missing: Vec<MissingAlternate>,
}

/// Lists `own` and every object directory that it reaches.
pub(super) fn object_dirs(own: &Path, notes: &mut Vec<String>) -> Result<ObjectDirs> {
    let resolved = fs::canonicalize(own).map_err(|error| ReaderError::io("open", own, error))?;
    let found = ObjectDirs { dirs: vec![own.to_owned()], missing: Vec::new() };
    let mut chain = Chain { found, seen: HashSet::from([resolved]), notes };
    chain.follow(own, 0)?;
    Ok(chain.found)
}

struct Chain<'notes> {
    found: ObjectDirs,
    /// The directories that were found, with symbolic links resolved.
    seen: HashSet<PathBuf>,
    notes: &'notes mut Vec<String>,
}

impl Chain<'_> {
    /// Adds the directories that the alternates file of `object_dir` names, and those that they reach.
    fn follow(&mut self, object_dir: &Path, depth: usize) -> Result<()> {
        let file = object_dir.join("info/alternates");
        let Some(content) = read_regular_file(&file)? else { return Ok(()) };
        if content.is_empty() {
            return Ok(());
        }
        if depth > MAX_DEPTH {
            self.notes.push(format!("{}: ignored: alternates nested too deeply", file.display()));
            return Ok(());
        }
        for entry in parse(&content) {
            let named = object_dir.join(OsStr::from_bytes(&entry));
            let resolved = match readable_folder(&named) {
                Ok(resolved) => resolved,
                Err(error) => {
                    self.found.missing.push(MissingAlternate { file: file.clone(), named, found: error.to_string() });
                    continue;
                }
            };
            if self.seen.insert(resolved.clone()) {
                self.found.dirs.push(resolved.clone());
                self.follow(&resolved, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// The folder at `path` with links resolved, if it can be listed.
fn readable_folder(path: &Path) -> io::Result<PathBuf> {
    let resolved = fs::canonicalize(path)?;
    fs::read_dir(&resolved)?;
    Ok(resolved)
}

/// The paths in an alternates file.
fn parse(content: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = content;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let line_len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest.get(..line_len).unwrap_or_default();
        let unquoted = if line.starts_with(b"\"") { unquote_c_style(rest) } else { None };
        let (entry, consumed) = match unquoted {
            Some((entry, consumed)) => (entry, consumed),
            None if line.starts_with(b"#") => (Vec::new(), line_len),
            None => (line.to_vec(), line_len),
        };
        if !entry.is_empty() {
            entries.push(entry);
        }
        // The separator. Git skips one byte here even if something else follows a closing quote.
        rest = rest.get(consumed.saturating_add(1)..).unwrap_or_default();
    }
    entries
}

/// Undoes git's C-style quoting at the start of `input`. Returns the unquoted bytes, and the number of bytes of `input`
/// up to and including the closing quote. `None` if the quoting is broken: then git takes the line literally.
fn unquote_c_style(input: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut bytes = input.iter().copied().enumerate().skip(1);
    let mut out = Vec::new();
    loop {
        match bytes.next()? {
            (at, b'"') => return Some((out, at + 1)),
            (_, b'\\') => out.push(match bytes.next()?.1 {
                b'a' => 0x07,
                b'b' => 0x08,
                b'f' => 0x0c,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 0x0b,
                plain @ (b'\\' | b'"') => plain,
                first @ b'0'..=b'3' => {
                    let second = octal_digit(bytes.next()?.1)?;
                    let third = octal_digit(bytes.next()?.1)?;
                    (first - b'0') << 6 | second << 3 | third
                }
                _ => return None,
            }),
            (_, b'\n') => return None,
            (_, byte) => out.push(byte),
        }
    }
}

fn octal_digit(byte: u8) -> Option<u8> {
    matches!(byte, b'0'..=b'7').then(|| byte - b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternates_file_is_parsed_as_in_git() {
        let content = b"# a comment\n\n/plain path\n\"/quoted\\t\\303\\244\"\n\"/broken\n../relative";
        let expected: Vec<Vec<u8>> = vec![
            b"/plain path".to_vec(),
            b"/quoted\t\xc3\xa4".to_vec(),
            b"\"/broken".to_vec(),
            b"../relative".to_vec(),
        ];
        assert_eq!(parse(content), expected);
    }
}
