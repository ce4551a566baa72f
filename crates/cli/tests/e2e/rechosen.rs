//! Deltas that the user's git chose again.

use std::ffi::OsString;
use std::path::Path;

use crate::support::fixture::Fixture;
use crate::support::git;
use crate::support::program::{self, Scratch, command, exit, repackbench};
use crate::support::snapshot;

/// `convert --rechosen` of `source`, and what else is typed.
fn convert(source: &Path, codec: &str, more: &[&str], out: &Path) -> program::Outcome {
    let options = ["convert", "--quiet", "--rechosen", "--codec", codec]
        .into_iter()
        .chain(more.iter().copied())
        .map(OsString::from);
    let paths = ["-o".into(), out.into(), source.into()];
    repackbench(options.chain(paths))
}

#[test]
fn rechosen_deltas_hold_the_same_objects_reachable_or_not() {
    let scratch = Scratch::new();
    for name in ["history", "ref-delta", "cruft", "keep", "sha256", "alternates", "shallow", "replace"] {
        let fixture = Fixture::get(name);
        let (source, out, before) = (fixture.repo(), scratch.join(name), snapshot::state(&fixture.folder));
        convert(&source, "zstd:3", &[], &out).exits(exit::OK);
        assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
        repackbench([Path::new("verify"), &source, &out]).exits(exit::OK);
        git::assert_refuses_plainly(&out);
    }
    assert_eq!(scratch.names().len(), 8, "nothing else is left behind");
}

#[test]
fn git_chooses_anew_and_not_as_the_source_had_it() {
    let (scratch, fixture) = (Scratch::new(), Fixture::get("history"));
    let chains = |repo: &Path| {
        let packs = git::output(repo, ["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(deltabase)"]);
        packs.lines().filter(|line| !line.ends_with(&"0".repeat(40))).count()
    };
    // A source without any delta.
    let bare = scratch.join("bare");
    repackbench(
        ["convert", "--quiet", "--codec", "zlib:6", "-o"]
            .map(OsString::from)
            .into_iter()
            .chain([bare.clone().into(), fixture.repo().into()]),
    )
    .exits(exit::OK);
    git::output(&bare, ["repack", "-adfq", "--depth=0"]);
    assert_eq!(chains(&bare), 0);
    convert(&bare, "zlib:6", &[], &scratch.join("out")).exits(exit::OK);
    assert!(chains(&scratch.join("out")) > 0);
}

#[test]
fn both_arms_stand_in_one_table() {
    let (scratch, source) = (Scratch::new(), Fixture::get("history").repo());
    let mut bench = command();
    bench.env("XDG_CACHE_HOME", scratch.join("cache"));
    bench.args([
        "bench",
        "--min-run-time",
        "1ms",
        "--quiet",
        "--rechosen",
        "--codec",
        "zstd:3",
        "--workload",
        "traverse",
        "--blocks",
        "1",
    ]);
    let table = program::run(bench.arg(&source)).exits(exit::OK).text();
    for row in ["as found", "zlib:6 ", "zlib:6, rechosen", "zstd:3 ", "zstd:3, rechosen"] {
        assert!(table.contains(row), "{row:?} is not in\n{table}");
    }
}

#[test]
fn a_git_that_cannot_choose_is_named_and_nothing_is_left() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let refused = convert(&source, "zlib:6", &["--git", "/nonexistent/git"], &scratch.join("out"));
    assert!(refused.exits(exit::FAILURE).error_line().contains("/nonexistent/git"));
    assert_eq!(scratch.names(), [""; 0]);
}
