//! Revlog deltas: lists of replacements.
//!
//! A delta is a sequence of hunks. Each has three big-endian 32-bit numbers (start and end of the replaced bytes in the
//! base, length of the replacement) and then the replacement. Hunks ascend and do not overlap. Several deltas of a
//! chain are applied together: the text is first described as pieces of the base and of the deltas, and assembled at
//! the end. So a long chain does not copy a long text at every step.

/// Length in bytes of a hunk's three numbers.
const HUNK_HEADER_LEN: usize = 12;

/// Largest number of deltas that are combined before the text is assembled: the description grows with every delta.
const DELTAS_AT_ONCE: usize = 64;

/// Largest number of bytes of such deltas. Their description takes a few times as many.
const BYTES_AT_ONCE: usize = 16 << 20;

/// Why a delta cannot be applied. The caller adds file and revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// It ends in the middle of a hunk.
    #[error("a delta that ends inside a hunk")]
    Truncated,
    /// A hunk replaces bytes before those of the last hunk, or ends before it starts.
    #[error("a delta whose hunks overlap or run backwards")]
    Unordered,
    /// A hunk replaces bytes that the base does not have.
    #[error("a delta that replaces bytes past the end of its base of {0} bytes")]
    PastEnd(usize),
    /// The text would become longer than the index says.
    #[error("a delta that results in more than the expected {0} bytes")]
    TooLong(usize),
    /// There is no memory for the text.
    #[error("deltas that result in {0} bytes or more, for which there is too little memory")]
    NoMemory(usize),
}

/// The longest reasonable payload of a delta from `base_len` to `text_len` bytes: every hunk replaces or inserts at
/// least one byte, except one that does nothing.
pub fn longest_payload(base_len: usize, text_len: usize) -> usize {
    let hunks = base_len.saturating_add(text_len).saturating_add(1);
    hunks.saturating_mul(HUNK_HEADER_LEN).saturating_add(text_len)
}

/// One replacement.
#[derive(Debug, Clone, Copy)]
struct Hunk<'a> {
    start: usize,
    end: usize,
    content: &'a [u8],
}

/// Removes the first hunk from `delta`; `None` at its end.
fn next_hunk<'a>(delta: &mut &'a [u8]) -> Result<Option<Hunk<'a>>, DeltaError> {
    if delta.is_empty() {
        return Ok(None);
    }
    let (header, rest) = delta.split_first_chunk::<HUNK_HEADER_LEN>().ok_or(DeltaError::Truncated)?;
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *header;
    let number = |bytes| u32::from_be_bytes(bytes) as usize;
    let (start, end, len) = (number([a, b, c, d]), number([e, f, g, h]), number([i, j, k, l]));
    let (content, rest) = rest.split_at_checked(len).ok_or(DeltaError::Truncated)?;
    *delta = rest;
    Ok(Some(Hunk { start, end, content }))
}

/// Applies one delta to `base` and appends the result, of at most `limit` bytes, to `text`.
pub fn apply_one(base: &[u8], mut delta: &[u8], limit: usize, text: &mut Vec<u8>) -> Result<(), DeltaError> {
    let before = text.len();
    let mut at = 0;
    let mut push = |bytes: &[u8]| {
        if text.len() - before + bytes.len() > limit {
            return Err(DeltaError::TooLong(limit));
        }
        text.try_reserve(bytes.len()).map_err(|_| DeltaError::NoMemory(text.len() - before + bytes.len()))?;
        text.extend_from_slice(bytes);
        Ok(())
    };
    while let Some(hunk) = next_hunk(&mut delta)? {
        if hunk.start < at || hunk.end < hunk.start {
            return Err(DeltaError::Unordered);
        }
        push(base.get(at..hunk.start).ok_or(DeltaError::PastEnd(base.len()))?)?;
        push(hunk.content)?;
        at = hunk.end;
    }
    push(base.get(at..).ok_or(DeltaError::PastEnd(base.len()))?)
}

/// A piece of the described text. `source` 0 is the base, `n` the n-th delta.
#[derive(Debug, Clone, Copy)]
struct Piece {
    source: u32,
    start: usize,
    len: usize,
}

/// Consecutive deltas in one buffer.
#[derive(Debug, Clone, Copy)]
pub struct Deltas<'a> {
    payloads: &'a [u8],
    start: usize,
    ends: &'a [usize],
}

impl<'a> Deltas<'a> {
    /// The deltas in `payloads` that end at `ends`. The first starts at 0.
    pub fn new(payloads: &'a [u8], ends: &'a [usize]) -> Self {
        Deltas { payloads, start: 0, ends }
    }

    /// Number of deltas.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no deltas.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The first `count` deltas, and the rest.
    #[must_use]
    pub fn split_at(self, count: usize) -> (Self, Self) {
        let (first, rest) = self.ends.split_at_checked(count).unwrap_or((self.ends, &[]));
        let start = first.last().copied().unwrap_or(self.start);
        (Deltas { ends: first, ..self }, Deltas { ends: rest, start, ..self })
    }

    /// Number of deltas at the start to combine before the text is assembled, at least one.
    fn batch_len(&self) -> usize {
        let fits = |end: &&usize| end.saturating_sub(self.start) <= BYTES_AT_ONCE;
        self.ends.iter().take(DELTAS_AT_ONCE).take_while(fits).count().max(1)
    }

    fn get(&self, number: usize) -> &'a [u8] {
        let start = number.checked_sub(1).map_or(Some(self.start), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(number).copied());
        range.and_then(|(start, end)| self.payloads.get(start..end)).unwrap_or_default()
    }
}

/// Applies chains of deltas and reuses its memory.
#[derive(Debug, Default)]
pub struct DeltaApplier {
    pieces: Vec<Piece>,
    next: Vec<Piece>,
    spare: Vec<u8>,
}

impl DeltaApplier {
    /// Applies `deltas` one after another to `text`, which is the base of the first, and replaces it by the result.
    /// `limit` bounds the length of the result and of intermediate texts, in bytes.
    ///
    /// # Errors
    /// See [`DeltaError`]. Then `text` is unspecified.
    pub fn apply(&mut self, text: &mut Vec<u8>, deltas: Deltas<'_>, limit: usize) -> Result<(), DeltaError> {
        let mut rest = deltas;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.batch_len());
            self.spare.clear();
            match now.len() {
                1 => apply_one(text, now.get(0), limit, &mut self.spare)?,
                _ => self.fold(text, now, limit)?,
            }
            std::mem::swap(text, &mut self.spare);
            rest = later;
        }
        Ok(())
    }

    /// Limits the capacity of the buffer for texts to `capacity` bytes.
    pub fn shrink(&mut self, capacity: usize) {
        self.spare.clear();
        self.spare.shrink_to(capacity);
    }

    /// Appends the result of applying `deltas` to `base` to `self.spare`.
    fn fold(&mut self, base: &[u8], deltas: Deltas<'_>, limit: usize) -> Result<(), DeltaError> {
        self.pieces.clear();
        self.pieces.push(Piece { source: 0, start: 0, len: base.len() });
        for (source, number) in (1..).zip(0..deltas.len()) {
            self.next.clear();
            rewrite(&self.pieces, deltas.get(number), source, &mut self.next)?;
            std::mem::swap(&mut self.pieces, &mut self.next);
        }
        let mut len = 0_usize;
        for piece in &self.pieces {
            len = len.saturating_add(piece.len);
        }
        if len > limit {
            return Err(DeltaError::TooLong(limit));
        }
        self.spare.try_reserve(len).map_err(|_| DeltaError::NoMemory(len))?;
        for piece in &self.pieces {
            let source = match (piece.source as usize).checked_sub(1) {
                None => base,
                Some(number) => deltas.get(number),
            };
            // All pieces are ranges of these slices.
            self.spare.extend_from_slice(source.get(piece.start..piece.start + piece.len).unwrap_or_default());
        }
        Ok(())
    }
}

/// Appends pieces to `next` that describe the result of applying `delta` to the text that `pieces` describe. `source`
/// is the delta's number in pieces.
fn rewrite(pieces: &[Piece], delta: &[u8], source: u32, next: &mut Vec<Piece>) -> Result<(), DeltaError> {
    let mut cursor = Cursor { pieces: pieces.iter(), current: None, at: 0 };
    let mut rest = delta;
    while let Some(hunk) = next_hunk(&mut rest)? {
        if hunk.start < cursor.at || hunk.end < hunk.start {
            return Err(DeltaError::Unordered);
        }
        cursor.advance(hunk.start, |piece| next.push(piece))?;
        if !hunk.content.is_empty() {
            let start = delta.len() - rest.len() - hunk.content.len();
            next.push(Piece { source, start, len: hunk.content.len() });
        }
        cursor.advance(hunk.end, |_| {})?;
    }
    cursor.rest(|piece| next.push(piece));
    Ok(())
}

/// A position in a text that pieces describe.
struct Cursor<'a> {
    pieces: std::slice::Iter<'a, Piece>,
    /// The rest of the piece at the position.
    current: Option<Piece>,
    at: usize,
}

impl Cursor<'_> {
    /// Moves to `target` and calls `take` with the pieces on the way.
    fn advance(&mut self, target: usize, mut take: impl FnMut(Piece)) -> Result<(), DeltaError> {
        while self.at < target {
            let Some(piece) = self.current.take().or_else(|| self.pieces.next().copied()) else {
                return Err(DeltaError::PastEnd(self.at));
            };
            let len = piece.len.min(target - self.at);
            if len > 0 {
                take(Piece { len, ..piece });
            }
            self.at += len;
            if len < piece.len {
                self.current = Some(Piece { start: piece.start + len, len: piece.len - len, ..piece });
            }
        }
        Ok(())
    }

    fn rest(self, mut take: impl FnMut(Piece)) {
        self.current.into_iter().chain(self.pieces.copied()).for_each(&mut take);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hunk(start: u32, end: u32, content: &[u8]) -> Vec<u8> {
        let mut hunk = Vec::new();
        for number in [start, end, content.len() as u32] {
            hunk.extend_from_slice(&number.to_be_bytes());
        }
        hunk.extend_from_slice(content);
        hunk
    }

    fn apply(base: &[u8], deltas: &[Vec<u8>], limit: usize) -> Result<Vec<u8>, DeltaError> {
        let mut text = base.to_vec();
        let payloads = deltas.concat();
        let ends: Vec<usize> = deltas
            .iter()
            .scan(0, |end, delta| {
                *end += delta.len();
                Some(*end)
            })
            .collect();
        DeltaApplier::default().apply(&mut text, Deltas::new(&payloads, &ends), limit).map(|()| text)
    }

    #[test]
    fn hunks_insert_delete_and_replace() {
        let delta = [hunk(0, 0, b"<"), hunk(1, 3, b""), hunk(4, 5, b"XY"), hunk(6, 6, b">")].concat();
        assert_eq!(apply(b"abcdef", &[delta], 99).unwrap(), b"<adXYf>");
        assert_eq!(apply(b"abcdef", &[vec![]], 99).unwrap(), b"abcdef", "an empty delta changes nothing");
        assert_eq!(apply(b"", &[hunk(0, 0, b"new")], 99).unwrap(), b"new");
    }

    #[test]
    fn rejects_damaged_deltas_alone_and_in_a_chain() {
        let good = hunk(0, 1, b"a");
        let truncated = hunk(0, 1, b"abc")[..14].to_vec();
        let cases = [
            (truncated, DeltaError::Truncated),
            (vec![0; 11], DeltaError::Truncated),
            ([hunk(2, 3, b""), hunk(1, 2, b"")].concat(), DeltaError::Unordered),
            (hunk(3, 2, b"x"), DeltaError::Unordered),
            (hunk(0, 7, b""), DeltaError::PastEnd(6)),
            (hunk(7, 7, b"x"), DeltaError::PastEnd(6)),
            (hunk(6, 6, &[0; 100]), DeltaError::TooLong(50)),
        ];
        for (delta, expected) in cases {
            assert_eq!(apply(b"abcdef", std::slice::from_ref(&delta), 50), Err(expected));
            assert_eq!(apply(b"abcdef", &[good.clone(), delta], 50), Err(expected));
        }
    }

    /// A random edit of a text of `len` bytes, and the length of the result.
    fn delta_for(len: usize, cuts: &[(usize, usize, Vec<u8>)]) -> (Vec<u8>, usize) {
        let (mut delta, mut at, mut new_len) = (Vec::new(), 0, len);
        for (skip, cut, content) in cuts {
            let start = (at + skip).min(len);
            let end = (start + cut).min(len);
            delta.extend(hunk(start as u32, end as u32, content));
            new_len = new_len - (end - start) + content.len();
            at = end;
        }
        (delta, new_len)
    }

    proptest! {
        #[test]
        fn combined_deltas_equal_single_steps(
            base in proptest::collection::vec(any::<u8>(), 0..60),
            edits in proptest::collection::vec(
                proptest::collection::vec((0..20_usize, 0..10_usize, proptest::collection::vec(any::<u8>(), 0..6)), 0..5),
                0..140,
            ),
        ) {
            let (mut len, mut deltas, mut expected) = (base.len(), Vec::new(), base.clone());
            for edit in &edits {
                let (delta, new_len) = delta_for(len, edit);
                let mut next = Vec::new();
                apply_one(&expected, &delta, usize::MAX, &mut next).unwrap();
                prop_assert_eq!(next.len(), new_len);
                prop_assert!(delta.len() <= longest_payload(len, new_len) + 5 * HUNK_HEADER_LEN);
                expected = next;
                len = new_len;
                deltas.push(delta);
            }
            prop_assert_eq!(apply(&base, &deltas, usize::MAX).unwrap(), expected);
        }
    }
}
