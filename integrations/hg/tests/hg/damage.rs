//! Tests damaged chunks: the type of the error is hg's, the text ours.

use std::fs;
use std::path::Path;

use crate::support::{Hg, scratch};

/// The length of an entry in an inline revlog before its chunk, in bytes.
const ENTRY_LEN: usize = 64;

/// Changes each chunk of an inline revlog that begins with `header`.
fn damage(revlog: &Path, header: u8, change: impl Fn(&mut [u8])) {
    let mut bytes = fs::read(revlog).expect("a revlog");
    let (mut position, mut damaged) = (0, 0);
    while position < bytes.len() {
        let length = u32::from_be_bytes(bytes[position + 8..position + 12].try_into().expect("four bytes")) as usize;
        let chunk = position + ENTRY_LEN;
        position = chunk + length;
        if bytes.get(chunk) == Some(&header) && length > 0 {
            change(&mut bytes[chunk..position]);
            damaged += 1;
        }
    }
    assert!(damaged > 0, "{} holds no chunk of that kind", revlog.display());
    fs::write(revlog, bytes).expect("the damaged revlog");
}

#[test]
fn damaged_chunk_is_a_storage_error() {
    for hg in Hg::extended() {
        for (spec, header, what) in [
            ("zlib:6", b'x', "zlib"),
            ("zlib-rs:6", b'x', "zlib"),
            ("libdeflate:6", b'x', "zlib"),
            ("zstd:5", b'(', "zstd"),
            ("lz4", b'4', "lz4"),
        ] {
            let folder = scratch();
            let hg = hg.codec(spec);
            hg.new_repository(folder.path());
            // Overwrites the second half of the chunk without changing its length.
            damage(&folder.path().join(".hg/store/data/text.i"), header, |chunk| {
                let middle = chunk.len() / 2;
                chunk[middle..].fill(0);
            });
            let cat = hg.try_run(folder.path(), ["cat", "text"]);
            cat.fails_saying(&["abort: revlog decompress error: ", what]);
            let verify = hg.try_run(folder.path(), ["verify", "-q"]);
            verify.fails_saying(&["revlog decompress error: "]);
        }
    }
}

#[test]
fn claimed_length_is_checked() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.codec("lz4").new_repository(folder.path());
        damage(&folder.path().join(".hg/store/data/text.i"), b'4', |chunk| chunk[1..5].fill(0xff));
        let cat = hg.try_run(folder.path(), ["cat", "text"]);
        cat.fails_saying(&["abort: revlog decompress error: lz4", "4294967295"]);
    }
}
