//! Tests that the extension shows which code reads and writes: benchmarks depend on it.

use std::fs;
use std::path::Path;

use crate::support::{Hg, Outcome, scratch};

/// The numbers of decoded and encoded chunks of a spec in the summary; `None` if the summary does not mention the spec.
fn counts(outcome: &Outcome, spec: &str) -> Option<(u64, u64)> {
    let prefix = format!("repackbench: {spec}: ");
    let line = outcome.err.lines().find_map(|line| line.strip_prefix(&prefix))?;
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    Some((*numbers.first()?, *numbers.get(1)?))
}

#[test]
fn configured_zlib_decodes_chunks_of_stock_hg() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.stock().set("format.revlog-compression=zlib").new_repository(folder.path());
        let summary = hg.set("repackbench.summary=yes");
        for spec in ["zlib:6", "zlib-rs:6", "libdeflate:6"] {
            let outcome = summary.codec(spec).run(folder.path(), ["cat", "-r", "1", "text"]);
            assert_eq!(outcome.out, crate::support::text(1));
            let (decoded, encoded) = counts(&outcome, spec).unwrap_or_else(|| panic!("{spec} in {outcome:#?}"));
            assert!(decoded >= 2 && encoded == 0, "{spec}: {outcome:#?}");
            assert_eq!(outcome.err.lines().count(), 1, "nothing else decoded: {outcome:#?}");
        }
        let other = summary.codec("lz4hc:9").run(folder.path(), ["cat", "-r", "1", "text"]);
        assert!(counts(&other, "zlib").is_some_and(|(decoded, _)| decoded >= 2), "{other:#?}");
        summary.run(folder.path(), ["version", "-q"]).says(&["repackbench: no chunks decoded or encoded"]);
        assert!(hg.run(folder.path(), ["cat", "-r", "1", "text"]).err.is_empty(), "no summary unless asked for");
    }
}

#[test]
fn configured_codec_writes_and_reads_chunks() {
    for hg in Hg::extended() {
        for spec in ["zlib:9", "libdeflate:12", "zstd:19", "lz4", "lz4hc:12"] {
            let folder = scratch();
            hg.codec(spec).new_repository(folder.path());
            let hg = hg.codec(spec).set("repackbench.summary=yes");
            fs::write(folder.path().join("text"), crate::support::text(9)).expect("a work tree file");
            let commit = hg.run(folder.path(), ["commit", "-q", "-m", "more"]);
            assert!(counts(&commit, spec).is_some_and(|(_, encoded)| encoded >= 1), "{spec}: {commit:#?}");
            let cat = hg.run(folder.path(), ["cat", "text"]);
            assert!(counts(&cat, spec).is_some_and(|(decoded, _)| decoded >= 1), "{spec}: {cat:#?}");
        }
    }
}

#[test]
fn codec_can_be_set_in_the_repository() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.codec("lz4").new_repository(folder.path());
        fs::write(folder.path().join(".hg/hgrc"), "[repackbench]\ncodec = lz4hc:4\n")
            .expect("the repository's configuration");
        fs::write(folder.path().join("text"), crate::support::text(9)).expect("a work tree file");
        let commit = hg.set("repackbench.summary=yes").run(folder.path(), ["commit", "-q", "-m", "more"]);
        assert!(counts(&commit, "lz4hc:4").is_some_and(|(_, encoded)| encoded >= 1), "{commit:#?}");
    }
}

#[test]
fn debug_command_shows_the_code_for_each_chunk() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.codec("lz4").new_repository(folder.path());
        let shown = debug_command(&hg.codec("libdeflate:6"), folder.path());
        for part in [
            "in: Mercurial ",
            "\nlz4hc levels 1..12 engine lz4 liblz4 (C) ",
            "\nx repackbench libdeflate:6: libdeflate (C) ",
            "\n( repackbench zstd: libzstd (C) ",
            "\n4 repackbench lz4: liblz4 (C) ",
            "\nnew chunks: engine lz4, repackbench lz4: liblz4 (C) ",
            "(repackbench.codec=libdeflate:6 is not used: it belongs to engine zlib)",
        ] {
            assert!(shown.contains(part), "expected {part:?} in\n{shown}");
        }
        for (codec, library) in [("lz4hc:9", "liblz4 (C)"), ("lz4_flex", "lz4_flex (Rust)")] {
            let shown = debug_command(&hg.codec(codec), folder.path());
            for part in [
                format!("\n4 repackbench {codec}: {library} "),
                format!("\nnew chunks: engine lz4, repackbench {codec}: {library} "),
            ] {
                assert!(shown.contains(&part), "expected {part:?} in\n{shown}");
            }
        }

        let outside = scratch();
        let shown = debug_command(&hg, outside.path());
        assert!(shown.contains("\nx repackbench zlib: stock zlib") && !shown.contains("new chunks"), "{shown}");
    }
}

/// The output of the command, with single spaces between words.
fn debug_command(hg: &Hg, folder: &Path) -> String {
    let shown = hg.run(folder, ["debugrepackbench"]).out;
    let lines = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn explicit_format_overrides_the_codec() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.codec("lz4hc:9").set("format.revlog-compression=zlib").new_repository(folder.path());
        assert_eq!(Hg::engine_requirements(folder.path()), [""; 0]);
        hg.stock().verify(folder.path());
    }
}
