//! Finds where a file is on its device, if the file system reports it (fiemap, `Documentation/filesystems/fiemap.rst`
//! of Linux).
//!
//! | field of the request | bytes | |
//! |---|---|---|
//! | start, length | 8 + 8 | the requested range, in bytes of the file |
//! | flags | 4 | 1: first write out data that has no place yet |
//! | mapped extents | 4 | the number of extents that the kernel has filled in |
//! | extent count | 4 | the number of extents that there is room for |
//! | reserved | 4 | |
//! | extents | 56 each | logical, physical, length (8 each), reserved (16), flags (4), reserved (12) |

use std::{fs::File, io, os::fd::AsRawFd, path::Path};

use nix::errno::Errno;

/// A contiguous part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its offset on the device, in bytes; `None` if it has no place of its own, such as data in the inode.
    pub physical: Option<u64>,
    /// Its length, in bytes of the device.
    pub length: u64,
}

/// How many extents are requested at once.
const EXTENTS: usize = 32;
/// First write out data that has no place yet.
const FLAG_SYNC: u32 = 0x1;
/// The file's last extent.
const EXTENT_LAST: u32 = 0x1;
/// Without a place of its own on the device: unknown (2), not allocated yet (4), or within the file system's own data
/// (200).
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
    /// `FS_IOC_FIEMAP`. The request number contains the length of the request without the extents that follow it.
    fs_ioc_fiemap, b'f', 11, Request
}

/// The extents of the file at `path`, in file order. `None` if the file system does not report them.
///
/// # Errors
/// Fails if the file cannot be opened or written out.
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
            // An extent that does not advance would lead to an endless loop.
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
    // SAFETY: `request` points to the first field of an `Exchange`, directly followed by as many extents as the request
    // says there is room for. Both have C layout, and a request of 32 bytes leaves no gap before extents with 8-byte
    // fields. The kernel writes only to the request and to those extents, and every bit pattern is valid for integers.
    unsafe { fs_ioc_fiemap(file.as_raw_fd(), request) }.map(drop)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[test]
    fn layout_matches_the_kernel() {
        assert_eq!(size_of::<Request>(), 32);
        assert_eq!(size_of::<FoundExtent>(), 56);
        assert_eq!(size_of::<Exchange>(), 32 + 56 * EXTENTS);
    }

    /// On a file system that reports extents, a file that was written out has some.
    #[test]
    fn written_file_has_extents_and_empty_file_has_none() {
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
    fn file_with_many_holes_is_listed_completely() {
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
