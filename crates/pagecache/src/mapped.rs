//! Touching a mapped file, a byte at a time.

use std::{fs::File, io, os::fd::AsRawFd, path::Path, ptr};

/// A file that is mapped to be read, with the kernel's ordinary readahead, and of which nothing was read so far.
#[derive(Debug)]
pub struct MappedFile {
    /// The beginning of the mapping; null where the file is empty, which cannot be mapped.
    start: *const u8,
    len: usize,
}

impl MappedFile {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// It cannot be opened or mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let start = if len == 0 { ptr::null() } else { map(&file, len)? };
        Ok(MappedFile { start, len })
    }

    /// The length that the file had when it was mapped, in bytes.
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Whether the file was empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads the byte at `offset` and does nothing with it: if its page is not mapped yet, that takes a page fault, and if it is not in
    /// memory, a read.
    ///
    /// The file has to keep its length: where somebody cuts it short, the kernel ends this process with SIGBUS.
    ///
    /// # Errors
    /// The file is not that long.
    #[inline]
    pub fn touch(&self, offset: u64) -> io::Result<()> {
        let at = usize::try_from(offset).ok().filter(|at| *at < self.len).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.touch_within(at);
        Ok(())
    }

    #[allow(unsafe_code)]
    #[inline]
    fn touch_within(&self, at: usize) {
        // SAFETY: `start` is the beginning of a mapping of `len` bytes that may be read, which was made by `open` and stays until this
        // value is dropped, and the caller made sure that `at` is less than `len`. No reference into the mapping is ever made, and the read
        // is volatile and of one byte: whatever another process writes there, it has a value, which nobody looks at.
        let _: u8 = unsafe { ptr::read_volatile(self.start.add(at)) };
    }
}

impl Drop for MappedFile {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the mapping was made with this beginning and length, and nothing refers to it any more. That it cannot be removed
            // would not be an error that anybody could do something about.
            unsafe { libc::munmap(self.start.cast_mut().cast(), self.len) };
        }
    }
}

/// Maps the first `len` bytes of `file`, which are not none, to be read.
#[allow(unsafe_code)]
fn map(file: &File, len: usize) -> io::Result<*const u8> {
    // SAFETY: the kernel chooses the address, so that no other mapping is touched; the mapping cannot be written through.
    let start = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(start.cast::<u8>().cast_const())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{comes_true, evict, page_len, residency};

    #[test]
    fn touching_brings_pages_in_and_mapping_does_not() {
        // On a disk: file systems in memory have nothing to evict to.
        let folder = crate::on_disk::folder();
        let path = folder.path().join("file");
        let page_len = page_len().unwrap();
        let len = 40 * page_len + 1;
        std::fs::write(&path, vec![7; usize::try_from(len).unwrap()]).unwrap();
        assert!(comes_true(|| evict(&path).unwrap().is_cold()));
        let mapped = MappedFile::open(&path).unwrap();
        assert_eq!((mapped.len(), mapped.is_empty()), (len, false));
        assert!(residency(&path).unwrap().is_cold(), "nothing was touched");
        let is_in = |pages: std::ops::RangeInclusive<u64>, least: u64| {
            pages.for_each(|page| mapped.touch(page * page_len).unwrap());
            residency(&path).unwrap().resident >= least
        };
        assert!(comes_true(|| is_in(20..=20, 1)));
        assert!(comes_true(|| is_in(0..=40, 41)));
        assert_eq!(mapped.touch(len).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        drop(mapped);
        assert!(comes_true(|| evict(&path).unwrap().is_cold()), "no mapping holds its pages");
    }

    #[test]
    fn an_empty_file_has_no_byte_to_touch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        std::fs::write(&path, "").unwrap();
        let mapped = MappedFile::open(&path).unwrap();
        assert!(mapped.is_empty());
        assert_eq!(mapped.touch(0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(MappedFile::open(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
