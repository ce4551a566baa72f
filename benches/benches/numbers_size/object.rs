//! Commits, trees and tags with references in any [`Form`], and back.
//!
//! | object | bytes |
//! |---|---|
//! | commit | one more than the number of parents; the tree; the parents; what follows these lines |
//! | tag | 1; the object; what follows its line |
//! | tree | for each entry: mode, space, name, NUL; the object |
//! | anything else | 0; the object's bytes |
//!
//! Anything else is what does not follow git's own form, such as ids in capitals. No tree begins with a zero, so a tree
//! needs no byte for its kind. Modes stay as they are, so that those with leading zeros are restored.

use std::ops::Range;

use gix_hash::{ObjectId, oid};
use memchr::memchr;
use repackbench_reader::{ObjectKind, git::pack::PackFile};

use crate::reference::{Form, LookUp, PackNumbers, Reference};

/// The first byte of an object that is kept as it is.
const VERBATIM: u8 = 0;

/// A part of an object that deltas copy or insert as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The first byte of a commit, of a tag, or of an object that is kept as it is.
    Head(u8),
    /// A range of the object: a mode with its name, or a line or a part of one.
    Text(Range<usize>),
    /// The name of an object.
    Reference(Reference),
}

/// An object in pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParsedObject {
    pub(crate) content: Vec<u8>,
    pub(crate) pieces: Vec<Piece>,
}

impl ParsedObject {
    /// Replaces this object by the one of `kind` with `content`.
    pub(crate) fn parse(&mut self, kind: ObjectKind, content: &[u8], ids: &mut LookUp<'_>) {
        self.content.clear();
        self.content.extend_from_slice(content);
        self.pieces.clear();
        let id_len = ids.id_len();
        let refer = |id: &oid| Piece::Reference(ids.reference(id));
        let is_parsed = match kind {
            ObjectKind::Tree => self.parse_tree(id_len, refer),
            ObjectKind::Commit => self.parse_commit(id_len, refer),
            _ => self.parse_tag(id_len, refer),
        };
        if is_parsed.is_none() {
            self.pieces.clear();
            self.pieces.extend([Piece::Head(VERBATIM), Piece::Text(0..content.len())]);
        }
    }

    fn parse_tree(&mut self, id_len: usize, mut refer: impl FnMut(&oid) -> Piece) -> Option<()> {
        let mut at = 0;
        while let Some(rest) = self.content.get(at..).filter(|rest| !rest.is_empty()) {
            let text_len = memchr(0, rest)? + 1;
            let id = rest.get(text_len..text_len + id_len)?;
            if text_len == 1 {
                return None;
            }
            let id = refer(oid::try_from_bytes(id).ok()?);
            self.pieces.extend([Piece::Text(at..at + text_len), id]);
            at += text_len + id_len;
        }
        Some(())
    }

    fn parse_commit(&mut self, id_len: usize, mut refer: impl FnMut(&oid) -> Piece) -> Option<()> {
        let (tree, mut at) = named(&self.content, 0, "tree ", id_len)?;
        self.pieces.extend([Piece::Head(0), refer(&tree)]);
        while let Some((parent, end)) = named(&self.content, at, "parent ", id_len) {
            self.pieces.push(refer(&parent));
            at = end;
        }
        let head = u8::try_from(self.pieces.len() - 1).ok()?;
        if let Some(piece) = self.pieces.first_mut() {
            *piece = Piece::Head(head);
        }
        self.push_lines(at);
        Some(())
    }

    fn parse_tag(&mut self, id_len: usize, mut refer: impl FnMut(&oid) -> Piece) -> Option<()> {
        let (object, at) = named(&self.content, 0, "object ", id_len)?;
        self.pieces.extend([Piece::Head(1), refer(&object)]);
        self.push_lines(at);
        Some(())
    }

    /// Adds the lines from `at` on, those with a name and an address in two: their times differ more often.
    fn push_lines(&mut self, mut at: usize) {
        for line in self.content.get(at..).unwrap_or_default().split_inclusive(|byte| matches!(byte, b'\n' | b'>')) {
            self.pieces.push(Piece::Text(at..at + line.len()));
            at += line.len();
        }
    }

    /// The bytes of a piece of text.
    pub(crate) fn text(&self, range: &Range<usize>) -> &[u8] {
        self.content.get(range.clone()).unwrap_or_default()
    }

    /// Replaces `bytes` by this object with references in `form`, and `ends` by where each piece ends in it.
    pub(crate) fn write(
        &self,
        form: Form,
        origin: u32,
        numbers: &PackNumbers,
        bytes: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) {
        bytes.clear();
        ends.clear();
        for piece in &self.pieces {
            match piece {
                Piece::Head(head) => bytes.push(*head),
                Piece::Text(range) => bytes.extend_from_slice(self.text(range)),
                Piece::Reference(reference) => numbers.put(form, origin, reference, bytes),
            }
            ends.push(bytes.len());
        }
    }
}

/// The id in hexadecimal digits after `word` at `at`, and where its line ends.
fn named(content: &[u8], at: usize, word: &str, id_len: usize) -> Option<(ObjectId, usize)> {
    let digits = content.get(at..)?.strip_prefix(word.as_bytes())?.get(..2 * id_len)?;
    let end = at + word.len() + digits.len();
    let is_plain = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let is_line = is_plain && content.get(end) == Some(&b'\n');
    Some((ObjectId::from_hex(digits).ok().filter(|_| is_line)?, end + 1))
}

/// Appends the object of `kind` that `bytes` is in `form` to `content`. `None` if it is none.
pub(crate) fn expand<'a>(
    kind: ObjectKind,
    form: Form,
    origin: u32,
    (file, numbers): (&'a PackFile, &PackNumbers),
    mut bytes: &'a [u8],
    content: &mut Vec<u8>,
) -> Option<()> {
    let head = bytes.first().copied();
    if head == Some(VERBATIM) {
        content.extend_from_slice(bytes.get(1..)?);
        return Some(());
    }
    if kind == ObjectKind::Tree {
        while !bytes.is_empty() {
            let (text, rest) = bytes.split_at_checked(memchr(0, bytes)? + 1)?;
            bytes = rest;
            content.extend_from_slice(text);
            content.extend_from_slice(numbers.take(form, origin, file, &mut bytes)?);
        }
        return Some(());
    }
    bytes = bytes.get(1..)?;
    let words = if kind == ObjectKind::Commit { ["tree ", "parent "] } else { ["object ", ""] };
    for (nth, _) in (0..head?).enumerate() {
        let id = numbers.take(form, origin, file, &mut bytes)?;
        content.extend_from_slice(words.get(nth.min(1))?.as_bytes());
        put_hex(id, content);
        content.push(b'\n');
    }
    content.extend_from_slice(bytes);
    Some(())
}

fn put_hex(id: &[u8], content: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    content.extend(id.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}
