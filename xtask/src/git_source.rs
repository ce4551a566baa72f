//! A checkout of git's sources, whose own tests and performance scripts the chores run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::failed;
use crate::process::{Failure, Outcome};

/// The `folder` of scripts in the checkout `source`, where git has to be built. `scripts` is their name in a message.
pub(crate) fn scripts_folder(source: &Path, folder: &str, scripts: &str) -> Outcome<PathBuf> {
    let built = source.join("bin-wrappers").join("git");
    if !built.exists() {
        let built = built.display();
        return Err(Failure(format!(
            "{built}: not found: run `make` there first, since git's {scripts} need a built git"
        )));
    }
    let folder = source.join(folder);
    fs::canonicalize(&folder).map_err(|error| failed(&folder, &error))
}
