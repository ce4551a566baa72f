//! Tests messages about missing or wrong things: one plain line and no traceback.

use std::fs;

use crate::support::{Hg, NATIVE_MODULE, Outcome, python_half, scratch};

/// Both Mercurials with an extension that lacks the native module.
fn without_native_module(folder: &std::path::Path) -> [Hg; 2] {
    let extension = folder.join("repackbench");
    fs::create_dir_all(&extension).expect("the extension's folder");
    fs::copy(python_half(), extension.join("__init__.py")).expect("the Python half");
    [Hg::newest().with_extension_in(&extension).alone(), Hg::oldest().with_extension_in(&extension).alone()]
}

#[test]
fn missing_native_module_is_named_with_build_command() {
    let folder = scratch();
    for hg in without_native_module(folder.path()) {
        let warned = hg.run(folder.path(), ["version", "-q"]);
        warned.says(&[NATIVE_MODULE, "is missing", "cargo xtask hg-extension"]);
        assert_eq!(warned.err.lines().count(), 1, "{warned:#?}");

        let required = hg.set("extensions.repackbench:required=yes").try_run(folder.path(), ["version", "-q"]);
        required.fails_saying(&["abort: ", NATIVE_MODULE, "cargo xtask hg-extension"]);
    }
}

#[test]
fn invalid_native_module_is_named() {
    let folder = scratch();
    for hg in without_native_module(folder.path()) {
        fs::write(folder.path().join("repackbench").join(NATIVE_MODULE), "no library").expect("the bad module");
        hg.run(folder.path(), ["version", "-q"]).says(&["failed to import extension", NATIVE_MODULE]);
    }
}

#[test]
fn unknown_codec_stops_hg_before_init() {
    for hg in Hg::extended().map(Hg::alone) {
        let folder = scratch();
        let refused = hg.codec("zsdt:5").try_run(folder.path(), ["init", "new"]);
        refused.fails_saying(&["repackbench.codec", "zsdt", "did you mean zstd?", "`repackbench codecs` lists all"]);
        assert!(!folder.path().join("new").exists());

        let refused = hg.codec("zstd:99").try_run(folder.path(), ["init", "new"]);
        refused.fails_saying(&["repackbench.codec", "expected a level from -131072..22", "\"99\""]);

        hg.run(folder.path(), ["init", "old"]);
        let old = folder.path().join("old");
        hg.codec("lzham").try_run(&old, ["log"]).fails_saying(&[
            "repackbench.codec",
            "unknown codec",
            "did you mean lzma?",
        ]);
    }
}

#[test]
fn configuration_of_the_repository_is_checked() {
    for hg in Hg::extended().map(Hg::alone) {
        let folder = scratch();
        hg.new_repository(folder.path());
        fs::write(folder.path().join(".hg/hgrc"), "[repackbench]\ncodec = lzham\n")
            .expect("the repository's configuration");
        hg.try_run(folder.path(), ["log"]).fails_saying(&["repackbench.codec", "unknown codec"]);
    }
}

#[test]
fn rust_modules_are_refused_with_a_workaround() {
    for hg in Hg::extended().map(Hg::alone) {
        let folder = scratch();
        let run = |policy: &str| {
            let mut command = hg.set("extensions.repackbench:required=yes").command();
            Outcome::of(command.env("HGMODULEPOLICY", policy).args(["version", "-q"]).current_dir(folder.path()))
        };
        run("rust+c-allow").fails_saying(&["Rust", "HGMODULEPOLICY=c", "rust+c-allow"]);
        assert_eq!(run("c").status, Some(0));
    }
}

#[test]
fn unsupported_mercurial_is_named() {
    let folder = scratch();
    for (hg, version) in [(Hg::newest().alone(), "7.2"), (Hg::oldest().alone(), "6.3")] {
        // A later or earlier release of the extension: the same code with other requirements.
        let later = patched(folder.path(), "minimumhgversion = b'6.3'", "minimumhgversion = b'99.1'");
        hg.clone().with_extension_in(&later).run(folder.path(), ["version", "-q"]).says(&["99.1", version]);
        let other = patched(folder.path(), "(revlog, '_zlibdecompress')", "(revlog, '_not_there')");
        let refused = hg.with_extension_in(&other).run(folder.path(), ["version", "-q"]);
        refused.says(&["is not supported", version, "mercurial.revlog._not_there", "tested: 6.3"]);
    }
}

/// A copy of the extension with one line changed.
fn patched(folder: &std::path::Path, line: &str, changed: &str) -> std::path::PathBuf {
    let copy = folder.join("patched");
    fs::create_dir_all(&copy).expect("a folder");
    let native = crate::support::extension().join(NATIVE_MODULE);
    fs::copy(native, copy.join(NATIVE_MODULE)).expect("the native module");
    let python = fs::read_to_string(python_half()).expect("the Python half");
    assert!(python.contains(line), "{line}");
    fs::write(copy.join("__init__.py"), python.replace(line, changed)).expect("the Python half");
    copy
}
