//! What the benches run or load besides themselves: the `repackbench` binary, and the library that stands in for zlib.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{BenchError, Result, subject::workspace_root};

/// Builds the release binary into the target folder that this bench was built into, and says where it is.
///
/// Started by hand and not by cargo, the bench takes the binary that is there.
///
/// # Errors
/// The build fails, or there is no cargo to build with and no binary.
pub fn build_program() -> Result<PathBuf> {
    build(&["repackbench-cli"], &format!("repackbench{}", env::consts::EXE_SUFFIX))
}

/// As [`build_program`], for the library that stands in for zlib and the codecs that it loads from beside it.
///
/// # Errors
/// As `build_program`.
pub fn build_stand_in() -> Result<PathBuf> {
    build(&["repackbench-preload", "repackbench-preload-codecs"], "librepackbench_preload.so")
}

fn build(packages: &[&str], file: &str) -> Result<PathBuf> {
    let bench = env::current_exe().map_err(|e| BenchError::io("find", "this bench's executable", e))?;
    // TARGET/release/deps/against_stock-HASH
    let release = bench.ancestors().nth(2).unwrap_or(Path::new("."));
    let built = release.join(file);
    let packages = packages.iter().map(|package| format!(" --package {package}")).collect::<String>();
    let arguments = format!("build --release{packages}");
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
