//! Questions to stock hg, in the two versions that the program is held against. Every answer is hg's own output.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::fixture::Fixture;
use super::hg_server;
use super::program::{self, Outcome, exit};

/// What hg exits with when it refuses.
const ABORTED: i32 = 255;

/// One of the versions that `cargo xtask test` installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// The newest.
    V72,
    /// Debian 12's.
    V63,
}

/// Both, the newest first.
pub(crate) const VERSIONS: [Version; 2] = [Version::V72, Version::V63];

impl Version {
    /// The program. Fails the test where it is not known: a test that hg cannot judge must not pass.
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

/// The releases that are installed, in hg's words; asked once, as starting hg takes a while.
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

/// Stock hg in `repo`: no configuration but the repository's own, no extension, a fixed user and date. What hg would rather do in
/// Rust it may do in Python, and a locked repository is not waited for.
#[track_caller]
pub(crate) fn command(version: Version, repo: &Path) -> Command {
    let mut command = command_anywhere(version);
    command.arg("-R").arg(repo);
    command
}

/// The same in no repository.
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

/// Runs hg, whatever comes of it.
#[track_caller]
pub(crate) fn hg<I: AsRef<OsStr>>(version: Version, repo: &Path, arguments: impl IntoIterator<Item = I>) -> Outcome {
    let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
    // A server would keep what an extension changes of hg.
    let configured = std::fs::read(repo.join(".hg/hgrc")).unwrap_or_default();
    let texts = arguments.iter().map(|argument| argument.as_bytes()).chain([configured.as_slice()]);
    if texts.into_iter().any(|text| text.windows(10).any(|found| found == b"extensions")) {
        return program::run(command(version, repo).args(arguments));
    }
    hg_server::ask(version, [OsString::from("-R"), repo.into()].into_iter().chain(arguments))
}

/// Runs the newest hg and returns its standard output; fails the test when hg fails.
#[track_caller]
pub(crate) fn output<I: AsRef<OsStr>>(repo: &Path, arguments: impl IntoIterator<Item = I>) -> Vec<u8> {
    hg(Version::V72, repo, arguments).exits(exit::OK).stdout
}

/// What `hg verify` says: exit code, then every line it printed, sorted. Two repositories with the same content agree.
#[track_caller]
pub(crate) fn verify(version: Version, repo: &Path) -> (Option<i32>, Vec<String>) {
    let outcome = hg(version, repo, ["verify"]);
    let mut lines: Vec<String> = outcome.text().lines().chain(outcome.stderr.lines()).map(str::to_owned).collect();
    lines.sort();
    (outcome.code, lines)
}

/// The requirements that hg sees, of work tree and store.
#[track_caller]
pub(crate) fn requirements(repo: &Path) -> Vec<String> {
    let listed = output(repo, ["debugrequirements"]);
    String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect()
}

/// What is told of a changeset: revision, node, parents, branch, phase, bookmarks and tags.
pub(crate) const CHANGESET: &str = "{rev} {node} {p1node} {p2node} {branch} {phase} {bookmarks} {tags}\n";

/// Every changeset, hidden ones too.
#[track_caller]
pub(crate) fn changesets(repo: &Path) -> String {
    String::from_utf8_lossy(&output(repo, ["log", "--hidden", "-r", "all()", "-T", CHANGESET])).into_owned()
}

/// Writes a revision's files, links and executable bits into `folder`, which must not exist.
#[track_caller]
pub(crate) fn archive(version: Version, repo: &Path, revision: &str, folder: &Path) {
    // Without this hg adds a file that says where the others are from.
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
    /// A tracked file's.
    Filelog(OsString),
}

impl Revlog {
    /// Options that come before, and the file that comes after.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        match self {
            Revlog::Changelog => vec!["-c".into()],
            Revlog::Manifest => vec!["-m".into()],
            Revlog::FolderManifest(folder) => vec!["--dir".into(), folder.clone()],
            Revlog::Filelog(path) => vec!["--".into(), path.clone()],
        }
    }
}

/// One revision of a revlog's index, as hg reports it. Offset and stored length are left out: a conversion may change them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) link: i64,
    pub(crate) node: String,
    pub(crate) parents: [i64; 2],
    pub(crate) length: i64,
    pub(crate) base: i64,
    pub(crate) flags: i64,
}

/// Every tracked file that the store knows, of any revision.
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

/// What `debugindex --debug` printed.
#[track_caller]
pub(crate) fn parse_index(listing: &str) -> Vec<Revision> {
    listing.lines().skip(1).map(parse_revision).collect()
}

/// `rev rank linkrev nodeid p1-rev p1-nodeid p2-rev p2-nodeid full-size delta-base flags comp-mode data-offset chunk-size ...`
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

/// Fails the test unless this hg stops before it reads anything, names the requirement and does not speak of damage.
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

/// The fixtures are what they claim to be: in hg's judgement, before ours is asked.
mod fixtures {
    use super::super::fixture::{HG_CONVERTIBLE, HG_NOT_FOR_6_3, HG_REFUSED};
    use super::super::hg_server::HgServer;
    use super::super::{Scratch, snapshot};
    use super::*;

    /// The versions that read the fixture.
    fn readers(name: &str) -> &'static [Version] {
        if HG_NOT_FOR_6_3.contains(&name) { &VERSIONS[..1] } else { &VERSIONS }
    }

    #[test]
    fn hg_finds_nothing_wrong_with_what_must_convert() {
        for name in HG_CONVERTIBLE {
            let scratch = Scratch::new();
            let repo = Fixture::hg_copy(name, &scratch).repo();
            let judged: Vec<_> = readers(name).iter().map(|version| verify(*version, &repo)).collect();
            for (code, lines) in &judged {
                // A censored revision is an error in hg's own eyes.
                assert_eq!(*code, Some(i32::from(*name == "censored")), "{name}: {lines:#?}");
            }
            assert_eq!(changesets(&repo).is_empty(), *name == "empty", "{name}");
        }
    }

    #[test]
    fn hg_6_3_refuses_the_layouts_that_came_after_it() {
        for (name, requirement) in HG_NOT_FOR_6_3.iter().zip(["delta-info-revlog", "fileindex-v1"]) {
            let scratch = Scratch::new();
            let repo = Fixture::hg_copy(name, &scratch).repo();
            assert!(requirements(&repo).iter().any(|found| found == requirement), "{name}");
            assert_refuses_plainly(Version::V63, &repo, requirement);
        }
    }

    #[test]
    fn what_must_be_refused_is_made() {
        for name in HG_REFUSED {
            let repo = Fixture::hg(name).repo();
            assert!(repo.join(".hg").is_dir(), "{name}");
        }
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy("unknown-requirement", &scratch).repo();
        for version in VERSIONS {
            assert_refuses_plainly(version, &repo, "time-travel");
        }
    }

    #[test]
    fn both_versions_read_the_same_indexes_texts_and_files() {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy("treemanifest", &scratch).repo();
        let revlogs = revlogs(&repo);
        assert!(revlogs.contains(&Revlog::FolderManifest("part1/".into())), "{revlogs:?}");
        let mut servers = VERSIONS.map(|version| HgServer::start(version, &repo));
        for revlog in revlogs {
            let [newest, older] = servers.each_mut().map(|hg| hg.index(&revlog));
            assert!(!newest.is_empty(), "{revlog:?}");
            assert_eq!(newest, older, "{revlog:?}");
            let [newest, older] = servers.each_mut().map(|hg| hg.data(&revlog, 0));
            assert_eq!((newest.code, older.code), (Some(exit::OK), Some(exit::OK)), "{}", newest.stderr);
            assert!(newest.stdout == older.stdout, "{revlog:?}");
        }
        let folders = VERSIONS.map(|version| {
            let folder = scratch.join(&format!("{version:?}"));
            archive(version, &repo, "tip", &folder);
            snapshot::content(&folder)
        });
        assert!(folders[0].len() > 5);
        snapshot::assert_same(&folders[0], &folders[1]);
    }
}
