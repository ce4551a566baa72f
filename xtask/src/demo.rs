//! `cargo xtask demo [REPO]`: shows what the program does on a real repository, in two minutes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files;
use crate::process::{self, Failure, Outcome, cargo, succeeds};

/// The number of blocks: enough for a verdict in every row, and few enough for a demonstration.
const BLOCKS: &str = "9";

/// Runs the chore on the named repository, or on this checkout.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    let repository = match arguments {
        [] => crate::workspace_root().to_path_buf(),
        [repository] => {
            std::path::absolute(repository).map_err(|error| files::failed(Path::new(repository), &error))?
        }
        _ => return Err(Failure("demo takes at most one repository".into())),
    };
    require_commits(&repository)?;
    let folder = fresh_folder()?;
    process::run(cargo().args(["build", "--release", "--locked", "--package", "repackbench-cli"]))?;

    let variant = folder.join("demo.zstd-5");
    process::run(program(&folder).args(["convert", "--codec", "zstd:5"]).arg(&repository).arg("-o").arg(&variant))?;
    process::run(program(&folder).arg("verify").arg(&repository).arg(&variant))?;
    process::run(program(&folder).arg("size").arg(&repository).arg(&variant))?;
    // The program contains what it preloads into git.
    let log = ["--", "git", "--no-pager", "log", "-3", "--oneline"];
    process::run(program(&folder).arg("exec").arg(&variant).args(log))?;
    process::run(
        program(&folder)
            .arg("bench")
            .arg(&repository)
            .args(["--codec", "zlib:6", "--codec", "zstd:5", "--blocks", BLOCKS, "--json"])
            .arg(folder.join("records.jsonl"))
            .arg("--html")
            .arg(folder.join("report.html")),
    )?;
    eprintln!(
        "{} has the converted repository, the records of each run, and report.html, a page with charts.",
        folder.display()
    );
    Ok(())
}

/// Fails if the repository has no commits, before ten minutes of building.
fn require_commits(repository: &Path) -> Outcome<()> {
    let git = || {
        let mut command = Command::new("git");
        command.arg("-C").arg(repository);
        command
    };
    if !succeeds(git().args(["rev-parse", "--git-dir"])) {
        return Err(Failure(format!("{} is not a git repository, or git is not installed", repository.display())));
    }
    if !succeeds(git().args(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])) {
        return Err(Failure(format!(
            "{} has no commits: commit something, or name another repository",
            repository.display()
        )));
    }
    Ok(())
}

/// Makes an empty folder under `target/`, without the files of an earlier demonstration.
fn fresh_folder() -> Outcome<PathBuf> {
    let folder = crate::target_dir().join("demo");
    files::remove_folder(&folder)?;
    files::make_folder(&folder)?;
    Ok(folder)
}

/// The release binary, with its cache of variants in the demonstration's folder.
fn program(folder: &Path) -> Command {
    let mut command = Command::new(crate::target_dir().join("release").join("repackbench"));
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    command
}
