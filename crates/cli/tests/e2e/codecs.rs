//! `repackbench codecs`.

use crate::support::program::exit;
use crate::support::repackbench;

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
