//! Stock hg on variants without `exec`: log, update, commit and pull, and codecs that hg does not have.

use std::fs;
use std::path::Path;

use crate::support::hg::HgServer;
use crate::support::hg::{self, VERSIONS, Version};
use crate::support::hg_extension;
use crate::support::program::{convert, exit};
use crate::support::{Fixture, Scratch, snapshot};

/// A log with patches.
const LOG: [&str; 6] = ["log", "-p", "--git", "-r", "all()", "--debug"];

#[track_caller]
fn works_for(version: Version, fixture: &str, spec: &str) {
    let scratch = Scratch::new();
    let source = Fixture::hg_copy(fixture, &scratch).repo();
    let variant = scratch.join("variant");
    convert(&source, spec, &variant);
    let requirements = hg::requirements(&variant);
    let (mut in_source, mut in_variant) = (HgServer::start(version, &source), HgServer::start(version, &variant));
    assert!(in_source.output(LOG) == in_variant.output(LOG), "{LOG:?} differs, {version:?}, {spec}");

    in_variant.output(["update", "--quiet", "tip"]);
    in_source.archive("tip", &scratch.join("tip"));
    let mut checked_out = snapshot::content(&variant);
    checked_out.retain(|path, _| !path.starts_with(".hg"));
    snapshot::assert_same(&snapshot::content(&scratch.join("tip")), &checked_out);

    // A commit in the variant, pulled from it.
    let lines: String = (0..200).map(|number| format!("line {number} of a new file\n")).collect();
    fs::write(variant.join("on-top.txt"), lines).expect("a file in the work tree");
    in_variant.output(["commit", "--quiet", "--addremove", "--message", "on top"]);
    in_source.output([Path::new("pull"), Path::new("--quiet"), &variant]);
    assert_eq!(in_source.lines(&["log", "-r", "tip", "-T", "{desc}"]), ["on top"]);

    // A commit pulled into the variant.
    in_source.output(["update", "--quiet", "--clean", "tip"]);
    fs::write(source.join("elsewhere.txt"), "one line\n").expect("a file in the work tree");
    in_source.output(["commit", "--quiet", "--addremove", "--message", "elsewhere"]);
    in_variant.output([Path::new("pull"), Path::new("--quiet"), &source]);
    let nodes = ["log", "-r", "all()", "-T", "{node}\n"];
    assert_eq!(in_variant.lines(&nodes), in_source.lines(&nodes));

    assert_eq!(in_variant.verify().0, Some(exit::OK), "{version:?}, {spec}");
    assert_eq!(hg::requirements(&variant), requirements);
    drop(in_variant);
    // Read what hg wrote.
    convert(&variant, "zlib:6", &scratch.join("back"));
    assert_eq!(HgServer::newest(&scratch.join("back")).lines(&nodes), in_source.lines(&nodes));
}

#[test]
fn hg_7_2_works_in_a_variant() {
    for spec in ["zlib:9", "zstd:19", "store"] {
        works_for(Version::V72, "default", spec);
    }
}

#[test]
fn hg_6_3_works_in_a_variant() {
    for spec in ["zlib:9", "zstd:19", "store"] {
        works_for(Version::V63, "63-zlib", spec);
    }
}

#[test]
fn refuses_lz4_by_its_requirement() {
    for (fixture, spec) in [("default", "lz4"), ("no-share-safe", "lz4hc:9")] {
        let scratch = Scratch::new();
        let variant = scratch.join("variant");
        convert(&Fixture::hg(fixture).repo(), spec, &variant);
        for version in VERSIONS {
            hg::assert_refuses_plainly(version, &variant, "exp-compression-lz4");
        }
    }
}

/// A spec of each engine that hg does not have.
const ENGINES: [&str; 9] = ["brotli:1", "bzip2:1", "deflate:6", "lz4", "lz4hc:9", "lzma:0", "lzo:3", "snappy", "xz:0"];

#[test]
fn extension_gives_hg_7_2_every_engine() {
    hg_reads_and_writes_every_engine(Version::V72);
}

#[test]
fn extension_gives_hg_6_3_every_engine() {
    hg_reads_and_writes_every_engine(Version::V63);
}

#[track_caller]
fn hg_reads_and_writes_every_engine(version: Version) {
    let scratch = Scratch::new();
    let source = Fixture::hg_copy("default", &scratch).repo();
    let changesets = hg::changesets(&source);
    let extension = format!("extensions.repackbench={}", hg_extension::folder().display());
    for spec in ENGINES {
        let variant = scratch.join(spec);
        convert(&source, spec, &variant);
        let codec = format!("repackbench.codec={spec}");
        let mut hg = HgServer::start_with(version, &variant, &["--config", &extension, "--config", &codec]);
        let mut extended = |arguments: &[&str]| hg.run(arguments).exits(exit::OK);
        let said = extended(&["verify"]);
        assert!(said.text().contains("checked 36 changesets") && said.stderr.is_empty(), "{spec}: {said:?}");
        let history = ["log", "--hidden", "-r", "all()", "-T", hg::CHANGESET];
        assert_eq!(extended(&history).text(), changesets, "{spec}");
        extended(&["update", "--quiet", "tip"]);
        fs::write(variant.join("on-top.txt"), "one line\n".repeat(90)).expect("a file in the work tree");
        extended(&["commit", "--quiet", "--addremove", "--message", "on top"]);

        let requirement = spec.split(':').next().unwrap_or(spec).replace("lz4hc", "lz4");
        let refused = hg::hg(version, &variant, ["log"]);
        assert_ne!(refused.code, Some(exit::OK), "{spec}");
        assert!(refused.stderr.contains(&format!("exp-compression-{requirement}")), "{spec}: {}", refused.stderr);

        let back = scratch.join(&format!("{spec}-back"));
        convert(&variant, "zstd:3", &back);
        assert_eq!(hg::output(&back, ["cat", "-r", "tip", "path:on-top.txt"]), "one line\n".repeat(90).as_bytes());
    }
}
