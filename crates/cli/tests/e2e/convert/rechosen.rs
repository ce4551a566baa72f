//! `convert --rechosen`: deltas that the user's git searched for again.

use std::ffi::OsString;
use std::path::Path;

use crate::support::fixture::Fixture;
use crate::support::git;
use crate::support::program::{self, Scratch, exit, repackbench, text};
use crate::support::snapshot;

/// `convert --rechosen` with further options.
fn convert(source: &Path, codec: &str, more: &[&str], out: &Path) -> program::Outcome {
    let options = ["convert", "--quiet", "--rechosen", "--codec", codec]
        .into_iter()
        .chain(more.iter().copied())
        .map(OsString::from);
    let paths = ["-o".into(), out.into(), source.into()];
    repackbench(options.chain(paths))
}

#[test]
fn keeps_all_objects_reachable_or_not() {
    let scratch = Scratch::new();
    for name in ["history", "ref-delta", "cruft", "keep", "reftable-sha256", "alternates", "shallow", "replace"] {
        let fixture = Fixture::get(name);
        let (source, out, before) = (fixture.repo(), scratch.join(name), snapshot::state(&fixture.folder));
        convert(&source, "zstd:3", &[], &out).exits(exit::OK);
        assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
        repackbench([Path::new("verify"), &source, &out]).exits(exit::OK);
        git::assert_refuses_plainly(&out);
    }
    assert_eq!(scratch.names().len(), 8, "no other files remain");
}

#[test]
fn settings_of_the_source_decide_the_search() {
    let scratch = Scratch::new();
    let deltas = |name: &str, settings: &[(&str, &str)]| {
        let source = scratch.join(name);
        git::output(scratch.path(), ["clone", "-q", "--bare", text(&Fixture::get("history").repo()), text(&source)]);
        for (setting, value) in settings {
            git::output(&source, ["config", setting, value]);
        }
        let out = scratch.join(&format!("{name}-out"));
        convert(&source, "zlib:6", &[], &out).exits(exit::OK);
        let config = std::fs::read_to_string(out.join("config")).expect("a configuration");
        assert!(!config.contains("[pack]"), "{config}");
        git::packed(&out).iter().filter(|entry| entry.is_delta()).count()
    };
    assert!(deltas("default", &[]) > 0);
    assert_eq!(deltas("none", &[("pack.window", "0")]), 0);
    // Numbers that make no sense are left to git's defaults. How many deltas its threads find varies.
    assert!(deltas("endless", &[("pack.window", "2000000000"), ("pack.depth", "-1")]) > 0);
}

#[test]
fn git_finds_deltas_that_the_source_lacks() {
    let (scratch, fixture) = (Scratch::new(), Fixture::get("history"));
    let deltas = |repo: &Path| git::packed(repo).iter().filter(|entry| entry.is_delta()).count();
    // A source without any delta.
    let bare = scratch.join("bare");
    program::convert(&fixture.repo(), "zlib:6", &bare);
    git::output(&bare, ["repack", "-adfq", "--depth=0"]);
    assert_eq!(deltas(&bare), 0);
    convert(&bare, "zlib:6", &[], &scratch.join("out")).exits(exit::OK);
    assert!(deltas(&scratch.join("out")) > 0);
}

#[test]
fn unusable_git_is_named_and_nothing_is_left() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let refused = convert(&source, "zlib:6", &["--git", "/nonexistent/git"], &scratch.join("out"));
    assert!(refused.exits(exit::FAILURE).error_line().contains("/nonexistent/git"));
    assert_eq!(scratch.names(), [""; 0]);
}
