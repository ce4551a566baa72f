//! Chooses the folder for temporary files of tests: in memory if there is room.
//!
//! The tests make and remove many small files, and every conversion syncs its output, which takes most of the time on
//! some disks. The few tests that need a disk use a folder below that of the build.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::failed;
use crate::process::{self, Outcome};

/// The variable with the folder for temporary files.
const VARIABLE: &str = "TMPDIR";

/// How many bytes must be free: several tests at a time may have copies of a payload of 70 MB.
const ROOM: u64 = 3 << 30;

/// A folder in memory, removed on drop; or none, if the choice of the user or the system stays.
#[derive(Debug)]
pub(crate) struct ScratchSpace {
    folder: Option<PathBuf>,
}

impl ScratchSpace {
    /// Makes a folder in memory, unless the user has chosen a folder or there is no room.
    pub(crate) fn choose() -> Outcome<Self> {
        let memory = Path::new("/dev/shm");
        if std::env::var_os(VARIABLE).is_some() || free_bytes_in_memory(memory) < ROOM {
            return Ok(ScratchSpace { folder: None });
        }
        // A killed run may have left a folder of this name, since process ids are reused.
        for number in 0..100 {
            let folder = memory.join(format!("repackbench-tests-{}-{number}", std::process::id()));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(ScratchSpace { folder: Some(folder) }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&folder, &error)),
            }
        }
        Ok(ScratchSpace { folder: None })
    }

    /// The environment variables for the tests.
    pub(crate) fn variables(&self) -> Vec<(OsString, Option<OsString>)> {
        let variable = |folder: &PathBuf| (OsString::from(VARIABLE), Some(folder.clone().into_os_string()));
        self.folder.iter().map(variable).collect()
    }
}

/// The number of free bytes in `folder` if it is in memory, otherwise 0.
fn free_bytes_in_memory(folder: &Path) -> u64 {
    // The type, the number of free blocks, and the size of a block.
    let stat = process::output(Command::new("stat").args(["--file-system", "--format=%T %a %S"]).arg(folder));
    match stat.unwrap_or_default().split_ascii_whitespace().collect::<Vec<_>>()[..] {
        ["tmpfs", blocks, size] => blocks.parse().unwrap_or(0_u64).saturating_mul(size.parse().unwrap_or(0)),
        _ => 0,
    }
}

impl Drop for ScratchSpace {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder
            && let Err(error) = fs::remove_dir_all(folder)
        {
            eprintln!("note: {}: {error}", folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_outside_memory_have_no_room() {
        assert_eq!(free_bytes_in_memory(Path::new("/proc")), 0);
        assert_eq!(free_bytes_in_memory(Path::new("/no/such/folder")), 0);
    }
}
