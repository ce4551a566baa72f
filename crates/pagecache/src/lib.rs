//! Which pages of a file are in the page cache, getting them out of it, and how many a process may fill.
//!
//! Nobody but the kernel knows what is cached, and it may decline to forget: a page that is mapped somewhere, dirty or locked
//! stays. So [`evict`] asks, and then looks ([`residency`]); who wants to call something cold has to read the answer. No
//! privileges are needed. What a hypervisor or the device itself caches cannot be seen from here.

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
pub use system::{bytes_read, drop_all_caches, may_drop_all_caches, number_behind};

/// How often the kernel is asked to forget a file before its answer is final: pages that were just read may still be on their
/// way to the lists that it forgets from.
const TRIES: usize = 4;

/// How much of a file, or of several, is in the page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residency {
    /// Its pages.
    pub pages: u64,
    /// Those that are cached.
    pub resident: u64,
}

impl Residency {
    /// Whether nothing of it is cached.
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

/// Says how much of the file at `path` is in the page cache.
///
/// The kernel tells only those who own the file or may write to it; to others it says that every page is cached.
///
/// # Errors
/// The file cannot be opened or mapped.
pub fn residency(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    residency_of(&file)
}

/// Asks the kernel to forget the pages of the file at `path`, after writing it out if need be, and says what is still cached
/// afterwards.
///
/// # Errors
/// The file cannot be opened, written out or mapped.
pub fn evict(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    let mut left = residency_of(&file)?;
    for attempt in 0..TRIES {
        // Once even where nothing is cached: what the kernel remembers of pages that it has forgotten goes, too, and would be counted as
        // brought back when they are read again.
        if attempt > 0 && left.is_cold() {
            break;
        }
        if attempt == 1 {
            // What is dirty stays. A file that was written out long ago is spared the wait for the device.
            file.sync_all()?;
        }
        posix_fadvise(file.as_fd(), 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        left = residency_of(&file)?;
    }
    Ok(left)
}

/// Tells the kernel that `file` will be read here and there, so that it reads no more than it is asked for.
///
/// # Errors
/// The kernel refuses.
pub fn expect_random_reads(file: &File) -> io::Result<()> {
    Ok(posix_fadvise(file.as_fd(), 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM)?)
}

/// Waits until everything that was written to the file system that `folder` lies on is on its device.
///
/// # Errors
/// The folder cannot be opened, or the device refuses.
pub fn sync_file_system(folder: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(folder)?)?)
}

/// How long a page is, in bytes: 4 KiB on most machines, and up to 64 KiB on others.
///
/// # Errors
/// The system does not tell.
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
    // The other bits have no meaning.
    let resident = pages.iter().filter(|page| **page & 1 == 1).count();
    Ok(Residency { pages: pages.len() as u64, resident: resident as u64 })
}

/// Puts what mincore(2) says of the first `len` bytes of `file` into `pages`, a byte for each page. `len` is not 0.
#[allow(unsafe_code)]
fn look_up_pages(file: &File, len: usize, pages: &mut [u8]) -> io::Result<()> {
    // SAFETY: the kernel chooses the address, so that no other mapping is touched, and the mapping is never read or written
    // through: it need not stay in step with the file, which others may change or cut short.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `start` is the beginning of a mapping of `len` bytes, which was made above and is removed below. mincore writes a
    // byte for each of its pages, and the caller made room for those: the length divided by that of a page, rounded up.
    let looked = match unsafe { libc::mincore(start, len, pages.as_mut_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: nothing refers to the mapping, which is removed as it was made.
    match unsafe { libc::munmap(start, len) } {
        0 => looked,
        _ => looked.and(Err(io::Error::last_os_error())),
    }
}

/// Tries for minutes: the kernel may take pages back at any time, and keep one a little longer that somebody else just used.
#[cfg(test)]
fn comes_true(mut is_so: impl FnMut() -> bool) -> bool {
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

    /// A file of 40 pages and a byte, in a folder on a disk: file systems in memory have nothing to evict to.
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
    fn what_is_evicted_is_gone_and_what_is_read_is_back() {
        let (_folder, path) = file();
        let is_read = || {
            let mut content = Vec::new();
            File::open(&path).unwrap().read_to_end(&mut content).unwrap();
            assert_eq!(content.len(), file_len());
            residency(&path).unwrap() == Residency { pages: 41, resident: 41 }
        };
        assert!(comes_true(is_read));
        assert!(comes_true(|| evict(&path).unwrap() == Residency { pages: 41, resident: 0 }));
        assert!(residency(&path).unwrap().is_cold(), "looking reads nothing");
        assert!(comes_true(is_read));
    }

    #[test]
    fn random_reads_bring_in_one_page() {
        use std::os::unix::fs::FileExt;
        let (_folder, path) = file();
        let file = File::open(&path).unwrap();
        expect_random_reads(&file).unwrap();
        let is_alone = || {
            assert!(comes_true(|| evict(&path).unwrap().is_cold()));
            file.read_exact_at(&mut [0; 10], 20 * page_len().unwrap()).unwrap();
            residency(&path).unwrap().resident == 1
        };
        assert!(comes_true(is_alone));
    }

    #[test]
    fn an_empty_file_has_no_pages_and_a_missing_one_is_an_error() {
        let (folder, _) = file();
        let empty = folder.path().join("empty");
        File::create(&empty).unwrap();
        assert_eq!(evict(&empty).unwrap(), Residency::default());
        assert_eq!(evict(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
