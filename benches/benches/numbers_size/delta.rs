//! Deltas between numbered objects, which copy and insert whole pieces.
//!
//! They have the instructions of git's deltas, over the bytes of the numbered base. So a chain is resolved without a
//! look at references, and only its last object is expanded.

use repackbench_benches::varint::put;

use crate::object::{ParsedObject, Piece};

/// A line that is shorter is inserted, unless it follows what was copied before it.
const SHORTEST_COPY: usize = 8;

/// The most bytes of one copy and of one insert.
const LONGEST_COPY: usize = 0x10000;
const LONGEST_INSERT: usize = 127;

/// What a delta does with a range of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Copies pieces of the base: the first, and how many.
    Copy(usize, usize),
    /// Inserts pieces of the result.
    Insert(usize, usize),
}

/// The steps from `base` to `result`. Pieces are copied and inserted by `unit`: 2 keeps the entries of trees in one.
/// What is copied is found from where the last copy ended on, since both have the same order.
pub(crate) fn steps(base: &ParsedObject, result: &ParsedObject, unit: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut next = 0;
    for (at, wanted) in result.pieces.chunks(unit).enumerate() {
        let is_same = |from: &usize| {
            let found = base.pieces.get(*from..*from + wanted.len()).unwrap_or_default();
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| is_same(base, a, result, b))
        };
        let mut others = (next + unit..base.pieces.len()).step_by(unit);
        let is_searched = |piece: &Piece| matches!(piece, Piece::Text(text) if text.len() >= SHORTEST_COPY);
        let found = Some(next)
            .filter(|next| is_same(next))
            .or_else(|| others.find(|from| is_same(from)).filter(|_| wanted.first().is_some_and(is_searched)));
        match (found, steps.last_mut()) {
            (Some(from), Some(Step::Copy(first, count))) if *first + *count == from => *count += wanted.len(),
            (Some(from), _) => steps.push(Step::Copy(from, wanted.len())),
            (None, Some(Step::Insert(_, count))) => *count += wanted.len(),
            (None, _) => steps.push(Step::Insert(at * unit, wanted.len())),
        }
        next = found.map_or(next, |from| from + wanted.len());
    }
    steps
}

fn is_same(base: &ParsedObject, of_base: &Piece, result: &ParsedObject, of_result: &Piece) -> bool {
    match (of_base, of_result) {
        (Piece::Text(a), Piece::Text(b)) => base.text(a) == result.text(b),
        (Piece::Text(_), _) | (_, Piece::Text(_)) => false,
        (a, b) => a == b,
    }
}

/// An object in some form, and where its pieces end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

impl Written {
    /// The range of `count` pieces from `first` on, in bytes.
    fn range(&self, first: usize, count: usize) -> std::ops::Range<usize> {
        let end = |pieces: usize| pieces.checked_sub(1).map_or(0, |last| self.ends[last]);
        end(first)..end(first + count)
    }
}

/// Replaces `delta` by the one that takes `steps` from `base` to `result`.
pub(crate) fn write(steps: &[Step], base: &Written, result: &Written, delta: &mut Vec<u8>) {
    delta.clear();
    put(delta, base.bytes.len() as u64);
    put(delta, result.bytes.len() as u64);
    for step in steps {
        match step {
            Step::Copy(first, count) => {
                let range = base.range(*first, *count);
                let starts = range.clone().step_by(LONGEST_COPY);
                starts.for_each(|start| put_copy(start, (range.end - start).min(LONGEST_COPY), delta));
            }
            Step::Insert(first, count) => {
                for bytes in result.bytes[result.range(*first, *count)].chunks(LONGEST_INSERT) {
                    delta.push(bytes.len() as u8);
                    delta.extend_from_slice(bytes);
                }
            }
        }
    }
}

/// Appends the instruction that copies `size` bytes, at most [`LONGEST_COPY`], from `offset` on.
fn put_copy(offset: usize, size: usize, delta: &mut Vec<u8>) {
    let head = delta.len();
    delta.push(0x80);
    let size = if size == LONGEST_COPY { 0 } else { size };
    let fields = (offset as u32).to_le_bytes().into_iter().chain((size as u16).to_le_bytes());
    for (bit, byte) in fields.enumerate().filter(|(_, byte)| *byte != 0) {
        delta[head] |= 1 << bit;
        delta.push(byte);
    }
}
