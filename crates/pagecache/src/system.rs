//! Drops all caches of the machine, which needs root, and reads what the kernel reports about this process.

use std::{fs, io, path::Path};

/// The file that makes Linux drop caches (Documentation/admin-guide/sysctl/vm.rst).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Drops the caches of files, folders and inodes of the whole machine, which is the only way to make folders and inodes
/// cold. Returns `false` if this process may not do that.
///
/// Dirty data on the file system of `folder` is written out first. Dirty data on other file systems and everything in
/// use stay cached.
///
/// # Errors
/// Fails if the file system cannot write out dirty data, or for another error of the kernel.
pub fn drop_all_caches(folder: &Path) -> io::Result<bool> {
    drop_caches_by(Path::new(DROP_CACHES), folder)
}

/// Whether this process may drop all caches. Does not drop them.
pub fn may_drop_all_caches() -> bool {
    fs::OpenOptions::new().write(true).open(DROP_CACHES).is_ok()
}

/// The number of bytes that were read from devices for this process so far; `None` if the kernel does not report it.
pub fn bytes_read() -> Option<u64> {
    number_after(&fs::read_to_string("/proc/self/io").ok()?, "read_bytes:")
}

/// The number after `name` at the beginning of a line of `text`, as in many files of the kernel.
pub fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn drop_caches_by(switch: &Path, folder: &Path) -> io::Result<bool> {
    super::sync_file_system(folder)?;
    // 3 stands for the page cache, which includes the blocks of folders, and for the slabs of directory entries and
    // inodes.
    match fs::OpenOptions::new().write(true).open(switch).and_then(|mut file| io::Write::write_all(&mut file, b"3")) {
        Ok(()) => Ok(true),
        Err(error) if is_refusal(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the error only means that this process may not drop caches. In containers the file is read-only or missing.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_after_name_is_found() {
        assert_eq!(number_after("rchar: 6976\nsyscr: 10\n", "syscr:"), Some(10));
        assert_eq!(number_after("VmHWM:\t  2048 kB\n", "VmHWM:"), Some(2048));
        assert_eq!(number_after("VmHWM: much\n", "VmHWM:"), None);
    }

    /// Uses a file of its own instead of the kernel's, since others use the caches of the machine, too.
    #[test]
    fn caches_are_dropped_only_through_an_existing_switch() {
        let folder = tempfile::tempdir().unwrap();
        let switch = folder.path().join("drop_caches");
        assert!(!drop_caches_by(&switch, folder.path()).unwrap(), "there is none");
        fs::write(&switch, "").unwrap();
        assert!(drop_caches_by(&switch, folder.path()).unwrap());
        assert_eq!(fs::read(&switch).unwrap(), b"3");
        assert!(drop_caches_by(&switch, &folder.path().join("none")).is_err(), "nothing to write out");
    }
}
