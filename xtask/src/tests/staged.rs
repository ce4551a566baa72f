//! The folder of built programs and libraries, by a name that every test can use.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::process::{Failure, Outcome};

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
        if !built.as_os_str().as_bytes().iter().any(|byte| b": \t\n".contains(byte)) {
            return Ok(Staged { folder: built.to_owned(), is_link: false });
        }
        let folder = place.join(format!("repackbench-built-{}", std::process::id()));
        symlink(built, &folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
        Ok(Staged { folder, is_link: true })
    }

    /// What the tests are told.
    pub(crate) fn variable(&self) -> (&'static str, OsString) {
        (VARIABLE, self.folder.clone().into_os_string())
    }
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
        let place = tempfile::tempdir().unwrap();
        let (plain, odd) = (place.path().join("plain"), place.path().join("with a space"));
        for folder in [&plain, &odd] {
            fs::create_dir(folder).unwrap();
        }
        assert_eq!(Staged::new(&plain, place.path()).unwrap().folder, plain);
        let staged = Staged::new(&odd, place.path()).unwrap();
        let link = staged.folder.clone();
        assert_eq!(fs::read_link(&link).unwrap(), odd);
        drop(staged);
        assert!(!link.exists());
    }
}
