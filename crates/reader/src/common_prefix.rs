//! Comparing long runs of bytes that are mostly the same.

use std::ops::Range;

/// Number of bytes that are compared at once.
const STRIDE: usize = 32;

/// Number of bytes that `a` and `b` both start with.
#[inline]
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let strides = a.as_chunks::<STRIDE>().0.iter().zip(b.as_chunks::<STRIDE>().0);
    let same = STRIDE * strides.take_while(|(a, b)| a == b).count();
    let rest: Range<usize> = same..a.len().min(b.len());
    let (a, b) = (a.get(rest.clone()).unwrap_or_default(), b.get(rest).unwrap_or_default());
    same + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Number of bytes that `a` and `b` both end with.
#[inline]
pub(crate) fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let strides = a.as_rchunks::<STRIDE>().1.iter().rev().zip(b.as_rchunks::<STRIDE>().1.iter().rev());
    let same = STRIDE * strides.take_while(|(a, b)| a == b).count();
    let rest = |bytes: &[u8]| bytes.len() - same;
    let (a, b) = (a.get(..rest(a)).unwrap_or_default(), b.get(..rest(b)).unwrap_or_default());
    same + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_bytes_are_counted_at_both_ends() {
        let bytes: Vec<u8> = (0..200).collect();
        for differs in 0..200 {
            let mut other = bytes.clone();
            other[differs] ^= 0x80;
            assert_eq!(common_prefix(&bytes, &other), differs);
            assert_eq!(common_suffix(&bytes, &other), 199 - differs);
            assert_eq!(common_prefix(&bytes, &bytes[..differs]), differs);
            assert_eq!(common_suffix(&bytes[differs..], &bytes), 200 - differs);
        }
    }
}
