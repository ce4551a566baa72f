//! Installs the releases of hg that the tests compare with, each in a Python environment of its own under `target/hg`.
//!
//! They are installed once, and then used without a network. An hg that is already named by an environment variable is
//! used instead.

use std::ffi::OsString;
use std::path::Path;

use crate::environment::{PYTHON, PythonProgram, isolated};
use crate::files;
use crate::process::{Failure, Outcome, succeeds};

/// A release of hg that the tests use.
struct Hg {
    /// The environment variable with its path, which the tests and the fixture scripts read.
    variable: &'static str,
    /// The folder under `target/hg`.
    series: &'static str,
    /// The release on PyPI.
    release: &'static str,
    /// The release to use with Python 3.12 and later, for which `release` does not compile.
    from_python_3_12: &'static str,
}

/// The pinned releases of hg: the newest, and that of Debian 12. No other place pins them.
const VERSIONS: [Hg; 2] = [
    Hg { variable: "REPACKBENCH_HG", series: "7.2", release: "7.2", from_python_3_12: "7.2" },
    Hg { variable: "REPACKBENCH_HG_63", series: "6.3", release: "6.3.2", from_python_3_12: "6.9.5" },
];

/// Installs missing releases. Returns the environment variables for the tests and the fixture scripts.
pub(crate) fn install() -> Outcome<Vec<(&'static str, OsString)>> {
    install_in(&crate::target_dir().join("hg"), Path::new(PYTHON))
}

/// Like [`install`], with another folder and another Python.
pub(crate) fn install_in(folder: &Path, python: &Path) -> Outcome<Vec<(&'static str, OsString)>> {
    let variables = VERSIONS.iter().map(|hg| hg.variable);
    Ok(variables.zip(find_or_make(&VERSIONS, folder, python)?).collect())
}

/// Installs only the newest release if it is missing. Returns the path of the program.
pub(crate) fn newest() -> Outcome<OsString> {
    let [newest, ..] = VERSIONS;
    let found = find_or_make(&[newest], &crate::target_dir().join("hg"), Path::new(PYTHON))?;
    found.into_iter().next().ok_or_else(|| Failure("no release of hg is pinned".to_owned()))
}

/// The paths of `versions`: those from environment variables, and the others from environments in `folder`.
///
/// Missing environments are made under a lock. If variables name all versions, nothing is written.
fn find_or_make(versions: &[Hg], folder: &Path, python: &Path) -> Outcome<Vec<OsString>> {
    let named = versions.iter().map(Hg::named).collect::<Outcome<Vec<_>>>()?;
    if let Some(all) = named.iter().cloned().collect() {
        return Ok(all);
    }
    let _lock = files::lock(folder)?;
    versions.iter().zip(named).map(|(hg, named)| named.map_or_else(|| hg.find_or_make(folder, python), Ok)).collect()
}

impl Hg {
    /// The program that the variable names. It is an error if that does not run.
    fn named(&self) -> Outcome<Option<OsString>> {
        let Some(named) = std::env::var_os(self.variable) else { return Ok(None) };
        if self.program(self.release).runs(Path::new(&named)) {
            return Ok(Some(named));
        }
        Err(Failure(format!("{} is {}, which does not run", self.variable, named.to_string_lossy())))
    }

    fn program(&self, release: &'static str) -> PythonProgram {
        PythonProgram { package: "mercurial", program: "hg", release, probe: &["version", "--quiet"] }
    }

    /// The path of the program in its environment in `folder`, which is made if it is missing.
    fn find_or_make(&self, folder: &Path, python: &Path) -> Outcome<OsString> {
        let release = if is_3_12_or_later(python) { self.from_python_3_12 } else { self.release };
        let hg = self.program(release);
        let environment = folder.join(self.series);
        if release != self.release && !hg.is_made(&environment) {
            eprintln!("note: hg {} does not compile for Python 3.12 and later; using {release}", self.release);
        }
        let made = hg.find_or_make(python, &environment).map_err(|Failure(message)| {
            Failure(format!(
                "hg {release} could not be installed: {message}; or set {} to the path of an hg",
                self.variable
            ))
        })?;
        Ok(made.into_os_string())
    }
}

fn is_3_12_or_later(python: &Path) -> bool {
    succeeds(isolated(python).args(["-c", "import sys; sys.exit(sys.version_info < (3, 12))"]))
}
