//! Commits, trees and tags in pieces, from which they are written with numbers or with ids.

use std::ops::Range;

use gix_hash::{ObjectId, oid};
use memchr::memchr;
use repackbench_reader::{
    ObjectKind,
    git::numbered::{OBJECT_WORD, PARENT_WORD, TREE_WORD, VERBATIM},
};

/// A reference to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The id of the object.
    pub id: ObjectId,
    /// Its position in the index of the pack; `None` if it is not in the pack.
    pub position: Option<u32>,
}

/// A part of an object that deltas copy or insert as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The first byte of a commit, of a tag, or of an object that is kept as it is.
    Head(u8),
    /// A range of the object: a mode with its name, or a line or a part of one.
    Text(Range<usize>),
    /// The name of an object.
    Reference(Reference),
}

/// An object in pieces.
#[derive(Debug, Clone, Default)]
pub struct ParsedObject {
    content: Vec<u8>,
    pieces: Vec<Piece>,
}

impl ParsedObject {
    /// The pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The content, which was parsed.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Replaces this object by the one of `kind` with `content`, for a form with numbers.
    /// `reference` looks up an id of `id_len` bytes.
    pub fn parse(
        &mut self,
        kind: ObjectKind,
        content: &[u8],
        id_len: usize,
        mut reference: impl FnMut(&oid) -> Reference,
    ) {
        self.begin(content);
        let refer = |id: &oid| Piece::Reference(reference(id));
        let is_parsed = match kind {
            ObjectKind::Tree => self.parse_tree(id_len, refer),
            ObjectKind::Commit => self.parse_commit(id_len, refer),
            _ => self.parse_tag(id_len, refer),
        };
        if is_parsed.is_none() {
            self.pieces.clear();
            self.pieces.push(Piece::Head(VERBATIM));
            self.push_lines(0);
        }
    }

    /// Replaces this object by the one of `kind` with `content`, for git's own form. The ids of trees are pieces of
    /// their own; those of commits and tags are in their lines.
    pub fn parse_with_ids(&mut self, kind: ObjectKind, content: &[u8], id_len: usize) {
        self.begin(content);
        let refer = |id: &oid| Piece::Reference(Reference { id: id.to_owned(), position: None });
        if kind != ObjectKind::Tree || self.parse_tree(id_len, refer).is_none() {
            self.pieces.clear();
            self.push_lines(0);
        }
    }

    fn begin(&mut self, content: &[u8]) {
        self.content.clear();
        self.content.extend_from_slice(content);
        self.pieces.clear();
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
        let (tree, mut at) = named(&self.content, 0, TREE_WORD, id_len)?;
        self.pieces.extend([Piece::Head(0), refer(&tree)]);
        while let Some((parent, end)) = named(&self.content, at, PARENT_WORD, id_len) {
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
        let (object, at) = named(&self.content, 0, OBJECT_WORD, id_len)?;
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
    pub fn text(&self, range: &Range<usize>) -> &[u8] {
        self.content.get(range.clone()).unwrap_or_default()
    }

    /// Replaces `written` by this object. `put` appends a reference.
    pub fn write(&self, written: &mut WrittenObject, mut put: impl FnMut(&Reference, &mut Vec<u8>)) {
        let WrittenObject { bytes, ends } = written;
        bytes.clear();
        ends.clear();
        for piece in &self.pieces {
            match piece {
                Piece::Head(head) => bytes.push(*head),
                Piece::Text(range) => bytes.extend_from_slice(self.text(range)),
                Piece::Reference(reference) => put(reference, bytes),
            }
            ends.push(bytes.len());
        }
    }
}

/// An object that was written.
#[derive(Debug, Clone, Default)]
pub struct WrittenObject {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Where each piece ends.
    pub ends: Vec<usize>,
}

impl WrittenObject {
    /// The range of `count` pieces from `first` on, in bytes.
    pub(super) fn range(&self, first: usize, count: usize) -> Range<usize> {
        let end =
            |pieces: usize| pieces.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or_default();
        end(first)..end(first + count)
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
