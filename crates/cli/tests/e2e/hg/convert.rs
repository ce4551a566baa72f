//! `repackbench convert` on every fixture: hg judges the variant as it judges the source. Deltas, names and all other
//! files stay, the same codec gives the same bytes, and zlib gives those that hg wrote.

mod in_place;
mod rechosen;
mod specs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::fixture::{HG_CONVERTIBLE, HG_NOT_FOR_6_3};
use crate::support::hg::{self, HgServer, Version};
use crate::support::program::{self, command, convert, exit};
use crate::support::{Fixture, Scratch, repackbench, snapshot};

/// Specs, the requirement that hg writes for the engine of each, and whether hg 6.3 judges it too, which takes long.
const SPECS: [(&str, Option<&str>, bool); 3] = [
    ("zstd:3", Some("revlog-compression-zstd"), true),
    ("zlib:9", None, false),
    ("store", Some("exp-compression-none"), false),
];

/// Fixtures whose chunks hg wrote with zlib at its default level.
const BY_ZLIB: [&str; 2] = ["63-zlib", "zlib"];

fn converts(name: &str) {
    let scratch = Scratch::new();
    let fixture = Fixture::hg_copy(name, &scratch);
    let (source, before) = (fixture.repo(), snapshot::state(&fixture.folder));
    let (results, baseline) = (Scratch::new(), scratch.join("baseline"));
    for (spec, ..) in SPECS {
        convert(&source, spec, &results.join(spec));
        repackbench([Path::new("verify"), &source, &results.join(spec)]).exits(exit::OK);
    }
    let mut specs = SPECS.map(|(spec, ..)| spec);
    specs.sort_unstable();
    assert_eq!(results.names(), specs, "nothing is left beside the outputs");
    convert(&source, "zlib:6", &baseline);
    assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
    assert_gives_its_bytes_again(name, &source, &baseline, &results, &scratch);
    assert_hg_agrees(name, &source, &results, &scratch);
}

/// `zlib:6` is the same from every codec, and equals what hg wrote with it.
fn assert_gives_its_bytes_again(name: &str, source: &Path, baseline: &Path, results: &Scratch, scratch: &Scratch) {
    let expected = snapshot::content(baseline);
    for (spec, ..) in SPECS {
        let back = scratch.join(&format!("back-from-{spec}"));
        convert(&results.join(spec), "zlib:6", &back);
        snapshot::assert_same(&expected, &snapshot::content(&back));
    }
    if BY_ZLIB.contains(&name) {
        snapshot::assert_same(&stored_files(source), &stored_files(baseline));
    }
}

/// The files of a variant, by their paths below `.hg`. A conversion drops the files that undo the last transaction and
/// those of the work tree.
fn stored_files(repo: &Path) -> BTreeMap<PathBuf, snapshot::Entry> {
    let is_kept = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (path.starts_with("store") && !name.starts_with("undo")) || path == Path::new("requires")
    };
    let files = snapshot::content(&repo.join(".hg")).into_iter();
    files.filter(|(path, entry)| is_kept(path) && matches!(entry, snapshot::Entry::File { .. })).collect()
}

fn assert_hg_agrees(name: &str, source: &Path, results: &Scratch, scratch: &Scratch) {
    for version in hg::VERSIONS {
        if version == Version::V63 && HG_NOT_FOR_6_3.contains(&name) {
            continue;
        }
        let as_found = Judgement::of(version, source, &scratch.join(&format!("{version:?}")));
        assert_eq!(as_found.changesets.is_empty(), name == "empty");
        for (spec, requirement, is_for_6_3) in SPECS {
            if version == Version::V63 && !is_for_6_3 {
                continue;
            }
            let variant = results.join(spec);
            let found = Judgement::of(version, &variant, &scratch.join(&format!("{version:?}-{spec}")));
            assert_eq!(as_found.verify, found.verify, "hg verify, {version:?}, {spec}");
            assert_eq!(as_found.changesets, found.changesets, "{version:?}, {spec}");
            assert_eq!(as_found.indexes, found.indexes, "{version:?}, {spec}");
            snapshot::assert_same(&as_found.files, &found.files);
            assert_eq!(
                found.requirements,
                with_compression(&as_found.requirements, requirement),
                "{version:?}, {spec}"
            );
        }
    }
}

fn with_compression(requirements: &[String], compression: Option<&str>) -> Vec<String> {
    let others = requirements.iter().filter(|name| !name.contains("-compression-")).map(String::as_str);
    let mut expected: Vec<String> = others.chain(compression).map(str::to_owned).collect();
    expected.sort();
    expected
}

/// What hg reports of everything that a conversion has to keep.
struct Judgement {
    verify: (Option<i32>, Vec<String>),
    changesets: String,
    /// Those of the work tree and the store.
    requirements: Vec<String>,
    /// Those of changelog and manifest: nodes, parents, links, lengths, delta bases, flags.
    indexes: Vec<Vec<hg::Revision>>,
    files: BTreeMap<PathBuf, snapshot::Entry>,
}

impl Judgement {
    fn of(version: Version, repo: &Path, folder: &Path) -> Self {
        let mut server = HgServer::start(version, repo);
        let changesets = server.changesets();
        let mut judgement = Judgement {
            verify: server.verify(),
            changesets,
            requirements: server.lines(&["debugrequirements"]),
            indexes: Vec::new(),
            files: BTreeMap::new(),
        };
        if !judgement.changesets.is_empty() {
            let revlogs = [hg::Revlog::Changelog, hg::Revlog::Manifest];
            judgement.indexes = revlogs.iter().map(|revlog| server.index(revlog)).collect();
            server.archive("tip", folder);
            judgement.files = snapshot::content(folder);
        }
        judgement
    }
}

/// One test for each fixture, so that they run in parallel and a failure names its fixture.
macro_rules! conversions {
    ($($test:ident => $fixture:literal,)*) => {
        $(#[test] fn $test() { converts($fixture); })*

        #[test]
        fn every_convertible_fixture_is_converted() {
            assert_eq!([$($fixture,)*], *HG_CONVERTIBLE);
        }
    };
}

conversions! {
    archived_phase => "archived-phase",
    by_6_3 => "63-default",
    by_6_3_with_zlib => "63-zlib",
    bookmarks_in_store => "bookmarks-in-store",
    branches => "branches",
    censored => "censored",
    chains => "chains",
    content => "content",
    by_default => "default",
    delta_info => "delta-info",
    dirstate_v2 => "dirstate-v2",
    empty => "empty",
    evolution => "evolution",
    fileindex => "fileindex",
    history => "history",
    inline_large => "inline-large",
    internal_phase => "internal-phase",
    largefiles => "largefiles",
    lfs => "lfs",
    mixed_engines => "mixed-engines",
    names => "names",
    no_dotencode => "no-dotencode",
    no_fncache => "no-fncache",
    no_generaldelta => "no-generaldelta",
    no_share_safe => "no-share-safe",
    no_sparse_revlog => "no-sparse-revlog",
    persistent_nodemap => "persistent-nodemap",
    treemanifest => "treemanifest",
    uncompressed => "uncompressed",
    zlib => "zlib",
}

/// The entry of a chunk has its length, so chunks of any engine may be in any repository.
#[test]
fn every_codec_and_level_converts_back() {
    let scratch = Scratch::new();
    let source = Fixture::hg("default").repo();
    convert(&source, "zlib:6", &scratch.join("expected"));
    let expected = snapshot::content(&scratch.join("expected"));
    for spec in ["zlib:0", "zlib:1", "zlib-rs:9", "libdeflate:12", "zstd:-7", "zstd:22", "lz4", "lz4hc:1", "lz4hc:12"] {
        let results = Scratch::new();
        convert(&source, spec, &results.join("there"));
        convert(&results.join("there"), "zlib:6", &results.join("back"));
        snapshot::assert_same(&expected, &snapshot::content(&results.join("back")));
    }
}

#[test]
fn two_conversions_are_byte_identical() {
    for name in ["default", "content", "names"] {
        let (source, scratch) = (Fixture::hg(name).repo(), Scratch::new());
        convert(&source, "zstd:3", &scratch.join("first"));
        let threads = ["convert", "--quiet", "--codec", "zstd:3", "--threads", "1"].map(std::ffi::OsString::from);
        let paths = [source.into(), "-o".into(), scratch.join("second").into()];
        repackbench(threads.into_iter().chain(paths)).exits(exit::OK);
        snapshot::assert_same(&snapshot::content(&scratch.join("first")), &snapshot::content(&scratch.join("second")));
    }
}

#[test]
fn existing_output_is_not_overwritten() {
    let (source, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let out = scratch.join("out");
    fs::create_dir(&out).expect("a folder");
    fs::write(out.join("precious"), "mine").expect("a file");
    let convert = |force: &[&str]| {
        program::run(
            command().args(["convert", "--quiet", "--codec", "zstd:3"]).args(force).arg(&source).arg("-o").arg(&out),
        )
    };
    convert(&[]).exits(exit::FAILURE);
    convert(&["--force"]).exits(exit::FAILURE);
    assert_eq!(fs::read(out.join("precious")).expect("the file"), b"mine");
    fs::remove_file(out.join("precious")).expect("the file");
    fs::remove_dir(&out).expect("the folder");
    convert(&[]).exits(exit::OK);
    convert(&[]).exits(exit::FAILURE);
    convert(&["--force"]).exits(exit::OK);
    assert_eq!(scratch.names(), ["out"]);
}

/// Not even `--force` writes to the source or inside it.
#[test]
fn source_is_never_the_output() {
    let scratch = Scratch::new();
    let fixture = Fixture::hg_copy("default", &scratch);
    let (repo, before) = (fixture.repo(), snapshot::state(&fixture.folder));
    for out in [repo.clone(), repo.join(".hg"), repo.join(".hg/store/new"), fixture.folder.clone()] {
        for force in [&["--force"][..], &[]] {
            let convert = ["convert", "--codec", "store"];
            let outcome = program::run(command().args(convert).args(force).arg(&repo).arg("-o").arg(&out));
            assert_ne!(outcome.code, Some(exit::OK), "{} {force:?}", out.display());
            outcome.error_line();
            assert_eq!(snapshot::state(&fixture.folder), before, "{} {force:?}", out.display());
        }
    }
}
