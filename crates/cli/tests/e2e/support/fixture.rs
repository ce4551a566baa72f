//! The fixture repositories: made once by their scripts, kept under cargo's folder for tests until a script changes.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Scratch, hg, program};

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
    /// The Git fixture of that name, shared by all tests: nothing may write to it.
    pub(crate) fn get(name: &str) -> Self {
        Self::made_by(&format!("git-{name}"))
    }

    /// The Mercurial fixture of that name, shared by all tests: nothing may write to it, not even a lock, which `hg verify` and some
    /// reading commands hold for a moment. To run hg on it, copy it: [`Fixture::is_shared`] is refused by what runs hg.
    #[track_caller]
    pub(crate) fn hg(name: &str) -> Self {
        Self::made_by(&format!("hg-{name}"))
    }

    /// A copy in `scratch` of the Mercurial fixture that hg may be run on and the test may change. A share names its other
    /// repository by an absolute path, and stays one.
    #[track_caller]
    pub(crate) fn hg_copy(name: &str, scratch: &Scratch) -> Self {
        let (original, folder) = (Self::hg(name).folder, scratch.join("fixture"));
        program::run(Command::new("cp").arg("-a").arg(&original).arg(&folder)).exits(program::exit::OK);
        Fixture { folder }
    }

    /// Whether a path is that of a fixture that other tests read, too.
    pub(crate) fn is_shared(path: &Path) -> bool {
        path.starts_with(Self::all_kept())
    }

    fn all_kept() -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures")
    }

    #[track_caller]
    fn made_by(stem: &str) -> Self {
        let kept = Self::all_kept().join(format!("{:016x}", recipe(stem)));
        let (folder, done) = (kept.join(stem), kept.join(format!("{stem}.done")));
        fs::create_dir_all(&kept).expect("the folder of fixtures");
        // Held across threads and processes: the lock belongs to this open file.
        let lock = File::create(kept.join(format!("{stem}.lock"))).expect("a lock file");
        lock.lock().expect("the fixture's lock");
        if !done.exists() {
            let _ = fs::remove_dir_all(&folder);
            make(stem, &folder);
            File::create(&done).expect("a marker");
        }
        Fixture { folder }
    }

    /// A copy in `scratch` of the Git fixture that the test may change. Only for fixtures whose files name no absolute path.
    pub(crate) fn copy(name: &str, scratch: &Scratch) -> Self {
        Self::get(name).copied(name, scratch)
    }

    fn copied(self, name: &str, scratch: &Scratch) -> Self {
        let (original, folder) = (self.folder, scratch.join("fixture"));
        program::run(Command::new("cp").arg("-a").arg(&original).arg(&folder)).exits(program::exit::OK);
        let kept = original.to_string_lossy().into_owned();
        let found = program::run(Command::new("grep").args(["-r", "-F", "-q", "-e", &kept]).arg(&folder));
        assert_eq!(found.code, Some(1), "{name} names its own folder: it cannot be copied");
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

/// The folder that holds the scripts.
pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn make(stem: &str, folder: &Path) {
    let outcome = program::run(Command::new("bash").arg(scripts().join(format!("{stem}.sh"))).arg(folder));
    assert_eq!(outcome.code, Some(0), "{stem}.sh:\n{}\n{}", outcome.text(), outcome.stderr);
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
