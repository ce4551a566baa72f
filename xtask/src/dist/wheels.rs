//! The wheels: the program with a module that reads its records, the Mercurial extension, and the driver for Ray.
//!
//! Name, version and dependencies are those of the pyproject.toml in each folder of `integrations`; setuptools reads them,
//! and the package `wheel` of PyPI packs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DOCUMENTS, EXTENSION, LICENCES, build::Built, copy, empty_sibling, time_of_sources};
use crate::environment::{PYTHON, PythonProgram, isolated};
use crate::files::{make_folder, only_entry, remove_folder};
use crate::process::{self, Failure, Outcome};
use crate::workspace_root;

const WHEEL: PythonProgram =
    PythonProgram { package: "wheel", program: "wheel", release: "0.45.1", probe: &["version"] };

/// The licences of our own code, at the root of the checkout.
pub(super) const OWN_LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The licence of the Mercurial extension, in its folder.
pub(super) const EXTENSION_LICENCE: &str = "LICENSE-GPL";

/// The wheels that were made.
pub(super) struct Wheels {
    pub(super) program: PathBuf,
    pub(super) extension: PathBuf,
    pub(super) ray: PathBuf,
}

impl Wheels {
    pub(super) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.program, &self.extension, &self.ray].into_iter()
    }
}

/// Makes all wheels beside `out`, of what is laid out there.
pub(super) fn make(out: &Path, built: &Built) -> Outcome<Wheels> {
    let wheel = WHEEL.find_or_make(Path::new(PYTHON), &crate::target_dir().join("wheel"))?;
    let work = empty_sibling(out, "wheels")?;
    let maker = Maker { wheel, work, to: out.parent().unwrap_or(out).to_owned() };
    let linked = out.join(DOCUMENTS).join(LICENCES);
    let platform = format!("manylinux_{}_{}", built.glibc("_"), std::env::consts::ARCH);

    let program = maker.pure(
        "python",
        &["README.md", "repackbench/__init__.py", "repackbench/py.typed"],
        &[(&linked, LICENCES)],
    )?;
    let program = maker.with_program(&program, &out.join("bin/repackbench"))?;
    let program = maker.tagged(&program, ["py3", "none", &platform])?;
    let native = out.join(EXTENSION).join("_native.abi3.so");
    let files = ["README.md", EXTENSION_LICENCE, "repackbench/__init__.py"];
    let added = [(&*native, "repackbench/_native.abi3.so"), (&*linked, LICENCES)];
    let extension = maker.pure("hg", &files, &added)?;
    // The first Python whose stable interface the native module uses.
    let extension = maker.tagged(&extension, ["cp39", "abi3", &platform])?;
    let ray = maker.pure("ray", &["README.md", "repackbench_ray/__init__.py", "repackbench_ray/__main__.py"], &[])?;
    let ray = maker.moved(&ray)?;
    remove_folder(&maker.work)?;
    Ok(Wheels { program, extension, ray })
}

/// Makes wheels.
struct Maker {
    /// The program `wheel`, beside the Python of its environment.
    wheel: PathBuf,
    /// The folder for sources and unfinished wheels.
    work: PathBuf,
    /// The folder for wheels.
    to: PathBuf,
}

impl Maker {
    /// The wheel of a folder of `integrations`: of its pyproject.toml, of `files`, of other files with their places there,
    /// and of our licences. setuptools leaves files of its own beside the sources, so that these are copied.
    fn pure(&self, integration: &str, files: &[&str], added: &[(&Path, &str)]) -> Outcome<PathBuf> {
        let from = workspace_root().join("integrations").join(integration);
        let (sources, made) = (self.work.join(integration), self.work.join(format!("{integration}.made")));
        for file in ["pyproject.toml"].iter().chain(files) {
            copy(&from.join(file), &sources.join(file))?;
        }
        for licence in OWN_LICENCES {
            copy(&workspace_root().join(licence), &sources.join(licence))?;
        }
        for (file, place) in added {
            copy(file, &sources.join(place))?;
        }
        let mut pip = self.command(&self.wheel.with_file_name("python3"));
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps", "--wheel-dir"]);
        process::run(pip.arg(&made).arg(&sources))?;
        only_entry(&made)
    }

    /// Adds the program to a wheel, so that it is installed as one.
    fn with_program(&self, wheel: &Path, program: &Path) -> Outcome<PathBuf> {
        let (unpacked, made) = (self.work.join("unpacked"), self.work.join("with-program"));
        process::output(self.command(&self.wheel).arg("unpack").arg("--dest").arg(&unpacked).arg(wheel))?;
        let root = only_entry(&unpacked)?;
        let name = format!("repackbench-{}.data/scripts/repackbench", env!("CARGO_PKG_VERSION"));
        copy(program, &root.join(name))?;
        make_folder(&made)?;
        process::output(self.command(&self.wheel).arg("pack").arg("--dest-dir").arg(&made).arg(&root))?;
        only_entry(&made)
    }

    /// Names the Python, the interface and the platform that a wheel is for, and moves it to its place.
    fn tagged(&self, wheel: &Path, [python, abi, platform]: [&str; 3]) -> Outcome<PathBuf> {
        let mut tags = self.command(&self.wheel);
        tags.args(["tags", "--remove", "--python-tag", python, "--abi-tag", abi, "--platform-tag", platform]);
        process::output(tags.arg(wheel))?;
        self.moved(&only_entry(wheel.parent().unwrap_or(wheel))?)
    }

    /// Moves a finished wheel to its place. Its version has to be that of the program.
    fn moved(&self, wheel: &Path) -> Outcome<PathBuf> {
        let name = wheel.file_name().unwrap_or_default();
        let expected = format!("-{}-", env!("CARGO_PKG_VERSION"));
        if !name.to_string_lossy().contains(&expected) {
            return Err(Failure(format!("{}: expected version {expected} in its name", wheel.display())));
        }
        let to = self.to.join(name);
        copy(wheel, &to)?;
        Ok(to)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = isolated(program);
        command.env("SOURCE_DATE_EPOCH", time_of_sources().to_string());
        command
    }
}
