//! What a session draws from real history by its seed: files that readers of web pages ask for, and pushes. All rows get
//! the same.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
};

use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::{Caches, Git, StockError, hg::ChangedFile, output};
use crate::workloads::REQUESTS;

/// The default number of pushes in a stream.
const PUSHES: usize = 64;
/// A stream is drawn from the newest commits. They are this many times as many as it has.
const STREAMS: usize = 4;

/// A file at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) commit: String,
    pub(crate) path: Vec<u8>,
}

impl Request {
    /// `REV:PATH`
    pub(crate) fn name(&self) -> Vec<u8> {
        [self.commit.as_bytes(), b":", &self.path].concat()
    }
}

/// What a server receives at once: a commit of the first-parent line, with all that it merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Push {
    /// The commit of the branch before.
    pub(crate) old: String,
    pub(crate) new: String,
    /// The thin pack that plain git sends.
    pub(crate) pack: PathBuf,
    pub(crate) bytes: u64,
}

/// Consecutive pushes, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stream {
    pub(crate) pushes: Vec<Push>,
    /// The days from the commit before the first to the last, by the dates of committing; `None` if there is no time between.
    pub(crate) days: Option<f64>,
}

/// What a session has drawn.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) requests: Vec<Request>,
    pub(crate) stream: Option<Stream>,
    /// The files that a commit changes, and the bundle of the newest changesets; only in Mercurial.
    pub(crate) changes: Vec<ChangedFile>,
    pub(crate) bundle: Option<PathBuf>,
}

/// The history to draw from: the ancestors of `head` in `git_dir`, which plain git reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawFrom<'a> {
    pub(crate) git: &'a Git,
    pub(crate) git_dir: &'a Path,
    pub(crate) head: &'a str,
    /// The greatest number of commits to draw from, and of pushes in a stream; `None` for the defaults.
    pub(crate) commits: Option<u64>,
    pub(crate) seed: u64,
}

impl DrawFrom<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.git.command(Caches::Off);
        command.env("GIT_DIR", self.git_dir).args(words);
        command
    }

    /// The output of a command that reads `input`.
    fn output(&self, words: &[&str], input: &[u8]) -> Result<Vec<u8>, StockError> {
        let file = self.git.scratch.join("draw-input");
        let opened = fs::write(&file, input).and_then(|()| fs::File::open(&file));
        let mut command = self.command(words);
        command.stdin(opened.map_err(|error| StockError::files("write", &file, error))?);
        output(&mut command)
    }

    /// Draws requests: each time one of the commits, and one of the files that it changed, at that commit. So a file is
    /// drawn as often as it was worked on.
    pub(crate) fn requests(&self) -> Result<Vec<Request>, StockError> {
        let mut list = self.command(&["rev-list", "--no-merges"]);
        if let Some(commits) = self.commits {
            list.arg(format!("-n{commits}"));
        }
        let listed = output(list.arg(self.head))?;
        let commits: Vec<&str> = listed.split(|byte| *byte == b'\n').filter_map(text).collect();
        let mut random = SmallRng::seed_from_u64(self.seed);
        let draws = if commits.is_empty() { 0 } else { REQUESTS };
        let drawn: Vec<&str> =
            (0..draws).filter_map(|_| commits.get(random.random_range(0..commits.len())).copied()).collect();
        let words = ["diff-tree", "--stdin", "--root", "-r", "-z", "--no-renames", "--diff-filter=AMT"];
        let changed = self.output(&words, format!("{}\n", drawn.join("\n")).as_bytes())?;
        let requests: Vec<Request> = changed_files(&changed)
            .into_iter()
            .filter_map(|(commit, paths)| {
                let path = paths.get(random.random_range(0..paths.len().max(1)))?;
                Some(Request { commit, path: path.to_vec() })
            })
            .collect();
        if requests.is_empty() {
            return Err(StockError::refused(format!("no commit of {} that is not a merge adds a file", self.head)));
        }
        Ok(requests)
    }

    /// Draws a stream of consecutive pushes from the newest commits of the first-parent line, and packs each of them in
    /// `folder`.
    pub(crate) fn stream(&self, folder: &Path) -> Result<Stream, StockError> {
        fs::create_dir(folder).map_err(|error| StockError::files("create", folder, error))?;
        let asked = self.commits.map_or(PUSHES, |commits| usize::try_from(commits).unwrap_or(usize::MAX)).max(1);
        let newest = format!("-n{}", asked.saturating_mul(STREAMS).saturating_add(1));
        let listed = output(self.command(&["log", "--first-parent", "--format=%H %ct", &newest]).arg(self.head))?;
        let line: Vec<(&str, i64)> = listed.split(|byte| *byte == b'\n').filter_map(text).filter_map(dated).collect();
        let window = window(line.len(), asked, self.seed).and_then(|window| line.get(window)).ok_or_else(|| {
            StockError::refused(format!("{}: expected a commit with a parent, to be pushed", self.head))
        })?;
        let pairs = window.iter().zip(window.iter().skip(1)).rev().enumerate();
        let pushes = pairs.map(|(number, ((new, _), (old, _)))| self.push(old, new, &folder.join(number.to_string())));
        let dates = window.first().zip(window.last());
        let seconds = dates.map_or(0, |((_, last), (_, first))| last.saturating_sub(*first));
        let days = (seconds > 0).then_some(seconds as f64 / 86_400.0);
        Ok(Stream { pushes: pushes.collect::<Result<_, _>>()?, days })
    }

    fn push(&self, old: &str, new: &str, pack: &Path) -> Result<Push, StockError> {
        let words = ["pack-objects", "--thin", "--stdout", "--revs", "--delta-base-offset", "-q"];
        let bytes = self.output(&words, format!("{new}\n^{old}\n").as_bytes())?;
        fs::write(pack, &bytes).map_err(|error| StockError::files("write", pack, error))?;
        Ok(Push { old: old.to_owned(), new: new.to_owned(), pack: pack.to_owned(), bytes: bytes.len() as u64 })
    }
}

fn text(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(line).ok().filter(|line| !line.is_empty())
}

/// `ID SECONDS`
fn dated(line: &str) -> Option<(&str, i64)> {
    let (id, seconds) = line.split_once(' ')?;
    Some((id, seconds.parse().ok()?))
}

/// The commits of a stream among `len`, the newest first: one more than it has pushes, the last of which is there before
/// the stream. At most half of them are pushed, so that there is a repository to push to.
fn window(len: usize, asked: usize, seed: u64) -> Option<std::ops::Range<usize>> {
    let pushes = asked.min(len / 2);
    let last_start = len.checked_sub(pushes + 1).filter(|_| pushes > 0)?;
    let start = SmallRng::seed_from_u64(seed).random_range(0..=last_start);
    Some(start..start + pushes + 1)
}

/// The files in the output of `git diff-tree --stdin -z`, by commit: without submodules, and without names that have line
/// feeds, which `git cat-file --batch` cannot read.
fn changed_files(output: &[u8]) -> Vec<(String, Vec<&[u8]>)> {
    const SUBMODULE: &[u8] = b"160000";
    let mut commits: Vec<(String, Vec<&[u8]>)> = Vec::new();
    let mut fields = output.split(|byte| *byte == 0);
    while let Some(field) = fields.next() {
        match field.strip_prefix(b":") {
            Some(change) => {
                let path = fields.next().unwrap_or_default();
                let is_file = change.split(|byte| *byte == b' ').nth(1) != Some(SUBMODULE);
                if let Some((_, paths)) = commits.last_mut()
                    && is_file
                    && !path.contains(&b'\n')
                {
                    paths.push(path);
                }
            }
            None => commits.extend(text(field).map(|commit| (commit.to_owned(), Vec::new()))),
        }
    }
    commits
}

/// The path as an argument of a command.
pub(super) fn path_argument(path: &[u8]) -> &std::ffi::OsStr {
    std::ffi::OsStr::from_bytes(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_those_that_can_be_read() {
        let output = b"aa\0:000000 100644 0 1 A\0src/a b\0:100644 160000 1 2 T\0module\0:000000 120000 0 3 A\0x\ny\0\
            bb\0:000000 160000 0 1 A\0only\0cc\0:100755 100755 1 2 M\0\xff\0";
        let expected = [
            ("aa".to_owned(), vec![&b"src/a b"[..]]),
            ("bb".to_owned(), Vec::new()),
            ("cc".to_owned(), vec![&b"\xff"[..]]),
        ];
        assert_eq!(changed_files(output), expected);
        assert!(changed_files(b"").is_empty());
    }

    #[test]
    fn windows_leave_a_commit_before_the_stream() {
        for seed in 0..50 {
            let found = window(257, 64, seed).unwrap();
            assert!(found.len() == 65 && found.end <= 257, "{found:?}");
        }
        let starts: std::collections::BTreeSet<usize> =
            (0..50).filter_map(|seed| window(257, 64, seed)).map(|window| window.start).collect();
        assert!(starts.len() > 10, "the seed draws");
        assert_eq!(window(257, 64, 7), window(257, 64, 7));
        assert_eq!(window(2, 64, 1), Some(0..2));
        assert_eq!(window(3, 64, 1).map(|window| window.len()), Some(2));
        assert_eq!((window(1, 64, 1), window(0, 64, 1)), (None, None), "nothing to push");
    }
}
