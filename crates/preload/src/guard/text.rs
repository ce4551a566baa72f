//! Parses the text of a git configuration as git's `config.c` does, as far as the guard needs it.

use std::{iter, ops::Range};

/// The guard's section and key.
const EXTENSIONS: &[u8] = b"extensions";
const GUARD: &[u8] = b"repackbench";

/// The section and key of the repository format version. git checks for unknown extensions only in version 1.
const CORE: &[u8] = b"core";
const VERSION: &[u8] = b"repositoryformatversion";

/// The section and key of the codec that the repository's owner chose for writing.
const OURS: &[u8] = b"repackbench";
const CODEC: &[u8] = b"codec";

/// The settings that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    Guard,
    Version,
    Codec,
    Other,
}

/// One setting of a configuration and its value.
#[derive(Debug)]
struct Entry {
    setting: Setting,
    value: Vec<u8>,
    /// The bytes of its lines; on the line of a section header, only those after the header.
    range: Range<usize>,
}

/// The settings of a configuration, in file order.
#[derive(Debug, Default)]
struct Contents {
    entries: Vec<Entry>,
}

/// The guard's value, if it is there.
pub(crate) fn guard(text: &[u8]) -> Option<Vec<u8>> {
    last(text, Setting::Guard)
}

/// The codec for writing, if one is set.
pub(crate) fn codec(text: &[u8]) -> Option<Vec<u8>> {
    last(text, Setting::Codec)
}

/// The value of the last entry for `setting`, which is the one that git uses.
fn last(text: &[u8], setting: Setting) -> Option<Vec<u8>> {
    let mut entries = Contents::of(text).entries.into_iter();
    entries.rfind(|entry| entry.setting == setting).map(|entry| entry.value)
}

/// The comment that replaces a hidden guard, padded with dots. The length stays the same, because some programs look at
/// a file's length before they read it.
const MARK: &[u8] = b"#repackbench";
const FILLING: u8 = b'.';

/// The configuration with the guard replaced by a comment of the same length.
pub(crate) fn without_guard(text: &[u8]) -> Vec<u8> {
    let mut hidden = text.to_vec();
    for entry in Contents::of(text).entries.iter().filter(|entry| entry.setting == Setting::Guard) {
        let Some(bytes) = hidden.get_mut(entry.range.clone()) else { continue };
        let end = bytes.len() - usize::from(bytes.ends_with(b"\n"));
        for (byte, of_mark) in bytes.iter_mut().take(end).zip(MARK.iter().chain(iter::repeat(&FILLING))) {
            *byte = *of_mark;
        }
    }
    hidden
}

/// The configuration with a guard and with the format version in which git checks it. A guard that is already there
/// keeps its value.
pub(crate) fn with_guard(text: &[u8], value: &[u8]) -> Vec<u8> {
    let mut line = b"\trepackbench = \"".to_vec();
    for byte in value {
        if matches!(byte, b'"' | b'\\') {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line.extend_from_slice(b"\"\n");
    let mut guarded = replace_mark(text, &line);
    if guard(&guarded).is_none() {
        // There was no mark, or it is in another section, where the line means another key.
        guarded = replace_mark(text, b"");
        append(&mut guarded, &[b"[extensions]\n", &line[..]].concat());
    }
    let contents = Contents::of(&guarded);
    match contents.entries.iter().rfind(|entry| entry.setting == Setting::Version) {
        Some(version) if version.value == b"1" => {}
        Some(version) => {
            guarded.splice(version.range.clone(), b"\trepositoryformatversion = 1\n".iter().copied());
        }
        None => append(&mut guarded, b"[core]\n\trepositoryformatversion = 1\n"),
    }
    guarded
}

/// Replaces the first mark by `line` and removes all others.
fn replace_mark(text: &[u8], line: &[u8]) -> Vec<u8> {
    let is_mark = |found: &[u8]| {
        let rest = found.trim_ascii().strip_prefix(MARK);
        rest.is_some_and(|rest| rest.iter().all(|byte| *byte == FILLING))
    };
    let mut lines = Some(line);
    let mut replaced = Vec::with_capacity(text.len());
    for found in text.split_inclusive(|byte| *byte == b'\n') {
        replaced.extend_from_slice(if is_mark(found) { lines.take().unwrap_or_default() } else { found });
    }
    replaced
}

fn append(text: &mut Vec<u8>, lines: &[u8]) {
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(lines);
}

impl Contents {
    /// Parses `text` up to the first syntax error, at which git stops with an error of its own.
    fn of(text: &[u8]) -> Self {
        let mut contents = Contents::default();
        let mut reader = Reader { text, at: if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 } };
        let mut section: Vec<u8> = Vec::new();
        loop {
            reader.skip(|byte| byte.is_ascii_whitespace());
            let start = reader.at;
            match reader.peek() {
                None => break,
                Some(b'#' | b';') => {
                    reader.skip(|byte| byte != b'\n');
                }
                Some(b'[') => {
                    let Some(name) = reader.header() else { break };
                    section = name;
                }
                Some(byte) if byte.is_ascii_alphabetic() => {
                    let Some((key, value)) = reader.entry() else { break };
                    let setting = match (section.as_slice(), key.as_slice()) {
                        (EXTENSIONS, GUARD) => Setting::Guard,
                        (CORE, VERSION) => Setting::Version,
                        (OURS, CODEC) => Setting::Codec,
                        _ => Setting::Other,
                    };
                    let range = reader.line_start(start)..reader.at;
                    contents.entries.push(Entry { setting, value, range });
                }
                Some(_) => break,
            }
        }
        contents
    }
}

/// A position in a text.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
    }

    fn skip_one(&mut self, byte: u8) {
        self.at += usize::from(self.peek() == Some(byte));
    }

    /// The start of the line that contains `at` if only blanks precede `at` there, otherwise `at`.
    fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = at - blanks;
        let is_start = start == 0 || self.text.get(start - 1) == Some(&b'\n');
        if is_start { start } else { at }
    }

    /// Reads a section header and returns its name in lower case. A subsection is part of the name, so that it matches
    /// none of ours.
    fn header(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        let mut is_quoted = false;
        self.skip_one(b'[');
        loop {
            match self.next()? {
                b']' if !is_quoted => return Some(name),
                b'\n' => return None,
                b'\\' if is_quoted => name.push(self.next()?),
                b'"' => {
                    is_quoted = !is_quoted;
                    name.push(b'"');
                }
                byte if is_quoted => name.push(byte),
                byte => name.push(byte.to_ascii_lowercase()),
            }
        }
    }

    /// Reads an entry to the end of its line, and returns its key in lower case and its value.
    fn entry(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let key = self.text.get(start..self.at)?.to_ascii_lowercase();
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
        match self.peek() {
            Some(b'=') => {
                self.at += 1;
                Some((key, self.value()?))
            }
            // A boolean without a value, perhaps followed by a comment.
            Some(b'\n' | b'\r' | b'#' | b';') | None => {
                self.skip(|byte| byte != b'\n');
                self.skip_one(b'\n');
                Some((key, Vec::new()))
            }
            Some(_) => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value: Vec<u8> = Vec::new();
        let (mut is_quoted, mut is_comment, mut blanks) = (false, false, 0);
        loop {
            match self.next() {
                None | Some(b'\n') => {
                    let end = value.len() - blanks;
                    value.truncate(end);
                    return (!is_quoted).then_some(value);
                }
                Some(_) if is_comment => {}
                Some(b'\r') if matches!(self.peek(), Some(b'\n') | None) => {}
                Some(byte @ (b' ' | b'\t')) if !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                        blanks += 1;
                    }
                }
                Some(b'#' | b';') if !is_quoted => is_comment = true,
                Some(b'"') => {
                    is_quoted = !is_quoted;
                    blanks = 0;
                }
                Some(b'\\') => {
                    blanks = 0;
                    match self.next()? {
                        b'\n' => {}
                        b'\r' if self.peek() == Some(b'\n') => self.at += 1,
                        b't' => value.push(b'\t'),
                        b'n' => value.push(b'\n'),
                        b'b' => value.push(b'\x08'),
                        byte @ (b'"' | b'\\') => value.push(byte),
                        _ => return None,
                    }
                }
                Some(byte) => {
                    value.push(byte);
                    blanks = 0;
                }
            }
        }
    }
}
