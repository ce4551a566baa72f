//! Programs from PyPI, each in a Python environment of its own under the target folder.
//!
//! Made once and then used without a network.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Failure, Outcome, succeeds};

/// The Python of the PATH.
pub(crate) const PYTHON: &str = "python3";

/// A program of a package, in one release.
pub(crate) struct PythonProgram {
    /// The package, and the program that it brings.
    pub(crate) package: &'static str,
    pub(crate) program: &'static str,
    /// The package's release.
    pub(crate) release: &'static str,
    /// What the program is asked, to see that it runs.
    pub(crate) probe: &'static [&'static str],
}

impl PythonProgram {
    /// The program's path in the environment, which `python` makes unless it is there and works.
    pub(crate) fn find_or_make(&self, python: &Path, environment: &Path) -> Outcome<PathBuf> {
        if !self.is_made(environment) {
            self.make(python, environment)?;
        }
        Ok(self.path(environment))
    }

    /// Makes the environment anew. What it holds is noted last, so that one made halfway is not taken for whole.
    fn make(&self, python: &Path, environment: &Path) -> Outcome<()> {
        let failure = |error: std::io::Error| Failure(format!("{}: {error}", environment.display()));
        match fs::remove_dir_all(environment) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failure(error)),
            _ => process::run(isolated(python).args(["-m", "venv"]).arg(environment))?,
        }
        let python = environment.join("bin/python3");
        process::run(
            isolated(python)
                .args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"])
                .arg(format!("{}=={}", self.package, self.release)),
        )?;
        if !self.runs(&self.path(environment)) {
            return Err(Failure(format!("{} does not run", self.path(environment).display())));
        }
        fs::write(note(environment), self.release).map_err(failure)
    }

    /// Whether the environment holds this release, whole and still working: the Python it was made with may be gone.
    pub(crate) fn is_made(&self, environment: &Path) -> bool {
        fs::read_to_string(note(environment)).is_ok_and(|noted| noted == self.release)
            && self.runs(&self.path(environment))
    }

    fn path(&self, environment: &Path) -> PathBuf {
        environment.join("bin").join(self.program)
    }

    /// Whether the program at `path`, from wherever it came, runs.
    pub(crate) fn runs(&self, path: &Path) -> bool {
        succeeds(isolated(path).env("HGRCPATH", "").args(self.probe))
    }
}

/// The file that says which release was installed.
fn note(environment: &Path) -> PathBuf {
    environment.join("release")
}

/// A command that takes no modules but its own.
pub(crate) fn isolated(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_counts_as_made_when_its_program_runs_and_its_note_names_the_release() {
        use std::os::unix::fs::PermissionsExt;

        let environment = std::env::temp_dir().join(format!("xtask-environment-{}", std::process::id()));
        fs::create_dir_all(environment.join("bin")).expect("a folder");
        let program =
            |release| PythonProgram { package: "mercurial", program: "hg", release, probe: &["version", "--quiet"] };
        let path = program("7.2").path(&environment);
        let write = |body: &str| {
            fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a script");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        };
        write("test \"$*\" = 'version --quiet'");
        let halfway = program("7.2").is_made(&environment);
        fs::write(note(&environment), "7.2").expect("a note");
        let (whole, other_release) = (program("7.2").is_made(&environment), program("7.3").is_made(&environment));
        write("exit 1");
        let broken = program("7.2").is_made(&environment);
        fs::remove_dir_all(&environment).expect("the folder");
        assert_eq!((halfway, whole, other_release, broken), (false, true, false, false));
    }
}
