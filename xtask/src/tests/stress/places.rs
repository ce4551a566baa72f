//! Makes checkouts at a very short and a very long path, with tests built in them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::Variables;
use super::super::build::{self, Built, Targets};
use crate::files::{failed, make_folder};
use crate::process::{self, Outcome, cargo};

/// A checkout with built tests.
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) built: Built,
}

impl Place {
    /// Makes a checkout at a path of five characters.
    pub(super) fn short(variables: &Variables) -> Outcome<Self> {
        Place::make(Path::new("/rb-t"), variables)
    }

    /// Makes a checkout at a path of 200 characters with a space.
    pub(super) fn long(variables: &Variables) -> Outcome<Self> {
        let mut folder = PathBuf::from("/var/tmp/a checkout");
        while folder.as_os_str().len() + 50 < 200 {
            folder.push("x".repeat(40));
        }
        folder.push("y".repeat(200 - folder.as_os_str().len() - 1));
        Place::make(&folder, variables)
    }

    fn make(folder: &Path, variables: &Variables) -> Outcome<Self> {
        eprintln!(
            "\nmaking a checkout at a path of {} characters: {}",
            folder.as_os_str().as_bytes().len(),
            folder.display()
        );
        make_folder(&folder.join("target"))?;
        process::run(Command::new("sh").args(["-ec", COPY]).arg(crate::workspace_root()).arg(folder))?;
        if !folder.join("target/debug").exists() {
            // Compiled dependencies can be used at any path.
            let copied = Command::new("sh").args(["-ec", COPY_COMPILED]).arg(crate::target_dir()).arg(folder).status();
            copied.map_err(|error| failed(folder, &error))?;
        }
        let cargo = || {
            let mut cargo = cargo();
            cargo.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
            cargo
        };
        let built = build::build_in(&folder.join("target"), cargo, &Targets::All, variables)?;
        Ok(Place { folder: folder.to_owned(), built })
    }

    /// The folder for fixtures.
    pub(super) fn fixtures(&self) -> PathBuf {
        self.folder.join("target").join("tmp")
    }
}

/// Copies files that are committed or could be.
const COPY: &str = "
    cd \"$0\"
    git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read |
        tar --extract --directory=\"$1\" --no-same-owner
";

/// Copies what cargo compiled, except for the project's own packages, which contain the path of their checkout.
const COPY_COMPILED: &str = "
    cd \"$0\"
    tar --create --format=posix --exclude=incremental --exclude='*repackbench*' --exclude='xtask*' debug |
        tar --extract --directory=\"$1/target\" --no-same-owner
";

/// Removes everything in `folder`, but not the folder itself.
pub(super) fn empty(folder: &Path) -> Outcome<()> {
    make_folder(folder)?;
    let words: [OsString; 4] = [folder.into(), "-mindepth".into(), "1".into(), "-delete".into()];
    process::run(Command::new("find").args(words))
}
