//! Tests new searches for deltas by real hg, on fixtures that hg wrote.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use repackbench_client::{ClientError, HgProgram};
use repackbench_reader::{
    Repository,
    hg::{HgRepository, revlog::Revlog},
};
use repackbench_writer::{
    ConvertJob, DeltaRecomputer, JobControl, Layout, WriterError, cache::Cache, cached_recomputed, cached_variant,
    hg::recompute::convert_recomputed,
};

/// The path of an hg that `cargo xtask test` installs. Fails the test if the variable is not set.
fn hg(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) => path.into(),
        None => panic!("{variable} is not set: run `cargo xtask test`, which installs hg and sets it"),
    }
}

/// Makes the fixture `hg-chains` in `folder`.
fn chains(folder: &Path) -> PathBuf {
    fixture("chains", folder)
}

/// Makes the fixture `hg-NAME` in `folder`.
fn fixture(name: &str, folder: &Path) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/hg-{name}.sh"));
    let out = folder.join(name);
    let output = Command::new("bash").arg(script).arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out.join("repo")
}

/// The base of every revision of every revlog, and the bytes of all chunks.
fn bases(repository: &Path) -> (Vec<i32>, u64) {
    let repository = HgRepository::open(repository).unwrap();
    let revlogs: Vec<_> = repository.revlogs().iter().map(|files| Revlog::open(files).unwrap()).collect();
    let entries = || revlogs.iter().flat_map(Revlog::entries);
    (entries().map(|entry| entry.base).collect(), entries().map(|entry| u64::from(entry.stored_len)).sum())
}

#[test]
fn new_deltas_depend_on_the_codec_and_keep_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let source = HgRepository::open(&chains(folder.path())).unwrap();
    for variable in ["REPACKBENCH_HG", "REPACKBENCH_HG_63"] {
        let hg = HgProgram::new(hg(variable), None).unwrap();
        let make = |spec: &str| {
            let target = folder.path().join(format!("{variable}-{spec}"));
            // This compares the histories itself.
            let made = convert_recomputed(
                &source,
                &spec.parse().unwrap(),
                &hg,
                &ConvertJob::new(&target, JobControl::quiet(2)),
            )
            .unwrap();
            let mut verify = Command::new(self::hg(variable));
            verify.env("HGRCPATH", "").arg("-R").arg(&target).arg("verify");
            assert!(verify.output().unwrap().status.success(), "{variable} {spec}");
            bases(&made.1)
        };
        let (zlib, zlib_bytes) = make("zlib:1");
        let (_, small_bytes) = make("zlib:9");
        let (store, store_bytes) = make("store");
        assert!(small_bytes < zlib_bytes && zlib_bytes < store_bytes, "{small_bytes} {zlib_bytes} {store_bytes}");
        assert_ne!(zlib, store);
    }
}

/// The output of stock hg 7.2 with `arguments` on `repository`.
fn ask(repository: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(hg("REPACKBENCH_HG"));
    let output = command.env("HGRCPATH", "").arg("-R").arg(repository).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn requirements_that_block_an_upgrade_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let hg = HgProgram::new(hg("REPACKBENCH_HG"), None).unwrap();
    for (name, requirement) in [
        ("bookmarks-in-store", "bookmarksinstore"),
        ("archived-phase", "exp-archived-phase"),
        ("internal-phase", "internal-phase-2"),
    ] {
        let path = fixture(name, folder.path());
        let source = HgRepository::open(&path).unwrap();
        let target = folder.path().join(format!("{name}-recomputed"));
        convert_recomputed(&source, &"zlib:6".parse().unwrap(), &hg, &ConvertJob::new(&target, JobControl::quiet(2)))
            .unwrap();
        let made = HgRepository::open(&target).unwrap();
        assert!(made.requirements().contains(requirement), "{name}");
        let log = ["log", "--hidden", "-T", "{rev} {node} {phase} {bookmarks}\n"];
        assert_eq!(ask(&target, &log), ask(&path, &log), "{name}");
        ask(&target, &["verify", "--quiet"]);
        let phases = |path: &Path| std::fs::read(path.join(".hg/store/phaseroots")).unwrap();
        assert!(phases(&target) == phases(&path), "{name}");
    }
}

#[test]
fn lfs_pointers_are_refused_before_hg_damages_them() {
    let folder = tempfile::tempdir().unwrap();
    let source = HgRepository::open(&fixture("lfs", folder.path())).unwrap();
    let hg = HgProgram::new(hg("REPACKBENCH_HG"), None).unwrap();
    let target = folder.path().join("made");
    let error =
        convert_recomputed(&source, &"zlib:6".parse().unwrap(), &hg, &ConvertJob::new(&target, JobControl::quiet(1)))
            .unwrap_err();
    assert!(error.to_string().contains("the requirement 'lfs'"), "{error}");
    assert!(!target.exists());
}

#[test]
fn codec_that_hg_lacks_needs_the_extension() {
    let folder = tempfile::tempdir().unwrap();
    let source = HgRepository::open(&chains(folder.path())).unwrap();
    let hg = HgProgram::new(hg("REPACKBENCH_HG"), None).unwrap();
    let target = folder.path().join("made");
    let result =
        convert_recomputed(&source, &"lz4".parse().unwrap(), &hg, &ConvertJob::new(&target, JobControl::quiet(1)));
    assert!(matches!(result, Err(WriterError::Program { .. })), "{result:?}");
    assert!(!target.exists());
    assert!(matches!(HgProgram::new(folder.path().join("no-hg"), None), Err(ClientError::Program { .. })));
}

#[test]
fn kept_and_new_deltas_are_cached_separately() {
    let folder = tempfile::tempdir().unwrap();
    let path = chains(folder.path());
    let source = Repository::open(&path).unwrap();
    let hg = DeltaRecomputer::hg(HgProgram::new(hg("REPACKBENCH_HG"), None).unwrap());
    let cache = Cache::open(Some(folder.path().join("cache"))).unwrap();
    let spec = "store".parse().unwrap();
    let recomputed = || cached_recomputed(&cache, &source, &spec, &hg, JobControl::quiet(2)).unwrap().path().to_owned();
    let same = cached_variant(&cache, &source, &spec, Layout::default(), JobControl::quiet(2));
    let same = same.unwrap().path().to_owned();
    assert_eq!(bases(&same).0, bases(&path).0);
    assert_ne!(bases(&recomputed()).0, bases(&path).0);
    assert_eq!(recomputed(), recomputed());
    assert_ne!(recomputed(), same);
}
