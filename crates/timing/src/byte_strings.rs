//! Byte strings in one allocation.

/// Byte strings one after the other in one allocation, which goes back to the system as a whole. Thousands of small
/// ones between those of other parts leave gaps that stay with the process.
///
/// A byte follows each: zstd takes a source that begins where its prefix ends for the rest of it, and compresses it in
/// another way than the same bytes elsewhere.
#[derive(Debug, Default)]
pub(crate) struct ByteStrings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ByteStrings {
    /// Adds one and returns its number.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> usize {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        self.bytes.push(0);
        self.ends.len() - 1
    }

    /// The one of this number.
    pub(crate) fn get(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| end + 1);
        self.bytes.get(start..end)
    }

    /// The number of bytes of all strings.
    pub(crate) fn total_len(&self) -> usize {
        self.bytes.len() - self.ends.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_number() {
        let mut strings = ByteStrings::default();
        assert_eq!(strings.get(0), None);
        for (number, bytes) in [&b"one"[..], b"", b"three"].into_iter().enumerate() {
            assert_eq!(strings.push(bytes), number);
        }
        assert_eq!([0, 1, 2, 3].map(|at| strings.get(at)), [Some(&b"one"[..]), Some(b""), Some(b"three"), None]);
        assert_eq!(strings.total_len(), 8);
    }
}
