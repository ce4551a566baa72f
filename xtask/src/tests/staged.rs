//! Gives the folder of built programs and libraries a path that every test can use.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::files::failed;
use crate::process::Outcome;

/// The variable with the folder, for tests that use programs or libraries which cargo does not build with them.
const VARIABLE: &str = "REPACKBENCH_TEST_BUILT";

/// The folder itself, or a link to it if its path has a space or a colon, which separate names in LD_PRELOAD.
#[derive(Debug)]
pub(crate) struct Staged {
    folder: PathBuf,
    is_link: bool,
}

impl Staged {
    /// Makes a link in the folder `links` if `built` needs one.
    pub(crate) fn new(built: &Path, links: &Path) -> Outcome<Self> {
        if can_be_named(built) {
            return Ok(Staged { folder: built.to_owned(), is_link: false });
        }
        // The folder for temporary files may have such a path, too.
        let links = if can_be_named(links) { links } else { Path::new("/tmp") };
        // A killed run may have left a link of this name, since process ids are reused.
        let mut number = 0;
        loop {
            let folder = links.join(format!("repackbench-built-{}-{number}", std::process::id()));
            match symlink(built, &folder) {
                Ok(()) => return Ok(Staged { folder, is_link: true }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(error) => return Err(failed(&folder, &error)),
            }
        }
    }

    /// The environment variable for the tests.
    pub(crate) fn variable(&self) -> (&'static str, OsString) {
        (VARIABLE, self.folder.clone().into_os_string())
    }
}

/// Whether the path can be part of LD_PRELOAD.
fn can_be_named(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| b": \t\n".contains(byte))
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.is_link
            && let Err(error) = fs::remove_file(&self.folder)
        {
            eprintln!("note: {}: {error}", self.folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_with_separators_get_a_link() {
        // Not in TMPDIR, whose path may have a space, too.
        let place = tempfile::tempdir_in("/tmp").unwrap();
        let (plain, odd) = (place.path().join("plain"), place.path().join("with a space"));
        for folder in [&plain, &odd] {
            fs::create_dir(folder).unwrap();
        }
        assert_eq!(Staged::new(&plain, place.path()).unwrap().folder, plain);
        let staged = Staged::new(&odd, place.path()).unwrap();
        let link = staged.folder.clone();
        assert_eq!(fs::read_link(&link).unwrap(), odd);
        let beside = Staged::new(&odd, &odd).unwrap();
        assert!(can_be_named(&beside.folder) && beside.folder != link, "{beside:?}");
        drop(staged);
        assert!(!link.exists());
    }
}
