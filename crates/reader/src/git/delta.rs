//! Git's delta format.
//!
//! | field | width | source |
//! |---|---|---|
//! | base size, result size | LEB128 each | gitformat-pack(5), "Deltified representation" |
//! | copy | `1sss oooo`, then a byte for each bit set: offset 4 x 8 bits, size 3 x 8 bits, little-endian | same |
//! | insert | `0nnn nnnn`, n in 1..=127, then n bytes | same |
//! | reserved | `0000 0000` | same |
//!
//! A copy of size 0 copies 0x10000 bytes.

use std::ops::Range;

use crate::memory::{self, TooLarge};

/// Why a delta cannot be applied. The caller adds file and offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// The delta ends within an instruction or a size.
    #[error("a truncated delta")]
    Truncated,
    /// A size does not fit 64 bits.
    #[error("a size of more than 64 bits")]
    Overflow,
    /// The delta was made for another base.
    #[error("a delta for a base of {claimed} bytes, but a base of {actual}")]
    BaseSize {
        /// The base's length according to the delta.
        claimed: u64,
        /// The base's actual length.
        actual: u64,
    },
    /// A copy reaches past the base.
    #[error("a copy of {size} bytes at {offset}, past the end of the base at {base_len}")]
    CopyRange {
        /// Where the copy starts in the base.
        offset: u64,
        /// Bytes to copy.
        size: u64,
        /// Length of the base.
        base_len: u64,
    },
    /// The instructions produce more or fewer bytes than the delta claims.
    #[error("a result of {actual} bytes instead of {claimed}")]
    ResultSize {
        /// The result's length according to the delta.
        claimed: u64,
        /// Number of bytes that the instructions produced before the error.
        actual: u64,
    },
    /// The result exceeds the memory limit for one object.
    #[error("a result of {0}")]
    TooLarge(TooLarge),
    /// The result does not fit into memory.
    #[error("a result of {0} bytes, for which there is too little memory")]
    NoMemory(u64),
    /// Instruction 0.
    #[error("the reserved instruction 0")]
    Reserved,
}

/// The two sizes at the start of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaSizes {
    /// Length of the base in bytes, as claimed.
    pub base: u64,
    /// Length of the result in bytes, as claimed.
    pub result: u64,
    /// Number of bytes that the two sizes take.
    pub len: usize,
}

impl DeltaSizes {
    /// Parses the head of `delta`. The first 20 bytes are enough.
    pub fn parse(delta: &[u8]) -> Result<Self, DeltaError> {
        let (base, base_len) = parse_leb128(delta)?;
        let rest = delta.get(base_len..).ok_or(DeltaError::Truncated)?;
        let (result, result_len) = parse_leb128(rest)?;
        Ok(DeltaSizes { base, result, len: base_len + result_len })
    }
}

fn parse_leb128(bytes: &[u8]) -> Result<(u64, usize), DeltaError> {
    let mut value = 0u64;
    let mut weight = Some(1u64);
    for (at, byte) in bytes.iter().enumerate() {
        let group = u64::from(byte & 0x7f);
        value = match weight {
            Some(w) => group.checked_mul(w).and_then(|g| value.checked_add(g)).ok_or(DeltaError::Overflow)?,
            None => return Err(DeltaError::Overflow),
        };
        weight = weight.and_then(|w| w.checked_mul(128));
        if byte & 0x80 == 0 {
            return Ok((value, at + 1));
        }
    }
    Err(DeltaError::Truncated)
}

/// Up to this many bytes, memory is reserved for the result that a delta claims, without checking its instructions.
const TRUSTED_RESULT: u64 = 4 << 20;

/// Applies `delta` to `base` and replaces `result` by the result.
pub fn apply(base: &[u8], delta: &[u8], result: &mut Vec<u8>) -> Result<(), DeltaError> {
    let sizes = DeltaSizes::parse(delta)?;
    if sizes.base != base.len() as u64 {
        return Err(DeltaError::BaseSize { claimed: sizes.base, actual: base.len() as u64 });
    }
    let instructions = delta.get(sizes.len..).unwrap_or_default();
    if sizes.result > TRUSTED_RESULT {
        check_large(&sizes, instructions, base)?;
    }
    let len = usize::try_from(sizes.result).map_err(|_| DeltaError::NoMemory(sizes.result))?;
    result.clear();
    result.try_reserve_exact(len).map_err(|_| DeltaError::NoMemory(sizes.result))?;
    each_piece(instructions, base, |piece, _| {
        if piece.len() > len - result.len() {
            return check_result(sizes.result, (result.len() + piece.len()) as u64);
        }
        result.extend_from_slice(piece);
        Ok(())
    })?;
    check_result(sizes.result, result.len() as u64)
}

/// Checks that the instructions really produce the large result that the delta claims, before memory is taken for it.
#[cold]
#[inline(never)]
fn check_large(sizes: &DeltaSizes, instructions: &[u8], base: &[u8]) -> Result<(), DeltaError> {
    let mut actual = 0u64;
    each_piece(instructions, base, |piece, _| {
        actual = actual.saturating_add(piece.len() as u64);
        Ok(())
    })?;
    check_result(sizes.result, actual)?;
    memory::check(sizes.result).map_err(DeltaError::TooLarge)
}

fn check_result(claimed: u64, actual: u64) -> Result<(), DeltaError> {
    if claimed == actual { Ok(()) } else { Err(DeltaError::ResultSize { claimed, actual }) }
}

/// Calls `visit` with the bytes that each instruction adds to the result, and whether it copies them from the base.
#[inline]
fn each_piece<'a>(
    mut instructions: &'a [u8],
    base: &'a [u8],
    mut visit: impl FnMut(&'a [u8], bool) -> Result<(), DeltaError>,
) -> Result<(), DeltaError> {
    while let Some((&op, rest)) = instructions.split_first() {
        let is_copy = op & 0x80 != 0;
        let (piece, rest) = if is_copy { copy(op, rest, base)? } else { insert(op, rest)? };
        visit(piece, is_copy)?;
        instructions = rest;
    }
    Ok(())
}

/// Calls `visit` with each range of the result that `delta` inserts, in order. It copies the others from `base`.
///
/// # Errors
/// The delta is damaged, or copies what the base does not have.
pub fn for_each_insert(base: &[u8], delta: &[u8], mut visit: impl FnMut(Range<usize>)) -> Result<(), DeltaError> {
    let sizes = DeltaSizes::parse(delta)?;
    let mut at = 0usize;
    each_piece(delta.get(sizes.len..).unwrap_or_default(), base, |piece, is_copy| {
        let end = at.checked_add(piece.len()).ok_or(DeltaError::Overflow)?;
        if !is_copy {
            visit(at..end);
        }
        at = end;
        Ok(())
    })
}

/// The part of the base that a copy instruction adds, and what follows the instruction.
fn copy<'a>(op: u8, mut rest: &'a [u8], base: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), DeltaError> {
    let mut field = |bits: u8, count: u32| -> Result<u64, DeltaError> {
        let mut value = 0u64;
        for byte in 0..count {
            if bits & (1 << byte) != 0 {
                let (&next, tail) = rest.split_first().ok_or(DeltaError::Truncated)?;
                value |= u64::from(next) << (8 * byte);
                rest = tail;
            }
        }
        Ok(value)
    };
    let offset = field(op & 0x0f, 4)?;
    let size = match field((op >> 4) & 0x07, 3)? {
        0 => 0x10000,
        size => size,
    };
    // Both have at most four bytes. If they do not fit `usize`, the base cannot be that long either.
    let range = usize::try_from(offset).ok().zip(usize::try_from(offset + size).ok());
    let source = range.and_then(|(start, end)| base.get(start..end)).ok_or(DeltaError::CopyRange {
        offset,
        size,
        base_len: base.len() as u64,
    })?;
    Ok((source, rest))
}

/// The bytes that an insert instruction adds, and what follows the instruction.
fn insert(op: u8, rest: &[u8]) -> Result<(&[u8], &[u8]), DeltaError> {
    if op == 0 {
        return Err(DeltaError::Reserved);
    }
    rest.split_at_checked(usize::from(op)).ok_or(DeltaError::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leb128(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let group = (value & 0x7f) as u8;
            value >>= 7;
            if value == 0 {
                bytes.push(group);
                return bytes;
            }
            bytes.push(group | 0x80);
        }
    }

    #[derive(Debug, Clone)]
    enum Op {
        Copy(usize, usize),
        Insert(Vec<u8>),
    }

    fn encode(base_len: usize, ops: &[Op], result_len: usize) -> Vec<u8> {
        let mut delta = leb128(base_len as u64);
        delta.extend(leb128(result_len as u64));
        for op in ops {
            match op {
                Op::Copy(offset, size) => {
                    let (offset, size) = (*offset as u32, if *size == 0x10000 { 0 } else { *size as u32 });
                    let mut head = 0x80u8;
                    let mut tail = Vec::new();
                    for i in 0..4 {
                        let byte = (offset >> (8 * i)) as u8;
                        if byte != 0 {
                            head |= 1 << i;
                            tail.push(byte);
                        }
                    }
                    for i in 0..3 {
                        let byte = (size >> (8 * i)) as u8;
                        if byte != 0 {
                            head |= 1 << (4 + i);
                            tail.push(byte);
                        }
                    }
                    delta.push(head);
                    delta.extend(tail);
                }
                Op::Insert(bytes) => {
                    delta.push(bytes.len() as u8);
                    delta.extend(bytes);
                }
            }
        }
        delta
    }

    fn cases() -> impl Strategy<Value = (Vec<u8>, Vec<Op>)> {
        proptest::collection::vec(any::<u8>(), 1..70_000).prop_flat_map(|base| {
            let len = base.len();
            let op = prop_oneof![
                (0..len)
                    .prop_flat_map(move |o| (Just(o), 1..=(len - o).min(0x10000)))
                    .prop_map(|(o, s)| Op::Copy(o, s)),
                proptest::collection::vec(any::<u8>(), 1..128).prop_map(Op::Insert),
            ];
            (Just(base), proptest::collection::vec(op, 0..12))
        })
    }

    proptest! {
        #[test]
        fn instructions_produce_the_result((base, ops) in cases()) {
            let mut expected = Vec::new();
            for op in &ops {
                match op {
                    Op::Copy(offset, size) => expected.extend_from_slice(&base[*offset..offset + size]),
                    Op::Insert(bytes) => expected.extend_from_slice(bytes),
                }
            }
            let delta = encode(base.len(), &ops, expected.len());
            let mut result = vec![1, 2, 3];
            apply(&base, &delta, &mut result).unwrap();
            prop_assert_eq!(&result, &expected);
            let (mut inserted, mut at) = (Vec::new(), 0);
            for op in &ops {
                let len = match op { Op::Copy(_, size) => *size, Op::Insert(bytes) => bytes.len() };
                if matches!(op, Op::Insert(_)) {
                    inserted.push(at..at + len);
                }
                at += len;
            }
            let mut found = Vec::new();
            for_each_insert(&base, &delta, |range| found.push(range)).unwrap();
            prop_assert_eq!(found, inserted);

            let short = encode(base.len(), &ops, expected.len() + 1);
            let is_refused = matches!(apply(&base, &short, &mut result), Err(DeltaError::ResultSize { .. }));
            prop_assert!(is_refused);
            let other = encode(base.len() + 1, &ops, expected.len());
            let is_refused = matches!(apply(&base, &other, &mut result), Err(DeltaError::BaseSize { .. }));
            prop_assert!(is_refused);
        }

        #[test]
        fn arbitrary_bytes_never_panic(base: Vec<u8>, delta: Vec<u8>) {
            let _ = apply(&base, &delta, &mut Vec::new());
            let _ = for_each_insert(&base, &delta, |_| {});
        }
    }

    #[test]
    fn false_claims_are_errors_and_take_no_memory() {
        let mut result = Vec::new();
        let mut huge = leb128(3);
        huge.extend(leb128(u64::MAX));
        assert!(matches!(apply(b"abc", &huge, &mut result), Err(DeltaError::ResultSize { actual: 0, .. })));
        assert!(result.capacity() as u64 <= TRUSTED_RESULT);
        assert_eq!(apply(b"abc", &[3, 1, 0], &mut result), Err(DeltaError::Reserved));
        assert_eq!(apply(b"abc", &[3, 9, 5, 1], &mut result), Err(DeltaError::Truncated));
        assert_eq!(apply(b"abc", &[3, 9, 0x91, 2], &mut result), Err(DeltaError::Truncated));
        assert_eq!(
            apply(b"abc", &[3, 2, 0x91, 2, 2], &mut result),
            Err(DeltaError::CopyRange { offset: 2, size: 2, base_len: 3 })
        );
        assert_eq!(apply(b"", &[0x80; 12], &mut result), Err(DeltaError::Overflow));
    }
}
