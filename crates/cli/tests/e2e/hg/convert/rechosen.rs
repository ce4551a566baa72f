//! `convert --rechosen`: deltas that hg searched for again.

use std::ffi::OsString;
use std::path::Path;

use crate::support::hg::{self, VERSIONS, Version};
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch, repackbench, snapshot};

#[test]
fn keeps_the_same_history() {
    let scratch = Scratch::new();
    for (version, spec) in VERSIONS.into_iter().zip(["zlib:9", "zstd:3"]) {
        let fixture = Fixture::hg_copy("63-default", &scratch);
        let (source, out, before) = (fixture.repo(), scratch.join(spec), snapshot::state(&fixture.folder));
        let options = ["convert", "--quiet", "--rechosen", "--codec", spec].map(OsString::from).into_iter();
        let paths =
            [OsString::from("--hg"), version.program().into(), "-o".into(), out.clone().into(), source.clone().into()];
        repackbench(options.chain(paths)).exits(exit::OK);
        assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
        assert_eq!(hg::verify(version, &out), hg::verify(version, &source), "{version:?}");
        assert_eq!(hg::changesets(&out), hg::changesets(&source));
        repackbench([Path::new("verify"), &source, &out]).exits(exit::OK);
        std::fs::remove_dir_all(&fixture.folder).expect("the copy");
    }
    assert_eq!(scratch.names(), ["zlib:9", "zstd:3"], "no files remain");
}

#[test]
fn unusable_hg_is_named_and_nothing_is_left() {
    let (source, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let convert = |codec: &str, hg: &str| {
        let options = ["convert", "--quiet", "--rechosen", "--codec", codec, "--hg", hg];
        let refused = program::run(command().args(options).arg(&source).arg("-o").arg(scratch.join("out")));
        let line = refused.exits(exit::FAILURE).error_line();
        assert_eq!(scratch.names(), [""; 0]);
        line
    };
    assert!(convert("zlib:6", "/nonexistent/hg").contains("/nonexistent/hg"));
    let program = Version::V72.program();
    let line = convert("lz4", program::text(&program));
    assert!(line.contains("lz4") && line.contains("extension"), "{line}");
}
