//! What only those may do whom the whole machine belongs to, and what the kernel tells of a process.

use std::{fs, io, path::Path};

/// Where Linux is told to drop caches (Documentation/admin-guide/sysctl/vm.rst).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Writes out what is dirty on the file system of `folder`, and asks the kernel to forget all that it has cached of files, folders and
/// inodes, on the whole machine. Nothing less makes folders and inodes cold. `false` if that is not permitted to this process.
///
/// What is dirty on other file systems stays, and so does what is in use.
///
/// # Errors
/// The file system refuses to write out what is dirty, or the kernel fails otherwise.
pub fn drop_all_caches(folder: &Path) -> io::Result<bool> {
    drop_caches_by(Path::new(DROP_CACHES), folder)
}

/// Whether this process may drop all caches, which this does not do.
pub fn may_drop_all_caches() -> bool {
    fs::OpenOptions::new().write(true).open(DROP_CACHES).is_ok()
}

/// What this process has had read from devices up to now, in bytes; `None` if the kernel does not tell.
pub fn bytes_read() -> Option<u64> {
    number_behind(&fs::read_to_string("/proc/self/io").ok()?, "read_bytes:")
}

/// The number behind `name`, at the beginning of a line of `text`, as the kernel writes such files.
pub fn number_behind(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn drop_caches_by(switch: &Path, folder: &Path) -> io::Result<bool> {
    super::sync_file_system(folder)?;
    // 3 is the page cache, which folders' blocks are in, too, and the slabs of directory entries and inodes.
    match fs::OpenOptions::new().write(true).open(switch).and_then(|mut file| io::Write::write_all(&mut file, b"3")) {
        Ok(()) => Ok(true),
        Err(error) if is_refusal(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether it says no more than that this is not for everybody: containers have the file read-only, or not at all.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_behind_their_names() {
        assert_eq!(number_behind("rchar: 6976\nsyscr: 10\n", "syscr:"), Some(10));
        assert_eq!(number_behind("VmHWM:\t  2048 kB\n", "VmHWM:"), Some(2048));
        assert_eq!(number_behind("VmHWM: much\n", "VmHWM:"), None);
    }

    /// A file of the test's own stands for the kernel's: the machine's caches are others', too.
    #[test]
    fn the_switch_is_written_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let switch = folder.path().join("drop_caches");
        assert!(!drop_caches_by(&switch, folder.path()).unwrap(), "there is none");
        fs::write(&switch, "").unwrap();
        assert!(drop_caches_by(&switch, folder.path()).unwrap());
        assert_eq!(fs::read(&switch).unwrap(), b"3");
        assert!(drop_caches_by(&switch, &folder.path().join("none")).is_err(), "nothing to write out");
    }
}
