//! Questions to stock git. Every answer is the output of git.

use std::ffi::OsStr;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::{self, Outcome};
use super::{fixture, program::exit};

/// Stock git in `repo`, with the configuration of the fixtures, and without fetching.
pub(crate) fn command(repo: &Path) -> Command {
    let mut command = Command::new("git");
    program::isolate(&mut command);
    pin(&mut command);
    command.arg("-C").arg(repo);
    command
}

/// Pins the settings of git, for any command that runs it.
pub(crate) fn pin(command: &mut Command) {
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", fixture::scripts().join("gitconfig"))
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
}

/// Runs git, which may fail.
#[track_caller]
pub(crate) fn git<I: AsRef<OsStr>>(repo: &Path, arguments: impl IntoIterator<Item = I>) -> Outcome {
    program::run(command(repo).args(arguments))
}

/// Runs git and returns its standard output; fails the test when git fails.
#[track_caller]
pub(crate) fn output<I: AsRef<OsStr>>(repo: &Path, arguments: impl IntoIterator<Item = I>) -> String {
    git(repo, arguments).exits(exit::OK).text()
}

/// The absolute path of a file or folder of the repository, as git reports it.
#[track_caller]
pub(crate) fn path(repo: &Path, inside: &str) -> PathBuf {
    PathBuf::from(output(repo, ["rev-parse", "--path-format=absolute", "--git-path", inside]).trim_end_matches('\n'))
}

/// The folders of objects: that of the repository, then its alternates as git reports them.
#[track_caller]
pub(crate) fn object_folders(repo: &Path) -> Vec<PathBuf> {
    let mut folders = vec![path(repo, "objects")];
    let counts = output(repo, ["count-objects", "-v"]);
    folders.extend(counts.lines().filter_map(|line| line.strip_prefix("alternate: ")).map(PathBuf::from));
    folders
}

/// The files of all pack folders, alternates included, with this extension, sorted.
#[track_caller]
pub(crate) fn pack_files(repo: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in object_folders(repo) {
        let Ok(entries) = std::fs::read_dir(folder.join("pack")) else { continue };
        let paths = entries.map(|entry| entry.expect("an entry of a pack folder").path());
        files.extend(paths.filter(|path| path.extension() == Some(OsStr::new(extension))));
    }
    files.sort();
    files
}

/// Every ref with its object and, for symbolic refs, its target; then HEAD.
#[track_caller]
pub(crate) fn refs(repo: &Path) -> String {
    let listed = output(repo, ["for-each-ref", "--format=%(objectname) %(refname) %(symref)"]);
    let symbolic = git(repo, ["symbolic-ref", "--quiet", "HEAD"]).text();
    let resolved = git(repo, ["rev-parse", "--quiet", "--verify", "HEAD"]).text();
    format!("{listed}HEAD {symbolic}{resolved}")
}

/// Every stored object with kind and size, sorted by id: also unreachable ones and those of alternates, without
/// replacements.
#[track_caller]
pub(crate) fn objects(repo: &Path) -> String {
    output(repo, ["--no-replace-objects", "cat-file", "--batch-all-objects", "--batch-check"])
}

/// An entry of a pack, as `git verify-pack -v` lists it.
#[derive(Debug)]
pub(crate) struct PackEntry {
    pub(crate) id: String,
    /// The kind of the object, also of a delta.
    pub(crate) kind: String,
    pub(crate) payload_len: u64,
    /// Bytes in the pack, the header included.
    pub(crate) packed_len: u64,
    pub(crate) offset: u64,
    /// The length of its chain of deltas, 0 for a whole object.
    pub(crate) depth: u64,
    /// The id of its base, empty for a whole object.
    pub(crate) base: String,
}

impl PackEntry {
    pub(crate) fn is_delta(&self) -> bool {
        self.depth > 0
    }

    fn parse(line: &str) -> Option<Self> {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let [id, kind, payload_len, packed_len, offset, delta @ ..] = columns.as_slice() else { return None };
        let number = |text: &str| text.parse().expect("a number");
        (id.len() >= 40).then(|| PackEntry {
            id: (*id).to_owned(),
            kind: (*kind).to_owned(),
            payload_len: number(payload_len),
            packed_len: number(packed_len),
            offset: number(offset),
            depth: delta.first().map_or(0, |depth| number(depth)),
            base: delta.get(1).copied().unwrap_or_default().to_owned(),
        })
    }
}

/// The entries of each pack in file order, with the path of its index.
#[track_caller]
pub(crate) fn packs(repo: &Path) -> Vec<(PathBuf, Vec<PackEntry>)> {
    let entries = |index: PathBuf| {
        // It exits with 1 where an object is in the pack twice, and lists all entries nevertheless.
        let listing = git(repo, [OsStr::new("verify-pack"), OsStr::new("-v"), index.as_os_str()]).text();
        (index, listing.lines().filter_map(PackEntry::parse).collect())
    };
    pack_files(repo, "idx").into_iter().map(entries).collect()
}

/// The entries of all packs.
#[track_caller]
pub(crate) fn packed(repo: &Path) -> Vec<PackEntry> {
    packs(repo).into_iter().flat_map(|(_, entries)| entries).collect()
}

/// A line for each entry of each pack, in file order: id, kind, payload length, depth and base. Stored lengths and
/// offsets are left out, as a conversion may change them. The packs are sorted, since they are named by their content.
#[track_caller]
pub(crate) fn delta_structure(repo: &Path) -> Vec<String> {
    let line = |entry: &PackEntry| {
        format!("{} {} {} {} {}\n", entry.id, entry.kind, entry.payload_len, entry.depth, entry.base)
    };
    let mut packs: Vec<String> = packs(repo).iter().map(|(_, entries)| entries.iter().map(line).collect()).collect();
    packs.sort();
    packs
}

/// Adds to `repo` what a stream for `git fast-import` says.
#[track_caller]
pub(crate) fn fast_import(repo: &Path, stream: &str) {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(stream.as_bytes()).and_then(|()| file.rewind()).expect("the stream");
    let status = command(repo).args(["fast-import", "--quiet"]).stdin(file).status().expect("git");
    assert!(status.success(), "git fast-import: {status}");
}

/// The start of a commit on the branch `main` in such a stream.
pub(crate) fn stream_commit(unix_seconds: u32, message: &str) -> String {
    let committer = format!("A U Thor <author@example.org> {unix_seconds} +0000");
    format!("commit refs/heads/main\ncommitter {committer}\ndata {}\n{message}", message.len())
}

/// A file of the commit before it.
pub(crate) fn stream_file(path: &str, content: &str) -> String {
    format!("M 100644 inline {path}\ndata {}\n{content}\n", content.len())
}

/// What stock git reports when it reads all of a repository. It is equal for repositories with the same objects and
/// refs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    fsck: (Option<i32>, Vec<String>),
    index_pack: Vec<(Option<i32>, String)>,
    rev_list: Outcome,
    clone: (Option<i32>, Vec<String>, Option<(String, String)>),
}

/// Lets stock git read all of the repository; `scratch` is an empty folder for its output.
#[track_caller]
pub(crate) fn judge(repo: &Path, scratch: &Path) -> Judgement {
    let fsck = git(repo, ["fsck", "--full", "--strict"]);
    let mut index_pack: Vec<_> = pack_files(repo, "pack").iter().map(|pack| index_pack(repo, pack, scratch)).collect();
    index_pack.sort();
    let rev_list = git(repo, ["rev-list", "--objects", "--all"]);
    Judgement { fsck: (fsck.code, sorted_lines(&fsck)), index_pack, rev_list, clone: clone(repo, scratch) }
}

/// `git index-pack --strict` into a temporary index. Numbers in its messages are masked, as checksum and offsets may
/// change.
fn index_pack(repo: &Path, pack: &Path, scratch: &Path) -> (Option<i32>, String) {
    let index = scratch.join("index-pack.idx");
    let outcome = program::run(command(repo).args(["index-pack", "--strict", "-o"]).arg(&index).arg(pack));
    let _ = std::fs::remove_file(&index);
    let mut masked: Vec<char> = outcome.stderr.replace(|letter: char| letter.is_ascii_digit(), "#").chars().collect();
    masked.dedup_by(|second, first| (*first, *second) == ('#', '#'));
    (outcome.code, masked.into_iter().collect())
}

/// Clones through the pack protocol, so that every object is sent, checked and indexed.
fn clone(repo: &Path, scratch: &Path) -> (Option<i32>, Vec<String>, Option<(String, String)>) {
    let copy = scratch.join("clone");
    let outcome =
        program::run(command(scratch).args(["clone", "--quiet", "--mirror", "--no-local"]).arg(repo).arg(&copy));
    if outcome.code != Some(exit::OK) {
        // Both ends of the connection report errors, in no fixed order.
        return (outcome.code, Vec::new(), None);
    }
    let cloned = (refs(&copy), objects(&copy));
    std::fs::remove_dir_all(&copy).expect("the clone");
    (outcome.code, sorted_lines(&outcome), Some(cloned))
}

fn sorted_lines(outcome: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = outcome.text().lines().chain(outcome.stderr.lines()).map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Fails the test unless stock git stops before it reads any object, names our extension and does not report damage.
#[track_caller]
pub(crate) fn assert_refuses_plainly(repo: &Path) {
    for arguments in [&["rev-list", "--all"][..], &["fsck"], &["cat-file", "-e", "HEAD"]] {
        let outcome = git(repo, arguments);
        assert_eq!(outcome.code, Some(128), "git {arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("unknown repository extension found"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("repackbench"), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("corrupt"), "{}", outcome.stderr);
    }
}
