//! Tests how a command line of git is parsed.

// The stand-in itself cannot be linked with tests, because its functions have zlib's names.
#[allow(dead_code, reason = "the functions about this process are only for the stand-in")]
#[path = "../../src/git_command.rs"]
mod git_command;

use git_command::{GitCommand, PackWriter, is_gits};

fn parsed(words: &[&str]) -> (Option<PackWriter>, bool, Vec<String>) {
    let line: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
    let GitCommand { writer, sends, operands, .. } = GitCommand::of(&line);
    (writer, sends, operands.into_iter().map(|operand| String::from_utf8(operand).unwrap()).collect())
}

#[test]
fn command_is_found_after_options_of_git() {
    let packs = Some(PackWriter::PackObjects);
    for words in [
        &["git", "pack-objects", "/p/pack"][..],
        &["/usr/bin/git", "pack-objects", "--all", "/p/pack"],
        &["/usr/lib/git-core/git-pack-objects", "/p/pack"],
        &["git", "-c", "pack.threads=4", "pack-objects", "/p/pack", "--quiet"],
        &["git", "-C", "there", "--git-dir", "x", "--no-pager", "--exec-path=/y", "pack-objects", "/p/pack"],
        &["git", "--shallow-file", "", "pack-objects", "/p/pack"],
        &["git", "--git-dir=pack", "pack-objects", "/p/pack"],
    ] {
        assert_eq!(parsed(words), (packs, false, vec!["/p/pack".to_owned()]), "{words:?}");
    }
    for words in [
        &["git"][..],
        &[],
        &["git", "-c", "pack-objects", "status"],
        &["git", "-C", "pack-objects"],
        &["git", "commit", "-m", "pack-objects"],
        &["git-upload-pack", "pack-objects"],
        &["sh", "-c", "git pack-objects x"],
    ] {
        assert_eq!(parsed(words).0, None, "{words:?}");
    }
}

#[test]
fn packs_written_to_stdout_count_as_sent() {
    for option in ["--stdout", "--stdou", "--stdo"] {
        assert!(parsed(&["git", "pack-objects", "--thin", option, "-q"]).1, "{option}");
    }
    for words in
        [&["git", "pack-objects", "--stdin-packs", "/p/pack"][..], &["git", "index-pack", "--stdin", "--fix-thin"]]
    {
        assert!(!parsed(words).1, "{words:?}");
    }
    assert_eq!(parsed(&["git", "index-pack", "--stdin"]), (Some(PackWriter::IndexPack), false, Vec::new()));
    assert_eq!(parsed(&["git", "fast-import", "--quiet"]), (Some(PackWriter::FastImport), false, Vec::new()));
}

#[test]
fn git_is_recognized_by_file_name() {
    for name in ["git", "git2.50", "git-2.50", "git-upload-pack", "git.real", "git (deleted)", "scalar"] {
        assert!(is_gits(name.as_bytes()), "{name}");
    }
    for name in ["", "rsync", "gitui", "gitg", "github", "legit", "python3.11"] {
        assert!(!is_gits(name.as_bytes()), "{name}");
    }
}
