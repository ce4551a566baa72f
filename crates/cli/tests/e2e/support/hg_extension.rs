//! The project's Mercurial extension, built and laid out as `cargo xtask hg-extension` does it.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::program::{self, exit};

/// The name by which the Python half finds the native one.
const NATIVE_MODULE: &str = "_native.abi3.so";

/// The folder to name in `extensions.repackbench`.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hg-extension").join("repackbench");
        fs::create_dir_all(&folder).expect("the extension's folder");
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/hg/repackbench/__init__.py");
        for (from, name) in [(native_library(), NATIVE_MODULE), (python, "__init__.py")] {
            // Renamed into place: an hg of another test run keeps the library that it has mapped.
            let unfinished = folder.join(format!("{name}.{}", std::process::id()));
            fs::copy(&from, &unfinished).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
            fs::rename(&unfinished, folder.join(name)).expect("to rename it");
        }
        folder
    })
}

/// Builds the native half as these tests were built. Cargo does not do so by itself: no Rust code links it.
fn native_library() -> PathBuf {
    let test = std::env::current_exe().expect("this test's path");
    let profile_folder = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
    let profile = match profile_folder.file_name().and_then(|name| name.to_str()).expect("the profile's folder") {
        "debug" => "dev",
        name => name,
    };
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--locked", "--package", "repackbench-hg", "--profile", profile, "--target-dir"]);
    build.arg(profile_folder.parent().expect("the target folder")).current_dir(env!("CARGO_MANIFEST_DIR"));
    program::run(&mut build).exits(exit::OK);
    profile_folder.join(format!("{DLL_PREFIX}repackbench_hg{DLL_SUFFIX}"))
}
