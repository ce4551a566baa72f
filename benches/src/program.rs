//! Builds what the benches run or load: the `repackbench` binary, and the stand-in for zlib.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{BenchError, Result, subject::workspace_root};

/// The file of the stand-in for zlib.
const STAND_IN: &str = "librepackbench_preload.so";

/// The options of cargo that select it with the library of codecs that it loads.
const STAND_IN_PACKAGES: &str = "--package repackbench-preload --package repackbench-preload-codecs";

/// Builds the release binary into the target folder of this bench and returns its path.
///
/// A bench that cargo did not start uses the binary that is already there.
///
/// # Errors
/// The build fails, or there is neither cargo nor a binary.
pub fn build_program() -> Result<PathBuf> {
    build("release", "--package repackbench-cli", &format!("repackbench{}", env::consts::EXE_SUFFIX))
}

/// Does the same as [`build_program`] for the stand-in for zlib and the library of codecs that it loads from its
/// folder.
///
/// # Errors
/// As `build_program`.
pub fn build_stand_in() -> Result<PathBuf> {
    build("release", STAND_IN_PACKAGES, STAND_IN)
}

/// The environment variable with the options for the features that `cargo xtask` builds tests with. Without them cargo
/// would compile the workspace again.
const FEATURES_OF_TESTS: &str = "REPACKBENCH_TEST_FEATURES";

/// Does the same as [`build_stand_in`], with the profile of this bench, and nothing if it was built with the whole
/// workspace: cargo chooses the features of dependencies by the packages that it builds together.
///
/// # Errors
/// As `build_program`.
pub fn build_stand_in_for_benches() -> Result<PathBuf> {
    let bench = env::current_exe().map_err(|e| BenchError::io("find", "this bench's executable", e))?;
    let is_dev = bench.ancestors().nth(2).is_some_and(|folder| folder.ends_with("debug"));
    if !is_dev {
        return build("bench", STAND_IN_PACKAGES, STAND_IN);
    }
    let features = env::var(FEATURES_OF_TESTS).unwrap_or_default();
    build("dev", format!("--workspace --lib --bins --tests {features}").trim_end(), STAND_IN)
}

/// Builds `selection`, which are options of cargo, and returns the path of `file` among what was built.
fn build(profile: &str, selection: &str, file: &str) -> Result<PathBuf> {
    let bench = env::current_exe().map_err(|e| BenchError::io("find", "this bench's executable", e))?;
    // TARGET/release/deps/against_stock-HASH
    let release = bench.ancestors().nth(2).unwrap_or(Path::new("."));
    let built = release.join(file);
    let arguments = format!("build --profile {profile} {selection}");
    if let (Some(cargo), Some(target)) = (env::var_os("CARGO"), release.parent()) {
        let mut build = Command::new(cargo);
        build.args(arguments.split(' ')).args(["--quiet", "--target-dir"]).arg(target);
        build.current_dir(workspace_root()).stdin(Stdio::null());
        let status = build.status().map_err(|e| BenchError::io("run", build.get_program(), e))?;
        if !status.success() {
            return Err(BenchError::Setup(format!("cargo {arguments}: {status}")));
        }
    }
    if built.is_file() {
        return Ok(built);
    }
    Err(BenchError::Setup(format!("{}: no such file\nhint: run `cargo {arguments}` first", built.display())))
}
