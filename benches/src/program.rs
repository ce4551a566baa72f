//! The `repackbench` binary that `against_stock` runs.

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
    let bench = env::current_exe().map_err(|e| BenchError::io("find", "this bench's executable", e))?;
    // TARGET/release/deps/against_stock-HASH
    let release = bench.ancestors().nth(2).unwrap_or(Path::new("."));
    let program = release.join(format!("repackbench{}", env::consts::EXE_SUFFIX));
    if let (Some(cargo), Some(target)) = (env::var_os("CARGO"), release.parent()) {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--release", "--package", "repackbench-cli", "--target-dir"]).arg(target);
        build.current_dir(workspace_root()).stdin(Stdio::null());
        let status = build.status().map_err(|e| BenchError::io("run", build.get_program(), e))?;
        if !status.success() {
            return Err(BenchError::Setup(format!("cargo build --release --package repackbench-cli: {status}")));
        }
    }
    if program.is_file() {
        return Ok(program);
    }
    let build = "cargo build --release --package repackbench-cli";
    Err(BenchError::Setup(format!("{}: no such file\nhint: run `{build}` first", program.display())))
}
