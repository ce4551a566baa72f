//! Finds or installs cmake, which only the build of zlib-ng needs: the user's own, or one from PyPI under
//! `target/cmake`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::{PYTHON, PythonProgram};
use crate::files;
use crate::process::{Failure, Outcome};

/// The variable from which build scripts take the path of cmake.
pub(crate) const VARIABLE: &str = "CMAKE";

const CMAKE: PythonProgram =
    PythonProgram { package: "cmake", program: "cmake", release: "3.31.6", probe: &["--version"] };

/// The features for which it is needed, of the packages whose products are installed.
pub(crate) const FEATURES: &str = "repackbench-cli/zlib-ng,repackbench-preload-codecs/zlib-ng";

/// Finds or installs cmake. Returns the path of the installed one, or `None` if builds find the user's own.
pub(crate) fn install() -> Outcome<Option<PathBuf>> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return if CMAKE.runs(Path::new(&named)) {
            Ok(None)
        } else {
            Err(Failure(format!("{VARIABLE} is {}, which does not run", named.to_string_lossy())))
        };
    }
    if CMAKE.runs(Path::new(CMAKE.program)) {
        return Ok(None);
    }
    let folder = crate::target_dir().join("cmake");
    // Two runs must not make the same environment at the same time.
    let _lock = files::lock(&folder)?;
    let made = CMAKE.find_or_make(Path::new(PYTHON), &folder.join("environment")).map_err(|Failure(message)| {
        Failure(format!("cmake could not be installed: {message}; or set {VARIABLE} to the path of a cmake"))
    })?;
    Ok(Some(made))
}

/// Has `build` find the user's own cmake, or the one that this installs.
pub(crate) fn provide(build: &mut Command) -> Outcome<()> {
    if let Some(cmake) = install()? {
        build.env(VARIABLE, cmake);
    }
    Ok(())
}
