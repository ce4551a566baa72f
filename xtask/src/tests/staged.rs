//! The folder of built programs and libraries, by a name that every test can use.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::files::failed;
use crate::process::Outcome;

/// The variable that names the folder for the tests that start or load what cargo builds with no test.
const VARIABLE: &str = "REPACKBENCH_TEST_BUILT";

/// The folder itself, or a link to it where its path has a space or a colon, which LD_PRELOAD takes for the end of a name.
#[derive(Debug)]
pub(crate) struct Staged {
    folder: PathBuf,
    is_link: bool,
}

impl Staged {
    /// Makes the link, in `place`, if there has to be one.
    pub(crate) fn new(built: &Path, place: &Path) -> Outcome<Self> {
        if can_be_named(built) {
            return Ok(Staged { folder: built.to_owned(), is_link: false });
        }
        // The folder for temporary files may have such a path, too.
        let place = if can_be_named(place) { place } else { Path::new("/tmp") };
        // A run that was killed may have left a link of this name: numbers of processes come again.
        let mut number = 0;
        loop {
            let folder = place.join(format!("repackbench-built-{}-{number}", std::process::id()));
            match symlink(built, &folder) {
                Ok(()) => return Ok(Staged { folder, is_link: true }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(error) => return Err(failed(&folder, &error)),
            }
        }
    }

    /// What the tests are told.
    pub(crate) fn variable(&self) -> (&'static str, OsString) {
        (VARIABLE, self.folder.clone().into_os_string())
    }
}

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
    fn only_a_path_that_cannot_be_named_gets_a_link() {
        // Not where TMPDIR says, whose path may have a space itself.
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
