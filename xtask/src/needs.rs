//! What must be on the machine before the tests can run: looked for, and installed where that can be done.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{self, Failure, Outcome, succeeds};

/// Something that the tests or the fixture scripts call.
struct Need {
    /// What it is called.
    name: &'static str,
    /// The Debian package that brings it; [`PYTHON_VERSION`] in it stands for the version of the Python that is there.
    package: &'static str,
    /// What it is needed for, for the message when it cannot be installed.
    purpose: &'static str,
    /// How to tell whether it is there.
    sign: Sign,
}

/// Stands for `3.11` and the like in the name of a package.
const PYTHON_VERSION: &str = "{version}";

enum Sign {
    /// A program of the need's name is on the PATH. Not asked of the program itself: some awks know no `--version`.
    OnPath,
    /// The same, unless this variable of the environment names the program.
    NamedOrOnPath(&'static str),
    /// Python runs this without an error.
    PythonRuns(&'static str),
}

const NEEDS: [Need; 11] = [
    Need { name: "git", package: "git", purpose: "the reference for Git repositories", sign: Sign::OnPath },
    Need { name: "bash", package: "bash", purpose: "the fixture scripts", sign: Sign::OnPath },
    Need { name: "python3", package: "python3", purpose: "hg, and packs that git does not write", sign: Sign::OnPath },
    Need { name: "tar", package: "tar", purpose: "copies of fixtures", sign: Sign::OnPath },
    Need { name: "awk", package: "gawk", purpose: "the fixture scripts' text", sign: Sign::OnPath },
    Need {
        name: "cc",
        package: "build-essential",
        purpose: "the C sources of the codecs and of hg",
        sign: Sign::OnPath,
    },
    Need { name: "valgrind", package: "valgrind", purpose: "counts of instructions", sign: Sign::OnPath },
    Need {
        name: "chromium",
        package: "chromium",
        purpose: "to look at reports in HTML",
        sign: Sign::NamedOrOnPath("REPACKBENCH_CHROMIUM"),
    },
    Need {
        name: "python3's module venv",
        package: "python3-venv",
        purpose: "environments with hg",
        sign: Sign::PythonRuns("import ensurepip, venv"),
    },
    Need {
        name: "python3's C headers",
        package: "python3-dev",
        purpose: "hg 6.3, which comes as source",
        // From 3.12 on another hg stands in, which comes compiled.
        sign: Sign::PythonRuns(
            "import os, sys, sysconfig; header = os.path.join(sysconfig.get_path('include'), 'Python.h'); \
             sys.exit(sys.version_info < (3, 12) and not os.path.exists(header))",
        ),
    },
    Need {
        name: "python3's own tests",
        package: "libpython{version}-testsuite",
        purpose: "the library that stands in for zlib, which Python's zlib is tested on",
        sign: Sign::PythonRuns("import test.test_zlib"),
    },
];

/// Where programs are looked for.
pub(crate) struct Machine {
    path: OsString,
}

impl Machine {
    /// This machine, with the PATH of this process.
    pub(crate) fn this() -> Self {
        Machine { path: std::env::var_os("PATH").unwrap_or_default() }
    }

    /// The same machine, with another PATH.
    pub(crate) fn with_path(path: OsString) -> Self {
        Machine { path }
    }

    /// Where `program` is first on the PATH.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path).map(|folder| folder.join(program)).find(|path| path.is_file())
    }

    /// Installs what is missing when this is root on a machine with apt-get; else stops and names it.
    pub(crate) fn install_what_is_missing(&self) -> Outcome<()> {
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        let version = self.python_version();
        let packages: Vec<String> = missing.iter().map(|need| need.package.replace(PYTHON_VERSION, &version)).collect();
        if !self.is_root() || !succeeds(self.command("apt-get").arg("--version")) {
            let needs: Vec<String> = missing.iter().map(|need| format!("{} ({})", need.name, need.purpose)).collect();
            return Err(Failure(format!(
                "the tests need {}; as root: apt-get install {}",
                needs.join(", "),
                packages.join(" ")
            )));
        }
        process::run(self.command("apt-get").arg("update"))?;
        process::run(
            self.command("apt-get")
                .env("DEBIAN_FRONTEND", "noninteractive")
                .args(["install", "--yes", "--no-install-recommends"])
                .args(&packages),
        )?;
        match self.missing().first() {
            None => Ok(()),
            Some(need) => {
                Err(Failure(format!("{} is still missing after installing {}", need.name, packages.join(" "))))
            }
        }
    }

    fn missing(&self) -> Vec<&'static Need> {
        NEEDS.iter().filter(|need| !self.has(need)).collect()
    }

    fn has(&self, need: &Need) -> bool {
        match need.sign {
            Sign::OnPath => self.find(need.name).is_some(),
            Sign::NamedOrOnPath(variable) => std::env::var_os(variable).is_some() || self.find(need.name).is_some(),
            Sign::PythonRuns(code) => succeeds(self.command("python3").args(["-c", code])),
        }
    }

    /// The version of the Python on the PATH, or that which every Python 3 goes by if there is none.
    fn python_version(&self) -> String {
        let code = "import sys; print('%d.%d' % sys.version_info[:2])";
        let told = self.command("python3").args(["-c", code]).output();
        let told = told.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
        if told.is_empty() { "3".to_owned() } else { told }
    }

    fn is_root(&self) -> bool {
        self.command("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("PATH", &self.path);
        command
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::executable;

    /// A folder of scripts that stand for the programs of a machine; it vanishes with the test.
    struct Pretended {
        folder: PathBuf,
        _scratch: tempfile::TempDir,
    }

    impl Pretended {
        /// Every program is there; python3 has its modules once the folder holds a file `modules`.
        fn new() -> Self {
            let scratch = tempfile::tempdir().expect("a folder");
            let machine = Pretended { folder: scratch.path().to_owned(), _scratch: scratch };
            for name in ["git", "bash", "tar", "awk", "cc", "valgrind", "chromium"] {
                machine.write(name, "exit 0");
            }
            machine.write("python3", "case $2 in *print*) echo 3.11 ;; *) test -e \"${0%/*}/modules\" ;; esac");
            machine.write("id", "echo 0");
            machine
        }

        fn write(&self, name: &str, body: &str) {
            executable::write(&self.folder.join(name), &format!("#!/bin/sh\n{body}\n"));
        }

        fn install(&self) -> Result<(), String> {
            let machine = Machine { path: self.folder.clone().into_os_string() };
            machine.install_what_is_missing().map_err(|Failure(message)| message)
        }

        fn calls(&self) -> String {
            fs::read_to_string(self.folder.join("calls")).unwrap_or_default()
        }
    }

    /// An apt-get that notes how it is called; `install` then does `effect`.
    fn apt_get(effect: &str) -> String {
        format!("echo \"$*\" >> \"${{0%/*}}/calls\"\ncase $1 in install) {effect} ;; esac")
    }

    #[test]
    fn nothing_is_installed_where_nothing_is_missing() {
        let machine = Pretended::new();
        machine.write("apt-get", &apt_get("exit 1"));
        machine.write("python3", "exit 0");
        assert_eq!(machine.install(), Ok(()));
        assert_eq!(machine.calls(), "");
    }

    #[test]
    fn root_gets_what_python_lacks_from_apt() {
        let machine = Pretended::new();
        machine.write("apt-get", &apt_get(": > \"${0%/*}/modules\""));
        assert_eq!(machine.install(), Ok(()));
        assert_eq!(
            machine.calls(),
            "--version\nupdate\ninstall --yes --no-install-recommends python3-venv python3-dev libpython3.11-testsuite\n"
        );
    }

    #[test]
    fn a_package_that_does_not_help_is_reported() {
        let machine = Pretended::new();
        machine.write("apt-get", &apt_get(":"));
        let message = machine.install().expect_err("the modules stay missing");
        assert!(message.contains("python3's module venv is still missing"), "{message}");
    }

    #[test]
    fn others_than_root_are_told_what_to_install() {
        let machine = Pretended::new();
        machine.write("apt-get", &apt_get(":"));
        machine.write("id", "echo 1000");
        fs::remove_file(machine.folder.join("cc")).expect("no compiler");
        let message = machine.install().expect_err("this is not root");
        assert!(
            message
                .ends_with("as root: apt-get install build-essential python3-venv python3-dev libpython3.11-testsuite"),
            "{message}"
        );
        assert_eq!(machine.calls(), "", "apt-get is not even asked");
    }

    #[test]
    fn without_apt_get_the_needs_are_named() {
        let machine = Pretended::new();
        let message = machine.install().expect_err("there is no apt-get");
        assert!(message.contains("python3's C headers (hg 6.3, which comes as source)"), "{message}");
    }
}
