//! The fixture repositories: made once by their scripts, kept under cargo's folder for tests until a script changes.
//!
//! All tests read the same ones, which therefore nobody may write to: their permissions say so. `cargo xtask test` takes from root the
//! power to write all the same, and makes them writable in the end, since cargo could not remove them otherwise.

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
    "replace",
    "reverse-index",
    "sha256",
    "shallow",
    "submodule",
    "work-tree",
    "worktree-config",
];

/// The fixtures that must be refused by name.
pub(crate) const REFUSED: &[&str] = &["outside-base", "reftable", "unknown-extension"];

/// The fixtures of Mercurial that must convert.
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

/// The fixtures of Mercurial that must be refused by name.
pub(crate) const HG_REFUSED: &[&str] = &[
    "changelog-v2",
    "copies-sidedata",
    "journal",
    "locked",
    "narrow",
    "no-store",
    "plain-encoding",
    "revlog-v0",
    "revlog-v2",
    "share",
    "share-relative",
    "unknown-requirement",
];

/// A repository made by `fixtures/git-NAME.sh` or `fixtures/hg-NAME.sh`.
pub(crate) struct Fixture {
    /// The folder the script filled.
    pub(crate) folder: PathBuf,
}

impl Fixture {
    /// The Git fixture of that name, which all tests share.
    pub(crate) fn get(name: &str) -> Self {
        Self::made_by(&format!("git-{name}"))
    }

    /// The Mercurial fixture of that name, which all tests share. `hg verify` and some reading commands hold a lock for a moment, which
    /// they cannot make there: to run hg on it, copy it.
    #[track_caller]
    pub(crate) fn hg(name: &str) -> Self {
        Self::made_by(&format!("hg-{name}"))
    }

    /// A copy in `scratch` of the Mercurial fixture that hg may be run on and the test may change. A share names its other
    /// repository by an absolute path, and stays one.
    #[track_caller]
    pub(crate) fn hg_copy(name: &str, scratch: &Scratch) -> Self {
        Self::hg(name).unpacked(scratch)
    }

    #[track_caller]
    fn made_by(stem: &str) -> Self {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures").join(format!("{:016x}", recipe(stem)));
        let (folder, done) = (kept.join(stem), kept.join(format!("{stem}.done")));
        fs::create_dir_all(&kept).expect("the folder of fixtures");
        // Held across threads and processes: the lock belongs to this open file.
        let lock = File::create(kept.join(format!("{stem}.lock"))).expect("a lock file");
        lock.lock().expect("the fixture's lock");
        if !done.exists() || !archive(&folder).exists() {
            if folder.exists() {
                change_modes("u+w", &folder);
                fs::remove_dir_all(&folder).expect("to remove what is unfinished");
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

    /// A copy in `scratch` of the Git fixture that the test may change. Only for fixtures whose files name no absolute path.
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

    /// The fixture as the script left it, in `scratch`.
    fn unpacked(self, scratch: &Scratch) -> Self {
        let folder = scratch.join("fixture");
        fs::create_dir(&folder).expect("a folder of its own");
        let mut unpack = Command::new("tar");
        unpack.arg("--extract").arg("--file").arg(archive(&self.folder)).arg("--directory").arg(&folder);
        program::run(unpack.arg("--preserve-permissions")).exits(program::exit::OK);
        Fixture { folder }
    }

    /// The repository, as a user would name it.
    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.join("repo")
    }

    /// A file that the script left beside the repository, without surrounding space.
    pub(crate) fn note(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("a note of the fixture").trim().to_owned()
    }
}

/// Makes a repository with more to train dictionaries on than the fixtures have: one pack of `commits` commits, each of which writes
/// one of four files.
#[track_caller]
pub(crate) fn modules(repo: &Path, commits: u32) {
    fs::create_dir_all(repo).expect("a folder");
    git::output(repo, ["init", "--quiet"]);
    let mut stream = String::new();
    for number in 0..commits {
        let noise = number.wrapping_mul(2_654_435_761);
        let message = format!("module {noise:08x}: handle the case of {number}\n\nReviewed-by: A U Thor\n");
        let content = format!("name = {noise:x}\ndescription = what module {number} is for\nlicence = MIT\n");
        stream.push_str(&format!(
            "commit refs/heads/main\ncommitter A U Thor <author@example.org> {} +0000\ndata {}\n{message}",
            1_500_000_000 + number * 1000,
            message.len()
        ));
        stream.push_str(&format!("M 100644 inline modules/{}\ndata {}\n{content}\n", number % 4, content.len()));
    }
    let file = repo.join(".git/stream");
    fs::write(&file, stream).expect("the stream");
    let stream = File::open(&file).expect("the stream");
    let import = git::command(repo).args(["fast-import", "--quiet"]).stdin(stream).status().expect("git");
    assert!(import.success());
    fs::remove_file(&file).expect("the stream");
}

/// The folder that holds the scripts.
pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn make(stem: &str, folder: &Path) {
    let outcome = program::run(Command::new("bash").arg(scripts().join(format!("{stem}.sh"))).arg(folder));
    assert_eq!(outcome.code, Some(0), "{stem}.sh:\n{}\n{}", outcome.text(), outcome.stderr);
}

/// The archive that copies of the fixture in `folder` are made from: with the permissions that the script gave.
fn archive(folder: &Path) -> PathBuf {
    folder.with_extension("tar")
}

fn pack(folder: &Path) {
    let mut pack = Command::new("tar");
    pack.arg("--create").arg("--file").arg(archive(folder)).arg("--directory").arg(folder).arg(".");
    program::run(&mut pack).exits(program::exit::OK);
}

/// Changes the permissions of all files and folders below `folder`, and its own.
fn change_modes(how: &str, folder: &Path) {
    program::run(Command::new("chmod").args(["-R", how]).arg(folder)).exits(program::exit::OK);
}

/// Changes whenever the fixture would: the scripts it is made by, and the git or hg that runs them.
#[track_caller]
fn recipe(stem: &str) -> u64 {
    let script = format!("{stem}.sh");
    let mut hasher = DefaultHasher::new();
    let files: &[&str] = if stem.starts_with("hg-") {
        hg::releases().hash(&mut hasher);
        &["lib.sh", "gitconfig", "hg_lib.sh", "hg_fixture.py", "git-history.sh"]
    } else {
        program::run(Command::new("git").arg("--version")).stdout.hash(&mut hasher);
        &["lib.sh", "gitconfig", "pack_builder.py"]
    };
    for file in files.iter().copied().chain([script.as_str()]) {
        fs::read(scripts().join(file)).unwrap_or_else(|error| panic!("{file}: {error}")).hash(&mut hasher);
    }
    hasher.finish()
}

#[test]
fn every_script_is_tested() {
    for (prefix, convertible, refused) in [("git-", CONVERTIBLE, REFUSED), ("hg-", HG_CONVERTIBLE, HG_REFUSED)] {
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
