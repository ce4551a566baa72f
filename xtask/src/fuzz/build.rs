//! Builds the targets, and the libraries that one of them loads.

use std::path::PathBuf;

use crate::nightly;
use crate::process::{self, Failure, Outcome, succeeds};

/// The target that loads the stand-in for zlib.
const LOADS_LIBRARIES: &str = "preload";

/// Makes the stand-in for zlib report what it covers, as cargo-fuzz makes the targets, and checks its memory.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                        -Cllvm-args=-sanitizer-coverage-pc-table \
                        -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address";

/// Checks the memory of C code, too.
const CHECKED_C: &str = "-fsanitize=address";

/// What was built.
pub(super) struct Programs {
    folder: PathBuf,
    /// The environment of the programs: the folder of the stand-in for zlib, and its codecs.
    pub(super) variables: Vec<(&'static str, PathBuf)>,
}

impl Programs {
    /// The program of a target.
    pub(super) fn path(&self, target: &str) -> PathBuf {
        self.folder.join(target)
    }
}

/// Builds the targets with cargo-fuzz. It does not install cargo-fuzz, because compiling that takes minutes.
pub(super) fn build(targets: &[String]) -> Outcome<Programs> {
    nightly::check()?;
    if !succeeds(nightly::command("cargo").args(["fuzz", "--version"])) {
        return Err(Failure("cargo-fuzz is not installed: run `cargo install --locked cargo-fuzz`".into()));
    }
    let host = nightly::host()?;
    let built = super::folder().join("build");
    let mut command = nightly::command("cargo");
    // With `cfg(fuzzing)`, miniz_oxide does not check a part of the checksums.
    command
        .args(["fuzz", "build", "--no-cfg-fuzzing", "--fuzz-dir"])
        .arg(super::package())
        .arg("--target-dir")
        .arg(&built);
    command.args(["--target", &host]).env("CFLAGS", CHECKED_C);
    if let [target] = targets {
        command.arg(target);
    }
    process::run(&mut command)?;
    let variables = match targets.iter().any(|target| target == LOADS_LIBRARIES) {
        true => libraries(&host)?,
        false => Vec::new(),
    };
    Ok(Programs { folder: built.join(host).join("release"), variables })
}

/// Builds the stand-in for zlib, and its codecs. The codecs are the usual ones, because other targets cover them.
fn libraries(host: &str) -> Outcome<Vec<(&'static str, PathBuf)>> {
    process::run(process::cargo().args(["build", "--locked", "--package", "repackbench-preload-codecs"]))?;
    let built = super::folder().join("preload");
    let mut command = nightly::command("cargo");
    command.args(["build", "--locked", "--package", "repackbench-preload", "--target", host]);
    process::run(command.arg("--target-dir").arg(&built).env("RUSTFLAGS", COVERAGE))?;
    let codecs = crate::target_dir().join("debug").join("librepackbench_preload_codecs.so");
    Ok(vec![("REPACKBENCH_TEST_BUILT", built.join(host).join("debug")), ("REPACKBENCH_PRELOAD_CODECS", codecs)])
}
