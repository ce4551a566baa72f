//! Damaged files that a conversion copies byte for byte: refused where hg would fail on the copy.

use std::fs;

use super::{DECODING, are_refused};
use crate::support::hg::{self, Version};
use crate::support::program;
use crate::support::{Fixture, Scratch};

#[test]
fn copied_files_that_hg_cannot_read_are_refused() {
    let node = "0123456789abcdef0123456789abcdef01234567";
    for (file, content, place) in [
        ("phaseroots", format!("1 {node}\n1 {}\n", &node[2..]), "line 2"),
        ("phaseroots", format!("1{node}\n"), "line 1"),
        ("phaseroots", "1 \0\0\0\0\n".to_owned(), "line 1"),
        ("fncache", "data/a.i\n\ndata/b.i\n".to_owned(), "line 2"),
        ("fncache", "data/a.i".to_owned(), "line 1"),
    ] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy("default", &scratch).repo();
        fs::write(repo.join(".hg/store").join(file), &content).expect("the file");
        let log = program::run(hg::command(Version::V72, &repo).args(["verify"]));
        assert!(log.code != Some(0), "hg fails: {content:?}: {}", log.text());
        are_refused(&DECODING[..1], &repo, &content, &[file, place, "expected", "found"]);
    }
}
