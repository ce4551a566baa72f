//! The requirements of a repository on programs that read it: `requires`.
//!
//! Source: `hg help internals.requirements`.

use std::{collections::BTreeSet, path::Path};

use repackbench_codec::{Algorithm, RevlogEngine};

use super::share::ShareKind;
use crate::{Place, ReaderError, Result, bounds::read_regular_file, hg::store_names::NameEncoding};

/// The supported requirements, without those of codecs. Those that only concern a work tree are copied. What recomputing deltas does with
/// them is in the writer's `hg::recompute`.
const KNOWN: &[&str] = &[
    "bookmarksinstore",
    "delta-info-revlog",
    "dirstate-tracked-key-v1",
    "dirstate-v2",
    "dotencode",
    "exp-archived-phase",
    "exp-compression-lz4",
    "exp-compression-none",
    "exp-compression-zlib",
    "exp-compression-zstd",
    "exp-repackbench-base",
    "exp-repackbench-dictionaries",
    "exp-sparse",
    "fileindex-v1",
    "fncache",
    "generaldelta",
    "internal-phase",
    "internal-phase-2",
    "largefiles",
    "lfs",
    "narrowhg-experimental",
    "persistent-nodemap",
    "revlog-compression-zstd",
    "revlogv1",
    "share-safe",
    "sparserevlog",
    "store",
    "treemanifest",
];

/// Requirements without which files are not where this program expects them.
const NEEDED: [&str; 2] = ["store", "revlogv1"];

/// With this requirement, those of the store are in a file of their own.
const SHARE_SAFE: &str = "share-safe";

/// The requirements of a repository, by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Those in `.hg/requires`.
    pub work_tree: BTreeSet<String>,
    /// Those in `.hg/store/requires`, which only counts if [`is_share_safe`](Requirements::is_share_safe).
    pub store: BTreeSet<String>,
}

impl Requirements {
    /// Reads the requirements of the repository whose `.hg` is `hg_dir`.
    ///
    /// # Errors
    /// [`ReaderError::Unsupported`] names a requirement that is not supported, or one that is needed and absent.
    pub(super) fn read(hg_dir: &Path) -> Result<Self> {
        let file = hg_dir.join("requires");
        let work_tree = read_lines(&file)?;
        let is_share_safe = work_tree.contains(SHARE_SAFE);
        let store_file = hg_dir.join("store/requires");
        check(&file, &work_tree)?;
        let store = if is_share_safe { read_lines(&store_file)? } else { BTreeSet::new() };
        check(&store_file, &store)?;
        let requirements = Requirements { work_tree, store };
        match NEEDED.into_iter().find(|needed| !requirements.contains(needed)) {
            Some(needed) => {
                let file = if is_share_safe { store_file } else { file };
                Err(ReaderError::unsupported(&file, format!("a repository without the requirement '{needed}'")))
            }
            None => Ok(requirements),
        }
    }

    /// Whether `name` is one of them.
    pub fn contains(&self, name: &str) -> bool {
        self.work_tree.contains(name) || self.store.contains(name)
    }

    /// Whether the requirements of the store are in a file of their own.
    pub fn is_share_safe(&self) -> bool {
        self.work_tree.contains(SHARE_SAFE)
    }

    /// The name of the compression that hg writes, such as `zstd`; `None` for zlib.
    pub fn compression(&self) -> Option<&str> {
        let name = |requirement: &'_ String| {
            ["revlog-compression-", "exp-compression-"].into_iter().find(|prefix| requirement.starts_with(prefix))
        };
        let all = || self.work_tree.iter().chain(&self.store);
        all().find_map(|requirement| requirement.strip_prefix(name(requirement)?))
    }

    /// How the store names its files.
    pub fn name_encoding(&self) -> NameEncoding {
        if self.contains("fncache") || self.contains("fileindex-v1") {
            NameEncoding::Hybrid { dots: self.contains("dotencode") || self.contains("fileindex-v1") }
        } else {
            NameEncoding::Plain
        }
    }

    /// The requirements, with those on compression replaced by `compression` in the file where hg expects them.
    #[must_use]
    pub fn with_compression<'a>(&self, compression: impl IntoIterator<Item = &'a str>) -> Self {
        const PREFIXES: [&str; 3] = ["revlog-compression-", "exp-compression-", "exp-repackbench-"];
        let mut requirements = self.clone();
        let is_compression = |name: &String| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        requirements.work_tree.retain(|name| !is_compression(name));
        requirements.store.retain(|name| !is_compression(name));
        let file = if self.is_share_safe() { &mut requirements.store } else { &mut requirements.work_tree };
        file.extend(compression.into_iter().map(str::to_owned));
        requirements
    }
}

fn read_lines(file: &Path) -> Result<BTreeSet<String>> {
    // The oldest repositories have no such file, and so none of the needed requirements.
    let Some(content) = read_regular_file(file)? else { return Ok(BTreeSet::new()) };
    let mut lines = BTreeSet::new();
    for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
        match std::str::from_utf8(line) {
            Ok("") => {}
            Ok(line) if line.bytes().all(|byte| byte.is_ascii_graphic()) => drop(lines.insert(line.to_owned())),
            _ => {
                let found = String::from_utf8_lossy(line).escape_debug().to_string();
                return Err(ReaderError::corrupt(file, Place::Line(number), "the name of a requirement", found));
            }
        }
    }
    Ok(lines)
}

/// How the share at `hg_dir` names the repository with its store; `None` if it has a store of its own.
///
/// # Errors
/// [`ReaderError::Unsupported`] names a requirement of a share that is not supported.
pub(super) fn kind_of_share(hg_dir: &Path) -> Result<Option<ShareKind>> {
    let file = hg_dir.join("requires");
    let mut requirements = read_lines(&file)?;
    let (absolute, relative) = (requirements.remove("shared"), requirements.remove("relshared"));
    if !absolute && !relative {
        return Ok(None);
    }
    check(&file, &requirements)?;
    Ok(Some(if relative { ShareKind::Relative } else { ShareKind::Absolute }))
}

/// Whether `name` is the requirement of one of this program's codecs that have no engine of Mercurial's.
fn is_of_a_codec(name: &str) -> bool {
    Algorithm::ALL.into_iter().any(|algorithm| RevlogEngine::Tagged(algorithm).requirement() == Some(name))
}

fn check(file: &Path, requirements: &BTreeSet<String>) -> Result<()> {
    let unknown = requirements.iter().find(|name| !KNOWN.contains(&name.as_str()) && !is_of_a_codec(name));
    match unknown.map(String::as_str) {
        None => Ok(()),
        Some(unknown) => Err(ReaderError::unsupported(file, format!("the requirement '{unknown}'"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn requirements_of_codecs_are_known() {
        assert!(is_of_a_codec("exp-compression-brotli") && !is_of_a_codec("exp-compression-rle"));
        for algorithm in Algorithm::ALL {
            let requirement = RevlogEngine::Tagged(algorithm).requirement();
            assert!(
                requirement.is_none_or(|name| read("store\nrevlogv1\n", Some(name)).is_ok() && is_of_a_codec(name))
            );
        }
    }

    fn read(work_tree: &str, store: Option<&str>) -> Result<Requirements> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("store")).unwrap();
        fs::write(folder.path().join("requires"), work_tree).unwrap();
        if let Some(store) = store {
            fs::write(folder.path().join("store/requires"), store).unwrap();
        }
        Requirements::read(folder.path())
    }

    #[test]
    fn store_requirements_count_only_with_share_safe() {
        let safe =
            read("share-safe\n", Some("revlogv1\nstore\nfncache\ndotencode\nrevlog-compression-zstd\n")).unwrap();
        assert!(safe.is_share_safe() && safe.contains("fncache"));
        assert_eq!(safe.name_encoding(), NameEncoding::Hybrid { dots: true });
        let old = read("revlogv1\nstore\n", Some("shared\n")).unwrap();
        assert_eq!(old.name_encoding(), NameEncoding::Plain);
        let changed = safe.with_compression(["exp-compression-none", "exp-repackbench-base"]);
        assert_eq!(changed.with_compression(["revlog-compression-zstd"]), safe);
        assert_eq!((safe.compression(), changed.compression()), (Some("zstd"), Some("none")));
        assert!(changed.store.contains("exp-compression-none") && !changed.contains("revlog-compression-zstd"));
        assert!(old.with_compression(Some("x")).work_tree.contains("x"));
        assert_eq!(old.with_compression(None), old);
    }

    #[test]
    fn unsupported_requirements_are_named_in_the_error() {
        for (work_tree, store, expected) in [
            ("revlogv1\nstore\nexp-revlogv2.2\n", None, "exp-revlogv2.2"),
            ("share-safe\n", Some("revlogv1\nstore\nnew-thing\n"), "new-thing"),
            ("revlogv1\n", None, "'store'"),
            ("store\n", None, "'revlogv1'"),
            ("", None, "'store'"),
        ] {
            let error = read(work_tree, store).unwrap_err();
            assert!(matches!(error, ReaderError::Unsupported { .. }), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert!(matches!(read("\u{1}\n", None), Err(ReaderError::Corrupt { .. })));
    }
}
