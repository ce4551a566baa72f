//! Writes a body to a file without the parts that the file format replaces.

use std::io::{self, Write};

/// A writer that drops the first and the last bytes.
pub(super) struct Trimmed<'a> {
    file: &'a mut dyn Write,
    /// The number of first bytes that have not arrived yet.
    first: usize,
    last: usize,
    /// The latest bytes, which may turn out to be the last ones.
    held: Vec<u8>,
    written: u64,
}

impl<'a> Trimmed<'a> {
    /// Writes to `file` all but the `first` and the `last` bytes.
    pub(super) fn new(file: &'a mut dyn Write, first: usize, last: usize) -> Self {
        Trimmed { file, first, last, held: Vec::new(), written: 0 }
    }

    /// The number of bytes written to the file.
    pub(super) fn written(&self) -> u64 {
        self.written
    }
}

impl Write for Trimmed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = self.first.min(bytes.len());
        self.first -= skipped;
        let rest = bytes.get(skipped..).unwrap_or_default();
        let ready = (self.held.len() + rest.len()).saturating_sub(self.last);
        let of_held = ready.min(self.held.len());
        let (now, later) = rest.split_at_checked(ready - of_held).unwrap_or_default();
        self.file.write_all(self.held.get(..of_held).unwrap_or_default())?;
        self.file.write_all(now)?;
        self.held.drain(..of_held);
        self.held.extend_from_slice(later);
        self.written += ready as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_bytes_are_dropped_for_any_pieces() {
        let bytes: Vec<u8> = (0..40).collect();
        for (first, last) in [(0, 0), (2, 0), (0, 4), (2, 4), (10, 10), (20, 20), (0, 40), (40, 0), (30, 30)] {
            for piece in [1, 3, 4, 5, 39, 40] {
                let mut file = Vec::new();
                let mut trimmed = Trimmed::new(&mut file, first, last);
                bytes.chunks(piece).for_each(|piece| trimmed.write_all(piece).unwrap());
                let expected = bytes.get(first..bytes.len() - last).unwrap_or_default();
                assert_eq!(trimmed.written(), expected.len() as u64);
                assert_eq!(file, expected, "{first} and {last} bytes, pieces of {piece}");
            }
        }
    }
}
