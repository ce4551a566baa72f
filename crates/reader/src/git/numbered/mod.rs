//! Commits, trees and tags that name objects of their own pack by number.
//!
//! The number of an object is one more than its place in the pack's index, big-endian, in as many bytes as the number
//! of objects needs. Zero is an escape: the id of an object outside of the pack follows.
//!
//! | object | bytes |
//! |---|---|
//! | commit | one more than the number of parents; the tree; the parents; what follows their lines |
//! | tag | 1; the object; what follows its line |
//! | tree | for each entry: mode, space, name, NUL; the object |
//! | anything else | 0; the object's bytes |
//!
//! Anything else is what does not follow git's own form, such as ids in capitals. No tree begins with a zero, so a tree
//! needs no byte for its kind. Modes stay as they are, so that those with leading zeros are restored.
//!
//! Deltas have git's instructions over these bytes. So a chain is resolved without a look at numbers, and only the
//! object that is asked for is expanded. docs/format.md has a worked example.

mod mark;

use memchr::memchr;

pub(super) use self::mark::check_mark;
pub use self::mark::{MARK_SIGNATURE, MARK_VERSION, mark_len};
use crate::{
    ObjectKind,
    memory::{self, TooLarge},
};

/// The first byte of an object that is kept as it is.
pub const VERBATIM: u8 = 0;

/// The words before the ids in a commit, and the one in a tag.
pub const TREE_WORD: &str = "tree ";
/// The word before each parent of a commit.
pub const PARENT_WORD: &str = "parent ";
/// The word before the object of a tag.
pub const OBJECT_WORD: &str = "object ";

/// Why a numbered object cannot be expanded. The caller adds file and offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The bytes end within an entry or a reference.
    #[error("one that ends within an entry or a reference")]
    Truncated,
    /// No object of the pack has this number.
    #[error("the number {number} in a pack of {count} objects")]
    PastEnd {
        /// The number.
        number: u64,
        /// How many objects the pack has.
        count: u32,
    },
    /// A tag names one object.
    #[error("a tag of {0} objects")]
    Tag(u8),
    /// The object exceeds the memory limit for one object.
    #[error("an object of {0}")]
    TooLarge(TooLarge),
    /// The object does not fit into memory.
    #[error("an object for which there is too little memory")]
    NoMemory,
}

/// The result of expanding.
pub type Result<T> = std::result::Result<T, NumberError>;

/// An object that a numbered one names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'a> {
    /// The object of the same pack at this position of the index.
    Position(u32),
    /// An object outside of the pack, by its id.
    Id(&'a gix_hash::oid),
}

/// How the objects of one pack are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackNumbers {
    width: usize,
    id_len: usize,
    count: u32,
}

impl PackNumbers {
    /// The numbers of a pack of `count` objects with ids of `hash_kind`.
    pub fn new(count: u32, hash_kind: gix_hash::Kind) -> Self {
        let bits = u32::BITS - count.leading_zeros();
        PackNumbers { width: bits.div_ceil(8).max(1) as usize, id_len: hash_kind.len_in_bytes(), count }
    }

    /// The length of an id in bytes.
    pub fn id_len(&self) -> usize {
        self.id_len
    }

    /// The length of a number in bytes.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Appends the number of the object at `position` of the index, or the escape and `id` of an object that is not in
    /// the pack.
    pub fn put(&self, position: Option<u32>, id: &gix_hash::oid, bytes: &mut Vec<u8>) {
        let number = position.map_or(0, |position| u64::from(position) + 1).to_be_bytes();
        bytes.extend_from_slice(number.get(number.len() - self.width..).unwrap_or_default());
        if position.is_none() {
            bytes.extend_from_slice(id.as_bytes());
        }
    }

    /// The length in bytes of the reference at the start of `bytes`.
    #[inline]
    pub fn len_at(&self, bytes: &[u8]) -> usize {
        let is_escape = bytes.iter().take(self.width).all(|byte| *byte == 0);
        self.width + if is_escape { self.id_len } else { 0 }
    }

    /// Takes a reference from the start of `bytes`.
    ///
    /// # Errors
    /// The bytes end within it, or the pack has no object of that number.
    #[inline]
    pub fn take<'a>(&self, bytes: &mut &'a [u8]) -> Result<Reference<'a>> {
        let (number, rest) = bytes.split_at_checked(self.width).ok_or(NumberError::Truncated)?;
        let number = number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let Some(position) = number.checked_sub(1) else {
            let (id, rest) = rest.split_at_checked(self.id_len).ok_or(NumberError::Truncated)?;
            *bytes = rest;
            return gix_hash::oid::try_from_bytes(id).map(Reference::Id).map_err(|_| NumberError::Truncated);
        };
        *bytes = rest;
        match u32::try_from(position) {
            Ok(position) if position < self.count => Ok(Reference::Position(position)),
            _ => Err(NumberError::PastEnd { number, count: self.count }),
        }
    }

    /// As [`take`](PackNumbers::take), but returns the id. `id_at` is the id at a position of the index.
    ///
    /// # Errors
    /// Those of `take`.
    #[inline]
    pub fn take_id<'a>(&self, bytes: &mut &'a [u8], id_at: impl Fn(u32) -> &'a gix_hash::oid) -> Result<&'a [u8]> {
        Ok(match self.take(bytes)? {
            Reference::Position(position) => id_at(position).as_bytes(),
            Reference::Id(id) => id.as_bytes(),
        })
    }

    /// The most bytes that `len` bytes of a numbered object expand to.
    pub(super) fn most_expanded(&self, len: u64) -> u64 {
        // A commit has at most as many references as a byte counts. An entry of a tree has at least one more byte.
        let commit = 256 * (PARENT_WORD.len() + 2 * self.id_len + 1) as u64;
        let grown = len.saturating_mul(self.id_len as u64 + 1) / (self.width as u64 + 1);
        len.max(grown).saturating_add(commit)
    }
}

/// Replaces `content` by the object of `kind` that `numbered` stands for. `take` takes a reference from the start of
/// bytes and returns the id.
///
/// # Errors
/// It stands for no object, or for one that is too large.
pub fn expand<'a>(
    kind: ObjectKind,
    numbered: &'a [u8],
    content: &mut Vec<u8>,
    mut take: impl FnMut(&mut &'a [u8]) -> Result<&'a [u8]>,
) -> Result<()> {
    content.clear();
    match (numbered.split_first(), kind) {
        (Some((&VERBATIM, bytes)), _) => Expanded::new(content, bytes.len())?.put(&[bytes]),
        (_, ObjectKind::Tree) => expand_tree(numbered, &mut Expanded::new(content, numbered.len())?, take),
        (None, _) => Err(NumberError::Truncated),
        (Some((&count, mut bytes)), kind) => {
            let words = if kind == ObjectKind::Commit { [TREE_WORD, PARENT_WORD] } else { [OBJECT_WORD; 2] };
            if kind != ObjectKind::Commit && count != 1 {
                return Err(NumberError::Tag(count));
            }
            let mut expanded = Expanded::new(content, numbered.len())?;
            for nth in 0..usize::from(count) {
                let id = take(&mut bytes)?;
                let word = words.get(nth.min(1)).copied().unwrap_or_default();
                expanded.put_line(word, id)?;
            }
            expanded.put(&[bytes])
        }
    }
}

fn expand_tree<'a>(
    mut numbered: &'a [u8],
    expanded: &mut Expanded<'_, impl Fn(u64) -> std::result::Result<(), TooLarge>>,
    mut take: impl FnMut(&mut &'a [u8]) -> Result<&'a [u8]>,
) -> Result<()> {
    while !numbered.is_empty() {
        let text_len = memchr(0, numbered).ok_or(NumberError::Truncated)? + 1;
        let (text, rest) = numbered.split_at_checked(text_len).ok_or(NumberError::Truncated)?;
        numbered = rest;
        expanded.put(&[text, take(&mut numbered)?])?;
    }
    Ok(())
}

/// An object that is being expanded.
struct Expanded<'a, C> {
    content: &'a mut Vec<u8>,
    /// Checks that the object may have this length.
    check: C,
}

impl<'a> Expanded<'a, fn(u64) -> std::result::Result<(), TooLarge>> {
    /// Room for about `len` bytes.
    fn new(content: &'a mut Vec<u8>, len: usize) -> Result<Self> {
        content.try_reserve(len).map_err(|_| NumberError::NoMemory)?;
        Ok(Expanded { content, check: memory::check })
    }
}

impl<C: Fn(u64) -> std::result::Result<(), TooLarge>> Expanded<'_, C> {
    /// Appends `parts`.
    #[inline]
    fn put(&mut self, parts: &[&[u8]]) -> Result<()> {
        let len = parts.iter().map(|part| part.len()).sum::<usize>();
        (self.check)(self.content.len().saturating_add(len) as u64).map_err(NumberError::TooLarge)?;
        self.content.try_reserve(len).map_err(|_| NumberError::NoMemory)?;
        parts.iter().for_each(|part| self.content.extend_from_slice(part));
        Ok(())
    }

    /// Appends a line with `word` and the hexadecimal digits of `id`.
    fn put_line(&mut self, word: &str, id: &[u8]) -> Result<()> {
        let id = gix_hash::oid::try_from_bytes(id).map_err(|_| NumberError::Truncated)?;
        let mut digits = gix_hash::Kind::hex_buf();
        self.put(&[word.as_bytes(), id.hex_to_buf(&mut digits).as_bytes(), b"\n"])
    }
}

#[cfg(test)]
mod tests;
