//! The versions of hg that the tests compare with, each in a Python environment of its own under `target/hg`.
//!
//! Made once and then used without a network. An hg that a variable of the environment names already is taken as it is.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Failure, Outcome, succeeds};

/// An hg that the tests ask for.
struct Hg {
    /// The environment variable that tells the tests and the fixture scripts where it is.
    variable: &'static str,
    /// The folder under `target/hg`, and what it is called in messages.
    series: &'static str,
    /// The release on PyPI.
    release: &'static str,
    /// The release that stands in from Python 3.12 on, where `release` does not compile.
    from_python_3_12: &'static str,
}

/// The one place that pins releases: the newest hg, and that of Debian 12.
const VERSIONS: [Hg; 2] = [
    Hg { variable: "REPACKBENCH_HG", series: "7.2", release: "7.2", from_python_3_12: "7.2" },
    Hg { variable: "REPACKBENCH_HG_63", series: "6.3", release: "6.3.2", from_python_3_12: "6.9.5" },
];

/// Makes what is missing. Gives the variables that must be set for the tests and the fixture scripts.
pub(crate) fn install() -> Outcome<Vec<(&'static str, OsString)>> {
    let folder = crate::target_dir().join("hg");
    let failure = |error: std::io::Error| Failure(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(failure)?;
    // Two runs at once must not make the same environment; the lock goes with the open file.
    let lock = File::create(folder.join("lock")).map_err(failure)?;
    lock.lock().map_err(failure)?;
    VERSIONS.iter().map(|hg| Ok((hg.variable, hg.find_or_make(&folder)?))).collect()
}

impl Hg {
    /// The path of the program.
    fn find_or_make(&self, folder: &Path) -> Outcome<OsString> {
        if let Some(named) = std::env::var_os(self.variable) {
            return if runs(Path::new(&named)) {
                Ok(named)
            } else {
                Err(Failure(format!("{} names {}, which does not run", self.variable, named.to_string_lossy())))
            };
        }
        let environment = folder.join(self.series);
        let release = if python_is_3_12_or_later() { self.from_python_3_12 } else { self.release };
        if is_made(&environment, release) {
            return Ok(program(&environment).into_os_string());
        }
        if release != self.release {
            eprintln!("note: hg {} does not compile for Python 3.12 and later: {release} stands in", self.release);
        }
        make(&environment, release).map_err(|Failure(message)| {
            Failure(format!("hg {release} could not be installed: {message}; or set {} to an hg", self.variable))
        })?;
        Ok(program(&environment).into_os_string())
    }
}

/// Makes the environment anew. What it holds is noted last, so that one made halfway is not taken for whole.
fn make(environment: &Path, release: &str) -> Outcome<()> {
    let failure = |error: std::io::Error| Failure(format!("{}: {error}", environment.display()));
    match fs::remove_dir_all(environment) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failure(error)),
        _ => process::run(isolated("python3").args(["-m", "venv"]).arg(environment))?,
    }
    let python = environment.join("bin/python3");
    process::run(
        isolated(python)
            .args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"])
            .arg(format!("mercurial=={release}")),
    )?;
    if !runs(&program(environment)) {
        return Err(Failure(format!("{} does not run", program(environment).display())));
    }
    fs::write(note(environment), release).map_err(failure)
}

/// Whether the environment holds this release, whole and still working: the Python it was made with may be gone.
fn is_made(environment: &Path, release: &str) -> bool {
    fs::read_to_string(note(environment)).is_ok_and(|noted| noted == release) && runs(&program(environment))
}

fn program(environment: &Path) -> PathBuf {
    environment.join("bin/hg")
}

/// The file that says which release was installed.
fn note(environment: &Path) -> PathBuf {
    environment.join("release")
}

fn runs(hg: &Path) -> bool {
    succeeds(isolated(hg).env("HGRCPATH", "").args(["version", "--quiet"]))
}

fn python_is_3_12_or_later() -> bool {
    succeeds(isolated("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 12))"]))
}

/// A command that takes no modules but its own.
fn isolated(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_counts_as_made_when_its_hg_runs_and_its_note_names_the_release() {
        use std::os::unix::fs::PermissionsExt;

        let environment = std::env::temp_dir().join(format!("xtask-hg-{}", std::process::id()));
        fs::create_dir_all(environment.join("bin")).expect("a folder");
        let write = |body: &str| {
            fs::write(program(&environment), format!("#!/bin/sh\n{body}\n")).expect("a script");
            fs::set_permissions(program(&environment), fs::Permissions::from_mode(0o755)).expect("its mode");
        };
        write("exit 0");
        let halfway = is_made(&environment, "7.2");
        fs::write(note(&environment), "7.2").expect("a note");
        let (whole, other_release) = (is_made(&environment, "7.2"), is_made(&environment, "7.3"));
        write("exit 1");
        let broken = is_made(&environment, "7.2");
        fs::remove_dir_all(&environment).expect("the folder");
        assert_eq!((halfway, whole, other_release, broken), (false, true, false, false));
    }
}
