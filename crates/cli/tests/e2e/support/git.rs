//! Questions to stock git. Every answer is git's own output; nothing here interprets a repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::{self, Outcome};
use super::{fixture, program::exit};

/// Stock git in `repo`, with the configuration the fixtures were made under, and forbidden to fetch.
pub(crate) fn command(repo: &Path) -> Command {
    let mut command = Command::new("git");
    program::isolate(&mut command);
    pin(&mut command);
    command.arg("-C").arg(repo);
    command
}

/// Pins what git heeds, for any command that runs it.
pub(crate) fn pin(command: &mut Command) {
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", fixture::scripts().join("gitconfig"))
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
}

/// Runs git, whatever comes of it.
#[track_caller]
pub(crate) fn git<I: AsRef<OsStr>>(repo: &Path, arguments: impl IntoIterator<Item = I>) -> Outcome {
    program::run(command(repo).args(arguments))
}

/// Runs git and returns its standard output; fails the test when git fails.
#[track_caller]
pub(crate) fn output<I: AsRef<OsStr>>(repo: &Path, arguments: impl IntoIterator<Item = I>) -> String {
    git(repo, arguments).exits(exit::OK).text()
}

/// The absolute path of a file or folder inside the repository, wherever git keeps it.
#[track_caller]
pub(crate) fn path(repo: &Path, inside: &str) -> PathBuf {
    PathBuf::from(output(repo, ["rev-parse", "--path-format=absolute", "--git-path", inside]).trim_end_matches('\n'))
}

/// The object folders: the repository's own first, then its alternates as git follows them.
#[track_caller]
pub(crate) fn object_folders(repo: &Path) -> Vec<PathBuf> {
    let mut folders = vec![path(repo, "objects")];
    let counts = output(repo, ["count-objects", "-v"]);
    folders.extend(counts.lines().filter_map(|line| line.strip_prefix("alternate: ")).map(PathBuf::from));
    folders
}

/// Files of the pack folders, alternates' included, that end in `.extension`, sorted.
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

/// Every ref with what it names and, for symbolic refs, the name; then HEAD.
#[track_caller]
pub(crate) fn refs(repo: &Path) -> String {
    let listed = output(repo, ["for-each-ref", "--format=%(objectname) %(refname) %(symref)"]);
    let symbolic = git(repo, ["symbolic-ref", "--quiet", "HEAD"]).text();
    let resolved = git(repo, ["rev-parse", "--quiet", "--verify", "HEAD"]).text();
    format!("{listed}HEAD {symbolic}{resolved}")
}

/// Every stored object with kind and size, sorted by id; unreachable ones too, alternates included, replacements not followed.
#[track_caller]
pub(crate) fn objects(repo: &Path) -> String {
    output(repo, ["--no-replace-objects", "cat-file", "--batch-all-objects", "--batch-check"])
}

/// Each pack as `git verify-pack -v` sees it, entries in file order with id, kind, payload length, depth and base. Stored lengths and
/// offsets are left out: they are what a conversion may change. Sorted, since packs are named by their content.
#[track_caller]
pub(crate) fn delta_structure(repo: &Path) -> Vec<String> {
    let mut packs: Vec<String> = pack_files(repo, "idx")
        .iter()
        .map(|index| {
            let listing = git(repo, [OsStr::new("verify-pack"), OsStr::new("-v"), index.as_os_str()]).text();
            let entries = listing.lines().filter_map(|line| {
                let columns: Vec<&str> = line.split_ascii_whitespace().collect();
                let [id, kind, size, _stored, _offset, delta @ ..] = columns.as_slice() else { return None };
                (id.len() >= 40).then(|| format!("{id} {kind} {size} {}\n", delta.join(" ")))
            });
            entries.collect()
        })
        .collect();
    packs.sort();
    packs
}

/// What stock git says about a repository when it reads all of it. Two repositories with the same objects and refs agree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    fsck: (Option<i32>, Vec<String>),
    index_pack: Vec<(Option<i32>, String)>,
    rev_list: Outcome,
    clone: (Option<i32>, Vec<String>, Option<(String, String)>),
}

/// Lets stock git judge the repository; `scratch` is an empty folder for its output.
#[track_caller]
pub(crate) fn judge(repo: &Path, scratch: &Path) -> Judgement {
    let fsck = git(repo, ["fsck", "--full", "--strict"]);
    let mut index_pack: Vec<_> = pack_files(repo, "pack").iter().map(|pack| index_pack(repo, pack, scratch)).collect();
    index_pack.sort();
    let rev_list = git(repo, ["rev-list", "--objects", "--all"]);
    Judgement { fsck: (fsck.code, sorted_lines(&fsck)), index_pack, rev_list, clone: clone(repo, scratch) }
}

/// `git index-pack --strict` into a throw-away index. Its answer holds the pack's checksum and offsets, which may change.
fn index_pack(repo: &Path, pack: &Path, scratch: &Path) -> (Option<i32>, String) {
    let index = scratch.join("index-pack.idx");
    let outcome = program::run(command(repo).args(["index-pack", "--strict", "-o"]).arg(&index).arg(pack));
    let _ = std::fs::remove_file(&index);
    let mut masked: Vec<char> = outcome.stderr.replace(|letter: char| letter.is_ascii_digit(), "#").chars().collect();
    masked.dedup_by(|second, first| (*first, *second) == ('#', '#'));
    (outcome.code, masked.into_iter().collect())
}

/// Clones through the pack protocol, so that every object is sent, checked and indexed anew.
fn clone(repo: &Path, scratch: &Path) -> (Option<i32>, Vec<String>, Option<(String, String)>) {
    let copy = scratch.join("clone");
    let outcome =
        program::run(command(scratch).args(["clone", "--quiet", "--mirror", "--no-local"]).arg(repo).arg(&copy));
    if outcome.code != Some(exit::OK) {
        // Both ends of the connection complain, in no fixed order.
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

/// Fails the test unless stock git stops before it reads any object, names our extension and does not speak of damage.
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
