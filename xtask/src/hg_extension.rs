//! `cargo xtask hg-extension`: builds the Mercurial extension and lays it out so that hg can load it.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::files::make_folder;
use crate::process::{self, Failure, Outcome, cargo};

/// The file name of the native module that Python looks for, whatever the platform's ending of libraries is.
const NATIVE_MODULE: &str = "_native.abi3.so";

/// Runs the chore. Prints only the folder to give to hg on stdout.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !arguments.is_empty() {
        return Err(Failure("hg-extension takes no arguments".into()));
    }
    process::run(cargo().args(["build", "--release", "--locked", "--package", "repackbench-hg"]))?;

    let folder = crate::target_dir().join("hg-extension").join("repackbench");
    make_folder(&folder)?;
    let library = format!("{DLL_PREFIX}repackbench_hg{DLL_SUFFIX}");
    replace(&crate::target_dir().join("release").join(library), &folder.join(NATIVE_MODULE))?;
    let python = crate::workspace_root().join("integrations").join("hg").join("repackbench");
    replace(&python.join("__init__.py"), &folder.join("__init__.py"))?;
    println!("{}", folder.display());
    Ok(())
}

/// Copies a file under a temporary name and renames it, so that a running hg keeps the library that it has mapped.
fn replace(from: &Path, to: &Path) -> Outcome<()> {
    let failure = |error: std::io::Error| Failure(format!("{} to {}: {error}", from.display(), to.display()));
    let unfinished = to.with_extension("new");
    fs::copy(from, &unfinished).map_err(failure)?;
    fs::rename(&unfinished, to).map_err(failure)
}
