//! `repackbench codecs`.

use std::fs;

use crate::support::program::{self, command, exit};
use crate::support::{Scratch, repackbench};

#[test]
fn lists_every_codec() {
    let listed = repackbench(["codecs"]).exits(exit::OK).text();
    for codec in ["store", "zlib", "zlib-rs", "libdeflate", "zstd", "lz4", "lz4hc", "lz4_flex", "snappy", "lzo"] {
        let names_it = |line: &&str| {
            line.split(|letter: char| letter.is_whitespace() || "|│┆".contains(letter)).any(|word| word == codec)
        };
        assert!(listed.lines().find(names_it).is_some(), "{codec} is not in\n{listed}");
    }
    assert!(listed.contains("1.3"), "stock zlib's version is shown:\n{listed}");
}

#[test]
fn lists_levels_origin_dictionaries_and_readers() {
    let listed = repackbench(["codecs"]).exits(exit::OK).text();
    let line = |codec: &str| {
        let found = listed.lines().find(|line| line.split_whitespace().next() == Some(codec));
        found.unwrap_or_else(|| panic!("{codec} is not in\n{listed}"))
    };
    for (codec, words) in [
        ("zlib", &["0..9 (6)", "stock zlib", " C ", "Zlib", "32 KiB", "git, hg"][..]),
        ("zstd", &["-131072..22 without 0 (3)", "libzstd", "BSD-3-Clause", "16 MiB", "  hg"]),
        ("lz4hc", &["1..12 (9)", "liblz4", "BSD-2-Clause", "64 KiB", "none"]),
        ("lzo", &["1..9 (3)", "repackbench", "Rust", "MIT OR Apache-2.0"]),
        ("snappy", &["none", "snap", "BSD-3-Clause"]),
    ] {
        for word in words {
            assert!(line(codec).contains(word), "{word} is not in the line of {codec} in\n{listed}");
        }
    }
    assert!(!line("lzo").contains("git"), "{listed}");
    assert!(listed.contains("No code under the GPL is linked"), "{listed}");
    for (name, codec) in [("best-size", "zstd:"), ("best-read", "lz4hc:"), ("balanced", "zstd:")] {
        assert!(line(name).contains(codec), "{listed}");
    }
    for line in listed.lines() {
        assert!(line.chars().count() <= 120, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn list_has_all_forms() {
    let lines = repackbench(["codecs", "--json", "-"]).exits(exit::OK).text();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("one document a line")).collect();
    let zstd = lines.iter().find(|line| line["name"] == "zstd").expect("zstd is there");
    assert_eq!(zstd["record"], "codec");
    assert_eq!(
        (&zstd["default_level"], &zstd["read_by_git"], &zstd["read_by_hg"]),
        (&3.into(), &false.into(), &true.into())
    );
    assert!(lines.iter().any(|line| line["record"] == "named-spec" && line["name"] == "balanced"), "{lines:?}");
    let markdown = repackbench(["codecs", "--markdown", "-"]).exits(exit::OK).text();
    assert!(markdown.starts_with("| codec |") && markdown.contains("\n| balanced | zstd:"), "{markdown}");
    repackbench(["codecs", "--json", "-", "--markdown", "-"]).exits(exit::USAGE);
}

#[test]
fn list_replaces_no_file_unasked() {
    let scratch = Scratch::new();
    let file = scratch.join("codecs.jsonl");
    let list = |options: &[&str]| program::run(command().args(["codecs", "--json"]).arg(&file).args(options));
    list(&[]).exits(exit::OK);
    let listed = fs::read(&file).expect("the list");
    assert!(list(&[]).exits(exit::USAGE).stderr.contains("--force replaces it"));
    list(&["--force"]).exits(exit::OK);
    assert_eq!(fs::read(&file).expect("the list"), listed);
}
