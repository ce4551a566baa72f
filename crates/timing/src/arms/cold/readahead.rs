//! The kernel's readahead.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The readahead of the kernel for files on the file system of `path`, in bytes; `None` if unknown.
pub(super) fn kernel_readahead(path: &Path) -> Option<u64> {
    let device = fs::metadata(path).ok()?.dev();
    readahead_of(Path::new("/sys"), nix::sys::stat::major(device), nix::sys::stat::minor(device))
}

/// The same for the file system on the device `major:minor`. `sys` is where the kernel describes itself.
///
/// A file system on one disk has an entry under `class/bdi` by that number, and so do file systems without a disk, such
/// as NFS. A partition has the readahead of its disk. Some file systems on several disks have neither.
fn readahead_of(sys: &Path, major: u64, minor: u64) -> Option<u64> {
    let disk = sys.join(format!("dev/block/{major}:{minor}"));
    let places: [PathBuf; 3] = [
        sys.join(format!("class/bdi/{major}:{minor}/read_ahead_kb")),
        disk.join("queue/read_ahead_kb"),
        disk.join("../queue/read_ahead_kb"),
    ];
    let text = places.iter().find_map(|path| fs::read_to_string(path).ok())?;
    text.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sys: &Path, path: &str, text: &str) {
        let path = sys.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn entry_of_the_file_system_precedes_that_of_its_disk() {
        let sys = tempfile::tempdir().unwrap();
        let sys = sys.path();
        assert_eq!(readahead_of(sys, 8, 1), None, "unknown is not zero");
        write(sys, "devices/sda/queue/read_ahead_kb", "64\n");
        fs::create_dir_all(sys.join("devices/sda/sda1")).unwrap();
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        std::os::unix::fs::symlink("../../devices/sda/sda1", sys.join("dev/block/8:1")).unwrap();
        assert_eq!(readahead_of(sys, 8, 1), Some(64 << 10), "a partition has its disk's");
        write(sys, "class/bdi/8:1/read_ahead_kb", "128\n");
        assert_eq!(readahead_of(sys, 8, 1), Some(128 << 10));
        write(sys, "class/bdi/0:52/read_ahead_kb", "15360\n");
        assert_eq!(readahead_of(sys, 0, 52), Some(15_360 << 10), "a file system without a disk");
        write(sys, "class/bdi/0:53/read_ahead_kb", "much\n");
        assert_eq!(readahead_of(sys, 0, 53), None);
        write(sys, "class/bdi/0:54/read_ahead_kb", "0\n");
        assert_eq!(readahead_of(sys, 0, 54), Some(0), "switched off");
    }
}
