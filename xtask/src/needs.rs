//! Finds the programs and packages that the tests need, and installs missing ones if possible.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{self, Failure, Outcome, succeeds};

/// Something that the tests or the fixture scripts use.
pub(crate) struct Need {
    /// Its name.
    name: &'static str,
    /// The Debian package that contains it; [`PYTHON_VERSION`] stands for the version of the installed Python.
    package: &'static str,
    /// Its purpose, for the message when it cannot be installed.
    purpose: &'static str,
    /// How to find out whether it is installed.
    sign: Sign,
}

/// Stands for `3.11` or similar in the name of a package.
const PYTHON_VERSION: &str = "{version}";

enum Sign {
    /// A program of the need's name is on the PATH. The program is not started, since some awks have no `--version`.
    OnPath,
    /// Like `OnPath`, or this environment variable is set to the program's path.
    NamedOrOnPath(&'static str),
    /// Python runs this without an error.
    PythonRuns(&'static str),
    /// The C compiler finds this header.
    Header(&'static str),
}

const NEEDS: [Need; 11] = [
    Need { name: "git", package: "git", purpose: "the reference for Git repositories", sign: Sign::OnPath },
    Need { name: "bash", package: "bash", purpose: "the fixture scripts", sign: Sign::OnPath },
    Need { name: "python3", package: "python3", purpose: "hg, and packs that git never writes", sign: Sign::OnPath },
    Need { name: "tar", package: "tar", purpose: "copies of fixtures", sign: Sign::OnPath },
    Need { name: "awk", package: "gawk", purpose: "the fixture scripts' text", sign: Sign::OnPath },
    Need {
        name: "cc",
        package: "build-essential",
        purpose: "the C sources of the codecs and of hg",
        sign: Sign::OnPath,
    },
    Need { name: "valgrind", package: "valgrind", purpose: "instruction counts", sign: Sign::OnPath },
    Need {
        name: "chromium",
        package: "chromium",
        purpose: "to open HTML reports",
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
        purpose: "hg 6.3, which is installed from source",
        // Since 3.12 another release of hg is used, which has compiled packages.
        sign: Sign::PythonRuns(
            "import os, sys, sysconfig; header = os.path.join(sysconfig.get_path('include'), 'Python.h'); \
             sys.exit(sys.version_info < (3, 12) and not os.path.exists(header))",
        ),
    },
    Need {
        name: "python3's own tests",
        package: "libpython{version}-testsuite",
        purpose: "Python's tests of zlib on the stand-in for zlib",
        sign: Sign::PythonRuns("import test.test_zlib"),
    },
];

/// What building git needs besides what the tests need.
pub(crate) const TO_BUILD_GIT: [Need; 4] = [
    Need { name: "make", package: "make", purpose: "to build git", sign: Sign::OnPath },
    Need { name: "xz", package: "xz-utils", purpose: "to unpack git's sources", sign: Sign::OnPath },
    Need { name: "zlib's C headers", package: "zlib1g-dev", purpose: "to build git", sign: Sign::Header("zlib.h") },
    Need {
        name: "curl's C headers",
        package: "libcurl4-openssl-dev",
        purpose: "to build git with HTTP",
        sign: Sign::Header("curl/curl.h"),
    },
];

/// Ways to run a program as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    /// This user is root.
    ThisUser,
    /// sudo needs no password.
    Sudo,
}

/// A machine on which programs are looked up by a PATH.
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

    /// The first `program` on the PATH.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path).map(|folder| folder.join(program)).find(|path| path.is_file())
    }

    /// The PATH with these folders before its own.
    pub(crate) fn path_with_first(&self, folders: impl IntoIterator<Item = PathBuf>) -> Outcome<OsString> {
        std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&self.path)))
            .map_err(|error| Failure(format!("PATH: {error}")))
    }

    /// Installs what the tests need and this machine does not have.
    pub(crate) fn install_missing(&self) -> Outcome<()> {
        self.install_missing_of(&NEEDS)
    }

    /// Installs missing needs on a machine with apt-get, as root or by a sudo that asks for no password. Otherwise fails
    /// and names them.
    pub(crate) fn install_missing_of(&self, needs: &[Need]) -> Outcome<()> {
        let missing = self.missing(needs);
        if missing.is_empty() {
            return Ok(());
        }
        let version = self.python_version();
        let packages: Vec<String> = missing.iter().map(|need| need.package.replace(PYTHON_VERSION, &version)).collect();
        let Some(root) = self.root().filter(|_| self.find("apt-get").is_some()) else {
            let needs: Vec<String> = missing.iter().map(|need| format!("{} ({})", need.name, need.purpose)).collect();
            return Err(Failure(format!(
                "the tests need {}; run as root: apt-get install {}",
                needs.join(", "),
                packages.join(" ")
            )));
        };
        process::run(self.apt_get(root).arg("update"))?;
        process::run(self.apt_get(root).args(["install", "--yes", "--no-install-recommends"]).args(&packages))?;
        match self.missing(needs).first() {
            None => Ok(()),
            Some(need) => {
                Err(Failure(format!("{} is still missing after installing {}", need.name, packages.join(" "))))
            }
        }
    }

    fn missing<'a>(&self, needs: &'a [Need]) -> Vec<&'a Need> {
        needs.iter().filter(|need| !self.has(need)).collect()
    }

    fn has(&self, need: &Need) -> bool {
        match need.sign {
            Sign::OnPath => self.find(need.name).is_some(),
            Sign::NamedOrOnPath(variable) => std::env::var_os(variable).is_some() || self.find(need.name).is_some(),
            Sign::PythonRuns(code) => succeeds(self.command("python3").args(["-c", code])),
            Sign::Header(name) => succeeds(self.command("cc").args(["-E", "-include", name, "-x", "c", "/dev/null"])),
        }
    }

    /// The version of the Python on the PATH, or `3` if there is none.
    fn python_version(&self) -> String {
        let code = "import sys; print('%d.%d' % sys.version_info[:2])";
        let printed = self.command("python3").args(["-c", code]).output();
        let version = printed.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        version.ok().filter(|version| !version.is_empty()).unwrap_or_else(|| "3".to_owned())
    }

    /// How a program is run as root here; `None` if it cannot.
    fn root(&self) -> Option<Root> {
        let id = self.command("id").arg("-u").output();
        if id.is_ok_and(|output| output.stdout.trim_ascii() == b"0") {
            return Some(Root::ThisUser);
        }
        // With -n, a sudo that needs a password fails.
        succeeds(self.command("sudo").args(["-n", "true"])).then_some(Root::Sudo)
    }

    /// apt-get that asks no questions. sudo sets the environment anew, so `env` sets the variable after it.
    fn apt_get(&self, root: Root) -> Command {
        let mut command = self.command(match root {
            Root::ThisUser => "env",
            Root::Sudo => "sudo",
        });
        if root == Root::Sudo {
            command.args(["-n", "env"]);
        }
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        command
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

    /// A folder of scripts that stand for the programs of a machine, removed after the test.
    struct FakeMachine {
        folder: PathBuf,
        _scratch: tempfile::TempDir,
    }

    impl FakeMachine {
        /// All programs exist. python3 has its modules once the folder has a file `modules`.
        fn new() -> Self {
            let scratch = tempfile::tempdir().expect("a folder");
            let machine = FakeMachine { folder: scratch.path().to_owned(), _scratch: scratch };
            for name in ["git", "bash", "tar", "awk", "cc", "valgrind", "chromium"] {
                machine.write(name, "exit 0");
            }
            machine.write("python3", "case $2 in *print*) echo 3.11 ;; *) test -e \"${0%/*}/modules\" ;; esac");
            machine.write("id", "echo 0");
            machine.write("env", "exec /usr/bin/env \"$@\"");
            machine
        }

        fn write(&self, name: &str, body: &str) {
            executable::write(&self.folder.join(name), &format!("#!/bin/sh\n{body}\n"));
        }

        fn install(&self) -> Result<(), String> {
            let machine = Machine { path: self.folder.clone().into_os_string() };
            machine.install_missing().map_err(|Failure(message)| message)
        }

        fn calls(&self) -> String {
            fs::read_to_string(self.folder.join("calls")).unwrap_or_default()
        }
    }

    /// An apt-get that records its calls; `install` runs `effect`.
    fn apt_get(effect: &str) -> String {
        format!("echo \"$*\" >> \"${{0%/*}}/calls\"\ncase $1 in install) {effect} ;; esac")
    }

    #[test]
    fn nothing_is_installed_if_nothing_is_missing() {
        let machine = FakeMachine::new();
        machine.write("apt-get", &apt_get("exit 1"));
        machine.write("python3", "exit 0");
        assert_eq!(machine.install(), Ok(()));
        assert_eq!(machine.calls(), "");
    }

    #[test]
    fn root_installs_missing_packages_with_apt() {
        let machine = FakeMachine::new();
        machine.write("apt-get", &apt_get(": > \"${0%/*}/modules\""));
        assert_eq!(machine.install(), Ok(()));
        assert_eq!(
            machine.calls(),
            "update\ninstall --yes --no-install-recommends python3-venv python3-dev libpython3.11-testsuite\n"
        );
    }

    #[test]
    fn sudo_without_a_password_installs_missing_packages() {
        let machine = FakeMachine::new();
        machine.write("apt-get", &apt_get("test \"$DEBIAN_FRONTEND\" = noninteractive && : > \"${0%/*}/modules\""));
        machine.write("id", "echo 1000");
        machine.write("sudo", "test \"$1\" = -n || exit 1\nshift\ntest \"$1\" = true || exec \"$@\"");
        assert_eq!(machine.install(), Ok(()));
        assert_eq!(
            machine.calls(),
            "update\ninstall --yes --no-install-recommends python3-venv python3-dev libpython3.11-testsuite\n"
        );
    }

    #[test]
    fn sudo_with_a_password_installs_nothing() {
        let machine = FakeMachine::new();
        machine.write("apt-get", &apt_get(":"));
        machine.write("id", "echo 1000");
        machine.write("sudo", "exit 1");
        let message = machine.install().expect_err("sudo needs a password");
        assert!(message.contains("run as root: apt-get install"), "{message}");
        assert_eq!(machine.calls(), "", "apt-get is not even asked");
    }

    #[test]
    fn header_is_missing_if_the_compiler_does_not_find_it() {
        let machine = FakeMachine::new();
        machine.write("apt-get", &apt_get(":"));
        machine.write("make", "exit 0");
        machine.write("xz", "exit 0");
        machine.write("cc", "case $* in '-E -include zlib.h -x c /dev/null' | *curl/curl.h*) ;; *) exit 1 ;; esac");
        let install = || {
            let machine = Machine { path: machine.folder.clone().into_os_string() };
            machine.install_missing_of(&TO_BUILD_GIT).map_err(|Failure(message)| message)
        };
        assert_eq!(install(), Ok(()));
        machine.write("cc", "exit 1");
        let message = "zlib's C headers is still missing after installing zlib1g-dev libcurl4-openssl-dev";
        assert_eq!(install(), Err(message.to_owned()));
    }

    #[test]
    fn needs_that_stay_missing_are_reported() {
        let machine = FakeMachine::new();
        machine.write("apt-get", &apt_get(":"));
        let message = machine.install().expect_err("the modules stay missing");
        assert!(message.contains("python3's module venv is still missing"), "{message}");
    }

    #[test]
    fn ordinary_user_sees_the_packages_to_install() {
        let machine = FakeMachine::new();
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
    fn needs_are_named_without_apt_get() {
        let machine = FakeMachine::new();
        let message = machine.install().expect_err("there is no apt-get");
        assert!(message.contains("python3's C headers (hg 6.3, which is installed from source)"), "{message}");
    }
}
