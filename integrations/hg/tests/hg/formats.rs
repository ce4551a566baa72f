//! Tests the chunks that are written with each engine, and who can read them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Hg, scratch};

/// Codec specs with hg's name of the kind of chunk that they write, and their requirement.
const CODECS: [(&str, &str, Option<&str>); 7] = [
    ("zlib", "0x78 (x)", None),
    ("zlib-rs:9", "0x78 (x)", None),
    ("libdeflate:12", "0x78 (x)", None),
    ("zstd:5", "0x28", Some("revlog-compression-zstd")),
    ("store", "0x75 (u)", Some("exp-compression-none")),
    ("lz4", "0x34", Some("exp-compression-lz4")),
    ("lz4hc:9", "0x34", Some("exp-compression-lz4")),
];

#[test]
fn oldest_hg_reads_what_the_newest_writes() {
    let [newest, oldest] = Hg::extended();
    check_exchange(&newest, &oldest);
}

#[test]
fn newest_hg_reads_what_the_oldest_writes() {
    let [newest, oldest] = Hg::extended();
    check_exchange(&oldest, &newest);
}

#[track_caller]
fn check_exchange(writer: &Hg, reader: &Hg) {
    let folder = scratch();
    writer.stock().new_repository(folder.path());
    let expected = reader.stock().history(folder.path());
    for (spec, kind, requirement) in CODECS {
        let folder = scratch();
        writer.codec(spec).new_repository(folder.path());
        assert_eq!(Hg::engine_requirements(folder.path()), Vec::from_iter(requirement), "{spec}");
        assert!(writer.chunk_kinds(folder.path(), "text").iter().any(|found| found == kind), "{spec}: {kind}");
        reader.verify(folder.path());
        assert_eq!(reader.history(folder.path()), expected, "{spec}");
        for stock in [writer.stock(), reader.stock()] {
            check_with_stock_hg(&stock, folder.path(), requirement, &expected);
        }
    }
}

#[test]
fn incompressible_payloads_stay_raw() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.codec("lz4hc:9").new_repository(folder.path());
        let kinds = hg.chunk_kinds(folder.path(), "noise");
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| kind == "0x75 (u)" || kind == "empty"), "{kinds:?}");
    }
}

#[track_caller]
fn check_with_stock_hg(stock: &Hg, repository: &Path, requirement: Option<&str>, expected: &str) {
    match requirement {
        Some(requirement @ "exp-compression-lz4") => {
            stock.try_run(repository, ["log"]).fails_saying(&["requires features unknown", requirement]);
        }
        _ => {
            stock.verify(repository);
            assert_eq!(stock.history(repository), expected);
        }
    }
}

#[test]
fn zlib_writes_the_same_bytes_as_hg() {
    for hg in Hg::extended() {
        let (ours, theirs) = (scratch(), scratch());
        for level in [None, Some("storage.revlog.zlib.level=1"), Some("storage.revlog.zlib.level=0")] {
            let format = hg.set("format.revlog-compression=zlib");
            let format = level.map_or(format.clone(), |level| format.set(level));
            let name = level.unwrap_or("default");
            let (ours, theirs) = (ours.path().join(name), theirs.path().join(name));
            format.new_repository(&ours);
            let settings = ["format.revlog-compression=zlib"].into_iter().chain(level);
            settings.fold(hg.stock(), |stock, setting| stock.set(setting)).new_repository(&theirs);
            assert_eq!(revlogs(&ours), revlogs(&theirs), "{name}");
        }
    }
}

#[test]
fn level_settings_of_hg_apply_without_a_codec() {
    let hg = Hg::newest().with_extension();
    let cases = [
        ("zlib", "zlib.level", "9", "zlib:9"),
        ("zstd", "zstd.level", "19", "zstd:19"),
        ("zstd", "zstd.level", "0", "zstd"),
    ];
    for (engine, setting, level, spec) in cases {
        let folder = scratch();
        let hg = hg
            .set(&format!("format.revlog-compression={engine}"))
            .set(&format!("storage.revlog.{setting}={level}"))
            .set("repackbench.summary=yes");
        hg.run(folder.path(), ["init"]);
        fs::write(folder.path().join("text"), crate::support::text(1)).expect("a work tree file");
        hg.run(folder.path(), ["commit", "-qAm", "text"]).says(&[&format!("repackbench: {spec}: ")]);
    }
}

#[test]
fn upgrade_changes_the_engine_and_back() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.stock().set("format.revlog-compression=zlib").new_repository(folder.path());
        let expected = hg.history(folder.path());
        for (engine, requirement) in [
            ("lz4", Some("exp-compression-lz4")),
            ("zstd", Some("revlog-compression-zstd")),
            ("none", Some("exp-compression-none")),
            ("zlib", None),
        ] {
            let hg = hg.set(&format!("format.revlog-compression={engine}"));
            hg.run(folder.path(), ["debugupgraderepo", "--run", "--no-backup", "-q", "--optimize", "re-delta-all"]);
            assert_eq!(Hg::engine_requirements(folder.path()), Vec::from_iter(requirement), "{engine}");
            hg.verify(folder.path());
            assert_eq!(hg.history(folder.path()), expected, "{engine}");
        }
        hg.stock().verify(folder.path());
        assert!(hg.stock().chunk_kinds(folder.path(), "text").iter().any(|kind| kind == "0x78 (x)"));
    }
}

#[test]
fn upgrade_changes_the_level_within_an_engine() {
    for hg in Hg::extended() {
        for (low, high) in [("libdeflate:1", "libdeflate:12"), ("zstd:-7", "zstd:19"), ("lz4", "lz4hc:12")] {
            let folder = scratch();
            hg.codec(low).new_repository(folder.path());
            let before = store_len(folder.path());
            let upgrade = ["debugupgraderepo", "--run", "--no-backup", "-q", "--optimize", "re-delta-all"];
            hg.codec(high).run(folder.path(), upgrade);
            hg.verify(folder.path());
            let after = store_len(folder.path());
            assert!(after < before, "{low}: {before} bytes, {high}: {after} bytes");
        }
    }
}

#[test]
fn repository_can_mix_chunks_of_all_engines() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.codec("zlib:6").new_repository(folder.path());
        let store_requires = folder.path().join(".hg/store/requires");
        let base = fs::read_to_string(&store_requires).expect("the requirements");
        for (round, (spec, _, requirement)) in (4..).zip(CODECS) {
            let engine = requirement.map(|name| format!("{name}\n")).unwrap_or_default();
            fs::write(&store_requires, format!("{base}{engine}")).expect("the requirements");
            hg.codec(spec).commit_round(folder.path(), round);
        }
        hg.verify(folder.path());
        let kinds = hg.chunk_kinds(folder.path(), "text");
        for kind in ["0x78 (x)", "0x28", "0x34"] {
            assert!(kinds.iter().any(|found| found == kind), "{kind} in {kinds:?}");
        }
    }
}

/// The path and the bytes of every revlog file in the store.
fn revlogs(repository: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let store = repository.join(".hg/store");
    for folder in [store.clone(), store.join("data")] {
        for entry in fs::read_dir(folder).expect("the store") {
            let path = entry.expect("an entry of the store").path();
            if path.extension().is_some_and(|extension| extension == "i" || extension == "d") {
                let bytes = fs::read(&path).expect("a revlog");
                found.push((path.strip_prefix(&store).expect("a path in the store").to_path_buf(), bytes));
            }
        }
    }
    found.sort();
    assert!(found.len() >= 5, "changelog, manifest and three filelogs, found {}", found.len());
    found
}

fn store_len(repository: &Path) -> usize {
    revlogs(repository).iter().map(|(_, bytes)| bytes.len()).sum()
}
