//! `repackbench explain`.

use std::path::Path;

use crate::support::program::{self, Outcome, cached, exit, words};
use crate::support::{Fixture, Scratch};

/// Explains a traversal.
#[track_caller]
fn run(scratch: &Scratch, repo: &Path, options: &[&str]) -> Outcome {
    let explain = words("explain --min-run-time 1ms --quiet --workload traverse");
    program::run(cached(scratch).args(explain).args(options).arg(repo))
}

/// The rows of a table that begin with a word, with single spaces.
pub(crate) fn rows(text: &str, word: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| line.starts_with(word)).map(words).collect()
}

#[test]
fn steps_lead_from_stock_zlib_to_the_codec() {
    let scratch = Scratch::new();
    for (repo, steps) in [
        (Fixture::get("history").repo(), &["framing", "format", "integrity"][..]),
        // The chunks of a revlog have no checksum of ours.
        (Fixture::hg("branches").repo(), &["framing", "format"]),
    ] {
        let text = run(&scratch, &repo, &words("--codec zstd:5 --blocks 2")).exits(exit::OK).text();
        for step in steps {
            assert_eq!(rows(&text, step).len(), 1, "{step} in\n{text}");
        }
        assert_eq!(rows(&text, "integrity").is_empty(), steps.len() == 2, "{text}");
        let measured = rows(&text, "measured");
        assert!(measured.len() == 1 && measured[0].starts_with("measured zlib:6 zstd:5 "), "{text}");
        // Each step begins where the previous one ended.
        let format = &rows(&text, "format")[0];
        assert!(rows(&text, "framing")[0].contains(" deflate:6"), "{text}");
        assert!(format.starts_with("format deflate:6"), "{text}");
    }
}

/// Numbers are a step of their own, which a floor splits.
#[test]
fn numbers_are_the_last_step() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let run = |spec: &str| {
        let explain = words("explain --min-run-time 1ms --quiet --blocks 2 --workload traverse:count --codec");
        program::run(cached(&scratch).args(explain).arg(spec).arg(&repo)).exits(exit::OK).text()
    };
    let text = run("zstd:5,ids=number");
    for step in ["framing", "format", "integrity", "numbers"] {
        assert_eq!(rows(&text, step).len(), 1, "{step} in\n{text}");
    }
    assert!(rows(&text, "numbers")[0].starts_with("numbers zstd:5 zstd:5,ids=number "), "{text}");
    assert!(rows(&text, "measured")[0].starts_with("measured zlib:6 zstd:5,ids=number "), "{text}");
    assert!(text.contains("by decoding, and by") && !text.contains("floor:traverse:count"), "{text}");
    let text = run("zlib:6,ids=number");
    assert_eq!(rows(&text, "numbers").len(), 1, "{text}");
    assert!(rows(&text, "framing").is_empty() && rows(&text, "format").is_empty(), "{text}");
}

#[test]
fn rejects_options_it_cannot_explain() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    for (options, expected) in [
        (&["--codec", "libdeflate:9"][..], "writes zlib streams"),
        (&["--codec", "libdeflate:9,ids=number"], "writes zlib streams"),
        (&["--codec", "zstd:5", "--delta-cache", "0,16M"], "under one --delta-cache"),
        (&["--codec", "zstd:5", "--jobs", "2"], "one at a time"),
        (&["--codec", "zstd:5", "--baseline", "zstd:3"], "expected a level of zlib"),
    ] {
        let refused = run(&scratch, &repo, &[&["--blocks", "1"], options].concat()).exits(exit::USAGE);
        assert!(refused.stderr.contains(expected), "{options:?}: {}", refused.stderr);
    }
    let refused = run(&scratch, &Fixture::hg("chains").repo(), &words("--codec zstd:3,ids=number --blocks 1"));
    assert!(refused.exits(exit::USAGE).stderr.contains("has no trees that name objects"));
}
