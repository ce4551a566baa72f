//! Where on its device a file lies, as far as the file system tells (fiemap, `Documentation/filesystems/fiemap.rst` of Linux).
//!
//! | field of the request | bytes | |
//! |---|---|---|
//! | start, length | 8 + 8 | of what is asked about, in bytes of the file |
//! | flags | 4 | 1: write out first what has no place yet |
//! | mapped extents | 4 | how many the kernel has filled in |
//! | extent count | 4 | how many there is room for |
//! | reserved | 4 | |
//! | extents | 56 each | logical, physical, length (8 each), reserved (16), flags (4), reserved (12) |

use std::{fs::File, io, os::fd::AsRawFd, path::Path};

use nix::errno::Errno;

/// A stretch of a file that lies in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins on the device, in bytes; `None` where that means nothing, as for what lies within the inode.
    pub physical: Option<u64>,
    /// How long it is, in bytes of the device.
    pub length: u64,
}

/// How many extents are asked for at once.
const EXTENTS: usize = 32;
/// Write out first what has no place yet.
const FLAG_SYNC: u32 = 0x1;
/// The file's last extent.
const EXTENT_LAST: u32 = 0x1;
/// Not on the device by itself: nobody knows where (2), not yet (4), or among the file system's own data (200).
const EXTENT_NOWHERE: u32 = 0x2 | 0x4 | 0x200;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FoundExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved_64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
#[derive(Default)]
struct Exchange {
    request: Request,
    extents: [FoundExtent; EXTENTS],
}

nix::ioctl_readwrite! {
    /// `FS_IOC_FIEMAP`. The number holds the length of the request without the extents behind it.
    fs_ioc_fiemap, b'f', 11, Request
}

/// The stretches of the file at `path`, in its order; none for an empty one, and `None` where the file system does not tell.
///
/// # Errors
/// The file cannot be opened or written out.
pub fn extents(path: &Path) -> io::Result<Option<Vec<Extent>>> {
    let file = File::open(path)?;
    let mut found = Vec::new();
    let mut start = 0;
    loop {
        let mut exchange = Exchange {
            request: Request { start, length: u64::MAX - start, flags: FLAG_SYNC, ..Request::default() },
            ..Exchange::default()
        };
        exchange.request.extent_count = EXTENTS as u32;
        match ask(&file, &mut exchange) {
            Ok(()) => {}
            Err(Errno::EOPNOTSUPP | Errno::ENOTTY | Errno::EINVAL | Errno::ENOSYS) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mapped = usize::try_from(exchange.request.mapped_extents).unwrap_or(EXTENTS);
        let extents = exchange.extents.get(..mapped).unwrap_or(&exchange.extents);
        found.extend(extents.iter().map(|extent| Extent {
            physical: Some(extent.physical).filter(|_| extent.flags & EXTENT_NOWHERE == 0),
            length: extent.length,
        }));
        match extents.last() {
            // What does not move on would be asked about for ever.
            Some(last) if last.flags & EXTENT_LAST == 0 && last.logical.saturating_add(last.length) > start => {
                start = last.logical.saturating_add(last.length);
            }
            _ => return Ok(Some(found)),
        }
    }
}

#[allow(unsafe_code)]
fn ask(file: &File, exchange: &mut Exchange) -> nix::Result<()> {
    let request = std::ptr::from_mut(exchange).cast::<Request>();
    // SAFETY: `request` points to the first field of an `Exchange`, whose extents lie directly behind it, as many as the request says
    // there is room for (both are laid out as in C, and 32 bytes of request leave no gap before extents of 8-byte fields). The kernel
    // writes to the request and to those extents alone, and all bits are valid in integers.
    unsafe { fs_ioc_fiemap(file.as_raw_fd(), request) }.map(drop)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[test]
    fn the_layout_is_the_kernel_s() {
        assert_eq!(size_of::<Request>(), 32);
        assert_eq!(size_of::<FoundExtent>(), 56);
        assert_eq!(size_of::<Exchange>(), 32 + 56 * EXTENTS);
    }

    /// Every file system that tells has a place for a file that was written out.
    #[test]
    fn a_written_file_lies_somewhere_and_an_empty_one_nowhere() {
        let folder = crate::on_disk::folder();
        let path = folder.path().join("file");
        let mut file = File::create(&path).unwrap();
        file.write_all(&[7; 300_000]).unwrap();
        file.sync_all().unwrap();
        let Some(found) = extents(&path).unwrap() else {
            let other = folder.path().join("other");
            fs::write(&other, [1; 5000]).unwrap();
            assert_eq!(extents(&other).unwrap(), None, "a file system that does not tell never does");
            return;
        };
        assert!(!found.is_empty());
        assert!(found.iter().map(|extent| extent.length).sum::<u64>() >= 300_000, "{found:?}");
        let empty = folder.path().join("empty");
        File::create(&empty).unwrap();
        assert_eq!(extents(&empty).unwrap(), Some(Vec::new()));
        assert_eq!(extents(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_with_more_holes_than_one_answer_holds_is_listed_whole() {
        use std::os::unix::fs::FileExt;
        let folder = crate::on_disk::folder();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        let pieces = 3 * EXTENTS as u64 + 1;
        for piece in 0..pieces {
            file.write_all_at(&[1; 4096], piece << 20).unwrap();
        }
        file.sync_all().unwrap();
        if let Some(found) = extents(&path).unwrap() {
            assert_eq!(found.len() as u64, pieces, "{found:?}");
        }
    }
}
