//! Questions to stock hg, in both versions that the tests use. Every answer is the output of hg.

pub(crate) mod extension;
pub(crate) mod open_revlog;
mod server;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::program::{self, Outcome, exit};

pub(crate) use server::HgServer;

/// The exit code of hg when it aborts.
const ABORTED: i32 = 255;

/// One of the versions that `cargo xtask test` installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// The newest version.
    V72,
    /// The version in Debian 12.
    V63,
}

/// Both versions, the newest first.
pub(crate) const VERSIONS: [Version; 2] = [Version::V72, Version::V63];

impl Version {
    /// The path of the program. Fails the test if it is unknown.
    #[track_caller]
    pub(crate) fn program(self) -> PathBuf {
        let variable = match self {
            Version::V72 => "REPACKBENCH_HG",
            Version::V63 => "REPACKBENCH_HG_63",
        };
        match std::env::var_os(variable) {
            Some(path) => PathBuf::from(path),
            None => panic!("{variable} is not set: run `cargo xtask test`, which installs hg and sets it"),
        }
    }
}

/// The installed releases, as hg reports them. They are asked once, as hg is slow to start.
#[track_caller]
pub(crate) fn releases() -> &'static [String; 2] {
    static RELEASES: OnceLock<[String; 2]> = OnceLock::new();
    let programs = VERSIONS.map(Version::program);
    RELEASES.get_or_init(|| {
        let ask = |program| {
            program::run(Command::new(program).env("HGRCPATH", "").env("HGPLAIN", "1").args(["version", "--quiet"]))
        };
        programs.map(|program| ask(program).exits(exit::OK).text())
    })
}

/// Stock hg in `repo`: only the configuration of the repository, no extension, a fixed user and date. hg may use Python
/// where it prefers Rust, and waits two seconds for a locked repository.
#[track_caller]
pub(crate) fn command(version: Version, repo: &Path) -> Command {
    let mut command = command_anywhere(version);
    command.arg("-R").arg(repo);
    command
}

/// Stock hg without a repository.
#[track_caller]
pub(crate) fn command_anywhere(version: Version) -> Command {
    let mut command = Command::new(version.program());
    program::isolate(&mut command);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HG") {
            command.env_remove(name);
        }
    }
    command
        .env_remove("PYTHONPATH")
        .env("LC_ALL", "C.UTF-8")
        .env("HGRCPATH", "")
        .env("HGPLAIN", "1")
        .env("HGUSER", "A U Thor <author@example.com>");
    for setting in [
        "devel.default-date=1600000000 0",
        "storage.all-slow-path=allow",
        "storage.revlog.persistent-nodemap.slow-path=allow",
        "storage.dirstate-v2.slow-path=allow",
        "ui.timeout=2",
    ] {
        command.args(["--config", setting]);
    }
    command
}

/// Runs hg, which may fail.
#[track_caller]
pub(crate) fn hg<I: AsRef<OsStr>>(version: Version, repo: &Path, arguments: impl IntoIterator<Item = I>) -> Outcome {
    let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
    if loads_extensions(repo, &arguments) {
        return program::run(command(version, repo).args(arguments));
    }
    server::ask(version, [OsString::from("-R"), repo.into()].into_iter().chain(arguments))
}

/// Whether hg loads extensions for these arguments or for `repo`, whose configuration or requirements name them. A
/// server would keep the changes that they make.
fn loads_extensions<I: AsRef<OsStr>>(repo: &Path, arguments: &[I]) -> bool {
    let configured = std::fs::read(repo.join(".hg/hgrc")).unwrap_or_default();
    let mut texts = arguments.iter().map(|argument| argument.as_ref().as_bytes()).chain([configured.as_slice()]);
    let required = [".hg/requires", ".hg/store/requires"].map(|file| std::fs::read_to_string(repo.join(file)));
    let mut required = required.iter().flatten().flat_map(|text| text.lines());
    texts.any(|text| text.windows(10).any(|found| found == b"extensions"))
        || required.any(|name| ["largefiles", "lfs", "narrowhg-experimental"].contains(&name))
}

/// Runs the newest hg and returns its standard output; fails the test when hg fails.
#[track_caller]
pub(crate) fn output<I: AsRef<OsStr>>(repo: &Path, arguments: impl IntoIterator<Item = I>) -> Vec<u8> {
    hg(Version::V72, repo, arguments).exits(exit::OK).stdout
}

/// The exit code and sorted output of `hg verify`, equal for repositories with the same content.
#[track_caller]
pub(crate) fn verify(version: Version, repo: &Path) -> (Option<i32>, Vec<String>) {
    let outcome = hg(version, repo, ["verify"]);
    let mut lines: Vec<String> = outcome.text().lines().chain(outcome.stderr.lines()).map(str::to_owned).collect();
    lines.sort();
    (outcome.code, lines)
}

/// The requirements of work tree and store, as hg reports them.
#[track_caller]
pub(crate) fn requirements(repo: &Path) -> Vec<String> {
    let listed = output(repo, ["debugrequirements"]);
    String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect()
}

/// The template of a changeset: revision, node, parents, branch, phase, bookmarks and tags.
pub(crate) const CHANGESET: &str = "{rev} {node} {p1node} {p2node} {branch} {phase} {bookmarks} {tags}\n";

/// Every changeset, hidden ones too.
#[track_caller]
pub(crate) fn changesets(repo: &Path) -> String {
    String::from_utf8_lossy(&output(repo, ["log", "--hidden", "-r", "all()", "-T", CHANGESET])).into_owned()
}

/// Writes a revision's files, links and executable bits into `folder`, which must not exist.
#[track_caller]
pub(crate) fn archive(version: Version, repo: &Path, revision: &str, folder: &Path) {
    // Without this, hg adds a file about the origin of the others.
    let options = ["--config", "ui.archivemeta=no", "archive", "--type", "files", "-r", revision];
    hg(version, repo, options.into_iter().map(OsStr::new).chain([folder.as_os_str()])).exits(exit::OK);
}

/// A revlog, as hg's debug commands name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Revlog {
    /// The changelog.
    Changelog,
    /// The manifest of the root.
    Manifest,
    /// The manifest of a folder, under treemanifest; the name ends in a slash.
    FolderManifest(OsString),
    /// The filelog of a tracked file.
    Filelog(OsString),
}

impl Revlog {
    /// The arguments that name the revlog.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        match self {
            Revlog::Changelog => vec!["-c".into()],
            Revlog::Manifest => vec!["-m".into()],
            Revlog::FolderManifest(folder) => vec!["--dir".into(), folder.clone()],
            Revlog::Filelog(path) => vec!["--".into(), path.clone()],
        }
    }
}

/// A revision in the index of a revlog, as hg reports it. Offset and stored length are left out, as a conversion may
/// change them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) link: i64,
    pub(crate) node: String,
    pub(crate) parents: [i64; 2],
    pub(crate) length: i64,
    pub(crate) base: i64,
    pub(crate) flags: i64,
}

/// Every tracked file of any revision.
#[track_caller]
pub(crate) fn files(repo: &Path) -> Vec<OsString> {
    let listed = output(repo, ["manifest", "--all"]);
    // No name can hold a newline.
    listed
        .split(|byte| *byte == b'\n')
        .filter(|name| !name.is_empty())
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect()
}

/// Every revlog of the store.
#[track_caller]
pub(crate) fn revlogs(repo: &Path) -> Vec<Revlog> {
    let files = files(repo);
    let mut folders: Vec<OsString> = Vec::new();
    if requirements(repo).iter().any(|requirement| requirement == "treemanifest") {
        let parents = files.iter().flat_map(|file| Path::new(file).ancestors().skip(1));
        folders =
            parents.filter(|folder| !folder.as_os_str().is_empty()).map(|folder| folder.join("").into()).collect();
        folders.sort();
        folders.dedup();
    }
    let roots = [Revlog::Changelog, Revlog::Manifest].into_iter();
    roots.chain(folders.into_iter().map(Revlog::FolderManifest)).chain(files.into_iter().map(Revlog::Filelog)).collect()
}

/// Parses the output of `debugindex --debug`.
#[track_caller]
pub(crate) fn parse_index(listing: &str) -> Vec<Revision> {
    listing.lines().skip(1).map(parse_revision).collect()
}

/// `rev rank linkrev nodeid p1-rev p1-nodeid p2-rev p2-nodeid full-size delta-base flags comp-mode data-offset
/// chunk-size ...`
fn parse_revision(line: &str) -> Revision {
    let columns: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, _, link, node, p1, _, p2, _, length, base, flags, ..] = columns.as_slice() else {
        panic!("not a line of an index: {line}");
    };
    let number = |column: &str| column.parse().unwrap_or_else(|_| panic!("{column} is no number: {line}"));
    Revision {
        link: number(link),
        node: (*node).to_owned(),
        parents: [number(p1), number(p2)],
        length: number(length),
        base: number(base),
        flags: number(flags),
    }
}

/// Fails the test unless hg stops before it reads anything, names the requirement and does not report damage.
#[track_caller]
pub(crate) fn assert_refuses_plainly(version: Version, repo: &Path, requirement: &str) {
    for arguments in [&["log"][..], &["verify"], &["update", "tip"]] {
        let outcome = hg(version, repo, arguments);
        assert_eq!(outcome.code, Some(ABORTED), "{version:?} {arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("requires features unknown to this Mercurial"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(requirement), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("corrupt"), "{}", outcome.stderr);
    }
}
