//! Packs that git makes, in copies that borrow the objects of the repository.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

use repackbench_benches::{BenchError, Result, Subject, stock_git, time_child};

/// How many of the newest commits are in increments.
pub(crate) const NEWEST: usize = 1000;

/// Makes a clone of the repository at `target` that borrows its objects.
///
/// # Errors
/// Git fails.
pub(crate) fn borrow(subject: &Subject, target: &Path) -> Result<()> {
    let mut clone = stock_git(subject.scratch());
    clone.args(["clone", "--quiet", "--mirror", "--shared"]).arg(subject.path()).arg(target);
    time_child(&mut clone)?;
    Ok(())
}

/// Makes a copy of the repository at `target` with one pack of all reachable objects, whose deltas git searches for
/// anew as `git repack -adF` does. Missing objects are left out, which `git repack` cannot do.
///
/// # Errors
/// Git fails.
pub(crate) fn repack(subject: &Subject, target: &Path) -> Result<()> {
    borrow(subject, target)?;
    let mut pack = pack_objects(subject, target, target, &[])?;
    pack.args(["--all", "--no-reuse-delta", "--no-reuse-object"]);
    output(pack)?;
    let alternates = target.join("objects/info/alternates");
    fs::remove_file(&alternates).map_err(|e| BenchError::io("remove", &alternates, e))
}

/// Makes a repository at `target` that has nothing but the newest commits of `clone` and what came with them, in
/// `count` packs that build on each other.
///
/// # Errors
/// Git fails.
pub(crate) fn increments(subject: &Subject, clone: &Path, target: &Path, count: usize) -> Result<()> {
    let mut init = stock_git(subject.scratch());
    init.args(["init", "--quiet", "--bare"]).arg(target);
    time_child(&mut init)?;
    let mut list = stock_git(subject.scratch());
    list.arg("--git-dir").arg(clone).args(["rev-list", "--all", "--date-order", "--parents"]);
    list.args(["--max-count", &NEWEST.to_string()]);
    let listed = output(list)?;
    let mut commits: Vec<&str> = std::str::from_utf8(&listed).unwrap_or_default().lines().collect();
    commits.reverse();
    for commits in commits.chunks(commits.len().div_ceil(count).max(1)) {
        // Each line has a commit and its parents.
        let own: Vec<&str> = commits.iter().filter_map(|line| line.split(' ').next()).collect();
        let parents = commits.iter().flat_map(|line| line.split(' ').skip(1));
        let earlier = parents.filter(|parent| !own.contains(parent)).map(|parent| format!("^{parent}"));
        let revisions: Vec<String> = own.iter().map(|id| (*id).to_owned()).chain(earlier).collect();
        output(pack_objects(subject, clone, target, &revisions)?)?;
    }
    Ok(())
}

/// The command that packs `revisions` of the repository `git_dir` into the one at `target`.
fn pack_objects(subject: &Subject, git_dir: &Path, target: &Path, revisions: &[String]) -> Result<Command> {
    let path = subject.scratch().join("revisions");
    fs::write(&path, revisions.join("\n") + "\n").map_err(|e| BenchError::io("write", &path, e))?;
    let input = File::open(&path).map_err(|e| BenchError::io("open", &path, e))?;
    let mut command = stock_git(subject.scratch());
    command.arg("--git-dir").arg(git_dir).args(["pack-objects", "--revs", "--delta-base-offset", "--quiet"]);
    command.arg("--missing=allow-any").arg(target.join("objects/pack/pack")).stdin(input);
    Ok(command)
}

/// What `command` prints.
fn output(mut command: Command) -> Result<Vec<u8>> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().map_err(|e| BenchError::io("run", command.get_program(), e))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    Err(BenchError::Child { command: format!("{command:?}"), why })
}
