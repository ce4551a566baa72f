//! `cargo xtask dist`: lays out everything that is installed as in a prefix such as `~/.local`, packs it into an archive, a
//! Debian package and wheels for Python, and tries each of them as a new user would.
//!
//! The same checkout, built with the same tools at the same path, gives the same bytes.

mod build;
mod debian;
mod documents;
mod trial;
mod wheels;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::build::{Built, build};
use crate::files::{entries, failed, make_folder, remove_folder};
use crate::process::{self, Failure, Outcome};
use crate::{cmake, licences, workspace_root};

/// The name under which git finds the program.
const GIT_PROGRAM: &str = "git-repackbench";

/// The libraries that `repackbench exec` preloads into git. It looks for them in `../lib`, before it writes those that
/// it contains to a folder of the user.
const PRELOADED: [&str; 2] = ["librepackbench_preload.so", "librepackbench_preload_codecs.so"];

/// The Mercurial extension, which looks for the program in `../../../bin`.
const EXTENSION: &str = "lib/mercurial/repackbench";

/// The folder for documents.
const DOCUMENTS: &str = "share/doc/repackbench";

/// The file with the licences of the linked libraries.
const LICENCES: &str = "THIRD-PARTY-LICENSES";

/// The programs and libraries that cargo makes of [`PACKAGES`].
const PRODUCTS: [&str; 4] = ["repackbench", PRELOADED[0], PRELOADED[1], "librepackbench_hg.so"];

/// The packages whose products are installed.
pub(crate) const PACKAGES: [&str; 4] =
    ["repackbench-cli", "repackbench-preload", "repackbench-preload-codecs", "repackbench-hg"];

/// The largest size of the program without debug information: users download and copy it.
const MOST_PROGRAM_BYTES: u64 = 16_000_000;

/// Runs the chore; prints the paths of archive and packages on stdout.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !cfg!(target_os = "linux") {
        return Err(Failure("dist works only on Linux, where `repackbench exec` can preload its libraries".into()));
    }
    let (portable, others): (Vec<&OsString>, Vec<&OsString>) = arguments.iter().partition(|word| *word == "--portable");
    let out = folder(&others)?;
    let built = build(!portable.is_empty())?;

    lay_out(&built, &out)?;
    let archive = pack(&out, "")?;
    let debug = pack_debug(&built, &out)?;
    let package = debian::package(&out, &built)?;
    let wheels = wheels::make(&out, &built)?;
    trial::archive(&archive)?;
    if let Some(package) = &package {
        trial::debian(package)?;
    }
    trial::wheels(&wheels)?;
    for path in [archive, debug].iter().chain(&package).chain(wheels.all()) {
        println!("{}", path.display());
    }
    Ok(())
}

/// Fills the folder `out` as a prefix is filled.
fn lay_out(built: &Built, out: &Path) -> Outcome<()> {
    programs(&built.folder, out)?;
    extension(&built.folder, &out.join(EXTENSION))?;
    process::run(Command::new(built.folder.join("repackbench")).arg("generate").arg(out.join("share")))?;
    documents(out)
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
    let program = out.join("bin").join("repackbench");
    stripped(&built.join("repackbench"), &program)?;
    let bytes = fs::metadata(&program).map_err(|error| failed(&program, &error))?.len();
    if bytes > MOST_PROGRAM_BYTES {
        return Err(Failure(format!("{}: {bytes} bytes, expected at most {MOST_PROGRAM_BYTES}", program.display())));
    }
    let link = out.join("bin").join(GIT_PROGRAM);
    symlink("repackbench", &link).map_err(|error| failed(&link, &error))?;
    PRELOADED.iter().try_for_each(|library| stripped(&built.join(library), &out.join("lib").join(library)))
}

fn extension(built: &Path, folder: &Path) -> Outcome<()> {
    stripped(&built.join("librepackbench_hg.so"), &folder.join("_native.abi3.so"))?;
    copy(&workspace_root().join("integrations/hg/repackbench/__init__.py"), &folder.join("__init__.py"))
}

fn documents(out: &Path) -> Outcome<()> {
    let folder = out.join(DOCUMENTS);
    documents::stage(workspace_root(), &folder)?;
    let licences = folder.join(LICENCES);
    fs::write(&licences, licences::of_dependencies(&PACKAGES, cmake::FEATURES)?)
        .map_err(|error| failed(&licences, &error))
}

/// Packs the debug information of everything that was built into an archive of its own. The folder beside `out` that it
/// was collected in is removed.
fn pack_debug(built: &Built, out: &Path) -> Outcome<PathBuf> {
    let folder = empty_sibling(out, "debug")?;
    for name in PRODUCTS {
        let mut objcopy = Command::new("objcopy");
        objcopy.arg("--only-keep-debug").arg(built.folder.join(name)).arg(folder.join(format!("{name}.debug")));
        process::run(&mut objcopy)?;
    }
    let archive = pack(&folder, "-debug")?;
    remove_folder(&folder)?;
    Ok(archive)
}

/// An empty folder beside `out`, whose name is that of `out` and `what`.
fn empty_sibling(out: &Path, what: &str) -> Outcome<PathBuf> {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}"));
    let folder = out.with_file_name(name);
    remove_folder(&folder)?;
    make_folder(&folder)?;
    Ok(folder)
}

/// Packs a folder into an archive beside it, named after version, platform and `what`.
fn pack(out: &Path, what: &str) -> Outcome<PathBuf> {
    let (system, cpu) = (std::env::consts::OS, std::env::consts::ARCH);
    let name = format!("repackbench-{}-{cpu}-{system}{what}", env!("CARGO_PKG_VERSION"));
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

/// Copies a program or library without debug information, and without symbols that nothing links with.
fn stripped(from: &Path, to: &Path) -> Outcome<()> {
    make_folder_of(to)?;
    process::run(Command::new("strip").arg("--strip-unneeded").arg("-o").arg(to).arg(from))
}

fn copy(from: &Path, to: &Path) -> Outcome<()> {
    make_folder_of(to)?;
    fs::copy(from, to).map_err(|error| failed(from, &error))?;
    Ok(())
}

fn make_folder_of(path: &Path) -> Outcome<()> {
    make_folder(path.parent().unwrap_or(path))
}
