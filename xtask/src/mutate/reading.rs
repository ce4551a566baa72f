//! What stock git or hg reads in a repository.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::child::{self, Ended};
use crate::files::failed;
use crate::process::{Failure, Outcome};

/// The extension of hg that prints what hg reads.
const READ_ALL: &str = include_str!("read_all.py");

/// Everything that a program reads in a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The kind and a digest of the content of each object or revision, by what it is called: an id, or a revlog and a
    /// node.
    pub(super) objects: BTreeMap<String, String>,
    /// All else, such as refs, phases, and the changeset that a revision names.
    pub(super) rest: BTreeSet<String>,
}

/// Stock git or hg.
#[derive(Debug, Clone)]
pub(super) enum Stock {
    Git,
    /// The path of hg, and that of its extension.
    Hg(OsString, PathBuf),
}

impl Stock {
    /// hg with the extension, which is written to `folder`.
    pub(super) fn hg(program: OsString, folder: &Path) -> Outcome<Self> {
        let extension = folder.join("read_all.py");
        fs::write(&extension, READ_ALL).map_err(|error| failed(&extension, &error))?;
        Ok(Stock::Hg(program, extension))
    }

    /// Reads a repository: a git directory, or the folder with `.hg`. The error is the program's.
    pub(super) fn read(&self, repository: &Path) -> Outcome<Result<Reading, String>> {
        match self {
            Stock::Git => read_git(repository),
            Stock::Hg(program, extension) => read_hg(program, extension, repository),
        }
    }
}

/// git without the user's configuration, and without programs that the repository's could name.
fn git(repository: &Path) -> Command {
    let mut command = child::limited("git");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_NO_LAZY_FETCH", "1");
    command.args(["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    command.arg("--no-replace-objects").arg("--git-dir").arg(repository);
    command
}

fn read_git(repository: &Path) -> Outcome<Result<Reading, String>> {
    let mut reading = Reading::default();
    let objects = child::end_of(git(repository).args(["cat-file", "--batch-all-objects", "--batch", "--buffer"]))?;
    if !objects.is_accepted() {
        return Ok(Err(said(&objects)));
    }
    let mut rest = objects.stdout.as_slice();
    while !rest.is_empty() {
        let Some((name, kind, content, after)) = object(rest) else {
            let start: String = String::from_utf8_lossy(rest).chars().take(100).collect();
            return Ok(Err(format!("unexpected output of git cat-file: {start:?}")));
        };
        reading.objects.insert(name, format!("{kind} {}", digest(content)));
        rest = after;
    }
    let refs = child::end_of(git(repository).args(["for-each-ref", "--format=%(refname) %(objectname) %(symref)"]))?;
    if !refs.is_accepted() {
        return Ok(Err(said(&refs)));
    }
    reading.rest.extend(String::from_utf8_lossy(&refs.stdout).lines().map(str::to_owned));
    let mut head = child::end_of(git(repository).args(["symbolic-ref", "--quiet", "HEAD"]))?;
    if !head.is_accepted() {
        head = child::end_of(git(repository).args(["rev-parse", "--verify", "HEAD"]))?;
    }
    if !head.is_accepted() {
        return Ok(Err(said(&head)));
    }
    reading.rest.insert(format!("HEAD {}", String::from_utf8_lossy(&head.stdout).trim_end()));
    for name in ["shallow", "info/grafts"] {
        if let Ok(content) = fs::read(repository.join(name)) {
            reading.rest.insert(format!("{name} {}", String::from_utf8_lossy(&content).trim_end()));
        }
    }
    Ok(Ok(reading))
}

/// The first object of what `git cat-file --batch` prints: id, kind, content, and what comes after it.
fn object(output: &[u8]) -> Option<(String, &str, &[u8], &[u8])> {
    let end = output.iter().position(|byte| *byte == b'\n')?;
    let mut words = std::str::from_utf8(output.get(..end)?).ok()?.split(' ');
    let (name, kind, len) = (words.next()?, words.next()?, words.next()?.parse::<usize>().ok()?);
    let (content, after) = output.get(end + 1..)?.split_at_checked(len)?;
    Some((name.to_owned(), kind, content, after.strip_prefix(b"\n")?))
}

fn read_hg(program: &OsString, extension: &Path, repository: &Path) -> Outcome<Result<Reading, String>> {
    let mut command = child::limited(program);
    command.envs([("HGRCPATH", ""), ("HGRCSKIPREPO", "1"), ("HGPLAIN", "1"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]);
    let mut setting = OsString::from("extensions.read_all=");
    setting.push(extension);
    command.args(["--config", "storage.all-slow-path=allow", "--config"]).arg(setting);
    let ended = child::end_of(command.arg("--repository").arg(repository).arg("read-all"))?;
    if !ended.is_accepted() {
        return Ok(Err(said(&ended)));
    }
    let mut reading = Reading::default();
    for line in String::from_utf8_lossy(&ended.stdout).lines() {
        match line.split_once('\t') {
            Some(("object", line)) => {
                let (name, content) = line.rsplit_once('\t').unwrap_or((line, ""));
                reading.objects.insert(name.to_owned(), content.to_owned());
            }
            Some(_) => drop(reading.rest.insert(line.to_owned())),
            None => return Err(Failure(format!("unexpected output of hg: {line:?}"))),
        }
    }
    Ok(Ok(reading))
}

/// How the program ended, and its last line on stderr.
fn said(ended: &Ended) -> String {
    let last = ended.stderr.lines().last().unwrap_or_default();
    format!("{}: {last}", ended.status.map_or("killed".to_owned(), |status| status.to_string()))
}

/// Tells contents apart that come from chance, not from an enemy.
fn digest(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("{} {:016x}", content.len(), hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_follow_each_other() {
        let (name, kind, content, after) = object(b"ab tree 3\n\n\0\n\nac commit 0\n\n").unwrap();
        assert_eq!((name.as_str(), kind, content), ("ab", "tree", &b"\n\0\n"[..]));
        let (name, kind, content, after) = object(after).unwrap();
        assert_eq!((name.as_str(), kind, content, after), ("ac", "commit", &b""[..], &b""[..]));
        for wrong in [&b"ab missing\n"[..], b"ab tree 3\n\n", b"ab tree 3\nabcd", b"ab tree 18446744073709551615\n"] {
            assert!(object(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn git_reads_what_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let script = crate::workspace_root().join("fixtures").join("git-refs.sh");
        crate::process::output(Command::new("bash").arg(script).arg(folder.path().join("made"))).unwrap();
        let repository = folder.path().join("made").join("repo").join(".git");
        let reading = Stock::Git.read(&repository).unwrap().unwrap();
        assert!(reading.objects.len() > 3 && reading.rest.iter().any(|line| line.starts_with("refs/heads/")));
        assert!(reading.rest.iter().any(|line| line.starts_with("HEAD refs/heads/")), "{:?}", reading.rest);
        fs::write(repository.join("HEAD"), "nonsense").unwrap();
        assert!(Stock::Git.read(&repository).unwrap().is_err());
    }
}
