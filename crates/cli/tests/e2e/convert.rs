//! `repackbench convert` on every fixture: the variant holds the same objects and refs with the same delta structure,
//! stock git judges it as it judges the source, the source is untouched, and the same input gives the same bytes.

mod alternates;
mod check;
mod determinism;
mod in_place;
mod loose_sources;
mod numbers;
mod orders;
mod outputs;
mod rechosen;
mod side_files;
mod specs;
mod stores;

use std::path::Path;

use crate::support::program::{self, command, convert, exit};
use crate::support::{CONVERTIBLE, Fixture, Scratch, git, repackbench, snapshot};

/// Specs, and whether stock git reads the result.
const SPECS: &[(&str, bool)] = &[
    ("zlib:9", true),
    ("zlib-rs:1", true),
    ("libdeflate:6", true),
    ("zstd:5", false),
    ("store", false),
    ("lz4", false),
    ("snappy", false),
    ("lzo:7", false),
];

fn converts(name: &str) {
    converts_under(name, SPECS);
}

fn converts_under(name: &str, specs: &[(&str, bool)]) {
    let fixture = Fixture::get(name);
    let source = fixture.repo();
    let before = snapshot::state(&fixture.folder);
    let as_found = Facts::of(&source);

    for &(spec, stock_git_reads) in specs {
        let scratch = Scratch::new();
        let variant = scratch.join("variant");
        convert(&source, spec, &variant);
        assert_eq!(scratch.names(), ["variant"], "{spec} leaves nothing beside its output");
        repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);

        if stock_git_reads {
            as_found.assert_hold_for(&variant, spec);
        } else {
            git::assert_refuses_plainly(&variant);
            let back = scratch.join("back");
            convert(&variant, "zlib:6", &back);
            as_found.assert_hold_for(&back, &format!("{spec} and back"));
        }
    }
    assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
}

/// What must survive any conversion, as stock git reports it.
struct Facts {
    refs: String,
    objects: String,
    deltas: Vec<String>,
    judgement: git::Judgement,
}

impl Facts {
    fn of(repo: &Path) -> Self {
        Facts::with(repo, git::delta_structure(repo))
    }

    /// The same with what a test compares of its deltas.
    fn with(repo: &Path, deltas: Vec<String>) -> Self {
        let scratch = Scratch::new();
        let judgement = git::judge(repo, scratch.path());
        Facts { refs: git::refs(repo), objects: git::objects(repo), deltas, judgement }
    }

    #[track_caller]
    fn assert_hold_for(&self, variant: &Path, spec: &str) {
        self.assert_are(&Facts::of(variant), variant, spec);
    }

    #[track_caller]
    fn assert_are(&self, found: &Facts, variant: &Path, spec: &str) {
        assert_eq!(self.refs, found.refs, "refs, {spec}");
        assert_eq!(self.objects, found.objects, "objects, {spec}");
        assert_eq!(self.deltas, found.deltas, "delta structure, {spec}");
        assert_eq!(self.judgement, found.judgement, "stock git's judgement, {spec}");
        assert_eq!(git::output(variant, ["rev-parse", "--is-bare-repository"]), "true\n", "{spec}");
        assert_eq!(git::object_folders(variant).len(), 1, "{spec}: the result stands alone");
    }
}

/// One test for each fixture, so that they run in parallel and a failure names its fixture.
macro_rules! conversions {
    ($($test:ident => $fixture:literal,)*) => {
        $(#[test] fn $test() { converts($fixture); })*

        #[test]
        fn every_convertible_fixture_is_converted() {
            let mut converted = vec![$($fixture,)* "large-blob"];
            converted.sort_unstable();
            assert_eq!(converted, CONVERTIBLE);
        }
    };
}

/// Stock git takes seconds to judge payloads over 64 MiB. So there is one spec for each way to stream, and git judges
/// two of them.
#[test]
fn large_blob() {
    converts_under("large-blob", &[("zlib:1", true), ("zstd:1", false)]);
    let (source, scratch) = (Fixture::get("large-blob").repo(), Scratch::new());
    for spec in ["libdeflate:1", "lz4"] {
        let variant = scratch.join(spec);
        convert(&source, spec, &variant);
        repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
    }
}

conversions! {
    alternates => "alternates",
    bare => "bare",
    content => "content",
    cruft => "cruft",
    derived_files => "derived-files",
    detached_head => "detached-head",
    duplicate_base => "duplicate-base",
    duplicates => "duplicates",
    empty => "empty",
    grafts => "grafts",
    history => "history",
    index_64_bit => "index-64-bit",
    index_v1 => "index-v1",
    keep => "keep",
    linked_work_tree => "linked-work-tree",
    no_config => "no-config",
    pack_v3 => "pack-v3",
    padded_sizes => "padded-sizes",
    partial_clone => "partial-clone",
    partial_clone_bare => "partial-clone-bare",
    ref_delta => "ref-delta",
    refs => "refs",
    reftable => "reftable",
    reftable_linked_work_tree => "reftable-linked-work-tree",
    reftable_sha256 => "reftable-sha256",
    reftable_work_tree => "reftable-work-tree",
    replace => "replace",
    reverse_index => "reverse-index",
    sha256 => "sha256",
    shallow => "shallow",
    submodule => "submodule",
    work_tree => "work-tree",
    worktree_config => "worktree-config",
}

/// Options and extreme levels, through a second codec and back.
#[test]
fn every_option_converts_back() {
    let source = Fixture::get("work-tree").repo();
    let as_found = Facts::of(&source);
    for spec in [
        "zstd:-7",
        "zstd:22",
        "zstd:5,frame=standard",
        "zstd:5,checksum=no",
        "lz4,checksum=no",
        "store,checksum=no",
        "zlib:0",
        "zlib:6,loose=9",
        "zlib-rs:9",
        "libdeflate:12",
    ] {
        let scratch = Scratch::new();
        let (variant, other, back) = (scratch.join("variant"), scratch.join("other"), scratch.join("back"));
        convert(&source, spec, &variant);
        convert(&variant, "lz4", &other);
        convert(&other, "zlib:1", &back);
        as_found.assert_hold_for(&back, spec);
        repackbench([Path::new("verify"), &variant, &other]).exits(exit::OK);
    }
}

/// The output depends neither on the number of threads nor on the place.
#[test]
fn two_conversions_are_byte_identical() {
    for name in
        ["work-tree", "alternates", "cruft", "refs", "reftable", "reftable-linked-work-tree", "sha256", "padded-sizes"]
    {
        let source = Fixture::get(name).repo();
        for spec in ["zlib:6", "zstd:5", "libdeflate:12"] {
            let scratch = Scratch::new();
            let (first, second) = (scratch.join("first"), scratch.join("second"));
            convert(&source, spec, &first);
            let threads = ["convert", "--quiet", "--codec", spec, "--threads", "1"];
            program::run(command().args(threads).arg(&source).arg("-o").arg(&second)).exits(exit::OK);
            snapshot::assert_same(&snapshot::content(&first), &snapshot::content(&second));
        }
    }
}

#[test]
fn converting_a_variant_equals_converting_the_source() {
    let source = Fixture::get("work-tree").repo();
    let scratch = Scratch::new();
    let (direct, variant, through) = (scratch.join("direct"), scratch.join("variant"), scratch.join("through"));
    convert(&source, "zlib:6", &direct);
    convert(&source, "lz4", &variant);
    convert(&variant, "zlib:6", &through);
    snapshot::assert_same(&snapshot::content(&direct), &snapshot::content(&through));
}

/// The baseline is what git itself writes: its packs at level 6 and its loose objects at level 1, byte for byte. This
/// holds where git links stock zlib; with another zlib, git would have written other bytes.
#[test]
fn baseline_reproduces_the_bytes_of_stock_git() {
    for name in ["bare", "work-tree", "ref-delta", "refs", "sha256", "content", "history"] {
        let source = Fixture::get(name).repo();
        let scratch = Scratch::new();
        let variant = scratch.join("variant");
        convert(&source, "zlib:6", &variant);
        assert_eq!(packs(&source), packs(&variant), "{name}: packs and their indices");
        let (loose, converted) = (loose_objects(&source), loose_objects(&variant));
        assert_eq!(loose.keys().collect::<Vec<_>>(), converted.keys().collect::<Vec<_>>(), "{name}");
        assert!(loose == converted, "{name}: loose objects differ");
    }
}

/// The name, length and a hash of each pack and index.
fn packs(repo: &Path) -> Vec<(String, usize, u64)> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let files = git::pack_files(repo, "pack").into_iter().chain(git::pack_files(repo, "idx"));
    files
        .map(|path| {
            let content = std::fs::read(&path).expect("a pack file");
            let mut hasher = DefaultHasher::new();
            content.hash(&mut hasher);
            (path.file_name().expect("a name").to_string_lossy().into_owned(), content.len(), hasher.finish())
        })
        .collect()
}

fn loose_objects(repo: &Path) -> std::collections::BTreeMap<std::path::PathBuf, snapshot::Entry> {
    let mut objects = snapshot::content(&git::path(repo, "objects"));
    objects.retain(|path, entry| {
        matches!(entry, snapshot::Entry::File { .. }) && !path.starts_with("pack") && !path.starts_with("info")
    });
    objects
}
