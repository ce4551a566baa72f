//! `cargo xtask dist`: lays out everything that is installed as in a prefix such as `~/.local`, and packs it.
//!
//! The same checkout, built with the same tools at the same path, gives the same bytes.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::files::{entries, failed, make_folder, remove_folder};
use crate::process::{self, Failure, Outcome, cargo};
use crate::{licences, workspace_root};

/// The name under which git finds the program.
const GIT_PROGRAM: &str = "git-repackbench";

/// The libraries that `repackbench exec` preloads into git. It looks for them in `../lib`, before it writes those that it
/// contains to a folder of the user.
const PRELOADED: [&str; 2] = ["librepackbench_preload.so", "librepackbench_preload_codecs.so"];

/// The Mercurial extension, which looks for the program in `../../../bin`.
const EXTENSION: &str = "lib/mercurial/repackbench";

/// The folder for documents, and the documents.
const DOCUMENTS: (&str, [&str; 18]) = (
    "share/doc/repackbench",
    [
        "README.md",
        "METHODOLOGY.md",
        "EXPERIMENTS.md",
        "FORMAT.md",
        "CHANGELOG.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "docs/commands.md",
        "docs/codec-specs.md",
        "docs/measurements.md",
        "docs/results/README.md",
        "docs/serving.md",
        "docs/git-suite.md",
        "SECURITY.md",
        "docs/large.md",
        "docs/git-perf.md",
        "integrations/hg/README.md",
        "integrations/hg/LICENSE-GPL",
    ],
);

/// The pictures that the README shows.
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
    let out = folder(arguments)?;
    let mut build = cargo();
    build.args(["build", "--release", "--locked"]);
    process::run(build.args(PACKAGES.iter().flat_map(|package| ["--package", package])))?;
    let built = crate::target_dir().join("release");

    programs(&built, &out)?;
    extension(&built, &out.join(EXTENSION))?;
    process::run(Command::new(built.join("repackbench")).arg("generate").arg(out.join("share")))?;
    documents(&out)?;
    println!("{}", pack(&out)?.display());
    Ok(())
}

/// The folder to fill: the default folder, emptied, or the user's folder, which must be empty.
fn folder(arguments: &[OsString]) -> Outcome<PathBuf> {
    let out = match arguments {
        [] => {
            let out = crate::target_dir().join("dist");
            remove_folder(&out)?;
            out
        }
        [option, out] if option == "--out" => PathBuf::from(out),
        _ => return Err(Failure("usage: cargo xtask dist [--out DIR]".into())),
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
    for name in names {
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
