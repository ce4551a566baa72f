//! Deltas between objects in pieces, which copy and insert whole pieces.
//!
//! They have the instructions of git's deltas, over the bytes of the base as it is written.

use super::object::{ParsedObject, Piece, WrittenObject};

/// A line that is shorter is inserted, unless it follows what was copied before it.
const SHORTEST_COPY: usize = 8;

/// The most bytes of one copy and of one insert.
const LONGEST_COPY: usize = 0x10000;
const LONGEST_INSERT: usize = 127;

/// How many pieces of the base a search compares, for each piece of the base. It bounds the time for two large objects
/// that have nothing in common.
const COMPARED_PER_PIECE: usize = 256;

/// The fewest pieces that a search compares.
const LEAST_COMPARED: usize = 1 << 18;

/// What a delta does with a range of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Copies pieces of the base: the first, and how many.
    Copy(usize, usize),
    /// Inserts pieces of the result.
    Insert(usize, usize),
}

/// Replaces `steps` by those from `base` to `result`. Pieces are copied and inserted by `unit`: 2 keeps the entries of
/// trees in one. What is copied is found from where the last copy ended on, since both have the same order.
pub fn find_steps(base: &ParsedObject, result: &ParsedObject, unit: usize, steps: &mut Vec<Step>) {
    steps.clear();
    let (mut next, mut search) = (0, Search::new(base, unit));
    for (at, wanted) in result.pieces().chunks(unit).enumerate() {
        let is_same = |from: usize| {
            let found = base.pieces().get(from..from + wanted.len()).unwrap_or_default();
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| is_same(base, a, result, b))
        };
        let is_searched = |piece: &Piece| matches!(piece, Piece::Text(text) if text.len() >= SHORTEST_COPY);
        let found = match wanted.first() {
            _ if is_same(next) => Some(next),
            Some(first) if is_searched(first) => search.find(next + unit, is_same),
            _ => None,
        };
        match (found, steps.last_mut()) {
            (Some(from), Some(Step::Copy(first, count))) if *first + *count == from => *count += wanted.len(),
            (Some(from), _) => steps.push(Step::Copy(from, wanted.len())),
            (None, Some(Step::Insert(_, count))) => *count += wanted.len(),
            (None, _) => steps.push(Step::Insert(at * unit, wanted.len())),
        }
        next = found.map_or(next, |from| from + wanted.len());
    }
}

/// A search among the pieces of a base.
struct Search {
    pieces: usize,
    unit: usize,
    /// How many pieces may still be compared.
    left: usize,
}

impl Search {
    fn new(base: &ParsedObject, unit: usize) -> Self {
        let pieces = base.pieces().len();
        Search { pieces, unit, left: pieces.saturating_mul(COMPARED_PER_PIECE).max(LEAST_COMPARED) }
    }

    /// The first of the pieces from `start` on that `is_wanted`.
    fn find(&mut self, start: usize, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let compared = (start..self.pieces).step_by(self.unit).take(self.left).inspect(|_| self.left -= 1);
        compared.into_iter().find(|from| is_wanted(*from))
    }
}

fn is_same(base: &ParsedObject, of_base: &Piece, result: &ParsedObject, of_result: &Piece) -> bool {
    match (of_base, of_result) {
        (Piece::Text(a), Piece::Text(b)) => base.text(a) == result.text(b),
        (Piece::Text(_), _) | (_, Piece::Text(_)) => false,
        (a, b) => a == b,
    }
}

/// Replaces `delta` by the one that takes `steps` from `base` to `result`.
pub fn write_delta(steps: &[Step], base: &WrittenObject, result: &WrittenObject, delta: &mut Vec<u8>) {
    delta.clear();
    put_size(base.bytes.len(), delta);
    put_size(result.bytes.len(), delta);
    for step in steps {
        match step {
            Step::Copy(first, count) => {
                let range = base.range(*first, *count);
                let starts = range.clone().step_by(LONGEST_COPY);
                starts.for_each(|start| put_copy(start, (range.end - start).min(LONGEST_COPY), delta));
            }
            Step::Insert(first, count) => {
                let inserted = result.bytes.get(result.range(*first, *count)).unwrap_or_default();
                for bytes in inserted.chunks(LONGEST_INSERT) {
                    delta.extend(u8::try_from(bytes.len()));
                    delta.extend_from_slice(bytes);
                }
            }
        }
    }
}

/// Appends a length: seven bits a byte, the lowest first.
fn put_size(size: usize, delta: &mut Vec<u8>) {
    let mut rest = size;
    while rest >= 0x80 {
        delta.extend(u8::try_from(rest & 0x7f).map(|bits| bits | 0x80));
        rest >>= 7;
    }
    delta.extend(u8::try_from(rest));
}

/// Appends the instruction that copies `size` bytes, at most [`LONGEST_COPY`], from `offset` on. An object is shorter
/// than the longest offset.
fn put_copy(offset: usize, size: usize, delta: &mut Vec<u8>) {
    let size = if size == LONGEST_COPY { 0 } else { size };
    let offset = u32::try_from(offset).unwrap_or(u32::MAX).to_le_bytes();
    let size = u16::try_from(size).unwrap_or_default().to_le_bytes();
    let bytes = || offset.into_iter().chain(size).enumerate().filter(|(_, byte)| *byte != 0);
    delta.push(bytes().fold(0x80, |operation, (bit, _)| operation | 1 << bit));
    delta.extend(bytes().map(|(_, byte)| byte));
}
