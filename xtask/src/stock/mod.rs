//! What stock git or hg reads in a repository.

pub(crate) mod child;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::hash::Hasher;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use self::child::{Ended, Limits};
use crate::files::failed;
use crate::process::{Failure, Outcome};

/// The extension of hg that prints what hg reads.
const READ_ALL: &str = include_str!("read_all.py");

/// Everything that a program reads in a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The kind and a digest of the content of each object or revision, by what it is called: an id, or a revlog and a
    /// node.
    pub(crate) objects: BTreeMap<String, String>,
    /// All else, such as refs, phases, and the changeset that a revision names.
    pub(crate) rest: BTreeSet<String>,
}

impl Reading {
    /// The first thing that is otherwise in `found`.
    pub(crate) fn first_difference(&self, found: &Reading) -> String {
        let changed = self.objects.iter().find_map(|(name, content)| {
            let other = found.objects.get(name).filter(|other| *other != content)?;
            Some(format!("{name}: expected {content}, found {other}"))
        });
        changed.unwrap_or_else(|| format!("expected {}, found {}", self.lacked_by(found), found.lacked_by(self)))
    }

    /// The first thing that `other` lacks.
    fn lacked_by(&self, other: &Reading) -> String {
        let object = self.objects.keys().find(|name| !other.objects.contains_key(*name));
        let rest = || self.rest.difference(&other.rest).next().cloned();
        object.map(|name| format!("object {name}")).or_else(rest).unwrap_or_else(|| "nothing".to_owned())
    }
}

/// Stock git or hg, and what it may take to read a repository.
#[derive(Debug, Clone)]
pub(crate) struct Stock {
    program: Program,
    limits: Limits,
}

#[derive(Debug, Clone)]
enum Program {
    Git,
    /// The path of hg, and that of its extension.
    Hg(OsString, PathBuf),
}

impl Stock {
    /// The first git on the PATH.
    pub(crate) fn git(limits: Limits) -> Self {
        Stock { program: Program::Git, limits }
    }

    /// hg with the extension, which is written to `folder`.
    pub(crate) fn hg(program: OsString, folder: &Path, limits: Limits) -> Outcome<Self> {
        let extension = folder.join("read_all.py");
        fs::write(&extension, READ_ALL).map_err(|error| failed(&extension, &error))?;
        Ok(Stock { program: Program::Hg(program, extension), limits })
    }

    /// Reads a repository: a git directory, or the folder with `.hg`. The error is the program's.
    pub(crate) fn read(&self, repository: &Path) -> Outcome<Result<Reading, String>> {
        match &self.program {
            Program::Git => read_git(repository, self.limits),
            Program::Hg(program, extension) => read_hg(program, extension, repository, self.limits),
        }
    }
}

/// git without the user's configuration, and without programs that the repository's could name.
fn git(repository: &Path, limits: Limits) -> Command {
    let mut command = child::limited("git", limits);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_NO_LAZY_FETCH", "1");
    command.args(["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    command.arg("--no-replace-objects").arg("--git-dir").arg(repository);
    command
}

fn read_git(repository: &Path, limits: Limits) -> Outcome<Result<Reading, String>> {
    let git = || git(repository, limits);
    let mut reading = Reading::default();
    let mut listing = git();
    listing.args(["cat-file", "--batch-all-objects", "--batch", "--buffer"]);
    let (ended, objects) = child::read_from(&mut listing, limits, |stdout| objects(BufReader::new(stdout)))?;
    match objects {
        _ if !ended.is_accepted() => return Ok(Err(said(&ended))),
        Ok(objects) => reading.objects = objects,
        Err(error) => return Ok(Err(format!("unexpected output of git cat-file: {error}"))),
    }
    let refs = child::end_of(git().args(["for-each-ref", "--format=%(refname) %(objectname) %(symref)"]), limits)?;
    if !refs.is_accepted() {
        return Ok(Err(said(&refs)));
    }
    reading.rest.extend(String::from_utf8_lossy(&refs.stdout).lines().map(str::to_owned));
    let mut head = child::end_of(git().args(["symbolic-ref", "--quiet", "HEAD"]), limits)?;
    if !head.is_accepted() {
        head = child::end_of(git().args(["rev-parse", "--verify", "HEAD"]), limits)?;
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

/// The kind and a digest of the content of each object that `git cat-file --batch` prints, by id.
fn objects(mut output: impl BufRead) -> io::Result<BTreeMap<String, String>> {
    let mut objects = BTreeMap::new();
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        let wrong = || io::Error::other(format!("{:?}", line.chars().take(100).collect::<String>()));
        let mut words = line.trim_end().split(' ');
        let (Some(name), Some(kind), Some(len)) = (words.next(), words.next(), words.next()) else {
            return Err(wrong());
        };
        let len: u64 = len.parse().map_err(|_| wrong())?;
        let digest = digest(&mut output, len)?;
        let mut end = [0];
        output.read_exact(&mut end)?;
        if end != *b"\n" {
            return Err(wrong());
        }
        objects.insert(name.to_owned(), format!("{kind} {digest}"));
        line.clear();
    }
    Ok(objects)
}

/// The extensions, all of hg's own, without which hg refuses a repository that was made with them.
fn needed_extensions(repository: &Path) -> impl Iterator<Item = &'static str> {
    let lists = ["requires", "store/requires"].map(|list| repository.join(".hg").join(list));
    let required: Vec<u8> = lists.iter().filter_map(|list| fs::read(list).ok()).flatten().collect();
    let required = String::from_utf8_lossy(&required).into_owned();
    let known = [("lfs", "lfs"), ("narrowhg-experimental", "narrow"), ("largefiles", "largefiles")];
    known.into_iter().filter(move |(word, _)| required.lines().any(|line| line == *word)).map(|(_, name)| name)
}

fn read_hg(
    program: &OsString,
    extension: &Path,
    repository: &Path,
    limits: Limits,
) -> Outcome<Result<Reading, String>> {
    let mut command = child::limited(program, limits);
    command.envs([("HGRCPATH", ""), ("HGRCSKIPREPO", "1"), ("HGPLAIN", "1"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]);
    let mut setting = OsString::from("extensions.read_all=");
    setting.push(extension);
    command.args(["--config", "storage.all-slow-path=allow", "--config"]).arg(setting);
    for name in needed_extensions(repository) {
        command.args(["--config", &format!("extensions.{name}=")]);
    }
    let ended = child::end_of(command.arg("--repository").arg(repository).arg("read-all"), limits)?;
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

/// The length of a content, and a hash that tells contents apart which differ by chance, not by an enemy.
fn digest(content: &mut impl BufRead, len: u64) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    let mut content = content.take(len);
    loop {
        let piece = content.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        let taken = piece.len();
        hasher.write(piece);
        content.consume(taken);
    }
    match content.limit() {
        0 => Ok(format!("{len} {:016x}", hasher.finish())),
        missing => Err(io::Error::other(format!("{missing} bytes are missing"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_follow_each_other() {
        let read = |output: &'static [u8]| objects(output);
        let (first, second) = (read(b"ab tree 3\n\n\0\n\n").unwrap(), read(b"ac commit 0\n\n").unwrap());
        let both = read(b"ab tree 3\n\n\0\n\nac commit 0\n\n").unwrap();
        assert_eq!(both, first.into_iter().chain(second).collect());
        assert!(both["ab"].starts_with("tree 3 ") && both["ac"].starts_with("commit 0 "), "{both:?}");
        assert_ne!(both["ab"], read(b"ab tree 3\n\n\n\n\n").unwrap()["ab"]);
        for wrong in [&b"ab missing\n"[..], b"ab tree 3\n\n", b"ab tree 3\nabcd", b"ab tree 18446744073709551615\n"] {
            assert!(objects(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn git_reads_what_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let script = crate::workspace_root().join("fixtures").join("git-refs.sh");
        crate::process::output(Command::new("bash").arg(script).arg(folder.path().join("made"))).unwrap();
        let repository = folder.path().join("made").join("repo").join(".git");
        let reading = Stock::git(Limits::SMALL).read(&repository).unwrap().unwrap();
        assert!(reading.objects.len() > 3 && reading.rest.iter().any(|line| line.starts_with("refs/heads/")));
        assert!(reading.rest.iter().any(|line| line.starts_with("HEAD refs/heads/")), "{:?}", reading.rest);
        fs::write(repository.join("HEAD"), "nonsense").unwrap();
        assert!(Stock::git(Limits::SMALL).read(&repository).unwrap().is_err());
    }
}
