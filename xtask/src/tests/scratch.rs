//! Where tests make their files: in memory where there is room.
//!
//! The tests make and remove many small files, and every conversion syncs what it writes. On some disks most of the time goes there.
//! Few tests are about a disk; those use a folder below the build's.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::failed;
use crate::process::{self, Outcome};

/// The variable that says where temporary files go.
const VARIABLE: &str = "TMPDIR";

/// How many bytes must be free: several tests at once may each hold copies of a payload of 70 MB.
const ROOM: u64 = 3 << 30;

/// A folder in memory, removed in the end, or what the user or the system chose.
#[derive(Debug)]
pub(crate) struct ScratchSpace {
    folder: Option<PathBuf>,
}

impl ScratchSpace {
    /// A folder in memory, unless the user has chosen another or there is no room.
    pub(crate) fn choose() -> Outcome<Self> {
        let memory = Path::new("/dev/shm");
        if std::env::var_os(VARIABLE).is_some() || free_bytes_in_memory(memory) < ROOM {
            return Ok(ScratchSpace { folder: None });
        }
        // A run that was killed may have left a folder of this name: numbers of processes come again.
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

    /// What the tests are told.
    pub(crate) fn variables(&self) -> Vec<(OsString, Option<OsString>)> {
        let variable = |folder: &PathBuf| (OsString::from(VARIABLE), Some(folder.clone().into_os_string()));
        self.folder.iter().map(variable).collect()
    }
}

/// How many bytes are free in `folder`, if it is one in memory, and 0 if it is not.
fn free_bytes_in_memory(folder: &Path) -> u64 {
    // Type, free blocks, size of a block.
    let told = process::output(Command::new("stat").args(["--file-system", "--format=%T %a %S"]).arg(folder));
    let told = told.unwrap_or_default();
    match told.split_ascii_whitespace().collect::<Vec<_>>()[..] {
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
    fn a_folder_that_is_not_in_memory_has_no_room_in_it() {
        assert_eq!(free_bytes_in_memory(Path::new("/proc")), 0);
        assert_eq!(free_bytes_in_memory(Path::new("/no/such/folder")), 0);
    }
}
