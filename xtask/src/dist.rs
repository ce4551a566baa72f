//! `cargo xtask dist`: lays out everything that is installed as in a prefix such as `~/.local`, and packs it.
//!
//! The same checkout, built with the same tools at the same path, gives the same bytes.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::environment::{PYTHON, PythonProgram};
use crate::files::{entries, failed, make_folder, remove_folder};
use crate::process::{self, Failure, Outcome, cargo};
use crate::{docs, licences, workspace_root};

/// The name under which git finds the program.
const GIT_PROGRAM: &str = "git-repackbench";

/// The libraries that `repackbench exec` preloads into git. It looks for them in `../lib`, before it writes those that it
/// contains to a folder of the user.
const PRELOADED: [&str; 2] = ["librepackbench_preload.so", "librepackbench_preload_codecs.so"];

/// The Mercurial extension, which looks for the program in `../../../bin`.
const EXTENSION: &str = "lib/mercurial/repackbench";

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

/// The folder for documents, and those that are no chapters of the site.
const DOCUMENTS: (&str, [&str; 3]) =
    ("share/doc/repackbench", ["LICENSE-APACHE", "LICENSE-MIT", "integrations/hg/LICENSE-GPL"]);

/// The pictures that documents show.
const PICTURES: &str = "docs/pictures";

/// The file with the licences of the linked libraries.
const LICENCES: &str = "THIRD-PARTY-LICENSES";

/// The packages whose products are installed.
pub(crate) const PACKAGES: [&str; 4] =
    ["repackbench-cli", "repackbench-preload", "repackbench-preload-codecs", "repackbench-hg"];

/// Runs the chore; prints the archive's path on stdout.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !cfg!(target_os = "linux") {
        return Err(Failure("dist works only on Linux, where `repackbench exec` can preload its libraries".into()));
    }
    let (portable, others): (Vec<&OsString>, Vec<&OsString>) = arguments.iter().partition(|word| *word == "--portable");
    let out = folder(&others)?;
    let built = build(!portable.is_empty())?;

    programs(&built, &out)?;
    extension(&built, &out.join(EXTENSION))?;
    process::run(Command::new(built.join("repackbench")).arg("generate").arg(out.join("share")))?;
    documents(&out)?;
    println!("{}", pack(&out)?.display());
    Ok(())
}

/// Builds everything, and returns the folder of the products.
fn build(is_portable: bool) -> Outcome<PathBuf> {
    let mut build = cargo();
    let mut built = crate::target_dir();
    if is_portable {
        let folder = crate::target_dir().join("zigbuild");
        let zigbuild = ZIGBUILD.find_or_make(Path::new(PYTHON), &folder)?;
        // cargo-zigbuild starts the zig of the same environment.
        let folders = zigbuild.parent().map(Path::to_owned).into_iter();
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&others)));
        build.env("PATH", path.map_err(|error| failed(&folder, &error))?);
        build.args(["zigbuild", "--target", &format!("{PORTABLE_TARGET}.{GLIBC}")]);
        built.push(PORTABLE_TARGET);
    } else {
        build.arg("build");
    }
    build.args(["--release", "--locked"]);
    process::run(build.args(PACKAGES.iter().flat_map(|package| ["--package", package])))?;
    built.push("release");
    if is_portable {
        check_glibc(&built)?;
    }
    Ok(built)
}

/// Checks that no product needs a later release of glibc than [`GLIBC`].
fn check_glibc(built: &Path) -> Outcome<()> {
    for name in [&["repackbench", "librepackbench_hg.so"][..], &PRELOADED].concat() {
        let path = built.join(name);
        let symbols = process::output(Command::new("objdump").arg("-T").arg(&path))?;
        if let Some(later) = glibc_versions(&symbols).find(|version| *version > version_numbers(GLIBC)) {
            return Err(Failure(format!("{}: needs glibc {later:?}, expected at most {GLIBC}", path.display())));
        }
    }
    Ok(())
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

/// The folder to fill: the default folder, emptied, or the user's folder, which must be empty.
fn folder(arguments: &[&OsString]) -> Outcome<PathBuf> {
    let out = match arguments {
        [] => {
            let out = crate::target_dir().join("dist");
            remove_folder(&out)?;
            out
        }
        [option, out] if *option == "--out" => PathBuf::from(out),
        _ => return Err(Failure("usage: cargo xtask dist [--out DIR] [--portable]".into())),
    };
    make_folder(&out)?;
    match entries(&out)?.is_empty() {
        true => fs::canonicalize(&out).map_err(|error| failed(&out, &error)),
        false => Err(Failure(format!("{}: expected a new or empty folder", out.display()))),
    }
}

fn programs(built: &Path, out: &Path) -> Outcome<()> {
    stripped(&built.join("repackbench"), &out.join("bin").join("repackbench"))?;
    let link = out.join("bin").join(GIT_PROGRAM);
    symlink("repackbench", &link).map_err(|error| failed(&link, &error))?;
    PRELOADED.iter().try_for_each(|library| stripped(&built.join(library), &out.join("lib").join(library)))
}

fn extension(built: &Path, folder: &Path) -> Outcome<()> {
    stripped(&built.join("librepackbench_hg.so"), &folder.join("_native.abi3.so"))?;
    copy(&workspace_root().join("integrations/hg/repackbench/__init__.py"), &folder.join("__init__.py"))
}

fn documents(out: &Path) -> Outcome<()> {
    let (folder, names) = DOCUMENTS;
    let folder = out.join(folder);
    let chapters = docs::chapters(workspace_root())?;
    for name in chapters.iter().map(PathBuf::as_path).chain(names.map(Path::new)) {
        copy(&workspace_root().join(name), &folder.join(name))?;
    }
    for picture in entries(&workspace_root().join(PICTURES))? {
        copy(&picture, &folder.join(PICTURES).join(picture.file_name().unwrap_or_default()))?;
    }
    let licences = folder.join(LICENCES);
    fs::write(&licences, licences::of_dependencies(&PACKAGES)?).map_err(|error| failed(&licences, &error))
}

/// Packs the folder into an archive beside it, named after version and platform.
fn pack(out: &Path) -> Outcome<PathBuf> {
    let name = format!("repackbench-{}-{}-{}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS);
    let archive = out.with_file_name(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go-w"]);
    tar.arg(format!("--mtime=@{}", time_of_sources()));
    // Only the names of files: links have relative targets.
    tar.arg(format!("--transform=flags=r;s,^\\.,{name},"));
    // -n, because gzip's header has a time, too.
    tar.args(["--use-compress-program=gzip -n9", "--create", "--file"]).arg(&archive);
    process::run(tar.arg("--directory").arg(out).arg("."))?;
    Ok(archive)
}

/// The time of the last change of the sources: `SOURCE_DATE_EPOCH`, or that of the last commit.
fn time_of_sources() -> u64 {
    let named = std::env::var("SOURCE_DATE_EPOCH").ok();
    let committed = || {
        let mut log = Command::new("git");
        log.current_dir(workspace_root()).args(["log", "-1", "--format=%ct"]).stdin(Stdio::null());
        log.stderr(Stdio::null()).output().ok().and_then(|output| String::from_utf8(output.stdout).ok())
    };
    named.or_else(committed).and_then(|time| time.trim().parse().ok()).unwrap_or_default()
}

/// Copies a program or library without debug information.
fn stripped(from: &Path, to: &Path) -> Outcome<()> {
    make_folder_of(to)?;
    process::run(Command::new("strip").arg("--strip-debug").arg("-o").arg(to).arg(from))
}

fn copy(from: &Path, to: &Path) -> Outcome<()> {
    make_folder_of(to)?;
    fs::copy(from, to).map_err(|error| failed(from, &error))?;
    Ok(())
}

fn make_folder_of(path: &Path) -> Outcome<()> {
    make_folder(path.parent().unwrap_or(path))
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
