//! Builds what is installed: for this machine, or for every Linux with a certain glibc or a later one.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{PACKAGES, PRODUCTS};
use crate::cmake;
use crate::environment::{PYTHON, PythonProgram};
use crate::files::failed;
use crate::process::{self, Failure, Outcome, cargo};

/// The target of a portable build, and the oldest release of glibc that its products run on: that of RHEL 8.
const PORTABLE_TARGET: &str = "x86_64-unknown-linux-gnu";
const GLIBC: &str = "2.28";

/// Builds for an older glibc, with zig as linker and C compiler.
const ZIGBUILD: PythonProgram = PythonProgram {
    package: "cargo-zigbuild",
    program: "cargo-zigbuild",
    release: "0.24.1",
    probe: &["zigbuild", "--help"],
};

/// The products of a build.
pub(super) struct Built {
    /// The folder that they are in.
    pub(super) folder: PathBuf,
    /// The oldest release of glibc that they run on.
    pub(super) glibc: Vec<u32>,
}

impl Built {
    /// The version of [`glibc`](Self::glibc), with `between` between its numbers.
    pub(super) fn glibc(&self, between: &str) -> String {
        self.glibc.iter().map(u32::to_string).collect::<Vec<_>>().join(between)
    }
}

/// Builds everything. What is portable runs with every glibc since that of RHEL 8.
pub(super) fn build(is_portable: bool) -> Outcome<Built> {
    let mut build = cargo();
    let mut folder = crate::target_dir();
    if is_portable {
        let environment = crate::target_dir().join("zigbuild");
        let zigbuild = ZIGBUILD.find_or_make(Path::new(PYTHON), &environment)?;
        // cargo-zigbuild starts the zig of the same environment.
        let folders = zigbuild.parent().map(Path::to_owned).into_iter();
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&others)));
        build.env("PATH", path.map_err(|error| failed(&environment, &error))?);
        build.args(["zigbuild", "--target", &format!("{PORTABLE_TARGET}.{GLIBC}")]);
        folder.push(PORTABLE_TARGET);
    } else {
        build.arg("build");
    }
    cmake::provide(&mut build)?;
    build.args(["--release", "--locked", "--features", cmake::FEATURES]);
    process::run(build.args(PACKAGES.iter().flat_map(|package| ["--package", package])))?;
    folder.push("release");
    let glibc = oldest_glibc(&folder)?;
    match is_portable && glibc > version_numbers(GLIBC) {
        true => Err(Failure(format!("{}: needs glibc {glibc:?}, expected at most {GLIBC}", folder.display()))),
        false => Ok(Built { folder, glibc }),
    }
}

/// The oldest release of glibc that has all symbols that the products use.
fn oldest_glibc(built: &Path) -> Outcome<Vec<u32>> {
    let mut oldest = Vec::new();
    for name in PRODUCTS {
        let symbols = process::output(Command::new("objdump").arg("-T").arg(built.join(name)))?;
        oldest = glibc_versions(&symbols).fold(oldest, Vec::max);
    }
    Ok(oldest)
}

/// The releases of glibc that the symbols in a listing of `objdump -T` are from.
fn glibc_versions(symbols: &str) -> impl Iterator<Item = Vec<u32>> {
    symbols.split("GLIBC_").skip(1).map(version_numbers)
}

/// The numbers of the version that a text begins with.
fn version_numbers(text: &str) -> Vec<u32> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    text.get(..end).unwrap_or_default().split('.').filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_compared_by_their_numbers() {
        let listing =
            "0000 DF *UND* 0000 (GLIBC_2.2.5) free\n0000 DF *UND* 0000 (GLIBC_2.34) dlopen\n0000 g DF .text f\n";
        let versions: Vec<Vec<u32>> = glibc_versions(listing).collect();
        assert_eq!(versions, [vec![2, 2, 5], vec![2, 34]]);
        let is_later = |version: &Vec<u32>| *version > version_numbers(GLIBC);
        assert_eq!(versions.iter().map(is_later).collect::<Vec<_>>(), [false, true]);
    }
}
