//! `convert --codec` with codecs for each kind, dictionaries and bases: what is stored, who reads it, and the
//! conversion back.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::hg::{self, VERSIONS, Version};
use crate::support::program::{self, cached, command, convert, exit};
use crate::support::records::{self, number};
use crate::support::{Fixture, Scratch, repackbench, snapshot};

/// The requirements of engines and those of repackbench.
fn of_chunks(repo: &Path) -> Vec<String> {
    let files = [".hg/requires", ".hg/store/requires"].map(|file| fs::read_to_string(repo.join(file)));
    let lines = files.iter().flatten().flat_map(|text| text.lines());
    lines.filter(|line| line.contains("compression") || line.contains("repackbench")).map(str::to_owned).collect()
}

#[track_caller]
fn assert_same_history(source: &Path, variant: &Path) {
    repackbench([Path::new("verify"), source, variant]).exits(exit::OK);
    let replayed = |repo: &Path| program::replay(repo, "diff:patch", &[]).exits(exit::OK).stdout;
    let expected = replayed(source);
    assert!(!expected.is_empty());
    assert!(replayed(variant) == expected, "{}", variant.display());
}

/// Fails the test unless variant and source convert to the same baseline.
#[track_caller]
fn assert_converts_back(source: &Path, variant: &Path, scratch: &Scratch) {
    let (expected, back) = (scratch.join("expected"), scratch.join("back"));
    for (from, to) in [(source, &expected), (variant, &back)] {
        let options = ["convert", "--quiet", "--force", "--codec", "zlib:6"].map(Into::into);
        let paths = [from.into(), "-o".into(), to.into()];
        repackbench(options.into_iter().chain(paths).collect::<Vec<std::ffi::OsString>>()).exits(exit::OK);
    }
    snapshot::assert_same(&snapshot::content(&expected), &snapshot::content(&back));
}

#[test]
fn each_kind_has_its_codec_and_hg_reads_its_own() {
    let scratch = Scratch::new();
    for fixture in ["default", "no-share-safe"] {
        let source = Fixture::hg(fixture).repo();
        for (spec, requirements) in [
            ("changelog=zstd:19,manifest=store,filelog=zlib:9,delta=zstd:1", &["revlog-compression-zstd"][..]),
            ("zlib:6,manifest=store", &[]),
        ] {
            let variant = scratch.join(&format!("{fixture}-{}", &spec[..4]));
            convert(&source, spec, &variant);
            assert_eq!(of_chunks(&variant), requirements, "{spec}");
            assert_same_history(&source, &variant);
            for version in VERSIONS {
                assert_eq!(hg::verify(version, &variant).0, Some(exit::OK), "{version:?}, {spec}");
            }
            assert_converts_back(&source, &variant, &scratch);
        }
    }
}

#[test]
fn stock_hg_refuses_any_engine_of_ours() {
    let (scratch, source) = (Scratch::new(), Fixture::hg("default").repo());
    let variant = scratch.join("variant");
    convert(&source, "changelog=zstd:19,manifest=store,filelog=brotli:1,delta=lz4", &variant);
    let expected = ["exp-compression-brotli", "exp-compression-lz4", "revlog-compression-zstd"];
    assert_eq!(of_chunks(&variant), expected);
    assert_same_history(&source, &variant);
    for version in VERSIONS {
        hg::assert_refuses_plainly(version, &variant, "exp-compression-brotli");
    }
    assert_converts_back(&source, &variant, &scratch);
}

/// The maximum length of the dictionary, in bytes.
const DICTIONARY_LEN: usize = 16 << 10;

/// A dictionary made of the patches of the fixture.
fn dictionary(scratch: &Scratch) -> PathBuf {
    let (source, file) = (Fixture::hg("default").repo(), scratch.join("own.dict"));
    let patch = program::replay(&source, "diff:patch", &[]).exits(exit::OK);
    fs::write(&file, &patch.stdout[..patch.stdout.len().min(DICTIONARY_LEN)]).expect("a dictionary");
    file
}

fn convert_with(dictionary: &Path, spec: &str, source: &Path, target: &Path) {
    let mut convert = command();
    convert.args(["convert", "--quiet", "--codec", spec, "--dict"]).arg(dictionary).arg(source).arg("-o").arg(target);
    program::run(&mut convert).exits(exit::OK);
}

#[test]
fn dictionaries_are_in_the_store_and_count() {
    let (scratch, source) = (Scratch::new(), Fixture::hg("default").repo());
    let dictionary = dictionary(&scratch);
    for spec in ["zstd:9", "lz4hc:9", "zlib:9", "filelog=zstd:3,dict=file,changelog=store"] {
        let variant = scratch.join(spec);
        convert_with(&dictionary, spec, &source, &variant);
        let folder = variant.join(".hg/store/repackbench");
        assert!(fs::read_to_string(folder.join("dictionaries")).expect("the table").starts_with("0 "), "{spec}");
        assert!(of_chunks(&variant).contains(&"exp-repackbench-dictionaries".to_owned()), "{spec}");
        assert_same_history(&source, &variant);
        repackbench([Path::new("chains"), &source, &variant]).exits(exit::OK);
        hg::assert_refuses_plainly(Version::V72, &variant, "exp-repackbench-dictionaries");
        assert_converts_back(&source, &variant, &scratch);
        assert!(!scratch.join("back").join(".hg/store/repackbench").exists());
    }
    let variant = scratch.join("zstd:9");
    let counted = number(&records::sizes(&variant)["total_bytes"]);
    assert_eq!(counted, snapshot::bytes(&variant), "dictionaries count");

    let stored = fs::read_dir(variant.join(".hg/store/repackbench")).expect("the folder");
    let stored = stored.map(|entry| entry.expect("an entry").path());
    let stored = stored.filter(|path| path.extension().is_some_and(|extension| extension == "dict"));
    for file in stored {
        let mut bytes = fs::read(&file).expect("a dictionary");
        *bytes.last_mut().expect("a byte") ^= 1;
        fs::remove_file(&file).expect("to remove it");
        fs::write(&file, bytes).expect("the damaged dictionary");
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        for arguments in
            [&["size"][..], &["replay", "--workload", "traverse"], &["convert", "--codec", "zlib:6", "-o", "no"]]
        {
            let mut refused = command();
            refused.current_dir(scratch.path()).args(arguments).arg(&variant);
            let line = program::run(&mut refused).exits(exit::BAD_INPUT).error_line();
            assert!(line.contains(&name), "{line}");
        }
        let verified = repackbench([Path::new("verify"), &source, &variant]).exits(exit::FAILURE);
        assert!(verified.text().contains(&format!("damaged in B: {}", file.display())), "{}", verified.text());
    }
}

#[test]
fn deltas_are_compressed_with_their_bases() {
    for fixture in ["default", "chains", "branches", "censored", "no-generaldelta"] {
        let (scratch, source) = (Scratch::new(), Fixture::hg(fixture).repo());
        for spec in ["zstd:9,patch,prefix", "zstd:3,prefix", "zstd:19,max-chain=2,patch"] {
            let variant = scratch.join(spec);
            convert(&source, spec, &variant);
            assert_eq!(of_chunks(&variant), ["exp-repackbench-base", "revlog-compression-zstd"]);
            assert_same_history(&source, &variant);
            repackbench([Path::new("size"), &source, &variant]).exits(exit::OK);
        }
        let variant = scratch.join("zstd:9,patch,prefix");
        repackbench([Path::new("chains"), &source, &variant]).exits(exit::OK);
        let stored = |repo: &Path| snapshot::bytes(&repo.join(".hg/store"));
        convert(&source, "zstd:9", &scratch.join("plain"));
        let (with_bases, plain) = (stored(&variant), stored(&scratch.join("plain")));
        assert!(with_bases < plain, "{fixture}: {with_bases} bytes, {plain} without bases");
        hg::assert_refuses_plainly(Version::V72, &variant, "exp-repackbench-base");
        let mut onward = command();
        onward.args(["convert", "--codec", "zlib:6", "-o"]).arg(scratch.join("onward")).arg(&variant);
        let line = program::run(&mut onward).exits(exit::BAD_INPUT).error_line();
        assert!(line.contains("convert its source instead"), "{line}");
        assert!(!scratch.join("onward").exists());
    }
}

#[test]
fn rejects_specs_that_do_not_fit_the_repository() {
    let scratch = Scratch::new();
    let (git, hg) = (Fixture::get("history").repo(), Fixture::hg("default").repo());
    for (repo, spec, words) in [
        (&hg, "zlib:6,commit=zstd:3", &["a Mercurial repository has no commit", "changelog=, manifest=, filelog="][..]),
        (&git, "zlib:6,manifest=zstd:3", &["a Git repository has no manifest", "commit=, tree=, blob=, tag="]),
    ] {
        for arguments in [
            &["convert", "-o", "variant", "--codec", spec][..],
            &["bench", "--min-run-time", "1ms", "--blocks", "1", "--workload", "traverse", "--codec", spec],
        ] {
            let mut refused = cached(&scratch);
            refused.current_dir(scratch.path());
            let line = program::run(refused.args(arguments).arg(repo).arg("--quiet")).exits(exit::USAGE).error_line();
            assert!(words.iter().all(|word| line.contains(word)), "{line}");
            assert!(!scratch.join("variant").exists());
        }
    }
    for spec in ["zlib:6,manifest=zstd:3", "zstd:3,dict=4k", "zstd:3,patch"] {
        let mut refused = command();
        refused.args(["convert", "--rechosen", "--quiet", "--codec", spec, "--hg"]).arg(Version::V72.program());
        refused.arg(&hg).arg("-o").arg(scratch.join("variant"));
        let line = program::run(&mut refused).exits(exit::USAGE).error_line();
        assert!(line.contains("expected a spec without kinds, dictionaries, prefix and patch"), "{line}");
    }
}
