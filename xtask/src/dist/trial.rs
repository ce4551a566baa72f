//! Tries what was packed as a new user would: in an empty folder, with an empty HOME and nothing else in the
//! environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::{
    EXTENSION, LICENCES,
    wheels::{EXTENSION_LICENCE, OWN_LICENCES, Wheels},
};
use crate::environment::PYTHON;
use crate::files::{failed, make_folder, only_entry, remove_folder};
use crate::mercurial;
use crate::process::{self, Failure, Outcome};
use crate::workspace_root;

/// The time for an estimate.
const TIME: &str = "10s";

/// Reads the records of an estimate by the module of the wheel, and prints the number of repositories.
const READ: &str = "\
import repackbench, sys
assert repackbench.program().startswith(sys.prefix), repackbench.program()
assert repackbench.results(sys.argv[1]), 'no results'
print(len(list(repackbench.records(sys.argv[1], kind='estimate'))))";

/// Reads the licences of an installed package, whose names follow the package's.
const READ_LICENCES: &str = "\
import importlib.metadata, sys
package = importlib.metadata.distribution(sys.argv[1])
named = sorted(package.metadata.get_all('License-File') or [])
assert named == sorted(sys.argv[2:]), named
for name in named:
    assert package.read_text('licenses/' + name), name";

/// Stands in for Ray, which is large: it runs each task at once, in the same process.
const RAY: &str = "\
import types
exceptions = types.SimpleNamespace(RayError=Exception)
def init(**options): pass
def remote(**options): return lambda task: types.SimpleNamespace(remote=task)
def wait(tasks, num_returns): return tasks[:num_returns], tasks[num_returns:]
def get(result): return result
";

/// Unpacks the archive and uses it.
pub(super) fn archive(archive: &Path) -> Outcome<()> {
    let user = User::new(archive)?;
    process::run(user.command("tar").arg("-xzf").arg(archive))?;
    let prefix = only_entry(&user.folder.join("here"))?;
    user.estimate(&prefix.join("bin/repackbench"))?;
    user.exec(&prefix.join("bin/repackbench"))?;
    user.extension(None, &prefix.join(EXTENSION).display().to_string())?;
    user.leave()
}

/// Installs the Debian package into an empty root, which needs no root user, uses it, and removes it again.
pub(super) fn debian(package: &Path) -> Outcome<()> {
    let user = User::new(package)?;
    let root = user.folder.join("root");
    for folder in ["info", "updates"] {
        make_folder(&root.join("var/lib/dpkg").join(folder))?;
    }
    let status = root.join("var/lib/dpkg/status");
    fs::write(&status, "").map_err(|error| failed(&status, &error))?;
    // That root has no libc6.
    process::output(user.dpkg(&root).args(["--force-depends", "--install"]).arg(package))?;
    let program = root.join("usr/bin/repackbench");
    user.estimate(&program)?;
    user.exec(&program)?;
    let changed = process::output(user.dpkg(&root).args(["--verify", "repackbench"]))?;
    process::output(user.dpkg(&root).args(["--remove", "repackbench"]))?;
    match changed.is_empty() && !root.join("usr").exists() {
        true => user.leave(),
        false => Err(Failure(format!("{}: files that dpkg left or found changed: {changed}", root.display()))),
    }
}

/// Installs the wheels without a network and uses them: the program and the driver for Ray in an environment of their
/// own, the Mercurial extension as modules.
pub(super) fn wheels(wheels: &Wheels) -> Outcome<()> {
    let user = User::new(&wheels.program)?;
    process::run(user.command(PYTHON).args(["-m", "venv", "venv"]))?;
    let installed = user.folder.join("here/venv/bin");
    process::run(user.pip(&installed.join("python3")).arg(&wheels.program))?;
    let records = user.estimate(&installed.join("repackbench"))?;
    user.read(&installed, &records)?;
    user.exec(&installed.join("repackbench"))?;
    let python = installed.join("python3");
    process::run(user.pip(&python).arg(&wheels.ray))?;
    user.licences(&python, "repackbench", &[LICENCES])?;
    user.licences(&python, "repackbench-ray", &[])?;
    let records = user.ray(&installed)?;
    user.read(&installed, &records)?;
    user.leave()?;

    let user = User::new(&wheels.extension)?;
    process::run(user.pip(PYTHON.as_ref()).arg("--target").arg("modules").arg(&wheels.extension))?;
    user.licences(PYTHON.as_ref(), "repackbench-hg", &[EXTENSION_LICENCE, LICENCES])?;
    // Mercurial finds it by name.
    user.extension(Some(&user.folder.join("here/modules")), "")?;
    user.leave()
}

/// A user with an empty HOME, who works in an empty folder.
struct User {
    /// Has the folders `home` and `here`.
    folder: PathBuf,
    /// What is tried.
    product: String,
}

impl User {
    /// A new user, who tries `product` beside it.
    fn new(product: &Path) -> Outcome<Self> {
        let name = product.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = product.with_file_name(format!("{name}.trial"));
        remove_folder(&folder)?;
        make_folder(&folder.join("home"))?;
        make_folder(&folder.join("here"))?;
        Ok(User { folder, product: name })
    }

    /// Removes what the user made.
    fn leave(self) -> Outcome<()> {
        remove_folder(&self.folder)
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.folder.join("here")).env("HOME", self.folder.join("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// dpkg for the packages below `root`. The machine's own configuration may name its own log.
    fn dpkg(&self, root: &Path) -> Command {
        let mut dpkg = self.command("dpkg");
        dpkg.arg(format!("--root={}", root.display())).arg(format!("--log={}", root.join("dpkg.log").display()));
        dpkg.args(["--force-not-root", "--force-bad-path"]);
        dpkg
    }

    fn pip(&self, python: &Path) -> Command {
        let mut pip = self.command(python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-index", "--no-deps"]);
        pip
    }

    /// Estimates the checkout, says how long that took, and returns the records.
    fn estimate(&self, program: &Path) -> Outcome<PathBuf> {
        let records = self.folder.join("here/estimate.jsonl");
        let began = Instant::now();
        let mut estimate = self.command(program);
        estimate.args(["estimate", "--quiet", "--time", TIME, "--json"]).arg(&records).arg(workspace_root());
        // Only the paths of what was made go to stdout.
        process::output(&mut estimate)?;
        eprintln!("{}: estimate in {:.1} s", self.product, began.elapsed().as_secs_f64());
        Ok(records)
    }

    /// Reads the records of one estimate with the module among what was `installed`.
    fn read(&self, installed: &Path, records: &Path) -> Outcome<()> {
        let read = process::output(self.command(installed.join("python3")).args(["-c", READ]).arg(records))?;
        match read.trim() {
            "1" => Ok(()),
            other => Err(Failure(format!("{}: its module read {other:?}, expected 1", self.product))),
        }
    }

    /// Checks that a package, which is installed for `python` or below `modules`, has our licences and `others`.
    fn licences(&self, python: &Path, package: &str, others: &[&str]) -> Outcome<()> {
        let mut read = self.command(python);
        read.env("PYTHONPATH", "modules").args(["-c", READ_LICENCES, package]).args(OWN_LICENCES).args(others);
        process::output(&mut read).map(drop)
    }

    /// Runs one shard by the driver for Ray, with a stand-in for Ray itself, and returns its records.
    fn ray(&self, installed: &Path) -> Outcome<PathBuf> {
        let modules = self.folder.join("stand-in");
        make_folder(&modules)?;
        let module = modules.join("ray.py");
        fs::write(&module, RAY).map_err(|error| failed(&module, &error))?;
        let shards = self.folder.join("here/shards");
        let mut driver = self.command(installed.join("repackbench-ray"));
        driver.env("PYTHONPATH", &modules).args(["--shards", "1", "--work", "work", "--output"]).arg(&shards);
        driver.arg("--program").arg(installed.join("repackbench")).arg("--").arg(workspace_root());
        process::output(driver.args(["--time", TIME]))?;
        Ok(shards.join("shard-1-of-1.jsonl"))
    }

    /// Converts the checkout, and has git list the same commits in the variant as in the checkout.
    fn exec(&self, program: &Path) -> Outcome<()> {
        let variant = self.folder.join("here/variant");
        let mut convert = self.command(program);
        process::run(
            convert.args(["convert", "--quiet", "--codec", "lz4"]).arg(workspace_root()).arg("-o").arg(&variant),
        )?;
        let log = ["log", "--format=%H", "HEAD"];
        let expected = process::output(self.command("git").arg("-C").arg(workspace_root()).args(log))?;
        // Also on zlib streams, by the library that a plain build leaves out.
        for (options, place) in [(&[][..], variant.as_path()), (&["--zlib", "zlib-ng"], workspace_root())] {
            let mut exec = self.command(program);
            exec.arg("exec").args(options).arg(place).args(["--", "git"]).args(log);
            if process::output(&mut exec)? != expected {
                return Err(Failure(format!("{}: git lists other commits under exec {options:?}", self.product)));
            }
        }
        Ok(())
    }

    /// Has hg load the extension, which is at `place` or, if that is empty, among `modules`.
    fn extension(&self, modules: Option<&Path>, place: &str) -> Outcome<()> {
        let mut hg = self.command(mercurial::newest()?);
        if let Some(modules) = modules {
            hg.env("PYTHONPATH", modules);
        }
        hg.args(["--config", &format!("extensions.repackbench={place}"), "debugrepackbench"]);
        let listed = process::output(&mut hg)?;
        match listed.contains("lz4") {
            true => Ok(()),
            false => Err(Failure(format!("{}: hg lists no codec lz4: {listed}", self.product))),
        }
    }
}
