//! `repackbench exec`: stock hg on variants, with the extension that `exec` loads.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::hg::{self, HgServer, Version};
use crate::support::hg_extension;
use crate::support::program::{self, Scratch, convert, exit};

/// One codec of each engine, at a fast level.
const SPECS: [&str; 11] =
    ["store", "zlib:1", "zstd:1", "lz4", "lz4hc:3", "snappy", "lzo:1", "deflate:1", "brotli:1", "lzma:0", "bzip2:1"];

/// The number of changesets in the pushed repository. Each has a manifest and a revision of a file.
const CHANGESETS: usize = 20;

fn exec(variant: &Path, options: &[&str], words: &[&str]) -> Command {
    let mut command = program::command();
    command.env("LC_ALL", "C.UTF-8").env("HGRCPATH", "").env("HGPLAIN", "1");
    command.env("HGUSER", "A U Thor <author@example.com>");
    command.arg("exec").args(options).arg(variant).arg("--").arg(Version::V72.program()).args(words);
    command
}

/// A new repository with zlib, which hg used before zstd.
fn init(place: &Path) {
    let words = ["--config", "format.revlog-compression=zlib", "init"].map(Path::new);
    hg::output(place.parent().unwrap(), words.into_iter().chain([place]));
}

#[test]
fn works_in_a_variant_of_every_engine() {
    let scratch = Scratch::new();
    let source = scratch.join("source");
    init(&source);
    hg::output(&source, ["debugbuilddag", "-n", &format!("+{CHANGESETS}")]);
    let extension = hg_extension::folder().to_str().unwrap();
    for codec in SPECS {
        let variant = scratch.join(&codec.replace(':', "-"));
        convert(&source, codec, &variant);
        let exec = |words: &[&str]| exec(&variant, &["--hg-extension", extension], words);
        let mut hg = HgServer::of(exec(&[]));
        let mut run = |words: &[&str]| hg.run(words).exits(exit::OK).text();
        run(&["update", "-q", "tip"]);
        fs::write(variant.join("added"), "added\n".repeat(100)).unwrap();
        run(&["commit", "-q", "-A", "-m", "added"]);
        run(&["update", "-q", "-r", "tip^"]);
        run(&["branch", "-q", "other"]);
        fs::write(variant.join("another"), "another\n".repeat(100)).unwrap();
        run(&["commit", "-q", "-A", "-m", "another"]);
        run(&["merge", "-q", "-r", "default"]);
        run(&["commit", "-q", "-m", "merged"]);
        // The counterpart of `git gc`.
        run(&["debugupgraderepo", "-q", "--run", "--no-backup", "--optimize", "re-delta-all"]);
        assert!(run(&["verify"]).contains(&format!("checked {} changesets", CHANGESETS + 3)), "{codec}");

        let there = scratch.join("there");
        init(&there);
        run(&["push", "-q", "--new-branch", "-f", there.to_str().unwrap()]);
        let (code, said) = hg::verify(Version::V72, &there);
        assert_eq!(code, Some(exit::OK), "{codec}: {said:?}");
        assert!(hg::requirements(&there).iter().all(|name| !name.contains("compression")), "{codec}");
        assert!(hg::output(&there, ["log", "-p"]) == run(&["log", "-p"]).into_bytes(), "{codec}");
        fs::remove_dir_all(&there).unwrap();
    }
}

#[test]
fn repository_may_be_that_of_hg_itself() {
    let scratch = Scratch::new();
    let source = Fixture::hg_copy("branches", &scratch).repo();
    let variant = scratch.join("variant");
    convert(&source, "lz4", &variant);
    fs::create_dir(variant.join("inside")).unwrap();
    let expected = hg::output(&source, ["log", "-T", "{node}\n"]);
    let listed = |folder: &Path, words: &[&str]| {
        let mut command = program::command();
        command.env("LC_ALL", "C.UTF-8").env("HGRCPATH", "").env("HGPLAIN", "1").current_dir(folder);
        command.args(["exec", "--hg-extension"]).arg(hg_extension::folder()).arg("--").arg(Version::V72.program());
        program::run(command.args(words).args(["log", "-T", "{node}\n"])).exits(exit::OK).text().into_bytes()
    };
    assert_eq!(listed(scratch.path(), &["-R", "variant"]), expected);
    assert_eq!(listed(scratch.path(), &["--cwd", "variant/inside"]), expected);
    assert_eq!(listed(&variant.join("inside"), &[]), expected);
}

#[test]
fn reads_variants_or_reports_the_missing_extension() {
    let scratch = Scratch::new();
    let source = Fixture::hg_copy("branches", &scratch).repo();
    let expected = hg::output(&source, ["log", "-p"]);
    let own = [("zlib:6", false), ("zstd:3", false), ("store", false), ("lz4hc:9", true), ("brotli:5", true)];
    for (codec, needs_extension) in own {
        let variant = scratch.join(&codec.replace(':', "-"));
        convert(&source, codec, &variant);
        let exec = |options: &[&str], words: &[&str]| program::run(&mut exec(&variant, options, words));
        let extension = hg_extension::folder().to_str().unwrap();
        let with = exec(&["--hg-extension", extension], &["log", "-p"]).exits(exit::OK);
        assert!(with.stdout == expected, "{codec}");
        let without = exec(&[], &["log", "-p"]);
        if needs_extension {
            assert!(without.exits(exit::FAILURE).error_line().contains("exp-compression-"), "{codec}");
            continue;
        }
        assert!(without.exits(exit::OK).stdout == expected, "{codec}");
        assert_eq!(exec(&[], &["no-such-command"]).code, Some(255));
    }
}

#[test]
fn writes_with_the_given_codec_and_level() {
    let scratch = Scratch::new();
    let source = Fixture::hg_copy("branches", &scratch).repo();
    let extension = hg_extension::folder().to_str().unwrap();
    let exec = |variant: &str, options: &[&str], words: &[&str]| {
        program::run(&mut exec(&scratch.join(variant), options, words))
    };
    for (variant, codec, setting) in [
        ("zlib", "zlib:9", "storage.revlog.zlib.level=9\n"),
        ("zstd", "zstd:7,checksum=no", "storage.revlog.zstd.level=7\n"),
        ("store", "store", ""),
    ] {
        convert(&source, variant, &scratch.join(variant));
        let settings = exec(variant, &["--codec", codec], &["config", "storage"]).text();
        assert_eq!(settings, setting, "{codec}");
    }
    convert(&source, "lz4", &scratch.join("lz4"));
    for (variant, codec) in [("lz4", "lz4hc:9"), ("zlib", "libdeflate:12")] {
        let options = ["--hg-extension", extension, "--codec", codec];
        exec(variant, &options, &["update", "-q"]).exits(exit::OK);
        let text: String = (0..500).map(|line| format!("line {}\n", line % 50)).collect();
        fs::write(scratch.join(variant).join("new"), text).unwrap();
        let commit = ["commit", "-q", "-A", "-m", "new", "--config", "repackbench.summary=yes"];
        let said = exec(variant, &options, &commit).exits(exit::OK).stderr;
        assert!(said.contains(&format!("repackbench: {codec}: ")) && !said.contains(" 0 encoded"), "{said}");
        exec(variant, &options, &["verify", "-q"]).exits(exit::OK);
    }
    for (variant, codec, named) in [
        ("zlib", "zstd:3", "of the engine that the repository requires, zlib, found zstd:3, which is of zstd"),
        ("zstd", "lz4", "requires, zstd, found lz4"),
        ("zlib", "libdeflate:12", "only with repackbench's extension"),
        ("zstd", "zstd:3,window=20", "only with repackbench's extension"),
    ] {
        let line = exec(variant, &["--codec", codec], &["log"]).exits(exit::FAILURE).error_line();
        assert!(line.contains(named), "{line}");
    }
    let line = exec("zlib", &["--codec", "zlib:6,dict=4k"], &["log"]).exits(exit::USAGE).error_line();
    assert!(line.contains("dictionaries"), "{line}");
    let line = exec("zlib", &["--zlib", "libdeflate"], &["log"]).exits(exit::USAGE).error_line();
    assert!(line.contains("--zlib: hg only has its own zlib"), "{line}");
}
