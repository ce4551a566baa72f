//! Finds or builds the git that the tests compare with: the user's own if it knows reftables, or that of the next
//! Debian under `target/git`.
//!
//! It is built once, and then used without a network.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{self, failed};
use crate::needs::{self, Machine};
use crate::process::{self, Failure, Outcome};

/// The version of a git: its first two numbers.
pub(crate) type Version = [u32; 2];

/// The first git with repositories whose refs are in tables, and with `git refs migrate`.
pub(crate) const OLDEST: Version = [2, 46];

/// The Debian whose git is built.
const SUITE: &str = "trixie";

/// The parts of git that are left out, since no test uses them and they need further libraries.
const BUILD: [&str; 6] = ["NO_EXPAT=1", "NO_GETTEXT=1", "NO_PERL=1", "NO_PYTHON=1", "NO_TCLTK=1", "INSTALL_SYMLINKS=1"];

/// The version that a program prints; `None` if it does not run or is not a git.
pub(crate) fn version(program: impl AsRef<OsStr>) -> Option<Version> {
    let printed = process::output(Command::new(program).arg("--version")).ok()?;
    let mut numbers = printed.strip_prefix("git version ")?.split('.').map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
}

/// Builds a git in `folder` unless the first git of `machine` suffices. Returns the folder to put first on the PATH, if
/// one is needed.
///
/// # Errors
/// Fails with what to do where no git can be built: on a system other than Debian.
pub(crate) fn install(folder: &Path, machine: &Machine) -> Outcome<Option<PathBuf>> {
    let first = machine.find("git").and_then(version);
    if first >= Some(OLDEST) {
        return Ok(None);
    }
    let bin = folder.join("bin");
    // Two runs must not build at the same time.
    let _lock = files::lock(folder)?;
    if !is_made(folder) {
        let found = first.map_or_else(|| "none".to_owned(), |[major, minor]| format!("git {major}.{minor}"));
        eprintln!("note: the tests need git {}.{} or later, and {found} is first on the PATH", OLDEST[0], OLDEST[1]);
        make(folder, machine).map_err(|Failure(message)| {
            Failure(format!(
                "git could not be built: {message}; or put a git {}.{} or later first on the PATH",
                OLDEST[0], OLDEST[1]
            ))
        })?;
    }
    Ok(Some(bin))
}

/// Whether the git in `folder` was built for this folder, whose path it holds, and still runs.
fn is_made(folder: &Path) -> bool {
    fs::read(note(folder)).is_ok_and(|noted| noted == folder.as_os_str().as_encoded_bytes())
        && version(folder.join("bin/git")) >= Some(OLDEST)
}

/// The file that names the folder for which the git in it was built. It is written last.
fn note(folder: &Path) -> PathBuf {
    folder.join("built-for")
}

fn make(folder: &Path, machine: &Machine) -> Outcome<()> {
    machine.install_missing_of(&needs::TO_BUILD_GIT)?;
    let scratch = folder.join("source");
    files::remove_folder(&scratch)?;
    let archive = download(&scratch)?;
    process::run(Command::new("tar").arg("-xf").arg(&archive).current_dir(&scratch))?;
    let source = files::entries(&scratch)?.into_iter().find(|entry| entry.join("git.c").is_file());
    let source = source.ok_or_else(|| Failure(format!("{}: no folder with git.c", archive.display())))?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut prefix = std::ffi::OsString::from("prefix=");
    prefix.push(folder);
    process::run(
        Command::new("make")
            .args(["--silent", &format!("--jobs={cores}"), "install"])
            .args(BUILD)
            .arg(prefix)
            .current_dir(source),
    )?;
    files::remove_folder(&scratch)?;
    fs::write(note(folder), folder.as_os_str().as_encoded_bytes()).map_err(|error| failed(folder, &error))?;
    if is_made(folder) { Ok(()) } else { Err(Failure(format!("{}/bin/git does not run", folder.display()))) }
}

/// Downloads git's sources with apt, which checks the signature. The lists of packages stay in `folder`, so that those
/// of the system do not change and nobody has to be root.
fn download(folder: &Path) -> Outcome<PathBuf> {
    let lists = folder.join("lists");
    files::make_folder(&lists.join("partial"))?;
    let sources = folder.join("sources.list");
    fs::write(&sources, format!("deb-src {} {SUITE} main\n", mirror()?)).map_err(|error| failed(&sources, &error))?;
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.current_dir(folder).arg("--quiet=2");
        for (name, value) in [("Etc::SourceList", &sources), ("Etc::SourceParts", &lists), ("State::Lists", &lists)] {
            command.arg("--option").arg(format!("Dir::{name}={}", value.display()));
        }
        command.args(["--option", "Dir::Cache::pkgcache=", "--option", "Dir::Cache::srcpkgcache="]);
        command
    };
    process::run(apt_get().arg("update"))?;
    process::run(apt_get().args(["source", "--download-only", "--tar-only", "git"]))?;
    let archive = files::entries(folder)?.into_iter().find(|path| path.to_string_lossy().contains(".orig.tar."));
    archive.ok_or_else(|| Failure("apt-get source git brought no .orig.tar file".to_owned()))
}

/// The address from which this system gets Debian's packages, apart from security updates.
fn mirror() -> Outcome<String> {
    const FORMAT: &str = "$(ORIGIN) $(CODENAME) $(REPO_URI)";
    let targets = process::output(Command::new("apt-get").args(["indextargets", "--format", FORMAT]))?;
    let mirror = targets.lines().find_map(|line| {
        let (codename, address) = line.strip_prefix("Debian ")?.split_once(' ')?;
        (!codename.contains('-')).then_some(address)
    });
    mirror.map(str::to_owned).ok_or_else(|| Failure("this system has no packages from Debian".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executable;

    #[test]
    fn version_is_read_from_what_git_prints() {
        let folder = tempfile::tempdir().expect("a folder");
        let printed = |text: &str| {
            let program = folder.path().join(text.replace(' ', "-"));
            executable::write(&program, &format!("#!/bin/sh\necho {text}\n"));
            version(&program)
        };
        assert_eq!(printed("git version 2.39.5"), Some([2, 39]));
        assert_eq!(printed("git version 2.100.1.dirty"), Some([2, 100]));
        assert_eq!(printed("git version 2"), None);
        assert_eq!(printed("hg version 7.2"), None);
        assert_eq!(version(folder.path().join("missing")), None);
    }

    #[test]
    fn git_is_only_built_where_the_first_on_the_path_is_old() {
        let scratch = tempfile::tempdir().expect("a folder");
        let (path, folder) = (scratch.path().join("path"), scratch.path().join("built"));
        let bin = folder.join("bin");
        fs::create_dir_all(&path).expect("a folder");
        fs::create_dir_all(&bin).expect("a folder");
        executable::write(&bin.join("git"), "#!/bin/sh\necho git version 2.47.3\n");
        fs::write(note(&folder), folder.as_os_str().as_encoded_bytes()).expect("a note");
        let machine = Machine::with_path(path.clone().into_os_string());
        for (first, found) in [("2.45.9", Some(bin)), ("2.46.0", None), ("3.0.0", None)] {
            executable::write(&path.join("git"), &format!("#!/bin/sh\necho git version {first}\n"));
            assert_eq!(install(&folder, &machine).expect("a git"), found, "{first}");
        }
    }

    #[test]
    fn git_that_was_moved_is_built_again() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path();
        fs::create_dir(folder.join("bin")).expect("a folder");
        executable::write(&folder.join("bin/git"), "#!/bin/sh\necho git version 2.47.3\n");
        let half = is_made(folder);
        fs::write(note(folder), "/elsewhere").expect("a note");
        let moved = is_made(folder);
        fs::write(note(folder), folder.as_os_str().as_encoded_bytes()).expect("a note");
        assert_eq!((half, moved, is_made(folder)), (false, false, true));
    }
}
