//! Touches single bytes of a mapped file.

use std::{fs::File, io, os::fd::AsRawFd, path::Path, ptr};

/// A file that is mapped for reading, with the kernel's normal readahead. Mapping it reads nothing.
#[derive(Debug)]
pub struct MappedFile {
    /// The beginning of the mapping; null for an empty file, which cannot be mapped.
    start: *const u8,
    len: usize,
}

impl MappedFile {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let start = if len == 0 { ptr::null() } else { map(&file, len)? };
        Ok(MappedFile { start, len })
    }

    /// The length of the file when it was mapped, in bytes.
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Whether the file was empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads the byte at `offset` and discards it. That takes a page fault if the page is not mapped yet, and a read if
    /// it is not in memory.
    ///
    /// The file must not be truncated meanwhile, because the kernel would then end this process with SIGBUS.
    ///
    /// # Errors
    /// Fails if `offset` is not less than the length of the file.
    #[inline]
    pub fn touch(&self, offset: u64) -> io::Result<()> {
        let at = usize::try_from(offset).ok().filter(|at| *at < self.len).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.touch_within(at);
        Ok(())
    }

    #[allow(unsafe_code)]
    #[inline]
    fn touch_within(&self, at: usize) {
        // SAFETY: `start` is the beginning of a readable mapping of `len` bytes, which `open` made and which stays
        // until this value is dropped. The caller has checked that `at` is less than `len`. No reference into the
        // mapping is ever made. The read is volatile and of one byte, so it yields some value whatever another process
        // writes, and that value is not used.
        let _: u8 = unsafe { ptr::read_volatile(self.start.add(at)) };
    }
}

impl Drop for MappedFile {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the mapping was made with this beginning and length, and nothing refers to it any more. A failure
            // is ignored, since nothing could be done about it.
            unsafe { libc::munmap(self.start.cast_mut().cast(), self.len) };
        }
    }
}

/// Maps the first `len` bytes of `file` for reading. `len` is not 0.
#[allow(unsafe_code)]
fn map(file: &File, len: usize) -> io::Result<*const u8> {
    // SAFETY: the kernel chooses the address, so no other mapping is affected. The mapping cannot be written through.
    let start = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(start.cast::<u8>().cast_const())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{becomes_true, evict, page_len, residency};

    #[test]
    fn touching_reads_pages_and_mapping_does_not() {
        // On a disk, because a file system in memory cannot evict pages.
        let folder = crate::on_disk::folder();
        let path = folder.path().join("file");
        let page_len = page_len().unwrap();
        let len = 40 * page_len + 1;
        std::fs::write(&path, vec![7; usize::try_from(len).unwrap()]).unwrap();
        assert!(becomes_true(|| evict(&path).unwrap().is_cold()));
        let mapped = MappedFile::open(&path).unwrap();
        assert_eq!((mapped.len(), mapped.is_empty()), (len, false));
        assert!(residency(&path).unwrap().is_cold(), "nothing was touched");
        let is_in = |pages: std::ops::RangeInclusive<u64>, least: u64| {
            pages.for_each(|page| mapped.touch(page * page_len).unwrap());
            residency(&path).unwrap().resident >= least
        };
        assert!(becomes_true(|| is_in(20..=20, 1)));
        assert!(becomes_true(|| is_in(0..=40, 41)));
        assert_eq!(mapped.touch(len).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        drop(mapped);
        assert!(becomes_true(|| evict(&path).unwrap().is_cold()), "no mapping holds its pages");
    }

    #[test]
    fn empty_file_has_no_byte_to_touch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        std::fs::write(&path, "").unwrap();
        let mapped = MappedFile::open(&path).unwrap();
        assert!(mapped.is_empty());
        assert_eq!(mapped.touch(0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(MappedFile::open(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
