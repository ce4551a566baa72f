//! Finds and evicts pages of a file in the page cache, and limits how many a process may fill.
//!
//! Only the kernel knows what is cached, and it may decline to evict a page: a page that is mapped, dirty or locked
//! stays. So [`evict`] requests it and then checks with [`residency`]; a caller that wants to call something cold has
//! to read the result. No privileges are needed. The caches of a hypervisor or of the device itself cannot be seen from
//! here.

#![deny(unsafe_code)]

mod extents;
mod mapped;
mod memory_group;
#[cfg(test)]
#[path = "../../../fixtures/on_disk.rs"]
mod on_disk;
mod system;

use std::{
    fs::File,
    io,
    ops::AddAssign,
    os::fd::{AsFd, AsRawFd},
    path::Path,
};

use nix::{
    fcntl::{PosixFadviseAdvice, posix_fadvise},
    unistd::{SysconfVar, syncfs, sysconf},
};

pub use extents::{Extent, extents};
pub use mapped::MappedFile;
pub use memory_group::{GroupUsage, MemoryGroups, NoGroup};
pub use system::{bytes_read, drop_all_caches, may_drop_all_caches, number_after};

/// How often the kernel is asked to evict a file. Pages that were just read may not be in the lists yet from which it
/// evicts.
const TRIES: usize = 4;

/// How much of one or several files is in the page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residency {
    /// The number of pages.
    pub pages: u64,
    /// The number of cached pages.
    pub resident: u64,
}

impl Residency {
    /// Whether no page is cached.
    pub fn is_cold(self) -> bool {
        self.resident == 0
    }
}

impl AddAssign for Residency {
    fn add_assign(&mut self, other: Residency) {
        self.pages += other.pages;
        self.resident += other.resident;
    }
}

/// Returns how much of the file at `path` is in the page cache.
///
/// The kernel answers only users who own the file or may write to it. For others it reports every page as cached.
///
/// # Errors
/// Fails if the file cannot be opened or mapped.
pub fn residency(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    residency_of(&file)
}

/// Asks the kernel to evict the pages of the file at `path`, after writing the file out if needed. Returns what is
/// still cached.
///
/// # Errors
/// Fails if the file cannot be opened, written out or mapped.
pub fn evict(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    let mut left = residency_of(&file)?;
    for attempt in 0..TRIES {
        // The first request is made even if nothing is cached. It also removes the kernel's notes about evicted pages,
        // which would otherwise count as refaults when the pages are read again.
        if attempt > 0 && left.is_cold() {
            break;
        }
        if attempt == 1 {
            // Dirty pages stay until they are written out. Only on the second attempt, so that a clean file does not
            // wait for the device.
            file.sync_all()?;
        }
        posix_fadvise(file.as_fd(), 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        left = residency_of(&file)?;
    }
    Ok(left)
}

/// Tells the kernel that `file` will be read at random offsets, so that it does not read ahead.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn expect_random_reads(file: &File) -> io::Result<()> {
    Ok(posix_fadvise(file.as_fd(), 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM)?)
}

/// Waits until everything that was written to the file system of `folder` is on its device.
///
/// # Errors
/// Fails if the folder cannot be opened or the device reports an error.
pub fn sync_file_system(folder: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(folder)?)?)
}

/// The length of a page in bytes: 4 KiB on most machines, and up to 64 KiB on others.
///
/// # Errors
/// Fails if the system does not report it.
pub fn page_len() -> io::Result<u64> {
    let page_len = sysconf(SysconfVar::PAGE_SIZE)?.and_then(|len| u64::try_from(len).ok()).filter(|len| *len > 0);
    Ok(page_len.ok_or(io::ErrorKind::Unsupported)?)
}

fn residency_of(file: &File) -> io::Result<Residency> {
    let page_len = usize::try_from(page_len()?).map_err(|_| io::ErrorKind::Unsupported)?;
    let len = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    if len == 0 {
        return Ok(Residency::default());
    }
    let mut pages = vec![0; len.div_ceil(page_len)];
    look_up_pages(file, len, &mut pages)?;
    // Only the lowest bit has a meaning.
    let resident = pages.iter().filter(|page| **page & 1 == 1).count();
    Ok(Residency { pages: pages.len() as u64, resident: resident as u64 })
}

/// Writes the result of mincore(2) for the first `len` bytes of `file` into `pages`, a byte for each page. `len` is not
/// 0.
#[allow(unsafe_code)]
fn look_up_pages(file: &File, len: usize, pages: &mut [u8]) -> io::Result<()> {
    // SAFETY: the kernel chooses the address, so no other mapping is affected. The mapping is never read or written
    // through, so it does not matter if others change or truncate the file.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `start` is the beginning of a mapping of `len` bytes that was made above and is removed below. mincore
    // writes a byte for each of its pages, and `pages` has room for them: the length divided by that of a page, rounded
    // up.
    let looked = match unsafe { libc::mincore(start, len, pages.as_mut_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: nothing refers to the mapping, which is removed with the length with which it was made.
    match unsafe { libc::munmap(start, len) } {
        0 => looked,
        _ => looked.and(Err(io::Error::last_os_error())),
    }
}

/// Whether the condition becomes true within two minutes. The kernel may reclaim pages at any time, and keeps a page
/// for a while that another process has just used.
#[cfg(test)]
fn becomes_true(mut is_so: impl FnMut() -> bool) -> bool {
    (0..1200).any(|_| {
        let is_so = is_so();
        if !is_so {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        is_so
    })
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        path::PathBuf,
    };

    use super::*;

    /// A file of 40 pages and a byte, in a folder on a disk: a file system in memory cannot evict pages.
    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = on_disk::folder();
        let path = folder.path().join("file");
        File::create(&path).unwrap().write_all(&vec![7; file_len()]).unwrap();
        (folder, path)
    }

    fn file_len() -> usize {
        40 * usize::try_from(page_len().unwrap()).unwrap() + 1
    }

    #[test]
    fn evicted_pages_are_gone_and_come_back_when_read() {
        let (_folder, path) = file();
        let is_read = || {
            let mut content = Vec::new();
            File::open(&path).unwrap().read_to_end(&mut content).unwrap();
            assert_eq!(content.len(), file_len());
            residency(&path).unwrap() == Residency { pages: 41, resident: 41 }
        };
        assert!(becomes_true(is_read));
        assert!(becomes_true(|| evict(&path).unwrap() == Residency { pages: 41, resident: 0 }));
        assert!(residency(&path).unwrap().is_cold(), "looking reads nothing");
        assert!(becomes_true(is_read));
    }

    #[test]
    fn random_reads_bring_in_one_page() {
        use std::os::unix::fs::FileExt;
        let (_folder, path) = file();
        let file = File::open(&path).unwrap();
        expect_random_reads(&file).unwrap();
        let is_alone = || {
            assert!(becomes_true(|| evict(&path).unwrap().is_cold()));
            file.read_exact_at(&mut [0; 10], 20 * page_len().unwrap()).unwrap();
            residency(&path).unwrap().resident == 1
        };
        assert!(becomes_true(is_alone));
    }

    #[test]
    fn empty_file_has_no_pages_and_missing_file_fails() {
        let (folder, _) = file();
        let empty = folder.path().join("empty");
        File::create(&empty).unwrap();
        assert_eq!(evict(&empty).unwrap(), Residency::default());
        assert_eq!(evict(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
