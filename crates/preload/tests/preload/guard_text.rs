//! Tests how the guard is hidden and restored in the text of a configuration.

// The stand-in itself cannot be linked with tests, because its functions have zlib's names.
#[path = "../../src/guard/text.rs"]
mod text;

use std::process::Command;

use text::{codec, guard, with_guard, without_guard};

/// A configuration as `convert` writes it.
const WRITTEN: &str = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\trepackbench = \"1;zstd:5\"\n\
                       [remote \"origin\"]\n\turl = /a\n";

fn hidden(config: &str) -> String {
    String::from_utf8(without_guard(config.as_bytes())).unwrap()
}

fn restored(config: &str) -> String {
    String::from_utf8(with_guard(config.as_bytes(), b"1;zstd:5")).unwrap()
}

#[test]
fn guard_is_found_as_git_finds_it() {
    for config in [
        WRITTEN,
        "[extensions]\nrepackbench=\"1;zstd:5\"",
        "[ExtenSions]\r\n\tRepackBench = \"1;zstd:5\" ; a comment\r\n",
        "# [extensions]\n[extensions]repackbench = 1\";\"zstd:5\n",
        "[extensions]\n\tnoop\n\tother = a\\\nb\n\trepackbench = \"1;\\\nzstd:5\"\n",
        "\u{feff}[extensions]\n\trepackbench = \"0;old\"\n[a]\n[extensions]\n\trepackbench = \"1;zstd:5\"\n",
    ] {
        assert_eq!(guard(config.as_bytes()).as_deref(), Some(&b"1;zstd:5"[..]), "{config:?}");
        assert_eq!(guard(hidden(config).as_bytes()), None, "{config:?}");
        assert_eq!(guard_by_git(config), Some("1;zstd:5".to_owned()), "{config:?}");
        assert_eq!(guard_by_git(&hidden(config)), None, "{config:?}");
    }
    for config in [
        "",
        "[extensions]\n",
        "[extensions \"a\"]\n\trepackbench = 1\n",
        "[extensions]\n\t# repackbench = 1\n",
        "[core]\n\trepackbench = 1\n",
        "[core]\n\tpath = \"a\\nb\" \\\n[extensions]\n\tx = 1\n",
    ] {
        assert_eq!((guard(config.as_bytes()), hidden(config).as_str()), (None, config));
    }
}

/// The guard that git finds in `config`.
fn guard_by_git(config: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    std::fs::write(&file, config).unwrap();
    let mut git = Command::new("git");
    let output = git.args(["config", "--file"]).arg(&file).args(["--get", "extensions.repackbench"]).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
}

#[test]
fn hiding_keeps_length_and_other_settings() {
    let mark = "#repackbench.............";
    assert_eq!(hidden(WRITTEN), WRITTEN.replace("\trepackbench = \"1;zstd:5\"", mark));
    let others = "[extensions]\n\tobjectFormat = sha256\n\trepackbench = 1\n\tnoop = 1\n[a]\n\tb = 1\n";
    assert_eq!(hidden(others), others.replace("\trepackbench = 1", "#repackbench...."));
    for config in ["[extensions] repackbench=\n[a]\n\tb=1\n", "[extensions]\n\trepackbench = \"1;\\\nzstd:5\""] {
        assert_eq!((hidden(config).len(), guard(hidden(config).as_bytes())), (config.len(), None), "{config:?}");
    }
}

#[test]
fn guard_and_format_version_are_restored() {
    assert_eq!(restored(&hidden(WRITTEN)), WRITTEN, "in its place");
    assert_eq!(restored(WRITTEN), WRITTEN);
    // Added at the end if git has removed the mark.
    let without = WRITTEN.replace("[extensions]\n\trepackbench = \"1;zstd:5\"\n", "");
    let once = restored(&without);
    assert_eq!(once, without + "[extensions]\n\trepackbench = \"1;zstd:5\"\n");
    assert_eq!(restored(&hidden(&once)), once, "however often");
    let moved = "[core]\n\trepositoryformatversion = 1\n[a]\n#repackbench....\n\tb = 1\n";
    let apart = "[core]\n\trepositoryformatversion = 1\n[a]\n\tb = 1\n[extensions]\n\trepackbench = \"1;zstd:5\"\n";
    assert_eq!(restored(moved), apart);
    let lowered = "[core]\n\trepositoryformatversion = 1\n[a]\n\tb = 1\n[core]\n    RepositoryFormatVersion = 0 # old\n\tbare = true";
    let raised = "[core]\n\trepositoryformatversion = 1\n[a]\n\tb = 1\n[core]\n\trepositoryformatversion = 1\n\tbare = true\n\
                  [extensions]\n\trepackbench = \"1;zstd:5\"\n";
    assert_eq!(restored(lowered), raised);
    assert_eq!(restored(""), "[extensions]\n\trepackbench = \"1;zstd:5\"\n[core]\n\trepositoryformatversion = 1\n");
}

#[test]
fn codec_for_writing_is_read() {
    assert_eq!(codec(WRITTEN.as_bytes()), None);
    let config = format!("{WRITTEN}[repackbench]\n\tcodec = zstd:5\n\tcodec = lz4:1 # the last counts\n");
    assert_eq!(codec(config.as_bytes()).as_deref(), Some(&b"lz4:1"[..]));
}
