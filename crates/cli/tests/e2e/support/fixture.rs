//! The fixture repositories: made once by their scripts, and kept under cargo's folder for tests until a script
//! changes.
//!
//! All tests share them, so they are read-only. `cargo xtask test` drops the capability of root to write to them all
//! the same, and makes them writable at the end, since otherwise cargo could not remove them.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Scratch, git, hg, program};

/// The fixtures that must convert.
pub(crate) const CONVERTIBLE: &[&str] = &[
    "alternates",
    "bare",
    "content",
    "cruft",
    "derived-files",
    "detached-head",
    "duplicate-base",
    "duplicates",
    "empty",
    "grafts",
    "history",
    "index-64-bit",
    "index-v1",
    "keep",
    "large-blob",
    "linked-work-tree",
    "no-config",
    "pack-v3",
    "padded-sizes",
    "partial-clone",
    "partial-clone-bare",
    "ref-delta",
    "refs",
    "reftable",
    "reftable-linked-work-tree",
    "reftable-sha256",
    "reftable-work-tree",
    "replace",
    "reverse-index",
    "sha256",
    "shallow",
    "submodule",
    "work-tree",
    "worktree-config",
];

/// The fixtures that must be rejected by name.
pub(crate) const REFUSED: &[&str] = &["outside-base", "unknown-extension"];

/// The Mercurial fixtures that must convert.
pub(crate) const HG_CONVERTIBLE: &[&str] = &[
    "archived-phase",
    "63-default",
    "63-zlib",
    "bookmarks-in-store",
    "branches",
    "censored",
    "chains",
    "content",
    "default",
    "delta-info",
    "dirstate-v2",
    "empty",
    "evolution",
    "fileindex",
    "history",
    "inline-large",
    "internal-phase",
    "largefiles",
    "lfs",
    "mixed-engines",
    "names",
    "no-dotencode",
    "no-fncache",
    "no-generaldelta",
    "no-share-safe",
    "no-sparse-revlog",
    "persistent-nodemap",
    "treemanifest",
    "uncompressed",
    "zlib",
];

/// Those of them that hg 6.3 cannot read.
pub(crate) const HG_NOT_FOR_6_3: &[&str] = &["delta-info", "fileindex"];

/// The Mercurial fixtures whose store is in another repository.
pub(crate) const HG_SHARES: &[&str] = &["share", "share-old", "share-relative"];

/// The one that hg reads only with its own extension for narrow clones.
pub(crate) const HG_NARROW: &str = "narrow";

/// The Mercurial fixtures that must be rejected by name.
pub(crate) const HG_REFUSED: &[&str] = &[
    "changelog-v2",
    "copies-sidedata",
    "journal",
    "locked",
    "no-store",
    "plain-encoding",
    "revlog-v0",
    "revlog-v2",
    "unknown-requirement",
];

/// A repository made by `fixtures/git-NAME.sh` or `fixtures/hg-NAME.sh`.
pub(crate) struct Fixture {
    /// The folder the script filled.
    pub(crate) folder: PathBuf,
}

impl Fixture {
    /// The Git fixture of this name, which all tests share.
    pub(crate) fn get(name: &str) -> Self {
        Self::made_by(&format!("git-{name}"))
    }

    /// The Mercurial fixture of this name, which all tests share. To run hg on it, copy it: `hg verify` and some
    /// reading commands take a lock, which they cannot do here.
    #[track_caller]
    pub(crate) fn hg(name: &str) -> Self {
        Self::made_by(&format!("hg-{name}"))
    }

    /// A copy in `scratch` of the Mercurial fixture, which hg may read and the test may change. A share names its other
    /// repository by an absolute path, so its copy shares the same one.
    #[track_caller]
    pub(crate) fn hg_copy(name: &str, scratch: &Scratch) -> Self {
        Self::hg(name).unpacked(scratch)
    }

    #[track_caller]
    fn made_by(stem: &str) -> Self {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures").join(format!("{:016x}", recipe(stem)));
        let (folder, done) = (kept.join(stem), kept.join(format!("{stem}.done")));
        fs::create_dir_all(&kept).expect("the folder of fixtures");
        // The lock belongs to this open file, and holds across threads and processes.
        let lock = File::create(kept.join(format!("{stem}.lock"))).expect("a lock file");
        lock.lock().expect("the fixture's lock");
        if !done.exists() || !archive(&folder).exists() {
            if folder.exists() {
                change_modes("u+w", &folder);
                fs::remove_dir_all(&folder).expect("to remove an unfinished fixture");
            }
            make(stem, &folder);
            pack(&folder);
            File::create(&done).expect("a marker");
        }
        if !fs::metadata(&folder).expect("the fixture").permissions().readonly() {
            change_modes("a-w", &folder);
        }
        Fixture { folder }
    }

    /// A copy in `scratch` of the Git fixture, which the test may change. The files of the fixture must not name its
    /// absolute path.
    pub(crate) fn copy(name: &str, scratch: &Scratch) -> Self {
        Self::get(name).copied(name, scratch)
    }

    fn copied(self, name: &str, scratch: &Scratch) -> Self {
        let kept = self.folder.to_string_lossy().into_owned();
        let copy = self.unpacked(scratch);
        let found = program::run(Command::new("grep").args(["-r", "-F", "-q", "-e", &kept]).arg(&copy.folder));
        assert_eq!(found.code, Some(1), "{name} names its own folder: it cannot be copied");
        copy
    }

    /// Unpacks the fixture in `scratch`, as the script left it.
    fn unpacked(self, scratch: &Scratch) -> Self {
        let folder = scratch.join("fixture");
        fs::create_dir(&folder).expect("a folder of its own");
        let mut unpack = Command::new("tar");
        unpack.arg("--extract").arg("--file").arg(archive(&self.folder)).arg("--directory").arg(&folder);
        program::run(unpack.arg("--preserve-permissions")).exits(program::exit::OK);
        Fixture { folder }
    }

    /// The path of the repository.
    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.join("repo")
    }

    /// The text of a file that the script left beside the repository, trimmed.
    pub(crate) fn note(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("a note of the fixture").trim().to_owned()
    }
}

/// The message of a commit and the content of its file. They differ in a number, and are otherwise alike: something to
/// train on.
pub(crate) fn module(number: u32) -> (String, String) {
    let noise = number.wrapping_mul(2_654_435_761);
    (
        format!("module {noise:08x}: handle the case of {number}\n\nReviewed-by: A U Thor\n"),
        format!("name = {noise:x}\ndescription = what module {number} is for\nlicence = MIT\n"),
    )
}

/// The date of the commit with that number, in seconds since 1970.
pub(crate) fn module_date(number: u32) -> u32 {
    1_500_000_000 + number * 1000
}

/// Makes a repository with more to train dictionaries on than the fixtures have: one pack of `commits` commits, each of
/// which writes one of four files.
#[track_caller]
pub(crate) fn modules(repo: &Path, commits: u32) {
    fs::create_dir_all(repo).expect("a folder");
    git::output(repo, ["init", "--quiet"]);
    let mut stream = String::new();
    for number in 0..commits {
        let (message, content) = module(number);
        stream.push_str(&git::stream_commit(module_date(number), &message));
        stream.push_str(&git::stream_file(&format!("modules/{}", number % 4), &content));
    }
    git::fast_import(repo, &stream);
}

/// The folder that holds the scripts.
pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn make(stem: &str, folder: &Path) {
    let outcome = program::run(Command::new("bash").arg(scripts().join(format!("{stem}.sh"))).arg(folder));
    assert_eq!(outcome.code, Some(0), "{stem}.sh:\n{}\n{}", outcome.text(), outcome.stderr);
}

/// The archive of the fixture in `folder` that copies are made from, with the permissions that the script set.
fn archive(folder: &Path) -> PathBuf {
    folder.with_extension("tar")
}

fn pack(folder: &Path) {
    let mut pack = Command::new("tar");
    pack.arg("--create").arg("--file").arg(archive(folder)).arg("--directory").arg(folder).arg(".");
    program::run(&mut pack).exits(program::exit::OK);
}

/// Changes the permissions of `folder` and everything below it.
fn change_modes(how: &str, folder: &Path) {
    program::run(Command::new("chmod").args(["-R", how]).arg(folder)).exits(program::exit::OK);
}

/// A hash of everything that the fixture depends on: the scripts and the git or hg that runs them.
#[track_caller]
fn recipe(stem: &str) -> u64 {
    let script = format!("{stem}.sh");
    let mut hasher = DefaultHasher::new();
    let files: &[&str] = if stem.starts_with("hg-") {
        hg::releases().hash(&mut hasher);
        &["lib.sh", "gitconfig", "hg_lib.sh", "hg_fixture.py", "git-history.sh"]
    } else {
        program::run(Command::new("git").arg("--version")).stdout.hash(&mut hasher);
        &["lib.sh", "gitconfig", "pack_builder.py", "git-work-tree.sh"]
    };
    for file in files.iter().copied().chain([script.as_str()]) {
        fs::read(scripts().join(file)).unwrap_or_else(|error| panic!("{file}: {error}")).hash(&mut hasher);
    }
    hasher.finish()
}

#[test]
fn every_script_is_listed() {
    let hg_convertible = [HG_CONVERTIBLE, HG_SHARES, &[HG_NARROW]].concat();
    for (prefix, convertible, refused) in [("git-", CONVERTIBLE, REFUSED), ("hg-", &hg_convertible[..], HG_REFUSED)] {
        let mut made: Vec<String> = fs::read_dir(scripts())
            .expect("the fixtures")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter_map(|name| Some(name.strip_prefix(prefix)?.strip_suffix(".sh")?.to_owned()))
            .collect();
        made.sort();
        let mut listed: Vec<&str> = convertible.iter().chain(refused).copied().collect();
        listed.sort_unstable();
        assert_eq!(made, listed, "{prefix}");
    }
}
