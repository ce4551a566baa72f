//! The text of a git configuration, as far as the guard needs it: read as git's `config.c` reads it.

use std::ops::Range;

/// The guard's section and key.
const EXTENSIONS: &[u8] = b"extensions";
const GUARD: &[u8] = b"repackbench";

/// The section and key of the format version, in which alone git heeds extensions that it does not know.
const CORE: &[u8] = b"core";
const VERSION: &[u8] = b"repositoryformatversion";

/// The section and key of the codec that the repository's owner chose for writing.
const OURS: &[u8] = b"repackbench";
const CODEC: &[u8] = b"codec";

/// Which setting an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    Guard,
    Version,
    Codec,
    Other,
}

/// A key with its value.
#[derive(Debug)]
struct Entry {
    setting: Setting,
    value: Vec<u8>,
    /// The whole lines, or what of a line follows the section's header.
    place: Range<usize>,
    /// The number of its section.
    section: usize,
}

/// What stands in a configuration.
#[derive(Debug, Default)]
struct Contents {
    entries: Vec<Entry>,
    /// The header of each section, its line's end included, and how much stands in it: entries and comments.
    sections: Vec<(Range<usize>, usize)>,
}

/// The guard's value, if it is there.
pub(crate) fn guard(text: &[u8]) -> Option<Vec<u8>> {
    last(text, Setting::Guard)
}

/// The codec for writing, if one is set.
pub(crate) fn codec(text: &[u8]) -> Option<Vec<u8>> {
    last(text, Setting::Codec)
}

/// Like git, the last of several.
fn last(text: &[u8], setting: Setting) -> Option<Vec<u8>> {
    let mut entries = Contents::of(text).entries.into_iter();
    entries.rfind(|entry| entry.setting == setting).map(|entry| entry.value)
}

/// The configuration without the guard, and without its section's header where nothing else stands there.
pub(crate) fn without_guard(text: &[u8]) -> Vec<u8> {
    let contents = Contents::of(text);
    let guards: Vec<&Entry> = contents.entries.iter().filter(|entry| entry.setting == Setting::Guard).collect();
    let mut removed: Vec<Range<usize>> = Vec::new();
    for (number, (header, count)) in contents.sections.iter().enumerate() {
        let of_section: Vec<&&Entry> = guards.iter().filter(|guard| guard.section == number).collect();
        if !of_section.is_empty() && of_section.len() == *count {
            removed.push(header.clone());
        }
        removed.extend(of_section.iter().map(|guard| guard.place.clone()));
    }
    let (mut rest, mut end) = (Vec::with_capacity(text.len()), 0);
    for range in removed {
        rest.extend_from_slice(&text[end..range.start.max(end)]);
        end = range.end.max(end);
    }
    rest.extend_from_slice(&text[end..]);
    rest
}

/// The configuration with the guard, which has this value unless one is there, and with the format version in which git heeds it.
pub(crate) fn with_guard(text: &[u8], value: &[u8]) -> Vec<u8> {
    let mut guarded = text.to_vec();
    let contents = Contents::of(text);
    let is = |setting| move |entry: &&Entry| entry.setting == setting;
    let has_guard = contents.entries.iter().any(|entry| is(Setting::Guard)(&entry));
    match contents.entries.iter().rfind(is(Setting::Version)) {
        Some(version) if version.value == b"1" => {}
        Some(version) => {
            guarded.splice(version.place.clone(), b"\trepositoryformatversion = 1\n".iter().copied());
        }
        None => append(&mut guarded, b"[core]\n\trepositoryformatversion = 1\n"),
    }
    if !has_guard {
        append(&mut guarded, b"[extensions]\n\trepackbench = \"");
        for byte in value {
            if matches!(byte, b'"' | b'\\') {
                guarded.push(b'\\');
            }
            guarded.push(*byte);
        }
        guarded.extend_from_slice(b"\"\n");
    }
    guarded
}

fn append(text: &mut Vec<u8>, lines: &[u8]) {
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(lines);
}

impl Contents {
    /// As much as can be understood; behind that git stops with an error of its own.
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
                    contents.counts_one();
                }
                Some(b'[') => {
                    let Some(name) = reader.header() else { break };
                    section = name;
                    reader.skip(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
                    reader.skip_one(b'\n');
                    contents.sections.push((reader.line_start(start)..reader.at, 0));
                }
                Some(byte) if byte.is_ascii_alphabetic() => {
                    let Some((key, value)) = reader.entry() else { break };
                    let setting = match (section.as_slice(), key.as_slice()) {
                        (EXTENSIONS, GUARD) => Setting::Guard,
                        (CORE, VERSION) => Setting::Version,
                        (OURS, CODEC) => Setting::Codec,
                        _ => Setting::Other,
                    };
                    let Some(number) = contents.sections.len().checked_sub(1) else { break };
                    contents.entries.push(Entry {
                        setting,
                        value,
                        place: reader.line_start(start)..reader.at,
                        section: number,
                    });
                    contents.counts_one();
                }
                Some(_) => break,
            }
        }
        contents
    }

    fn counts_one(&mut self) {
        if let Some((_, count)) = self.sections.last_mut() {
            *count += 1;
        }
    }
}

/// A place in a text.
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

    /// The start of `place`'s line if nothing but blanks stands before it there, else `place`.
    fn line_start(&self, place: usize) -> usize {
        let before = self.text.get(..place).unwrap_or_default();
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = place - blanks;
        let is_start = start == 0 || self.text.get(start - 1) == Some(&b'\n');
        if is_start { start } else { place }
    }

    /// A section's name in lower case; with its subsection, so that it is none of ours, if it has one.
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

    /// A key in lower case and its value, with the end of its line.
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
            // A truth without a value, perhaps with a comment behind it.
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
