//! The Mercurial extension of the project, laid out as `cargo xtask hg-extension` does it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::super::built;

/// The name under which the Python part finds the native part.
const NATIVE_MODULE: &str = "_native.abi3.so";

/// The folder to name in `extensions.repackbench`.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hg-extension").join("repackbench");
        fs::create_dir_all(&folder).expect("the extension's folder");
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/hg/repackbench/__init__.py");
        for (from, name) in [(built::library("repackbench_hg"), NATIVE_MODULE), (python, "__init__.py")] {
            // Renamed into place, so that an hg of another test run keeps the library that it has mapped.
            let unfinished = folder.join(format!("{name}.{}", std::process::id()));
            fs::copy(&from, &unfinished).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
            fs::rename(&unfinished, folder.join(name)).expect("to rename it");
        }
        folder
    })
}
