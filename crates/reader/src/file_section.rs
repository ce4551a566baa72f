//! A range of a file that is read like a file of its own.

use std::{borrow::Borrow, fs::File, io::Read, os::unix::fs::FileExt};

/// Reads a range of an owned or borrowed file. The position of the file does not move, so several sections can read one
/// file.
#[derive(Debug)]
pub struct FileSection<F> {
    file: F,
    offset: u64,
    left: u64,
}

impl<F: Borrow<File>> FileSection<F> {
    /// The `len` bytes of `file` from `offset`, or up to its end if that comes first.
    pub fn new(file: F, offset: u64, len: u64) -> Self {
        FileSection { file, offset, left: len }
    }
}

impl<F: Borrow<File>> Read for FileSection<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.file.borrow().read_at(buffer.get_mut(..wanted).unwrap_or_default(), self.offset)?;
        self.offset = self.offset.saturating_add(read as u64);
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn section_ends_at_its_length_or_at_end_of_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let read = |offset, len| {
            let mut read = String::new();
            FileSection::new(&file, offset, len).read_to_string(&mut read).unwrap();
            read
        };
        assert_eq!([read(0, 3), read(3, 7), read(5, 0), read(8, 100), read(20, 1)], ["012", "3456789", "", "89", ""]);
        let mut owned = FileSection::new(file.try_clone().unwrap(), 2, 4);
        assert_eq!(read(0, u64::MAX), "0123456789");
        let mut pieces = [0; 3];
        assert_eq!((owned.read(&mut pieces).unwrap(), &pieces), (3, b"234"));
        assert_eq!((owned.read(&mut pieces).unwrap(), pieces[0]), (1, b'5'));
    }
}
