//! Installs programs from PyPI, each in a Python environment of its own under the target folder.
//!
//! An environment is made once, and then used without a network.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files;
use crate::process::{self, Failure, Outcome, succeeds};

/// The Python on the PATH.
pub(crate) const PYTHON: &str = "python3";

/// A program from one release of a package.
pub(crate) struct PythonProgram {
    /// The package on PyPI.
    pub(crate) package: &'static str,
    /// The program that the package installs.
    pub(crate) program: &'static str,
    /// The release of the package.
    pub(crate) release: &'static str,
    /// Arguments with which the program must exit with 0.
    pub(crate) probe: &'static [&'static str],
}

impl PythonProgram {
    /// The path of the program in the environment. `python` makes the environment unless it exists and works.
    pub(crate) fn find_or_make(&self, python: &Path, environment: &Path) -> Outcome<PathBuf> {
        if !self.is_made(environment) {
            self.make(python, environment)?;
        }
        Ok(self.path(environment))
    }

    /// Makes the environment from scratch. The note about the release is written last, so that a half-made environment
    /// does not count.
    fn make(&self, python: &Path, environment: &Path) -> Outcome<()> {
        let failure = |error: std::io::Error| files::failed(environment, &error);
        files::remove_folder(environment)?;
        process::run(isolated(python).args(["-m", "venv"]).arg(environment))?;
        let python = environment.join("bin/python3");
        process::run(
            isolated(&python)
                .args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"])
                .arg(format!("{}=={}", self.package, self.release)),
        )?;
        start_by_shell(&self.path(environment), &python).map_err(failure)?;
        if !self.runs(&self.path(environment)) {
            return Err(Failure(format!("{} does not run", self.path(environment).display())));
        }
        fs::write(note(environment), self.release).map_err(failure)
    }

    /// Whether the environment is complete, has this release, and still works. The Python that made it may be gone.
    pub(crate) fn is_made(&self, environment: &Path) -> bool {
        fs::read_to_string(note(environment)).is_ok_and(|noted| noted == self.release)
            && self.runs(&self.path(environment))
    }

    fn path(&self, environment: &Path) -> PathBuf {
        environment.join("bin").join(self.program)
    }

    /// Whether the program at `path` runs, wherever it came from.
    pub(crate) fn runs(&self, path: &Path) -> bool {
        succeeds(isolated(path).env("HGRCPATH", "").args(self.probe))
    }
}

/// Changes the script `program` so that a shell starts it with `python`.
///
/// A `#!` line cannot name a path with a space or one that is too long for the kernel, but pip writes such lines into
/// scripts such as hg. To Python, the lines for the shell are a string.
fn start_by_shell(program: &Path, python: &Path) -> std::io::Result<()> {
    let script = fs::read(program)?;
    let Some(end) = script.iter().position(|byte| *byte == b'\n').filter(|_| script.starts_with(b"#!/")) else {
        return Ok(());
    };
    let head = format!("#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''", python.display());
    fs::write(program, [head.as_bytes(), &script[end..]].concat())
}

/// The file that names the installed release.
fn note(environment: &Path) -> PathBuf {
    environment.join("release")
}

/// A command that ignores the user's Python modules.
pub(crate) fn isolated(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executable;

    #[test]
    fn environment_is_made_if_program_runs_and_release_matches() {
        let folder = tempfile::tempdir().expect("a folder");
        let environment = folder.path().to_owned();
        fs::create_dir_all(environment.join("bin")).expect("a folder");
        let program =
            |release| PythonProgram { package: "mercurial", program: "hg", release, probe: &["version", "--quiet"] };
        let path = program("7.2").path(&environment);
        let write = |body: &str| executable::write(&path, &format!("#!/bin/sh\n{body}\n"));
        write("test \"$*\" = 'version --quiet'");
        let halfway = program("7.2").is_made(&environment);
        fs::write(note(&environment), "7.2").expect("a note");
        let (whole, other_release) = (program("7.2").is_made(&environment), program("7.3").is_made(&environment));
        write("exit 1");
        let broken = program("7.2").is_made(&environment);
        assert_eq!((halfway, whole, other_release, broken), (false, true, false, false));
    }

    #[test]
    fn script_starts_from_a_long_path_with_a_space() {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = folder.path().join("with a space").join("x".repeat(250));
        fs::create_dir_all(&bin).expect("a folder");
        let (python, script) = (bin.join("python3"), bin.join("hg"));
        executable::write(&python, "#!/bin/sh\nexec python3 \"$@\"\n");
        let text = "#!/nonexistent/python3\n# A comment.\nimport sys\nsys.exit(sys.argv[1:] != ['a b'])\n";
        executable::write(&script, text);
        start_by_shell(&script, &python).expect("to change it");
        // A copy, which this process never had open for writing.
        let copy = bin.join("copy");
        executable::write(&copy, &fs::read_to_string(&script).expect("the script"));
        assert!(succeeds(Command::new(&copy).arg("a b")));
    }
}
