//! The same as [`crate::robustness`], on Mercurial repositories.

mod changing_sources;
mod copied_files;
mod damaged_chunks;
mod damaged_indexes;
mod forged_manifests;
mod large_texts;
mod unsupported;

use std::path::Path;

use crate::support::Scratch;
use crate::support::program::{self, command, exit};

/// An inline and a split revlog, each with its fixture. The first revision of each is a snapshot, the second a delta.
const REVLOGS: [(&str, &str); 2] = [("default", "data/story.txt"), ("chains", "data/chain.txt")];

/// The commands that decode chunks.
const DECODING: [&[&str]; 2] =
    [&["convert", "--quiet", "--codec", "zstd:5", "-o", "variant"], &["replay", "--workload", "traverse"]];

/// Fails the test unless each command refuses the repository with one line that has all of `words`, and leaves nothing.
#[track_caller]
fn are_refused(commands: &[&[&str]], repo: &Path, what: &str, words: &[&str]) {
    let scratch = Scratch::new();
    for arguments in commands {
        let outcome = program::run(command().current_dir(scratch.path()).args(*arguments).arg(repo));
        assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{what}: {arguments:?}: {}", outcome.stderr);
        let line = outcome.error_line();
        for word in words {
            assert!(line.contains(word), "{what}: {word} is not in: {line}");
        }
        assert_eq!(scratch.names(), [""; 0], "{what}: no files remain");
    }
}
