//! `cargo xtask hg-extension`: build the Mercurial extension and lay it out as hg loads it.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::files::make_folder;
use crate::process::{self, Failure, Outcome, cargo};

/// What the Python half calls the native module. hg's Python looks for the name, whatever the platform calls libraries.
const NATIVE_MODULE: &str = "_native.abi3.so";

/// Runs the chore; prints the folder to give to hg, and nothing else, on stdout.
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

/// Copies a file, and puts it in place by renaming: an hg that runs keeps the library that it has mapped.
fn replace(from: &Path, to: &Path) -> Outcome<()> {
    let failure = |error: std::io::Error| Failure(format!("{} to {}: {error}", from.display(), to.display()));
    let unfinished = to.with_extension("new");
    fs::copy(from, &unfinished).map_err(failure)?;
    fs::rename(&unfinished, to).map_err(failure)
}
