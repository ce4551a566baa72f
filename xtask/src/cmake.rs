//! Finds or installs cmake, which only the build of zlib-ng needs: the user's own, or one from PyPI under
//! `target/cmake`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::environment::{PYTHON, PythonProgram};
use crate::files;
use crate::process::{Failure, Outcome};

/// The variable from which build scripts take the path of cmake.
const VARIABLE: &str = "CMAKE";

const CMAKE: PythonProgram =
    PythonProgram { package: "cmake", program: "cmake", release: "3.31.6", probe: &["--version"] };

/// Finds or installs cmake. Returns the environment variables for builds.
pub(crate) fn install() -> Outcome<Vec<(&'static str, OsString)>> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return if CMAKE.runs(Path::new(&named)) {
            Ok(vec![(VARIABLE, named)])
        } else {
            Err(Failure(format!("{VARIABLE} is {}, which does not run", named.to_string_lossy())))
        };
    }
    if CMAKE.runs(Path::new(CMAKE.program)) {
        return Ok(Vec::new());
    }
    let folder = crate::target_dir().join("cmake");
    // Two runs must not make the same environment at the same time.
    let _lock = files::lock(&folder)?;
    let path = CMAKE.find_or_make(Path::new(PYTHON), &folder.join("environment")).map_err(|Failure(message)| {
        Failure(format!("cmake could not be installed: {message}; or set {VARIABLE} to the path of a cmake"))
    })?;
    variables(path)
}

/// Variables with the path of cmake, and with its folder first on the PATH.
fn variables(cmake: PathBuf) -> Outcome<Vec<(&'static str, OsString)>> {
    let folders = cmake.parent().map(Path::to_owned).into_iter();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&others)))
        .map_err(|error| Failure(format!("{}: {error}", cmake.display())))?;
    Ok(vec![(VARIABLE, cmake.into_os_string()), ("PATH", path)])
}
